package v1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ListenerType is the way by which clients reach a listener.
type ListenerType string

const (
	// ListenerInternal is for clients inside of the Kubernetes cluster, by the addresses of the pods.
	ListenerInternal ListenerType = "internal"
	// ListenerClusterIP is for clients inside of the Kubernetes cluster, by one Service for each broker.
	ListenerClusterIP ListenerType = "cluster-ip"
	// ListenerNodePort is reached by ports of the Kubernetes nodes.
	ListenerNodePort ListenerType = "nodeport"
	// ListenerLoadBalancer is reached by load balancers.
	ListenerLoadBalancer ListenerType = "loadbalancer"
	// ListenerIngress is reached by Ingresses that pass TLS through.
	ListenerIngress ListenerType = "ingress"
	// ListenerRoute is reached by OpenShift's Routes.
	ListenerRoute ListenerType = "route"
	// ListenerTLSRoute is reached by TLSRoutes of the Gateway API.
	ListenerTLSRoute ListenerType = "tlsroute"
)

// Listener is a port on which the brokers serve clients.
type Listener struct {
	// The name of the listener, unique in the cluster.
	// +kubebuilder:validation:Pattern=`^[a-z0-9]{1,11}$`
	Name string `json:"name"`

	// The port inside of the pods, unique in the cluster: 9092 or above, but not 9404 and 9999.
	// +kubebuilder:validation:Minimum=9092
	Port int32 `json:"port"`

	// The way by which clients reach the listener.
	// +kubebuilder:validation:Enum=internal;route;tlsroute;loadbalancer;nodeport;ingress;cluster-ip
	Type ListenerType `json:"type"`

	// Whether clients connect by TLS.
	TLS bool `json:"tls"`

	// How clients authenticate. Without it, they remain anonymous.
	// +optional
	Authentication *ListenerAuthentication `json:"authentication,omitempty"`

	// Which peers may connect, enforced by a NetworkPolicy. All of them when empty.
	// +optional
	// +listType=atomic
	NetworkPolicyPeers []networkingv1.NetworkPolicyPeer `json:"networkPolicyPeers,omitempty"`

	// More about the listener.
	// +optional
	Configuration *ListenerConfiguration `json:"configuration,omitempty"`
}

// The types of ListenerAuthentication.
const (
	// AuthenticationTLS is by client certificates that the clients CA signed.
	AuthenticationTLS = "tls"
	// AuthenticationScramSHA512 is by SASL SCRAM-SHA-512.
	AuthenticationScramSHA512 = "scram-sha-512"
	// AuthenticationCustom configures authentication through listenerConfig.
	AuthenticationCustom = "custom"
	// AuthenticationOAuth was removed from v1 and is not supported.
	AuthenticationOAuth = "oauth"
)

// ListenerAuthentication configures how clients of a listener authenticate.
type ListenerAuthentication struct {
	// tls, scram-sha-512 or custom. oauth, of v1beta2, is not supported.
	// +kubebuilder:validation:Enum=tls;scram-sha-512;custom;oauth
	Type string `json:"type"`

	// For custom: whether the listener uses SASL.
	// +optional
	SASL *bool `json:"sasl,omitempty"`

	// For custom: the configuration of the listener, by Kafka's names without their prefix listener.name.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	ListenerConfig map[string]ConfigValue `json:"listenerConfig,omitzero"`

	// For custom. Not supported: mount Secrets by template.pod.volumes. In v1beta2 only.
	// +optional
	// +listType=atomic
	Secrets []SecretKey `json:"secrets,omitempty"`

	// Not supported. In v1beta2 only.
	OAuthAuthentication `json:",inline"`
}

