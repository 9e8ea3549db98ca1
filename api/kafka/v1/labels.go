package v1

// Annotations that users set.
const (
	// AnnotationManaged takes a KafkaTopic out of management when it is exactly "false": the operator does not change Kafka, and deleting the
	// resource keeps the topic. Any other value has no effect, so that a typing mistake never counts as consent to stop managing. Source:
	// Strimzi; spec.managed does the same (docs/decisions/unmanaged-and-paused.md).
	AnnotationManaged = "strimzi.io/managed"

	// AnnotationPauseReconciliation pauses reconciliation when it is "true". Deleting a paused resource still deletes the
	// topic, with the same checks as any deletion. Source: Strimzi; docs/decisions/unmanaged-and-paused.md.
	AnnotationPauseReconciliation = "strimzi.io/pause-reconciliation"
)

// Annotations that users set on a Kafka object.
const (
	// AnnotationSkipScaleDownCheck, when "true", allows nodes to be removed, or to lose the role of a broker, although they hold
	// replicas of partitions. Source: Strimzi.
	AnnotationSkipScaleDownCheck = "strimzi.io/skip-broker-scaledown-check"

	// AnnotationInPlaceResizing, when "true", allows CPU and memory of running pods to be changed without a restart. Source:
	// Strimzi.
	AnnotationInPlaceResizing = "strimzi.io/in-place-resizing"

	// AnnotationInPlaceResizingWaitForDeferred, when "true", has the operator wait for a resize that the kubelet deferred. Source:
	// Strimzi.
	AnnotationInPlaceResizingWaitForDeferred = "strimzi.io/in-place-resizing-wait-for-deferred"

	// AnnotationApplyUpdates, when "true", has nodes get what a newer version of the operator makes differently without another change by
	// their user: in maintenance windows, if there are any. Source: this project; docs/decisions/upgrades-restart-nothing.md.
	AnnotationApplyUpdates = "kafka-operators.io/apply-updates"

	// AnnotationHibernate, when "true", stops all nodes; their ids, volumes, certificates and addresses stay. Source: this project;
	// docs/decisions/hibernation.md.
	AnnotationHibernate = "kafka-operators.io/hibernate"

	// AnnotationInternalClusterSecurity holds JSON that turns TLS between the nodes off. It is not supported. Source: Strimzi.
	AnnotationInternalClusterSecurity = "strimzi.io/internal-cluster-security"
)

// Annotations that stretch a Kafka over several Kubernetes clusters. Source: the proposal of stretch clusters for Strimzi.
const (
	// AnnotationStretch, when exactly "true" on a Kafka object, allows its pools to be in several Kubernetes clusters.
	AnnotationStretch = "strimzi.io/enable-stretch-cluster"

	// AnnotationTargetCluster names, on every KafkaNodePool of such a Kafka, the Kubernetes cluster that the pool's nodes run in.
	AnnotationTargetCluster = "strimzi.io/stretch-cluster-alias"

	// AnnotationStretchRack, on such a Kafka object, is StretchRackZone or StretchRackAliasZone. Without it, a broker's rack is the id of its
	// Kubernetes cluster, or what .spec.kafka.rack says.
	AnnotationStretchRack = "strimzi.io/stretch-rack"

	// AnnotationOwnerEpoch counts, on such a Kafka object, the holders of the owner that ownership.MarkID names. The operator writes both
	// before it makes anything in another Kubernetes cluster.
	AnnotationOwnerEpoch = "strimzi.io/owner-epoch"

	// AnnotationGivenUpClusters, on such a Kafka object, lists Kubernetes clusters that are lost for good, separated by commas. Their nodes
	// and volumes do not count any more once the operator's settings and the pools don't name them either.
	AnnotationGivenUpClusters = "kafka-operators.io/given-up-clusters"

	// FinalizerStretch keeps such a Kafka object until nothing is left of it in other Kubernetes clusters.
	FinalizerStretch = "strimzi.io/stretch-cluster"
)

