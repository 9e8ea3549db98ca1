package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// EntityOperatorSpec configures the operators for the topics and users of a Kafka cluster.
type EntityOperatorSpec struct {
	// The topic operator. None is run when absent.
	// +optional
	TopicOperator *EntityTopicOperatorSpec `json:"topicOperator,omitempty"`

	// The user operator. Not supported.
	// +optional
	UserOperator *EntityUserOperatorSpec `json:"userOperator,omitempty"`

	// What the generated Kubernetes objects carry beyond what they need.
	// +optional
	Template *EntityOperatorTemplate `json:"template,omitempty"`

	// Ignored: there is no sidecar. In v1beta2 only.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	TLSSidecar *runtime.RawExtension `json:"tlsSidecar,omitempty"`
}

// EntityTopicOperatorSpec configures the topic operator.
type EntityTopicOperatorSpec struct {
	// The namespace whose KafkaTopics are followed; that of the Kafka object when absent.
	// +optional
	WatchedNamespace string `json:"watchedNamespace,omitempty"`

	// The container image.
	// +optional
	Image string `json:"image,omitempty"`

	// How many milliseconds lie between two reconciliations of a topic without a cause.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReconciliationIntervalMs *int64 `json:"reconciliationIntervalMs,omitempty"`

	// When the operator counts as started.
	// +optional
	StartupProbe *Probe `json:"startupProbe,omitempty"`

	// When the operator counts as hung and is restarted by the kubelet.
	// +optional
	LivenessProbe *Probe `json:"livenessProbe,omitempty"`

	// When the operator counts as ready.
	// +optional
	ReadinessProbe *Probe `json:"readinessProbe,omitempty"`

	// CPU and memory.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// What is logged.
	// +optional
	Logging *Logging `json:"logging,omitempty"`

	// The options of Java. Ignored: the topic operator is not written in Java.
	// +optional
	JvmOptions *JvmOptions `json:"jvmOptions,omitempty"`

	// Like reconciliationIntervalMs, in seconds. In v1beta2 only.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReconciliationIntervalSeconds *int64 `json:"reconciliationIntervalSeconds,omitempty"`

	// Ignored. In v1beta2 only.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ZookeeperSessionTimeoutSeconds *int64 `json:"zookeeperSessionTimeoutSeconds,omitempty"`

	// Ignored. In v1beta2 only.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TopicMetadataMaxAttempts *int64 `json:"topicMetadataMaxAttempts,omitempty"`
}

// EntityUserOperatorSpec configures the user operator.
type EntityUserOperatorSpec struct {
	// The namespace whose KafkaUsers are followed; that of the Kafka object when absent.
	// +optional
	WatchedNamespace string `json:"watchedNamespace,omitempty"`

	// The container image.
	// +optional
	Image string `json:"image,omitempty"`

	// How many milliseconds lie between two reconciliations of a user without a cause.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReconciliationIntervalMs *int64 `json:"reconciliationIntervalMs,omitempty"`

	// The prefix of the names of users' Secrets.
	// +optional
	SecretPrefix string `json:"secretPrefix,omitempty"`

	// When the operator counts as hung and is restarted by the kubelet.
	// +optional
	LivenessProbe *Probe `json:"livenessProbe,omitempty"`

	// When the operator counts as ready.
	// +optional
	ReadinessProbe *Probe `json:"readinessProbe,omitempty"`

	// CPU and memory.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// What is logged.
	// +optional
	Logging *Logging `json:"logging,omitempty"`

	// The options of Java.
	// +optional
	JvmOptions *JvmOptions `json:"jvmOptions,omitempty"`

	// Like reconciliationIntervalMs, in seconds. In v1beta2 only.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReconciliationIntervalSeconds *int64 `json:"reconciliationIntervalSeconds,omitempty"`

	// Ignored. In v1beta2 only.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ZookeeperSessionTimeoutSeconds *int64 `json:"zookeeperSessionTimeoutSeconds,omitempty"`
}

// EntityOperatorTemplate customizes the objects generated for the operators of topics and users.
type EntityOperatorTemplate struct {
	// The Deployment.
	// +optional
	Deployment *DeploymentTemplate `json:"deployment,omitempty"`
	// The pods.
	// +optional
	Pod *PodTemplate `json:"pod,omitempty"`
	// The container of the topic operator.
	// +optional
	TopicOperatorContainer *ContainerTemplate `json:"topicOperatorContainer,omitempty"`
	// The container of the user operator.
	// +optional
	UserOperatorContainer *ContainerTemplate `json:"userOperatorContainer,omitempty"`
	// Ignored: there is no sidecar. In v1beta2 only.
	// +optional
	TLSSidecarContainer *ContainerTemplate `json:"tlsSidecarContainer,omitempty"`
	// The ServiceAccount.
	// +optional
	ServiceAccount *ResourceTemplate `json:"serviceAccount,omitempty"`
	// The Role.
	// +optional
	EntityOperatorRole *ResourceTemplate `json:"entityOperatorRole,omitempty"`
	// The RoleBinding of the topic operator.
	// +optional
	TopicOperatorRoleBinding *ResourceTemplate `json:"topicOperatorRoleBinding,omitempty"`
	// The RoleBinding of the user operator.
	// +optional
	UserOperatorRoleBinding *ResourceTemplate `json:"userOperatorRoleBinding,omitempty"`
	// The PodDisruptionBudget.
	// +optional
	PodDisruptionBudget *PodDisruptionBudgetTemplate `json:"podDisruptionBudget,omitempty"`
}
