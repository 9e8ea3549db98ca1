package v1

// Annotations that users set.
const (
	// AnnotationManaged takes a KafkaTopic out of management when it is exactly "false": Kafka is left alone, and deleting
	// the resource leaves the topic in place. Any other value changes nothing, so that a typing mistake never
	// looks like consent to stop managing. Source: Strimzi; ruling T3, which lets spec.managed do the same.
	AnnotationManaged = "strimzi.io/managed"

	// AnnotationPauseReconciliation pauses reconciliation when it is "true". Deleting a paused resource still deletes the
	// topic, subject to the same protection as ever. Source: Strimzi; seed 000; ruling T4.
	AnnotationPauseReconciliation = "strimzi.io/pause-reconciliation"
)

// Labels that users set.
const (
	// LabelCluster names the Kafka cluster (the resource of kind Kafka) that an object belongs to. Operators select by it:
	// STRIMZI_RESOURCE_LABELS usually holds strimzi.io/cluster=<name>. Source: Strimzi.
	LabelCluster = "strimzi.io/cluster"
)

// Finalizers that operators set.
const (
	// FinalizerTopicOperator keeps a deleted KafkaTopic until the topic operator has dealt with the topic in Kafka. The
	// topic operator adds it before it first touches Kafka and removes it once the topic is gone, or is to stay.
	// Source: seed 001; Strimzi, whose finalizers are taken over as they are.
	FinalizerTopicOperator = "strimzi.io/topic-operator"
)
