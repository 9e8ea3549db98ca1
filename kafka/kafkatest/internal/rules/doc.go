// Package rules holds what Kafka checks before it changes a topic or a node's configuration, in Kafka's own words. The embedded cluster and
// the in-memory fake share it, so that both refuse what a real cluster refuses; the contract suite compares them with one.
//
// It does no I/O and keeps no state.
package rules
