package v1

// Labels of pods and of the objects that make them.
const (
	// LabelKind is the kind of the custom resource that the object belongs to: Kafka. Source: Strimzi.
	LabelKind = "strimzi.io/kind"
	// LabelName names the component: <cluster>-kafka. Source: Strimzi.
	LabelName = "strimzi.io/name"
	// LabelPoolName names the KafkaNodePool that a node belongs to. Source: Strimzi.
	LabelPoolName = "strimzi.io/pool-name"
	// LabelBrokerRole is "true" on the pods of nodes that are brokers. Source: Strimzi.
	LabelBrokerRole = "strimzi.io/broker-role"
	// LabelControllerRole is "true" on the pods of nodes that are controllers. Source: Strimzi.
	LabelControllerRole = "strimzi.io/controller-role"
	// LabelPodName is the pod's own name, so that a Service can select one pod. Source: Strimzi.
	LabelPodName = "strimzi.io/pod-name"
	// LabelComponentType is the type of the component, independent of the cluster's name: kafka. Source: Strimzi.
	LabelComponentType = "strimzi.io/component-type"
	// LabelController is the kind of object that makes the pod: strimzipodset. Source: Strimzi.
	LabelController = "strimzi.io/controller"
	// LabelControllerName names the StrimziPodSet that the pod belongs to. Source: Strimzi.
	LabelControllerName = "strimzi.io/controller-name"
	// LabelManagedBy names the program that writes the object. Source: Kubernetes' recommended labels.
	LabelManagedBy = "app.kubernetes.io/managed-by"
)

// Values of labels.
const (
	// ControllerPodSet is the value of LabelController on the pods of a StrimziPodSet. Source: Strimzi.
	ControllerPodSet = "strimzipodset"
	// KindKafka is the value of LabelKind on what belongs to a Kafka cluster. Source: Strimzi.
	KindKafka = "Kafka"
	// ComponentKafka is the value of LabelComponentType on the nodes of a Kafka cluster. Source: Strimzi.
	ComponentKafka = "kafka"
	// ManagedByClusterOperator is the value of LabelManagedBy on what this project's cluster operator writes.
	ManagedByClusterOperator = "kafka-operators-cluster-operator"
	// ManagedByStrimzi is the value of LabelManagedBy on what Strimzi's cluster operator writes. Source: Strimzi.
	ManagedByStrimzi = "strimzi-cluster-operator"
)

// RolledByRoller is the value of AnnotationRolledBy on the StrimziPodSets whose pods the roller restarts.
const RolledByRoller = "roller"

// What whoever makes the pods and whoever restarts them must agree on.
const (
	// ContainerKafka is the name of the container of a pod that is Kafka. Source: Strimzi.
	ContainerKafka = "kafka"
	// ConfigMapServerConfig is the entry of a node's ConfigMap, which has the name of its pod, with the node's configuration file. Source:
	// Strimzi.
	ConfigMapServerConfig = "server.config"
	// ConfigMapClusterID is the entry with the id of the Kafka cluster that the node's storage is formatted for. Source: Strimzi.
	ConfigMapClusterID = "cluster.id"
)

// Annotations of pods and StrimziPodSets.
const (
	// AnnotationRevision is a hash of what the pod was made from, on pods and on the pods of a StrimziPodSet's spec: where the two differ the
	// pod is out of date. Source: Strimzi.
	AnnotationRevision = "strimzi.io/revision"
	// AnnotationManualRollingUpdate asks for a restart when it is "true": of the pod, or of all pods of the StrimziPodSet. Source: Strimzi;
	// docs/roller/checklist.md.
	AnnotationManualRollingUpdate = "strimzi.io/manual-rolling-update"
	// AnnotationHold keeps the roller from restarting a pod, or all pods of a StrimziPodSet, and from changing its configuration; its value is
	// the reason. "false" has no effect. Source: this project.
	AnnotationHold = "kafka-operators.io/hold"
	// AnnotationHibernate on a StrimziPodSet is "true" while its Kafka is hibernated: it has no pods. Source: this project;
	// docs/decisions/hibernation.md.
	AnnotationHibernate = "kafka-operators.io/hibernate"

	// AnnotationRolledBy on a StrimziPodSet names the component that restarts its pods: the roller if the value is RolledByRoller. Source:
	// docs/decisions/who-rolls.md.
	AnnotationRolledBy = "kafka-operators.io/rolled-by"
	// AnnotationConfigHash on a pod of a StrimziPodSet's spec is the hash of the contents of the node's ConfigMap that it was written for
	// (ConfigHash): a set and the ConfigMaps of its pods are not written at once. Source: docs/decisions/who-rolls.md.
	AnnotationConfigHash = "kafka-operators.io/config-hash"
	// AnnotationRestartedAt on a pod of a StrimziPodSet's spec is the uid of the pod for which a restart was last requested. It is part of
	// the revision. Source: docs/decisions/who-rolls.md.
	AnnotationRestartedAt = "kafka-operators.io/restarted-at"

	// AnnotationClusterCACertGeneration is which certificate of the cluster's CA the pod was started with. Source: Strimzi.
	AnnotationClusterCACertGeneration = "strimzi.io/cluster-ca-cert-generation"
	// AnnotationClusterCAKeyGeneration is which key of the cluster's CA the pod trusts. Source: Strimzi.
	AnnotationClusterCAKeyGeneration = "strimzi.io/cluster-ca-key-generation"
	// AnnotationClientsCACertGeneration is which certificate of the clients' CA the pod was started with. Source: Strimzi.
	AnnotationClientsCACertGeneration = "strimzi.io/clients-ca-cert-generation"
	// AnnotationServerCertHash is a hash of the node's own certificate. Source: Strimzi.
	AnnotationServerCertHash = "strimzi.io/server-cert-hash"
)
