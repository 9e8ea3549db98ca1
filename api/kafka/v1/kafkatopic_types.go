package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KafkaTopic declares one topic of one Kafka cluster. The topic operator makes Kafka follow it, one way: what is
// changed in Kafka directly is reverted.
//
// The spec is optional because Strimzi accepts a resource without one, and nothing that Strimzi accepts is rejected here.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
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
	Spec *KafkaTopicSpec `json:"spec,omitempty"`
	// The status of the topic, written by the topic operator only. Until it is, observedGeneration is -1, so that whoever waits for the
	// resource sees that it was not dealt with.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status KafkaTopicStatus `json:"status,omitempty,omitzero"`
}

// KafkaTopicSpec is the desired state of a topic.
type KafkaTopicSpec struct {
	// The numbers of KafkaTopic have 64 bits in Go, because Strimzi's CustomResourceDefinition accepts such numbers: a single one that can't
	// be decoded would make each list and watch of KafkaTopics fail.

	// The name of the topic in Kafka. When absent this defaults to the name of the resource. It is meant for names that
	// Kubernetes does not allow, such as __consumer_offsets, and must not be changed later.
	// +optional
	TopicName *string `json:"topicName,omitempty"`

	// The number of partitions the topic should have. It can be increased but never decreased. When absent, the
	// brokers' default is used for a new topic and an existing topic keeps what it has.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Format=int32
	Partitions *int64 `json:"partitions,omitempty"`

	// The number of replicas of each partition. When absent, the brokers' default is used for a new topic and an
	// existing topic keeps what it has.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32767
	// +kubebuilder:validation:Format=int32
	Replicas *int64 `json:"replicas,omitempty"`

	// The configuration of the topic, by Kafka's names (retention.ms, cleanup.policy and so on). Values are strings,
	// numbers, booleans, or lists of these, which Kafka gets joined by commas.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Config map[string]ConfigValue `json:"config,omitzero"`

	// Whether the operator manages the topic; true when absent. With false the operator leaves Kafka alone, and deleting
	// the resource leaves the topic in place. The annotation strimzi.io/managed: "false" does the same; either one
	// is enough.
	// +optional
	Managed *bool `json:"managed,omitempty"`
}

// KafkaTopicStatus is the observed state of a topic. An absent string and an empty one are equivalent.
type KafkaTopicStatus struct {
	// The conditions of the topic. Warnings are conditions of type Warning, of which there may be several.
	// +optional
	// +listType=atomic
	Conditions []Condition `json:"conditions,omitempty"`

	// The generation of the resource that the operator last dealt with, successfully or not.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The name of the topic in Kafka. A spec that names another one is refused. Absent while the topic is unmanaged.
	// +optional
	TopicName string `json:"topicName,omitempty"`

	// The id Kafka gave the topic. The topic is deleted by this id, so that a topic re-created under the same
	// name by somebody else survives. Absent while the topic is paused or unmanaged.
	// +optional
	TopicID string `json:"topicId,omitempty"`

	// The id of the Kafka cluster that owns this resource. An operator connected to another cluster leaves the resource
	// alone. Absent until first reconciled, and while the topic is unmanaged.
	// +optional
	ClusterID string `json:"clusterId,omitempty"`

	// A change of the replication factor that is under way.
	// +optional
	ReplicasChange *ReplicasChangeStatus `json:"replicasChange,omitempty"`
}

// ReplicasChangeState is the progress of a change of the replication factor.
type ReplicasChangeState string

const (
	// ReplicasChangePending means that the change has not been requested yet.
	ReplicasChangePending ReplicasChangeState = "pending"
	// ReplicasChangeOngoing means that the change was requested and partitions are being reassigned.
	ReplicasChangeOngoing ReplicasChangeState = "ongoing"
)

// ReplicasChangeStatus describes a change of the replication factor that is under way.
type ReplicasChangeStatus struct {
	// The number of replicas that the change leads to.
	// +optional
	// +kubebuilder:validation:Format=int32
	TargetReplicas *int64 `json:"targetReplicas,omitempty"`

	// The progress of the change: pending or ongoing. Strimzi's schema lists no other value.
	// +optional
	// +kubebuilder:validation:Enum=pending;ongoing
	State ReplicasChangeState `json:"state,omitempty"`

	// Why the change cannot be requested or has failed.
	// +optional
	Message string `json:"message,omitempty"`

	// The id under which the change was requested.
	// +optional
	SessionID string `json:"sessionId,omitempty"`
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
