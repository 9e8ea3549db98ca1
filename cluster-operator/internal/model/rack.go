package model

import (
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// rackOf returns what the racks of brokers are made from, nil if nothing is asked for.
func rackOf(kafka *v1.Kafka) *v1.Rack {
	if r := kafka.Spec.Kafka.Rack; r != nil {
		return r
	}
	if kafka.Annotations[v1.AnnotationStretch] == "true" && kafka.Annotations[v1.AnnotationStretchRack] != "" {
		return &v1.Rack{TopologyKey: corev1.LabelTopologyZone}
	}
	return nil
}

// rackSource is where a node finds its rack: in a file that follows the pod's annotation, or in its environment.
func rackSource(r *v1.Rack) string {
	if r.Type == v1.RackEnvironmentVariable {
		return "${strimzienv:" + r.EnvVarName + "}"
	}
	return inFile(placementDir, "rack")
}

// rackPrefix tells racks of the same name in several Kubernetes clusters apart, where the user wants that.
func (c *cluster) rackPrefix(n topology.Node) string {
	if !c.stretched() || c.Kafka.Annotations[v1.AnnotationStretchRack] != v1.StretchRackAliasZone {
		return ""
	}
	return c.Stretch.id(n) + "-"
}
