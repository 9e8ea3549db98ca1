package v1

// The types of Authorization.
const (
	// AuthorizationSimple uses Kafka's own ACLs.
	AuthorizationSimple = "simple"
	// AuthorizationCustom is by a class of the user's.
	AuthorizationCustom = "custom"
	// AuthorizationOPA was removed from v1 and is not supported.
	AuthorizationOPA = "opa"
	// AuthorizationKeycloak was removed from v1 and is not supported.
	AuthorizationKeycloak = "keycloak"
)

// Authorization configures which clients may do what.
type Authorization struct {
	// simple or custom. opa and keycloak, of v1beta2, are not supported.
	// +kubebuilder:validation:Enum=simple;custom;opa;keycloak
	Type string `json:"type"`

	// The principals that may do everything, such as CN=admin.
	// +optional
	// +listType=atomic
	SuperUsers []string `json:"superUsers,omitempty"`

	// For custom: the class.
	// +optional
	AuthorizerClass string `json:"authorizerClass,omitempty"`

	// For custom: whether the class serves the requests of Kafka's admin API about ACLs; false when absent.
	// +optional
	SupportsAdminAPI *bool `json:"supportsAdminApi,omitempty"`

	// Not supported. In v1beta2 only.
	ServerAuthorization `json:",inline"`
}

// The types of Quotas.
const (
	// QuotasKafka is by Kafka's own quotas.
	QuotasKafka = "kafka"
	// QuotasStrimzi is by Strimzi's plugin.
	QuotasStrimzi = "strimzi"
)

// Quotas are limits for clients.
type Quotas struct {
	// kafka or strimzi.
	// +kubebuilder:validation:Enum=kafka;strimzi
	Type string `json:"type"`

	// How many bytes a second a client may send to a broker. For strimzi: all clients together.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ProducerByteRate *int64 `json:"producerByteRate,omitempty"`

	// How many bytes a second a client may fetch from a broker. For strimzi: all clients together.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ConsumerByteRate *int64 `json:"consumerByteRate,omitempty"`

	// For kafka: how much of a broker's threads a client may use, in percent of one thread.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RequestPercentage *int32 `json:"requestPercentage,omitempty"`

	// For kafka: how many partitions a second a client may create, delete or add.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ControllerMutationRate *float64 `json:"controllerMutationRate,omitempty"`

	// For strimzi: how many bytes each volume must have left for producers to be served.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinAvailableBytesPerVolume *int64 `json:"minAvailableBytesPerVolume,omitempty"`

	// For strimzi: which part of itself each volume must have left for producers to be served.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1
	MinAvailableRatioPerVolume *float64 `json:"minAvailableRatioPerVolume,omitempty"`

	// For strimzi: the principals that are not limited.
	// +optional
	// +listType=atomic
	ExcludedPrincipals []string `json:"excludedPrincipals,omitempty"`
}

// The types of Rack.
const (
	// RackTopologyLabel takes the rack from a label of the Kubernetes node. It is the default.
	RackTopologyLabel = "topology-label"
	// RackEnvironmentVariable takes the rack from an environment variable of the container.
	RackEnvironmentVariable = "environment-variable"
)

// Rack configures how a broker determines its rack.
//
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type != 'topology-label') || (has(self.topologyKey) && size(self.topologyKey) > 0)",message="topologyKey property is required"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'environment-variable' || (has(self.envVarName) && size(self.envVarName) > 0)",message="envVarName property is required"
type Rack struct {
	// topology-label, which is the default, or environment-variable.
	// +optional
	// +kubebuilder:validation:Enum=topology-label;environment-variable
	Type string `json:"type,omitempty"`

	// For topology-label: the label of the Kubernetes node, such as topology.kubernetes.io/zone.
	// +optional
	TopologyKey string `json:"topologyKey,omitempty"`

	// For environment-variable: the variable of the container.
	// +optional
	EnvVarName string `json:"envVarName,omitempty"`
}
