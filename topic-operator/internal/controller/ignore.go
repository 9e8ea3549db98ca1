package controller

import (
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

const unselected = "The KafkaTopic is being deleted and has the finalizer of a topic operator, but no operator has reconciled it since: " +
	"the label selector of this one does not match it. " +
	`Add the labels again; to release the KafkaTopic and keep its topic, also annotate it with strimzi.io/managed="false"`

// ignore skips an object, and reports if its deletion is blocked for that reason. The object may belong to another operator, which gets
// time to reconcile it first; the status shows whether it did.
func (r *Reconciler) ignore(p *pass) verdict {
	o := p.facts.Object
	p.log.V(1).Info("Ignoring a KafkaTopic that the selector does not match, or that no longer has the finalizer", "labels", p.kt.Labels)
	if o.Selected || !o.Deleting || !o.Held || p.kt.Status.ObservedGeneration == p.kt.Generation {
		return finished()
	}
	if wait := r.options.Interval - r.options.Now().Sub(p.kt.DeletionTimestamp.Time); wait > 0 {
		return lookAgain(wait)
	}
	if r.memory.noteUnselected(p.kt.UID) {
		logging.Warn(p.log, unselected, "topic", ownership.ClaimedName(p.kt), "labels", p.kt.Labels)
		r.events.Warning(reference(p.kt), v1.ReasonNotSelected, "Delete", unselected)
	}
	return verdict{then: orphaned}
}
