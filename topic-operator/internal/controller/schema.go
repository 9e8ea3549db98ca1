package controller

import (
	"context"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

// docs/decisions/pruned-fields.md explains the consequences of another CustomResourceDefinition.

// keepsAll is the Options.Schema of an API server that keeps everything.
type keepsAll struct{}

func (keepsAll) KeepsClusterID() bool                                       { return true }
func (keepsAll) DroppedClusterID()                                          {}
func (keepsAll) KeepsManaged(context.Context, *v1.KafkaTopic) (bool, error) { return true, nil }

// own sets whether the API server can store the id of the operator's cluster.
func (r *Reconciler) own(c ownership.Cluster) ownership.Cluster {
	c.Unstorable = !r.options.Schema.KeepsClusterID()
	return c
}

// doubtful reports whether an object without spec.managed may be an unmanaged one whose spec.managed the API server drops. It asks the API
// server, for such objects only.
func (r *Reconciler) doubtful(ctx context.Context, kt *v1.KafkaTopic) (bool, error) {
	if !ownership.WasUnmanaged(kt) {
		return false, nil
	}
	kept, err := r.options.Schema.KeepsManaged(ctx, kt)
	return !kept, err
}

// noteDropped records that the API server did not store the clusterId of a patch.
func (r *Reconciler) noteDropped(p *pass, asked v1.KafkaTopicStatus) {
	if asked.ClusterID != "" && p.kt.Status.ClusterID == "" {
		r.options.Schema.DroppedClusterID()
		p.facts.Own = r.own(p.facts.Own)
	}
}

const unprotected = "The CustomResourceDefinition of KafkaTopics drops status.clusterId: KafkaTopics of another Kafka cluster can't " +
	"be distinguished from those of this one. Apply this operator's CustomResourceDefinition again"

// reportUnprotected records an Event on one object of each namespace when the clusterId can't be stored.
func (r *Reconciler) reportUnprotected(p *pass) {
	if !r.memory.noteUnprotected(p.key.Namespace, p.facts.Own.Unstorable) {
		return
	}
	logging.Warn(p.log, unprotected)
	r.events.Warning(reference(p.kt), v1.ReasonClusterIDUnknown, "Reconcile", unprotected)
}
