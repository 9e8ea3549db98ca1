// Package bench measures the topic-operator on a real Kubernetes API server and a real Kafka, beside a floor: bare clients that make just the
// calls that the servers need, in the same run on the same servers. Their ratio is what the operator itself costs.
//
// It prints; it never judges: a time is not a test.
package bench
