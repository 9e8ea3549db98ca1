package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// The names of the ports that nodes use among themselves, in pods and Services. Source: Strimzi.
const (
	ControllerPortName  = "tcp-ctrlplane"
	ReplicationPortName = "tcp-replication"
)

// Stretch has the inputs of nodes of a Kafka that is stretched over several Kubernetes clusters.
type Stretch struct {
	// Central is the id of the Kubernetes cluster of the Kafka object.
	Central string
	// Peers are where the ports of nodes can be reached from every Kubernetes cluster: what nodes advertise. Empty while addresses of the
	// first nodes are unknown.
	Peers Peers
	// Names are further names and addresses of nodes, for their certificates: those that nodes will advertise as soon as their certificates
	// fit.
	Names map[int32][]string
	// Ending reports that all nodes are in the Kubernetes cluster of the Kafka object again, and stay there. They are made as those of a
	// Kafka that is not stretched; those that have not been restarted yet are still reached where they were.
	Ending bool
}

// stretched reports whether nodes are made for several Kubernetes clusters.
func (c *cluster) stretched() bool { return c.Stretch != nil && !c.Stretch.Ending }

// Peers maps nodes and names of ports to endpoints.
type Peers map[int32]map[string]Endpoint

// PeersIn returns what a node advertises to other nodes by its ConfigMap, nil if it is not known.
func PeersIn(config *corev1.ConfigMap) (at map[string]Endpoint) {
	if config == nil || json.Unmarshal([]byte(config.Annotations[AnnotationPeers]), &at) != nil {
		return nil
	}
	return at
}

// NamesIn returns the names from the network provider in the certificate of a node by its ConfigMap, nil if they are not known.
func NamesIn(config *corev1.ConfigMap) (names []string) {
	if config == nil || json.Unmarshal([]byte(config.Annotations[AnnotationNames]), &names) != nil {
		return nil
	}
	return names
}

// id returns the id by which users name the Kubernetes cluster that a node runs in.
func (s *Stretch) id(n topology.Node) string {
	if n.Cluster == topology.Home {
		return s.Central
	}
	return n.Cluster
}

// Port is a port of a node's pod that other nodes and clients connect to.
type Port struct {
	Name string
	Port int32
}

// PeerPorts returns the ports of a node that have to be reached from other Kubernetes clusters.
func PeerPorts(kafka *v1.Kafka, n topology.Node) []Port {
	var ports []Port
	if n.Roles.Controller {
		ports = append(ports, Port{ControllerPortName, ControllerPort})
	}
	if n.Roles.Broker {
		ports = append(ports, Port{ReplicationPortName, ReplicationPort})
		for _, l := range kafka.Spec.Kafka.Listeners {
			if l.Type == v1.ListenerInternal {
				ports = append(ports, Port{PortName(l), l.Port})
			}
		}
	}
	return ports
}

// peer returns where other nodes and clients find a port of a node.
func (c *cluster) peer(n topology.Node, name string, port int32) Endpoint {
	if c.stretched() {
		if e, known := c.Stretch.Peers[n.ID][name]; known {
			return e
		}
	}
	return Endpoint{c.nodeHost(n), port}
}

// peerNames are the names and addresses of a node that its certificate is for if the Kafka is stretched.
func (c *cluster) peerNames(n topology.Node) []string {
	if c.Stretch == nil {
		return nil
	}
	var names []string
	for _, e := range c.Stretch.Peers[n.ID] {
		names = append(names, e.Host)
	}
	names = append(names, c.Stretch.Names[n.ID]...)
	slices.Sort(names)
	return names
}

// Bootstrap returns where operators find the brokers, as bootstrap.servers: the Service in one Kubernetes cluster, all brokers in several.
func Bootstrap(in Input) []string {
	c := &cluster{in}
	if !c.stretched() || len(c.Stretch.Peers) == 0 {
		return []string{fmt.Sprintf("%s.%s.svc:%d", c.bootstrapService(), c.Kafka.Namespace, ReplicationPort)}
	}
	var servers []string
	for _, n := range c.Topology.Brokers() {
		servers = append(servers, c.peer(n, ReplicationPortName, ReplicationPort).String())
	}
	return servers
}

