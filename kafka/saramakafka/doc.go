// Package saramakafka implements the admin port over the network: Admin sends requests to brokers, Controllers to controllers (KIP-919).
// Both share their implementation (client.go, router.go) and differ in the kind of nodes that they request with DescribeCluster.
//
// Sarama's Broker does not dial or route: it negotiates versions, logs in, and encodes and decodes the requests that it supports, on a
// connection that this package opened. Other requests are encoded by franz-go's kmsg and sent over the same connection. This package itself
// chooses brokers, retries, and tracks deadlines and health (router.go), because sarama's Client keeps dead controllers and poisoned
// connections.
//
// A client that is bound to a cluster (kafka.ClusterPinner) proves the cluster on each connection before it sends a request (identity.go).
// A request that only one node can answer has a timeout of its own, so that a node that hangs delays nothing else (nodes.go).
//
// It imports nothing of Kubernetes, and of this project only the port.
package saramakafka
