package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// idOfOrphans returns the id of the Kafka cluster that the nodes belong to which an earlier object of this Kafka left, "" if there are
// none: those without volumes have it in their ConfigMaps alone.
func (p *pass) idOfOrphans() string {
	var ids []string
	for key, o := range p.home().facts.Objects {
		config, is := o.(*corev1.ConfigMap)
		if is && apply.Orphaned(config, key.Kind, p.kafka.Name) && config.Name != model.RecordName(p.kafka.Name) {
			ids = append(ids, config.Data[model.ConfigMapClusterID])
		}
	}
	slices.Sort(ids) // the same in each pass
	if len(ids) == 0 {
		return ""
	}
	return ids[0]
}

// isOrphan reports whether an earlier object of this Kafka left a StrimziPodSet, which nobody has taken back yet, or a backup restored it.
// Its nodes may run.
func (p *pass) isOrphan(set *core.StrimziPodSet) bool {
	return apply.Orphaned(set, "StrimziPodSet", p.kafka.Name)
}
