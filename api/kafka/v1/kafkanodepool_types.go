package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kafka-operators/kafka-operators/api/decode"
)

// KafkaNodePool declares nodes of a Kafka cluster that are alike. The label strimzi.io/cluster names the Kafka object that it belongs to.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.labelSelector
// +kubebuilder:resource:shortName=knp,categories=strimzi
// +kubebuilder:printcolumn:name="Desired replicas",type=integer,JSONPath=`.spec.replicas`,description="The desired number of replicas"
// +kubebuilder:printcolumn:name="Roles",type=string,JSONPath=`.status.roles`,description="Roles of the nodes in the pool"
// +kubebuilder:printcolumn:name="NodeIds",type=string,JSONPath=`.status.nodeIds`,description="Node IDs used by Kafka nodes in this pool"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the nodes in the pool are as they should be"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why the node pool is not ready"
type KafkaNodePool struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// The specification of the pool.
	// +optional
	Spec *KafkaNodePoolSpec `json:"spec,omitempty"`
	// The status of the pool, written by the cluster operator only. Until it is, observedGeneration is -1, so that whoever
	// waits for the object sees that it was not dealt with.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status KafkaNodePoolStatus `json:"status,omitempty,omitzero"`

	// Invalid is why the specification or the status could not be decoded, and is empty; see UnmarshalJSON.
	Invalid string `json:"-"`
}

// UnmarshalJSON decodes the object as usual. A specification or status that can't be decoded is left empty, except for conditions, and
// Invalid is why: an API server stores such objects under Strimzi's CustomResourceDefinition. Never write one back as a whole.
func (p *KafkaNodePool) UnmarshalJSON(data []byte) (err error) {
	type plain KafkaNodePool // without this method
	p.Invalid, err = decode.Object(data, (*plain)(p), &p.Spec, &p.Status)
	return err
}

// ProcessRole is a role of a node, as in Kafka's process.roles.
type ProcessRole string

const (
	// RoleController is that of the nodes that keep the cluster's metadata.
	RoleController ProcessRole = "controller"
	// RoleBroker is that of the nodes that keep records and serve clients.
	RoleBroker ProcessRole = "broker"
)

// KafkaNodePoolSpec is the desired state of a pool.
type KafkaNodePoolSpec struct {
	// How many nodes there are.
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas"`

	// What the nodes do: controller, broker or both.
	// +kubebuilder:validation:items:Enum=controller;broker
	// +listType=atomic
	Roles []ProcessRole `json:"roles"`

	// Where the nodes keep their data.
	Storage Storage `json:"storage"`

	// CPU and memory of the nodes.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// The options of Java, instead of all those of the Kafka object.
	// +optional
	JvmOptions *JvmOptions `json:"jvmOptions,omitempty"`

	// What the generated Kubernetes objects carry beyond what they need. Each key replaces that of the Kafka object.
	// +optional
	Template *KafkaNodePoolTemplate `json:"template,omitempty"`
}

// KafkaNodePoolStatus is the observed state of a pool.
type KafkaNodePoolStatus struct {
	// The conditions of the pool.
	// +optional
	// +listType=atomic
	Conditions []Condition `json:"conditions,omitempty"`

	// The generation of the object that the operator last dealt with.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The ids of the nodes.
	// +optional
	// +listType=atomic
	NodeIDs []int32 `json:"nodeIds,omitempty"`

	// The id of the Kafka cluster.
	// +optional
	ClusterID string `json:"clusterId,omitempty"`

	// The roles of the nodes.
	// +optional
	// +listType=atomic
	Roles []ProcessRole `json:"roles,omitempty"`

	// How many nodes there are. None are reported as 0, as the scale subresource needs it.
	// +optional
	Replicas int32 `json:"replicas"`

	// A selector of the pods, for the scale subresource.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`
}

// KafkaNodePoolList is a list of pools.
//
// +kubebuilder:object:root=true
type KafkaNodePoolList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`
	// The pools.
	Items []KafkaNodePool `json:"items"`
}
