package controller

import (
	"slices"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// refuse returns the verdict that reports why the operator does not act.
func (r *Reconciler) refuse(p *pass, d ownership.Decision) verdict {
	o := topic.Outcome{State: topic.Failed, Failure: d.Refusal, Stalled: d.Refusal.Reason != v1.ReasonClusterIDUnknown}
	if p.facts.Object.Vanished {
		o.Failure.Advice = "" // no object is left to annotate
		r.events.Warning(reference(p.kt), d.Refusal.Reason, "Delete", d.Refusal.Message)
		return report(o)
	}
	if p.facts.Object.Doubtful {
		o.StillUnmanaged, o.Why = true, ownership.UnmanagedReason(p.kt, p.facts.Object)
	}
	if d.Refusal.Reason != v1.ReasonClusterMismatch {
		return report(o)
	}
	// The status belongs to another operator, which will correct it. So the operator reports the mismatch once for each generation, and again
	// if nobody has written for long (docs/decisions/another-cluster.md).
	o.ConditionsOnly = true
	if made := p.facts.Object.Made; made != nil && d.Refusal.Advice != "" {
		o.Failure.Advice += ". Topic '" + made.Name + "' was created in this cluster before that, and is kept"
	}
	if p.facts.Own.Answering != "" {
		r.memory.forgetMismatch(p.kt.UID) // the status will change now, whether the answer to the write arrives or not
		return report(o)
	}
	reported, later := r.memory.mismatched(p.kt, r.options.Interval)
	v := verdict{outcome: &o, postpone: later}
	if reported && isReconciled(p.kt) {
		v.then = known
	}
	return v
}

// isReconciled reports whether a status is the result of a reconciliation, successful or not. If it replaced the mismatch on an object of
// another cluster, that cluster's operator wrote it. Any other status, such as that of a pause that is over, is not final.
func isReconciled(kt *v1.KafkaTopic) bool {
	return slices.ContainsFunc(kt.Status.Conditions, func(c v1.Condition) bool { return c.Type == v1.ConditionReady })
}

const unselected = "The KafkaTopic is being deleted and has the finalizer of a topic operator, but no operator has reconciled it since: " +
	"the label selector of this one does not match it. " +
	`Add the labels again; to release the KafkaTopic and keep its topic, also annotate it with strimzi.io/managed="false"`

// ignore skips an object, and reports if its deletion is blocked for that reason. The object may belong to another operator, which gets
// time to reconcile it first; the status shows whether it did.
func (r *Reconciler) ignore(p *pass) verdict {
	o := p.facts.Object
	p.log.V(1).Info("Ignoring a KafkaTopic that the selector does not match, or that no longer has the finalizer", "labels", p.kt.Labels)
	if o.Selected || !o.Deleting || !o.Held || p.kt.Status.ObservedGeneration == p.kt.Generation {
		return verdict{then: over}
	}
	if wait := r.options.Interval - r.options.Now().Sub(p.kt.DeletionTimestamp.Time); wait > 0 {
		return verdict{then: soon, after: wait}
	}
	if r.memory.noteUnselected(p.kt.UID) {
		logging.Warn(p.log, unselected, "topic", ownership.ClaimedName(p.kt), "labels", p.kt.Labels)
		r.events.Warning(reference(p.kt), v1.ReasonNotSelected, "Delete", unselected)
	}
	return verdict{then: orphaned}
}

// ownershipReasons are those of objects that do not own their topics.
var ownershipReasons = []string{v1.ReasonClusterMismatch, v1.ReasonTopicIDMismatch, v1.ReasonNotReadyForDeletion, v1.ReasonResourceConflict,
	v1.ReasonPolicyViolation, v1.ReasonClusterIDUnknown}

// countRefusal updates the metrics of objects that do not own their topics.
func (r *Reconciler) countRefusal(p *pass, v verdict) {
	o := v.outcome
	switch {
	case o != nil && o.State == topic.Failed && slices.Contains(ownershipReasons, o.Failure.Reason) && !p.facts.Object.Vanished:
		r.metrics.Refused(p.key, o.Failure.Reason, p.deleting())
	case v.then == orphaned:
		r.metrics.Refused(p.key, v1.ReasonNotSelected, true)
	case v.then != retried:
		r.metrics.Allowed(p.key)
	}
}
