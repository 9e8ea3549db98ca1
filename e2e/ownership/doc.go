// Package ownership has the end-to-end tests of the promise that the operator changes no topic that is not provably its KafkaTopic's own
// (docs/topic-operator/ownership.md). They use only real programs: the operator's binary as processes, a real kube-apiserver, and two real
// Kafka clusters, A and B.
//
// Specs share these. Each spec has its own namespaces and topics, and operators that watch only those namespaces.
package ownership
