package model

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// Annotations of a running pod that say where it was placed. A node that needs one waits for it: see docs/decisions/placement.md.
const (
	// AnnotationRack is the value of the rack's topology label on the pod's Kubernetes node.
	AnnotationRack = "kafka-operators.io/rack"
	// AnnotationAddress is the address of the pod's Kubernetes node, for node ports. A listener that prefers a type of address has an
	// annotation with that type behind a dash, in lower case.
	AnnotationAddress = "kafka-operators.io/node-address"
)

// Fact is what a pod needs to know about the Kubernetes node that it runs on.
type Fact struct {
	// File is the file that Kafka reads it from.
	File string
	// Annotation is the pod's annotation that the file follows.
	Annotation string
	// Label is the node's label that holds it, and AddressType the preferred type of address, for an address.
	Label       string
	AddressType corev1.NodeAddressType
}

// Placement returns the facts that a node's pod waits for.
func Placement(kafka *v1.Kafka, n topology.Node) []Fact {
	if !n.Roles.Broker || kafka.Spec == nil {
		return nil
	}
	var facts []Fact
	if r := kafka.Spec.Kafka.Rack; r != nil && r.Type != v1.RackEnvironmentVariable {
		facts = append(facts, Fact{File: "rack", Annotation: AnnotationRack, Label: r.TopologyKey})
	}
	for _, l := range kafka.Spec.Kafka.Listeners {
		if l.Type == v1.ListenerNodePort {
			if f := addressFact(l); !slices.Contains(facts, f) {
				facts = append(facts, f)
			}
		}
	}
	return facts
}

func addressFact(l v1.Listener) Fact {
	f := Fact{File: "address", Annotation: AnnotationAddress, AddressType: configuration(l).PreferredNodePortAddressType}
	if f.AddressType != "" {
		suffix := "-" + strings.ToLower(string(f.AddressType))
		f.File += suffix
		f.Annotation += suffix
	}
	return f
}

// NodePortHost is what a broker advertises as its host on a node port, if the user does not name one: the address of the Kubernetes node
// that it runs on.
func NodePortHost(l v1.Listener) string { return inFile(placementDir, addressFact(l).File) }

func (c *cluster) placement(n topology.Node) []Fact { return Placement(c.Kafka, n) }

// placementVolume shows a pod its own annotations. Unlike environment variables they can be set after it was created.
func placementVolume(facts []Fact) corev1.Volume {
	source := &corev1.DownwardAPIVolumeSource{}
	for _, f := range facts {
		source.Items = append(source.Items, corev1.DownwardAPIVolumeFile{
			Path: f.File, FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + f.Annotation + "']"}})
	}
	return corev1.Volume{Name: "placement", VolumeSource: corev1.VolumeSource{DownwardAPI: source}}
}

// addressOrder is the order in which addresses of a Kubernetes node are tried. Source: Strimzi.
var addressOrder = []corev1.NodeAddressType{corev1.NodeExternalDNS, corev1.NodeExternalIP, corev1.NodeInternalDNS, corev1.NodeInternalIP,
	corev1.NodeHostName}

// Of returns the fact about a Kubernetes node, or "" if the node does not have it.
func (f Fact) Of(node *corev1.Node) string {
	if f.Label != "" {
		return node.Labels[f.Label]
	}
	return NodeAddress(node, f.AddressType)
}

// NodeAddress returns the address of a Kubernetes node that is preferred, else the first by Strimzi's order, else "".
func NodeAddress(node *corev1.Node, preferred corev1.NodeAddressType) string {
	for _, want := range append([]corev1.NodeAddressType{preferred}, addressOrder...) {
		for _, a := range node.Status.Addresses {
			if a.Type == want {
				return a.Address
			}
		}
	}
	return ""
}

// What describes the fact for users.
func (f Fact) What() string {
	if f.Label != "" {
		return "label " + f.Label
	}
	return "address"
}
