package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// KafkaTopic declares one topic of one Kafka cluster. The topic operator makes Kafka follow it, one way: what is
// changed in Kafka directly is reverted.
//
// The spec is optional because Strimzi accepts a resource without one, and nothing that Strimzi accepts is rejected here.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=kt,categories=strimzi
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.metadata.labels.strimzi\.io/cluster`,description="The name of the Kafka cluster this topic belongs to"
// +kubebuilder:printcolumn:name="Partitions",type=integer,JSONPath=`.spec.partitions`,description="The desired number of partitions in the topic"
// +kubebuilder:printcolumn:name="Replication factor",type=integer,JSONPath=`.spec.replicas`,description="The desired number of replicas of each partition"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether Kafka follows the resource"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Topic ID",type=string,priority=1,JSONPath=`.status.topicId`,description="The id Kafka gave the topic"
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why the topic is not ready"
type KafkaTopic struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// The specification of the topic.
	// +optional
	Spec *v1.KafkaTopicSpec `json:"spec,omitempty"`
	// The status of the topic, written by the topic operator only. Until it is, observedGeneration is -1, so that whoever waits for the
	// resource sees that it was not dealt with.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status v1.KafkaTopicStatus `json:"status,omitempty,omitzero"`
}

// KafkaTopicList is a list of topics.
//
// +kubebuilder:object:root=true
type KafkaTopicList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`
	// The topics.
	Items []KafkaTopic `json:"items"`
}
