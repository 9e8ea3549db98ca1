// Package rules has Kafka's checks of changes to topics and node configurations, with Kafka's own messages. The embedded cluster and the
// in-memory fake share it, so that both reject what a real cluster rejects. The contract suite compares them with a real cluster.
//
// It does no I/O and keeps no state.
package rules