// Values of AnnotationStretchRack. Source: this project.
const (
	// StretchRackZone makes a broker's rack the zone of its Kubernetes node: the value of the label .spec.kafka.rack.topologyKey,
	// topology.kubernetes.io/zone by default.
	StretchRackZone = "zone"
	// StretchRackAliasZone puts the id of the Kubernetes cluster and a hyphen before the zone.
	StretchRackAliasZone = "alias-zone"
)

// Annotations that users set on a KafkaNodePool. Each is a list of ids and ranges of ids: [0,1,10-20,50-30].
const (
	// AnnotationNextNodeIDs lists the ids that new nodes get first. Source: Strimzi.
	AnnotationNextNodeIDs = "strimzi.io/next-node-ids"

	// AnnotationRemoveNodeIDs lists the ids of the nodes that leave first. Source: Strimzi.
	AnnotationRemoveNodeIDs = "strimzi.io/remove-node-ids"
)

// Annotations that users set on a pod.
const (
	// AnnotationDeletePodAndPVC requests, when it is "true", that the pod and its volumes be deleted and recreated. This operator does not
	// support it, and says so in a warning. Source: Strimzi.
	AnnotationDeletePodAndPVC = "strimzi.io/delete-pod-and-pvc"
)

// Annotations that users set on the Secrets of a CA.
const (
	// AnnotationForceRenew asks, when it is "true" on the Secret of the certificate, for a new certificate of the same key. Source: Strimzi.
	AnnotationForceRenew = "strimzi.io/force-renew"

	// AnnotationForceReplace asks, when it is "true" on the Secret of the key, for a new key. Source: Strimzi.
	AnnotationForceReplace = "strimzi.io/force-replace"
)

// Annotations that the cluster operator sets.
const (
	// AnnotationCACertGeneration counts, on the Secret of a CA's certificate, how often the certificate was renewed. Source: Strimzi.
	AnnotationCACertGeneration = "strimzi.io/ca-cert-generation"

	// AnnotationCAKeyGeneration counts, on the Secret of a CA's key, how often the key was replaced. Source: Strimzi.
	AnnotationCAKeyGeneration = "strimzi.io/ca-key-generation"

	// AnnotationDeleteClaim on a PersistentVolumeClaim is whether it is deleted with its node: deleteClaim of its storage, "true" or
	// "false". Source: Strimzi.
	AnnotationDeleteClaim = "strimzi.io/delete-claim"

	// AnnotationStorage holds, on a StrimziPodSet, the storage of its pool that was last accepted, as JSON. Source: Strimzi.
	AnnotationStorage = "strimzi.io/storage"

	// AnnotationKafkaVersion on a StrimziPodSet and its pods is the version of Kafka that they run. Source: Strimzi.
	AnnotationKafkaVersion = "strimzi.io/kafka-version"

	// AnnotationDiscovery describes, on a Service with LabelDiscovery, the listeners, as JSON. Source: Strimzi.
	AnnotationDiscovery = "strimzi.io/discovery"
)

// Labels that the cluster operator sets on Services.
const (
	// LabelDiscovery is "true" on the Service by which clients find the brokers. Source: Strimzi.
	LabelDiscovery = "strimzi.io/discovery"
)

// Labels that users set.
const (
	// LabelCluster names the Kafka cluster (the resource of kind Kafka) that an object belongs to. Operators select by it:
	// STRIMZI_RESOURCE_LABELS usually holds strimzi.io/cluster=<name>. Source: Strimzi.
	LabelCluster = "strimzi.io/cluster"
)

// Finalizers that operators set.
const (
	// FinalizerTopicOperator keeps a deleted KafkaTopic until the topic operator has handled the topic in Kafka. The topic operator adds it
	// before its first change in Kafka and removes it once the topic is deleted, or is to be kept. Source: Strimzi, whose finalizers are taken
	// over as they are.
	FinalizerTopicOperator = "strimzi.io/topic-operator"
)
