// Package ownership decides what may be done about the topic of a KafkaTopic. It holds the promise that nothing in Kafka is changed or
// deleted that the KafkaTopic does not provably own: everything that bears on it is in Facts, the answer is a Decision, and Decide is a
// pure function between the two. Whatever was not found out is unknown, and never "gone".
//
// Why: docs/decisions/deletion.md, claims.md, another-cluster.md, unmanaged-and-paused.md and namespace-policy.md there.
package ownership
