package validate

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// The reasons of conditions of a Kafka that can't be stretched, which are the codes of their rules as well. Source: the proposal of stretch
// clusters for Strimzi.
const (
	ReasonOperatorNotConfigured    = "OperatorNotConfigured"
	ReasonMissingStretchAnnotation = "MissingStretchAnnotation"
	ReasonMissingTargetCluster     = "MissingTargetCluster"
	ReasonInvalidTargetCluster     = "InvalidTargetCluster"
	// ReasonTargetClusterChangeForbidden is not in the proposal.
	ReasonTargetClusterChangeForbidden = "TargetClusterChangeForbidden"
	// ReasonReplicationTopology is not in the proposal. It is the reason of a Warning.
	ReasonReplicationTopology = "ReplicationTopology"
)

// Clusters are the ids of the Kubernetes clusters that pools can be put in.
type Clusters struct {
	// Central is the one that the operator runs in: STRIMZI_CENTRAL_CLUSTER_ID.
	Central string
	// Remotes are the others: STRIMZI_REMOTE_KUBE_CONFIG.
	Remotes []string
	// Former are those that are not configured any more, and have nodes of the Kafka: these count as unreachable, not as wrong.
	Former []string
}

// known reports whether a pool may name a cluster.
func (c Clusters) known(id string) bool {
	return slices.Contains(c.ids(), id) || slices.Contains(c.Former, id)
}

// ids returns the configured ids, the central cluster's first.
func (c Clusters) ids() []string {
	return append([]string{c.Central}, slices.Sorted(slices.Values(c.Remotes))...)
}

// stretch checks that the Kafka object, all its pools and the operator agree on whether the Kafka is stretched over several Kubernetes
// clusters.
func (f *findings) stretch() {
	var with, without, unknown []string
	for _, p := range f.Pools { // sorted by name
		target := p.Annotations[v1.AnnotationTargetCluster]
		switch {
		case target == "":
			without = append(without, p.Name)
		case f.Clusters != nil && !f.Clusters.known(target):
			unknown = append(unknown, target)
			fallthrough
		default:
			with = append(with, p.Name)
		}
	}
	slices.Sort(unknown)
	unknown = slices.Compact(unknown)
	stretched := f.Kafka.Annotations[v1.AnnotationStretch] == "true"
	switch {
	case !stretched && len(with) == 0:
	case f.Clusters == nil:
		named := ""
		if !stretched { // which the message does not explain
			named = ". These node pools have stretch cluster annotations: " + strings.Join(with, ", ")
		}
		f.fail(ReasonOperatorNotConfigured, ReasonOperatorNotConfigured, "%s%s", NotConfigured(f.Kafka.Name), named)
	case !stretched:
		f.fail(ReasonMissingStretchAnnotation, ReasonMissingStretchAnnotation,
			"Kafka CR '%s' is missing required annotation '%s: true' but the following node "+
				"pools have stretch cluster annotations: %s. Either add the annotation to the Kafka CR or remove stretch annotations from all node "+
				"pools.",
			f.Kafka.Name, v1.AnnotationStretch, strings.Join(with, ", "))
	case len(without) > 0:
		f.fail(ReasonMissingTargetCluster, ReasonMissingTargetCluster, "The following node pools are missing required annotation '%s': %s. "+
			"All node pools must specify a target cluster when stretch mode is enabled.", v1.AnnotationTargetCluster, strings.Join(without, ", "))
	case len(unknown) > 0:
		f.fail(ReasonInvalidTargetCluster, ReasonInvalidTargetCluster,
			"The following target cluster IDs are not configured: %s. Valid cluster IDs are: %s. "+
				"Please check STRIMZI_CENTRAL_CLUSTER_ID and STRIMZI_REMOTE_KUBE_CONFIG.", strings.Join(unknown, ", "),
			strings.Join(f.Clusters.ids(), ", "))
	}
	if f.Clusters != nil {
		f.moved(stretched)
	}
	f.stretchRack(stretched)
}

// stretchRack checks what the user says of the racks of a stretched Kafka's brokers.
func (f *findings) stretchRack(stretched bool) {
	switch value := f.Kafka.Annotations[v1.AnnotationStretchRack]; {
	case value == "":
	case !stretched:
		f.warn("StretchRackUnused", v1.ReasonInvalidConfiguration, "Annotation %s has no effect: the Kafka is not stretched over several "+
			"Kubernetes clusters. Its racks are those of .spec.kafka.rack", v1.AnnotationStretchRack)
	case value != v1.StretchRackZone && value != v1.StretchRackAliasZone:
		f.invalid("StretchRack", "annotation %s is %q. Set it to %s or %s, or remove it", v1.AnnotationStretchRack, value, v1.StretchRackZone,
			v1.StretchRackAliasZone)
	}
}

// NotConfigured is the message of a Kafka that is stretched where the operator has no settings for that. Source: the proposal of stretch
// clusters for Strimzi.
func NotConfigured(kafka string) string {
	return fmt.Sprintf("Stretch mode is enabled for Kafka cluster '%s', but required environment variables are not properly configured. "+
		"Required: STRIMZI_REMOTE_KUBE_CONFIG, STRIMZI_CENTRAL_CLUSTER_ID, STRIMZI_STRETCH_PLUGIN_CLASS_NAME, "+
		"STRIMZI_STRETCH_PLUGIN_CLASS_PATH", kafka)
}

// moved checks that each pool is where its nodes are. Data does not move between Kubernetes clusters with a pool.
func (f *findings) moved(stretched bool) {
	for _, p := range f.Pools {
		target := p.Annotations[v1.AnnotationTargetCluster]
		if target == "" && !stretched {
			target = f.Clusters.Central // otherwise the annotation is missing
		}
		if at, placed := f.Placed[p.Name]; placed && at != target && f.Clusters.known(target) {
			f.fail(ReasonTargetClusterChangeForbidden, ReasonTargetClusterChangeForbidden,
				"KafkaNodePool %s has its nodes or volumes in cluster '%s' and can't be moved to "+
					"cluster '%s'. Add a pool there, move the partitions to its nodes, and delete this one. If it has no nodes, and nobody needs "+
					"its volumes, delete their PersistentVolumeClaims in cluster '%[2]s'", p.Name, at, target)
		}
	}
	if !stretched {
		return
	}
	for _, l := range f.cluster().Listeners {
		if l.Type == v1.ListenerClusterIP {
			f.invalid("StretchedListener",
				"listener %s: addresses of type cluster-ip can't be reached from other Kubernetes clusters. Use type internal, which the "+
					"network provider makes reachable", l.Name)
		}
	}
}
