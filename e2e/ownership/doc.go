// Package ownership holds the end-to-end tests of the promise that the operator touches no topic that is not provably its KafkaTopic's own
// (docs/topic-operator/ownership.md). They run on the real parts only: the
// operator's binary as processes, a real kube-apiserver, and two real Kafka clusters, A and B.
//
// Specs share these. Each has namespaces and topics of its own, and operators that watch nothing else.
package ownership
