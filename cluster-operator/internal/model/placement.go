package model

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/placement"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// Placement returns the facts that a node's pod waits for.
func Placement(kafka *v1.Kafka, n topology.Node) []placement.Fact {
	if !n.Roles.Broker || kafka.Spec == nil {
		return nil
	}
	var facts []placement.Fact
	if r := rackOf(kafka); r != nil && r.Type != v1.RackEnvironmentVariable {
		facts = append(facts, placement.Fact{File: "rack", Annotation: placement.AnnotationRack, Label: r.TopologyKey})
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

func addressFact(l v1.Listener) placement.Fact {
	f := placement.Fact{File: "address", Annotation: placement.AnnotationAddress, AddressType: configuration(l).PreferredNodePortAddressType}
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

func (c *cluster) placement(n topology.Node) []placement.Fact { return Placement(c.Kafka, n) }

// placementVolume shows a pod its own annotations. Unlike environment variables they can be set after it was created.
func placementVolume(facts []placement.Fact) corev1.Volume {
	source := &corev1.DownwardAPIVolumeSource{}
	for _, f := range facts {
		source.Items = append(source.Items, corev1.DownwardAPIVolumeFile{
			Path: f.File, FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + f.Annotation + "']"}})
	}
	return corev1.Volume{Name: "placement", VolumeSource: corev1.VolumeSource{DownwardAPI: source}}
}