// ListenerConfiguration has further settings of a listener. The operator checks which field applies to which type of listener.
type ListenerConfiguration struct {
	// The listener's own certificate, in a Secret, instead of one that the cluster CA signs.
	// +optional
	BrokerCertChainAndKey *CertAndKeySecret `json:"brokerCertChainAndKey,omitempty"`

	// The class of the Ingresses or load balancers.
	// +optional
	Class string `json:"class,omitempty"`

	// Whether traffic from outside may take another hop: Cluster (the default) or Local.
	// +optional
	// +kubebuilder:validation:Enum=Local;Cluster
	ExternalTrafficPolicy corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`

	// The CIDR ranges from which load balancers take connections.
	// +optional
	// +listType=atomic
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitempty"`

	// Finalizers of the Services of load balancers.
	// +optional
	// +listType=atomic
	Finalizers []string `json:"finalizers,omitempty"`

	// The IP family policy of the Services.
	// +optional
	// +kubebuilder:validation:Enum=SingleStack;PreferDualStack;RequireDualStack
	IPFamilyPolicy corev1.IPFamilyPolicy `json:"ipFamilyPolicy,omitempty"`

	// The IP families of the Services.
	// +optional
	// +kubebuilder:validation:items:Enum=IPv4;IPv6
	// +listType=atomic
	IPFamilies []corev1.IPFamily `json:"ipFamilies,omitempty"`

	// Whether to create a load balancer for bootstrapping, in addition to those of the brokers; true when absent.
	// +optional
	CreateBootstrapService *bool `json:"createBootstrapService,omitempty"`

	// Whether addresses inside of Kubernetes end in its DNS domain, such as .cluster.local.
	// +optional
	UseServiceDNSDomain *bool `json:"useServiceDnsDomain,omitempty"`

	// How many connections a broker takes on this listener.
	// +optional
	MaxConnections *int32 `json:"maxConnections,omitempty"`

	// How many new connections a broker takes on this listener in a second.
	// +optional
	MaxConnectionCreationRate *int32 `json:"maxConnectionCreationRate,omitempty"`

	// Which address of its Kubernetes node a broker advertises. Defaults to the first that exists of ExternalDNS, ExternalIP, InternalDNS,
	// InternalIP, Hostname.
	// +optional
	// +kubebuilder:validation:Enum=ExternalIP;ExternalDNS;InternalIP;InternalDNS;Hostname
	PreferredNodePortAddressType corev1.NodeAddressType `json:"preferredNodePortAddressType,omitempty"`

	// Whether the Services also lead to nodes that are not ready.
	// +optional
	PublishNotReadyAddresses *bool `json:"publishNotReadyAddresses,omitempty"`

	// Whether the Services of load balancers get node ports; true when absent.
	// +optional
	AllocateLoadBalancerNodePorts *bool `json:"allocateLoadBalancerNodePorts,omitempty"`

	// The hosts of the brokers' Ingresses or Routes; {nodeId} and {nodePodName} are replaced.
	// +optional
	HostTemplate string `json:"hostTemplate,omitempty"`

	// The hosts that the brokers advertise; {nodeId} and {nodePodName} are replaced.
	// +optional
	AdvertisedHostTemplate string `json:"advertisedHostTemplate,omitempty"`

	// The ports that the brokers advertise: numbers, + - * and parentheses, where {nodeId} is replaced.
	// +optional
	AdvertisedPortTemplate string `json:"advertisedPortTemplate,omitempty"`

	// Labels of the brokers' Services, Ingresses or Routes; {nodeId} and {nodePodName} are replaced in the values.
	// +optional
	PerBrokerLabelsTemplate map[string]string `json:"perBrokerLabelsTemplate,omitempty"`

	// Annotations of the brokers' Services, Ingresses or Routes; {nodeId} and {nodePodName} are replaced in the values.
	// +optional
	PerBrokerAnnotationsTemplate map[string]string `json:"perBrokerAnnotationsTemplate,omitempty"`

	// The Gateways of TLSRoutes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:XPreserveUnknownFields
	ParentRefs []runtime.RawExtension `json:"parentRefs,omitempty"`

	// Bootstrapping.
	// +optional
	Bootstrap *ListenerBootstrap `json:"bootstrap,omitempty"`

	// Single brokers.
	// +optional
	// +listType=atomic
	Brokers []ListenerBroker `json:"brokers,omitempty"`
}

// ListenerBootstrap configures the bootstrap address of a listener.
type ListenerBootstrap struct {
	// More names for the certificates of the nodes.
	// +optional
	// +listType=atomic
	AlternativeNames []string `json:"alternativeNames,omitempty"`

	// The host of the Ingress or Route.
	// +optional
	Host string `json:"host,omitempty"`

	// The node port of the Service.
	// +optional
	NodePort *int32 `json:"nodePort,omitempty"`

	// The address of the load balancer, if the platform lets one ask for it.
	// +optional
	LoadBalancerIP string `json:"loadBalancerIP,omitempty"`

	// Annotations of the Service, Ingress or Route.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// Labels of the Service, Ingress or Route.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// The external addresses of the Service.
	// +optional
	// +listType=atomic
	ExternalIPs []string `json:"externalIPs,omitempty"`
}

// ListenerBroker configures the address of one broker.
type ListenerBroker struct {
	// The node id of the broker.
	Broker int32 `json:"broker"`

	// The host that the broker advertises.
	// +optional
	AdvertisedHost string `json:"advertisedHost,omitempty"`

	// The port that the broker advertises.
	// +optional
	AdvertisedPort *int32 `json:"advertisedPort,omitempty"`

	// The host of the Ingress or Route.
	// +optional
	Host string `json:"host,omitempty"`

	// The node port of the Service.
	// +optional
	NodePort *int32 `json:"nodePort,omitempty"`

	// The address of the load balancer, if the platform lets one ask for it.
	// +optional
	LoadBalancerIP string `json:"loadBalancerIP,omitempty"`

	// Annotations of the Service, Ingress or Route.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// Labels of the Service, Ingress or Route.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// The external addresses of the Service.
	// +optional
	// +listType=atomic
	ExternalIPs []string `json:"externalIPs,omitempty"`
}

// CertAndKeySecret is a certificate and its key in a Secret.
type CertAndKeySecret struct {
	// The name of the Secret.
	SecretName string `json:"secretName"`

	// The key of the Secret's data that holds the certificate, or chain of certificates.
	Certificate string `json:"certificate"`

	// The key of the Secret's data that holds the private key.
	Key string `json:"key"`
}
