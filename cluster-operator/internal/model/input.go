package model

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// Input determines the desired objects.
type Input struct {
	// Kafka is the user's object. Its uid owns what is made.
	Kafka *v1.Kafka
	// Pools are the KafkaNodePools by name. A pool that was removed while nodes of it run is missing.
	Pools map[string]*v1.KafkaNodePool
	// Sets are the live StrimziPodSets by name.
	Sets map[string]*core.StrimziPodSet
	// Topology is which nodes there are.
	Topology topology.Topology
	// Cordon are the brokers and volumes that get no new replicas.
	Cordon Cordon
	// ClusterID is the Kafka cluster's id, which its volumes are formatted with.
	ClusterID string
	// Version is the Kafka version, such as 4.3.1, and MetadataVersion the metadata.version that storage is formatted with, such as 4.3-IV0.
	Version, MetadataVersion string
	// Endpoints are where nodes can be reached.
	Endpoints Endpoints
	// Certificates are the annotations of pods about the PKI.
	Certificates Certificates
	// Logging and Metrics hold the text of ConfigMaps that the Kafka object refers to; "" without a reference.
	Logging, Metrics string
	// ApplyUpdates reports that nodes get what this version of the operator makes differently, although their user changed nothing.
	ApplyUpdates bool
	// Settings are the operator's own.
	Settings Settings

	// At is the Kubernetes cluster whose objects are wanted, and Owner owns them there.
	At    string
	Owner metav1.OwnerReference
	// Stretch is nil for a Kafka in one Kubernetes cluster.
	Stretch *Stretch
}

// Settings are the operator's settings that objects depend on.
type Settings struct {
	// KafkaImages maps each supported version to its image: STRIMZI_KAFKA_IMAGES.
	KafkaImages map[string]string
	// TopicOperatorImage is the image of the topic operator's Deployment: STRIMZI_DEFAULT_TOPIC_OPERATOR_IMAGE.
	TopicOperatorImage string
	// ExporterImage is the image that brings the JMX exporter to nodes; "" leaves them without: STRIMZI_JMX_EXPORTER_IMAGE.
	ExporterImage string
	// ImagePullPolicy is the pull policy of all containers; "" leaves it to Kubernetes.
	ImagePullPolicy corev1.PullPolicy
	// ImagePullSecrets are used by all pods whose template names none.
	ImagePullSecrets []corev1.LocalObjectReference
	// RollerAccount is the roller's ServiceAccount, as namespace/name; "" gives it no rights.
	RollerAccount string
	// DNSDomain is the Kubernetes cluster's: KUBERNETES_SERVICE_DNS_DOMAIN.
	DNSDomain string
	// NetworkPolicies and DisruptionBudgets tell whether these are made.
	NetworkPolicies, DisruptionBudgets bool
	// Restricted keeps pods to the Pod Security Standard of that name where their templates say nothing: STRIMZI_POD_SECURITY_PROVIDER_CLASS.
	Restricted bool
	// OperatorNamespace is where the operators run, in all Kubernetes clusters. OperatorNamespaceLabels select it, for network policies.
	OperatorNamespace       string
	OperatorNamespaceLabels map[string]string
	// ExcludedLabels reports whether a label of the user's objects is not copied: STRIMZI_LABELS_EXCLUSION_PATTERN. Nil excludes none.
	ExcludedLabels func(key string) bool
}

// Certificates are the facts about the PKI that pods depend on.
type Certificates struct {
	// PodAnnotations are what each pod carries of the PKI: generations of CAs, and the thumbprint of its certificate. A pod that carries
	// others must be restarted.
	PodAnnotations map[string]map[string]string
	// ListenerHash maps a listener to the thumbprint of the certificate that the user gave it.
	ListenerHash map[string]string
}

// Endpoint is a host and a port.
type Endpoint struct {
	Host string
	Port int32
}

