package model

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// The values of the annotation that keeps the roller from restarting a pod, or the nodes of a StrimziPodSet. The sets themselves are not
// paused: terminated pods are still recreated.
const (
	// HoldPaused is for all nodes of a paused Kafka.
	HoldPaused = "reconciliation of the Kafka is paused"
	// HoldVolume is for the nodes of a StrimziPodSet of which one would lose a volume when it restarts.
	HoldVolume = "a PersistentVolumeClaim of a running node is being deleted"
	// HoldFormerBroker is for the pod of a broker that is to be none any more and has, or may have, replicas.
	HoldFormerBroker = "it is a broker until it is restarted, and holds, or may hold, replicas of partitions"
)

// podSet returns the StrimziPodSet of a pool. It belongs to the Kafka, not to the KafkaNodePool, so that a pool that is deleted by mistake
// stops no node.
func (c *cluster) podSet(p topology.Pool, manifests []Manifest) *core.StrimziPodSet {
	set := &core.StrimziPodSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: core.GroupVersion.String(), Kind: "StrimziPodSet"},
		ObjectMeta: c.meta(c.Topology.PodSetName(p.Name), c.poolLabels(p.Name), c.podSetTemplate(p.Name)),
		Spec: &core.StrimziPodSetSpec{
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{
				core.LabelKind: core.KindKafka, v1.LabelCluster: c.Kafka.Name, core.LabelName: c.name("kafka"), core.LabelPoolName: p.Name}},
			Pods: []runtime.RawExtension{},
		},
	}
	set.Annotations = with(set.Annotations, core.AnnotationRolledBy, core.RolledByRoller)
	set.Annotations = with(set.Annotations, v1.AnnotationKafkaVersion, c.Version)
	if c.stretched() {
		set.Annotations = with(set.Annotations, v1.AnnotationTargetCluster, c.Stretch.id(topology.Node{Cluster: p.Cluster}))
	}
	if c.Settings.OperatorNamespace != "" {
		set.Annotations = with(set.Annotations, core.AnnotationAgentNamespace, c.Settings.OperatorNamespace)
	}
	if pool := c.Pools[p.Name]; pool != nil {
		if text, err := json.Marshal(pool.Spec.Storage); err == nil {
			set.Annotations = with(set.Annotations, v1.AnnotationStorage, string(text))
		}
	}
	if live := c.Sets[set.Name]; p.Removed && live != nil {
		set.Labels, set.Annotations = copied(live.Labels), copied(live.Annotations) // its pool can't be asked any more
		delete(set.Annotations, core.AnnotationManualRollingUpdate)                 // what is left of a request is to go
	}
	contents := map[string]string{}
	for _, m := range manifests {
		set.Spec.Pods = append(set.Spec.Pods, runtime.RawExtension{Raw: m.Pod})
		if m.Content != "" {
			contents[c.podName(m.Node)] = m.Content
		}
	}
	if len(contents) > 0 {
		set.Annotations = with(set.Annotations, AnnotationContents, jsonOf(contents))
	}
	return set
}
