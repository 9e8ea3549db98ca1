// Package ownership decides what may be done about the topic of a KafkaTopic. It holds the promise that nothing in Kafka is changed or deleted that
// the KafkaTopic does not provably own: everything that bears on it is in Facts, the answer is a Decision, and Decide is a pure function
// between the two. Whatever was not found out is unknown, and never "gone".
//
// Sources: seed 000 (status.clusterId and status.topicId), seed 001 (single-resource principle, namespace policy), rulings T1 to T9 and T12.
package ownership
