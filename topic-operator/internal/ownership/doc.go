// Package ownership decides what the operator may do with the topic of a KafkaTopic. It guarantees that the operator changes or deletes
// nothing in Kafka that the KafkaTopic does not provably own. Decide is a pure function from Facts, which contain all inputs, to a
// Decision. A fact that could not be read is unknown, and never means that a topic does not exist.
//
// Why: docs/decisions/deletion.md, claims.md, another-cluster.md, unmanaged-and-paused.md and namespace-policy.md there.
package ownership
