// Package saramakafka implements the admin port over the network: Admin asks brokers, Controllers asks controllers (KIP-919). Both are
// one machinery (client.go, router.go) that differs in what nodes it asks DescribeCluster for.
//
// Sarama's Broker dials nothing and routes nothing here: it negotiates versions, logs in, and encodes and decodes the
// requests it knows, on a connection that this package opened. The requests it lacks travel as franz-go's kmsg frames over the same
// connection. Choosing a broker, retrying, deadlines and health are this package's own (router.go), because sarama's Client keeps
// dead controllers and poisoned connections.
//
// A client that is bound to a cluster (kafka.ClusterPinner) has the proof of it made where a request is sent: on its connection
// (identity.go). What only one node can answer has a time of its own, so that one that hangs delays nothing else (nodes.go).
//
// It imports nothing of Kubernetes and nothing of ours but the port.
package saramakafka