// AnchorName names the ConfigMap that owns a Kafka's objects in another Kubernetes cluster than that of the Kafka object: Kubernetes'
// garbage collector deletes them with it.
func AnchorName(kafka string) string { return kafka + "-kafka-gc" }

// Entries of an anchor that others read: the name of the Kafka, and the id of its central Kubernetes cluster.
const (
	AnchorKafka   = "kafka-cluster"
	AnchorCentral = "central-cluster-id"
)

// ComponentAnchor is the value of strimzi.io/component-type on anchors.
const ComponentAnchor = "garbage-collector"

// Anchor returns the anchor for a Kubernetes cluster. Its name, labels and the data with dashes are those of the proposal of stretch
// clusters for Strimzi.
func Anchor(in Input, data map[string]string) *corev1.ConfigMap {
	c := &cluster{in}
	labels := c.labels("kafka", ComponentAnchor, nil)
	labels[labelApp] = "kafka"
	labels["strimzi.io/remote-cluster"] = in.At
	m := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: in.Kafka.Namespace, Name: AnchorName(in.Kafka.Name), Labels: labels},
		Data: map[string]string{
			"cluster-id": in.At, AnchorKafka: in.Kafka.Name, "namespace": in.Kafka.Namespace,
			"purpose":           "Garbage collection anchor for remote cluster resources",
			"managed-resources": "StrimziPodSet,ServiceAccount,Secret,ConfigMap,Service,ServiceExport,PersistentVolumeClaim",
		},
	}
	maps.Copy(m.Data, data)
	return m
}

// RecordName names the ConfigMap, beside the Kafka object, that has the known state of the other Kubernetes clusters.
func RecordName(kafka string) string { return kafka + "-kafka-stretch" }

// Record returns that ConfigMap.
func Record(in Input, data map[string]string) *corev1.ConfigMap {
	c := &cluster{in}
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: c.meta(RecordName(in.Kafka.Name), c.kafkaLabels(), nil), Data: data,
	}
}

// Planned completes an object that a network provider planned: its namespace, labels and owner are the operator's.
func Planned(in Input, o unstructured.Unstructured) *unstructured.Unstructured {
	c := &cluster{in}
	m := c.meta(o.GetName(), c.kafkaLabels(), nil)
	made := o.DeepCopy()
	made.SetNamespace(m.Namespace)
	labels := copied(made.GetLabels())
	maps.Copy(labels, m.Labels)
	made.SetLabels(labels)
	made.SetOwnerReferences(m.OwnerReferences)
	return made
}

// Copies returns the Secrets of the home Kubernetes cluster that another one needs too: what its nodes trust, what its clients trust, and
// the certificates of its nodes. The keys of CAs are never among them: the Secrets of CAs are public ones (pki.Public).
func Copies(in Input, secrets map[string]*corev1.Secret) []*corev1.Secret {
	c := &cluster{in}
	names := []string{c.name("cluster-ca-cert"), c.name("clients-ca-cert"), c.name("trustbundle")}
	for _, n := range c.Topology.In(c.At) {
		names = append(names, c.podName(n))
	}
	var copies []*corev1.Secret
	for _, name := range names {
		if s := secrets[name]; s != nil {
			copies = append(copies, c.copyOf(s))
		}
	}
	return copies
}

func (c *cluster) copyOf(s *corev1.Secret) *corev1.Secret {
	made := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: c.meta(s.Name, copied(s.Labels), nil), Type: s.Type, Data: s.Data,
	}
	for key, value := range s.Annotations {
		if strings.HasPrefix(key, "strimzi.io/") {
			made.Annotations = with(made.Annotations, key, value)
		}
	}
	return made
}
