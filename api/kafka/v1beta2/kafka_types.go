package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// Kafka declares one Kafka cluster. Its nodes are declared by the KafkaNodePools that carry the label strimzi.io/cluster with its name.
//
// The schema is that of Strimzi, v1 and v1beta2 in one. The spec has no defaults: each default that a field names is the operator's.
// Fields that the operator does not support are stored, so that it can report them by name (UnsupportedField).
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=k,categories=strimzi
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="The state of the custom resource"
// +kubebuilder:printcolumn:name="Warnings",type=string,JSONPath=`.status.conditions[?(@.type=="Warning")].status`,description="Warnings related to the custom resource"
// +kubebuilder:printcolumn:name="Kafka version",type=string,JSONPath=`.status.kafkaVersion`,description="The Kafka version used by the cluster"
// +kubebuilder:printcolumn:name="Metadata version",type=string,JSONPath=`.status.kafkaMetadataVersion`,description="The Kafka metadata version used by the cluster"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why the Kafka cluster is not ready"
type Kafka struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// The specification of the Kafka cluster.
	// +optional
	Spec *v1.KafkaSpec `json:"spec,omitempty"`
	// The status of the Kafka cluster, written by the cluster operator only. Until it is, observedGeneration is -1, so that whoever
	// waits for the object sees that it was not dealt with.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status v1.KafkaStatus `json:"status,omitempty,omitzero"`
}

// KafkaList is a list of Kafka clusters.
//
// +kubebuilder:object:root=true
type KafkaList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`
	// The Kafka clusters.
	Items []Kafka `json:"items"`
}
