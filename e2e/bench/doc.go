// Package bench measures the topic-operator on a real Kubernetes API server and a real Kafka, beside a floor: bare clients that make just
// the calls that the servers need, in the same run on the same servers. Their ratio is what the operator itself costs.
//
// The cluster-operator is measured on a real API server with up to 300 nodes that a kubelet of the package's own calls ready, and, beside
// the same pods made by hand, on a real Kubernetes cluster. There a producer tells what clients notice while nodes are restarted.
//
// It prints; it never judges: a time is not a test.
package bench