// String returns host:port, with an IPv6 address in brackets. A host may also be a reference, which has colons as well.
func (e Endpoint) String() string {
	if ip, err := netip.ParseAddr(e.Host); err == nil && ip.Is6() {
		return fmt.Sprintf("[%s]:%d", e.Host, e.Port)
	}
	return fmt.Sprintf("%s:%d", e.Host, e.Port)
}

// Endpoints are the addresses that nodes advertise.
type Endpoints struct {
	// Listeners maps a listener's name and a node to what the node advertises there. A node is started without a listener that is missing.
	Listeners map[string]map[int32]Endpoint
	// Bootstrap maps a listener's name to where clients begin.
	Bootstrap map[string][]Endpoint
	// Balancers maps the name of a listener and a Kubernetes cluster to the load balancer there where clients begin.
	Balancers map[string]map[string]Endpoint
	// Waiting maps a listener's name to what it waits for.
	Waiting map[string]string
	// Delayed maps a node that is not started yet to what it waits for.
	Delayed map[int32]string
	// Replaced maps a listener's name to the nodes that run without it, and with another one that they are to lose: another type of it, or
	// one with another name.
	Replaced map[string][]int32
	// Keep are running nodes whose manifests and certificates stay as they are while an address of theirs is unknown: their ConfigMap is
	// gone, and with it what they advertised, or they are to lose a listener that they run with.
	Keep map[int32]bool
}

// cluster is the input with what is derived from it.
type cluster struct {
	Input
}

// spec returns the part of the Kafka object that is about nodes.
func (c *cluster) spec() *v1.KafkaClusterSpec { return &c.Kafka.Spec.Kafka }

// listeners returns the listeners that a node is started with, in the order of the spec: those whose address it knows.
func (c *cluster) listeners(n topology.Node) []v1.Listener {
	if !n.Roles.Broker {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.spec().Listeners), func(l v1.Listener) bool {
		_, known := c.Endpoints.Listeners[l.Name][n.ID]
		return !known
	})
}

// The names of generated objects, all Strimzi's.
func (c *cluster) name(suffix string) string      { return c.Kafka.Name + "-" + suffix }
func (c *cluster) bootstrapService() string       { return BootstrapService(c.Kafka.Name) }
func (c *cluster) brokersService() string         { return BrokersService(c.Kafka.Name) }
func (c *cluster) podName(n topology.Node) string { return c.Topology.PodName(n) }
func (c *cluster) serviceAccount() string         { return c.name("kafka") }
func (c *cluster) listenerBootstrap(l v1.Listener) string {
	return ListenerBootstrapService(c.Kafka.Name, l)
}

// BootstrapService names the Service of all brokers' internal listeners.
func BootstrapService(kafka string) string { return kafka + "-kafka-bootstrap" }

// BrokersService names the headless Service, which gives each node its own DNS name.
func BrokersService(kafka string) string { return kafka + "-kafka-brokers" }

// firstExternal reports whether a listener keeps the names that it had in Strimzi's first API.
func firstExternal(l v1.Listener) bool { return l.Name == "external" && l.Port == 9094 }

// ListenerBootstrapService names the Service that clients of a listener begin with.
func ListenerBootstrapService(kafka string, l v1.Listener) string {
	if firstExternal(l) {
		return kafka + "-kafka-external-bootstrap"
	}
	return kafka + "-kafka-" + l.Name + "-bootstrap"
}

// ListenerNodeService names the Service of one node for a listener.
func ListenerNodeService(kafka string, l v1.Listener, n topology.Node) string {
	if firstExternal(l) {
		return fmt.Sprintf("%s-%s-%d", kafka, n.Pool, n.ID)
	}
	return fmt.Sprintf("%s-%s-%s-%d", kafka, n.Pool, l.Name, n.ID)
}

// ListenerID is the name of a listener in Kafka's configuration, such as TLS-9093.
func ListenerID(l v1.Listener) string { return strings.ToUpper(fmt.Sprintf("%s-%d", l.Name, l.Port)) }
