package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// KafkaNodePool declares nodes of a Kafka cluster that are alike. The label strimzi.io/cluster names the Kafka object that it belongs to.
//
// +kubebuilder:object:root=true
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
	Spec *v1.KafkaNodePoolSpec `json:"spec,omitempty"`
	// The status of the pool, written by the cluster operator only. Until it is, observedGeneration is -1, so that whoever
	// waits for the object sees that it was not dealt with.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status v1.KafkaNodePoolStatus `json:"status,omitempty,omitzero"`
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
