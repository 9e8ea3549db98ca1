package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// KafkaStatus is the observed state of a Kafka cluster.
type KafkaStatus struct {
	// The conditions of the Kafka cluster. Warnings are conditions of type Warning, of which there may be several.
	// +optional
	// +listType=atomic
	Conditions []Condition `json:"conditions,omitempty"`

	// The generation of the object that the operator last dealt with.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Where clients reach the cluster.
	// +optional
	// +listType=atomic
	Listeners []ListenerStatus `json:"listeners,omitempty"`

	// The pools that the cluster is made of.
	// +optional
	// +listType=atomic
	KafkaNodePools []UsedNodePool `json:"kafkaNodePools,omitempty"`

	// The id of the Kafka cluster. Set it by hand before you recreate the cluster on its existing volumes.
	// +optional
	ClusterID string `json:"clusterId,omitempty"`

	// The version of the operator that last reconciled the object with success.
	// +optional
	OperatorLastSuccessfulVersion string `json:"operatorLastSuccessfulVersion,omitempty"`

	// The version of Kafka that the cluster runs.
	// +optional
	KafkaVersion string `json:"kafkaVersion,omitempty"`

	// The metadata version that the cluster runs.
	// +optional
	KafkaMetadataVersion string `json:"kafkaMetadataVersion,omitempty"`

	// Written by Strimzi, and kept.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	AutoRebalance *runtime.RawExtension `json:"autoRebalance,omitempty"`

	// Written by Strimzi, and kept.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	ClusterSecurity *runtime.RawExtension `json:"clusterSecurity,omitempty"`

	// What is known of each Kubernetes cluster that the Kafka is stretched over.
	// +optional
	// +listType=map
	// +listMapKey=name
	StretchClusters []StretchClusterStatus `json:"stretchClusters,omitempty"`

	// Written by Strimzi, and kept. In v1beta2 only.
	// +optional
	// +listType=atomic
	RegisteredNodeIDs []int32 `json:"registeredNodeIds,omitempty"`

	// Written by Strimzi, and kept. In v1beta2 only.
	// +optional
	KafkaMetadataState string `json:"kafkaMetadataState,omitempty"`
}

// ListenerStatus is where clients reach one listener.
type ListenerStatus struct {
	// The name of the listener.
	// +optional
	Name string `json:"name,omitempty"`

	// The addresses to start from.
	// +optional
	// +listType=atomic
	Addresses []ListenerAddress `json:"addresses,omitempty"`

	// The same addresses as host:port, joined by commas.
	// +optional
	BootstrapServers string `json:"bootstrapServers,omitempty"`

	// The certificates, as PEM, that a client has to trust. Only for listeners with TLS.
	// +optional
	// +listType=atomic
	Certificates []string `json:"certificates,omitempty"`

	// Written by Strimzi, and kept. In v1beta2 only.
	// +optional
	Type string `json:"type,omitempty"`
}

// ListenerAddress is a host and its port.
type ListenerAddress struct {
	// The DNS name or IP address.
	// +optional
	Host string `json:"host,omitempty"`

	// The port.
	// +optional
	Port int32 `json:"port,omitempty"`
}

// UsedNodePool is a KafkaNodePool that a Kafka cluster is made of.
type UsedNodePool struct {
	// The name of the KafkaNodePool.
	// +optional
	Name string `json:"name,omitempty"`
}

// StretchClusterState tells whether the state of a Kubernetes cluster is known.
// +kubebuilder:validation:Enum=Connected;Unknown
type StretchClusterState string

// The states.
const (
	// StretchClusterConnected: the status of the Kubernetes cluster is current.
	StretchClusterConnected StretchClusterState = "Connected"
	// StretchClusterUnknown: it can't be read or written, so that nothing is known of the nodes there.
	StretchClusterUnknown StretchClusterState = "Unknown"
)

// StretchClusterStatus is the observed state of a Kubernetes cluster that a Kafka is stretched over.
type StretchClusterStatus struct {
	// The id of the Kubernetes cluster.
	Name string `json:"name"`

	// Whether anything is known of it.
	State StretchClusterState `json:"state"`

	// The ids of the nodes there, as they were last known.
	// +optional
	// +listType=atomic
	NodeIDs []int32 `json:"nodeIds,omitempty"`

	// How many of these nodes are ready. Absent if that is unknown.
	// +optional
	ReadyNodes *int32 `json:"readyNodes,omitempty"`

	// Why nothing is known, in a word.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Why nothing is known, and what to do.
	// +optional
	Message string `json:"message,omitempty"`

	// When its API server last answered, if it does not now.
	// +optional
	LastSeenTime *metav1.Time `json:"lastSeenTime,omitempty"`
}
