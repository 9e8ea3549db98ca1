package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kafka-operators/kafka-operators/api/decode"
)

// Kafka declares one Kafka cluster. Its nodes are declared by the KafkaNodePools that carry the label strimzi.io/cluster with its name.
//
// The schema is that of Strimzi, v1 and v1beta2 in one. The spec has no defaults: each default that a field names is the operator's.
// Fields that the operator does not support are stored, so that it can report them by name (UnsupportedField).
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
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
	Spec *KafkaSpec `json:"spec,omitempty"`
	// The status of the Kafka cluster, written by the cluster operator only. Until it is, observedGeneration is -1, so that whoever
	// waits for the object sees that it was not dealt with.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status KafkaStatus `json:"status,omitempty,omitzero"`

	// Invalid is why the specification or the status could not be decoded, and is empty; see UnmarshalJSON.
	Invalid string `json:"-"`
}

// UnmarshalJSON decodes the object as usual. A specification or status that can't be decoded is left empty, except for conditions, and
// Invalid is why: an API server stores such objects under Strimzi's CustomResourceDefinition. Never write one back as a whole.
func (k *Kafka) UnmarshalJSON(data []byte) (err error) {
	type plain Kafka // without this method
	k.Invalid, err = decode.Object(data, (*plain)(k), &k.Spec, &k.Status)
	return err
}

// KafkaSpec is the desired state of a Kafka cluster.
type KafkaSpec struct {
	// The Kafka cluster itself.
	Kafka KafkaClusterSpec `json:"kafka"`

	// The operators for topics and users of this cluster. Without it, none is deployed.
	// +optional
	EntityOperator *EntityOperatorSpec `json:"entityOperator,omitempty"`

	// The CA that signs the certificates of the nodes.
	// +optional
	ClusterCa *CertificateAuthority `json:"clusterCa,omitempty"`

	// The CA that signs the certificates of clients.
	// +optional
	ClientsCa *CertificateAuthority `json:"clientsCa,omitempty"`

	// When maintenance, such as the renewal of certificates, may be done: cron expressions as Quartz reads them (seconds first), in GMT.
	// Always when empty.
	// +optional
	// +listType=atomic
	MaintenanceTimeWindows []string `json:"maintenanceTimeWindows,omitempty"`

	// Cruise Control. Not supported.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	CruiseControl *runtime.RawExtension `json:"cruiseControl,omitempty"`

	// Kafka Exporter. Not supported.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	KafkaExporter *runtime.RawExtension `json:"kafkaExporter,omitempty"`

	// ZooKeeper. Not supported: Kafka runs with KRaft only. In v1beta2 only.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Zookeeper *runtime.RawExtension `json:"zookeeper,omitempty"`

	// JMXTrans. Not supported. In v1beta2 only.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	JmxTrans *runtime.RawExtension `json:"jmxTrans,omitempty"`
}

// KafkaClusterSpec is the desired state of the nodes of a Kafka cluster, whichever pool they belong to.
type KafkaClusterSpec struct {
	// The version of Kafka. Defaults to the latest one that the operator supports.
	// +optional
	Version string `json:"version,omitempty"`

	// The metadata version of the cluster. Defaults to the one that belongs to the version.
	// +optional
	MetadataVersion string `json:"metadataVersion,omitempty"`

	// The container image of the nodes. Defaults to the operator's image for the version.
	// +optional
	Image string `json:"image,omitempty"`

	// The listeners of the brokers.
	// +kubebuilder:validation:MinItems=1
	// +listType=atomic
	Listeners []Listener `json:"listeners"`

	// The configuration of the nodes, by Kafka's names. What the operator sets itself (listeners, log.dirs and so on) is ignored.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Config map[string]ConfigValue `json:"config,omitzero"`

	// Which clients may do what. Without it, every client may do everything.
	// +optional
	Authorization *Authorization `json:"authorization,omitempty"`

	// How a broker knows in which rack it is.
	// +optional
	Rack *Rack `json:"rack,omitempty"`

	// The image of the init container that reads labels and addresses of Kubernetes nodes. Defaults to the operator's.
	// +optional
	BrokerRackInitImage string `json:"brokerRackInitImage,omitempty"`

	// When a node counts as hung and is restarted by the kubelet.
	// +optional
	LivenessProbe *Probe `json:"livenessProbe,omitempty"`

	// When a node counts as ready.
	// +optional
	ReadinessProbe *Probe `json:"readinessProbe,omitempty"`

	// The options of Java, for the pools that set none.
	// +optional
	JvmOptions *JvmOptions `json:"jvmOptions,omitempty"`

	// Access by JMX.
	// +optional
	JmxOptions *JmxOptions `json:"jmxOptions,omitempty"`

	// How the metrics of the nodes are exposed.
	// +optional
	MetricsConfig *MetricsConfig `json:"metricsConfig,omitempty"`

	// What the nodes log.
	// +optional
	Logging *Logging `json:"logging,omitempty"`

	// Limits for clients.
	// +optional
	Quotas *Quotas `json:"quotas,omitempty"`

	// What the generated Kubernetes objects carry beyond what they need.
	// +optional
	Template *KafkaClusterTemplate `json:"template,omitempty"`

	// Tiered storage. Not supported.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	TieredStorage *runtime.RawExtension `json:"tieredStorage,omitempty"`

	// CPU and memory of the nodes, for the pools that set none. In v1beta2 only.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// Ignored: KafkaNodePools have the number of nodes. In v1beta2 only.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Ignored: KafkaNodePools have the storage of nodes. In v1beta2 only.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Storage *runtime.RawExtension `json:"storage,omitempty"`
}

// CertificateExpirationPolicy is the action of the operator when the certificate of a CA is about to expire.
type CertificateExpirationPolicy string

const (
	// RenewCertificate makes a new certificate for the same key. It is the default.
	RenewCertificate CertificateExpirationPolicy = "renew-certificate"
	// ReplaceKey makes a new key and a certificate for it.
	ReplaceKey CertificateExpirationPolicy = "replace-key"
)

// CertificateAuthority configures how a CA is created and renewed.
type CertificateAuthority struct {
	// Who issues certificates. Only strimzi, the operator itself, is supported, which is also what is meant when absent.
	// +optional
	Type string `json:"type,omitempty"`

	// How cert-manager issues certificates. Not supported.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	CertManager *runtime.RawExtension `json:"certManager,omitempty"`

	// Whether the operator makes the CA; true when absent. With false the user provides its Secrets before the Kafka object.
	// +optional
	GenerateCertificateAuthority *bool `json:"generateCertificateAuthority,omitempty"`

	// Whether the Secrets of the CA are deleted with the Kafka object; true when absent.
	// +optional
	GenerateSecretOwnerReference *bool `json:"generateSecretOwnerReference,omitempty"`

	// For how many days a new certificate is valid; 365 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ValidityDays *int32 `json:"validityDays,omitempty"`

	// How many days before its end a certificate is renewed; 30 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	RenewalDays *int32 `json:"renewalDays,omitempty"`

	// What is done when the certificate of the CA is about to expire; renew-certificate when absent.
	// +optional
	// +kubebuilder:validation:Enum=renew-certificate;replace-key
	CertificateExpirationPolicy CertificateExpirationPolicy `json:"certificateExpirationPolicy,omitempty"`
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
