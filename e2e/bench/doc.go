// Package bench measures the topic-operator on a real Kubernetes API server and a real Kafka, and compares it with a floor: bare clients
// that make only the requests that the servers need, in the same run on the same servers. The ratio is the cost of the operator itself.
//
// The cluster-operator is measured on a real API server with up to 300 nodes, which a kubelet of this package reports as ready, and,
// compared with the same pods created by hand, on a real Kubernetes cluster. There, and with processes that stand for pods, a producer
// measures what clients notice while the roller restarts all nodes, compared with the same restarts by hand. The progress tells after which
// events requests were slow.
//
// The package prints figures and has no limits for them: a duration is not a test.
package bench
