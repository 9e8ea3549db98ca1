package controller

import (
	"context"
	"slices"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// look reads the topic from a broker.
func (r *Reconciler) look(ctx context.Context, p *pass) verdict {
	if p.deleting() {
		found, err := r.kafka.Locate(ctx, p.facts.Object.Topic())
		p.actual = topic.Actual{Topic: found}
		return r.saw(ctx, p, err)
	}
	desired, refusal := topic.DesiredOf(p.kt)
	if refusal != nil {
		return report(topic.Outcome{State: topic.Failed, Failure: *refusal, Stalled: true})
	}
	p.desired = desired
	actual, err := r.kafka.Describe(ctx, desired.Name, p.wasReady)
	p.actual = actual
	return r.saw(ctx, p, err)
}

// saw evaluates a broker's answer about the topic. An error is no answer.
func (r *Reconciler) saw(ctx context.Context, p *pass, err error) verdict {
	answered := r.options.Now()
	switch {
	case kafka.IsNotFound(err):
		p.facts.Observed = ownership.Observation{View: ownership.Absent}
	case err != nil:
		p.facts.Observed = ownership.Observation{View: ownership.Unknown}
		return r.failed(p, nil, err)
	default:
		id := p.actual.Topic.ID
		p.facts.Observed = ownership.Observation{View: ownership.Present, ID: id, Outdated: r.memory.isDeleted(id)}
	}
	if p.facts.Own.ID == "" {
		// Kafka is reachable now, and can return its cluster id.
		p.facts.Own = r.own(r.options.Identity.Ask(ctx, answered))
	}
	return decideAgain()
}

// confirm asks the controller, which never lags behind, whether the name of the topic is free. It validates a creation, and creates
// nothing.
func (r *Reconciler) confirm(ctx context.Context, p *pass) verdict {
	err := r.kafka.Validate(ctx, kafka.NewTopic{Name: p.facts.Object.Topic(), Partitions: 1, ReplicationFactor: 1})
	switch {
	case err == nil, kafka.ClassOf(err) == kafka.ClassInvalid:
		// The controller checks the name before it checks anything else, so any other objection means that it knows no such topic.
		p.facts.Observed = ownership.Observation{View: ownership.Free}
	case kafka.IsExists(err):
		p.facts.Observed = ownership.Observation{View: ownership.Taken}
	default:
		p.facts.Observed = ownership.Observation{View: ownership.Unknown}
		return r.failed(p, nil, err)
	}
	return decideAgain()
}

// refuse returns the verdict that reports why the operator does not act.
func (r *Reconciler) refuse(p *pass, d ownership.Decision) verdict {
	o := topic.Outcome{State: topic.Failed, Failure: d.Refusal, Stalled: d.Refusal.Reason != v1.ReasonClusterIDUnknown}
	if p.facts.Object.Vanished {
		o.Failure.Advice = "" // no object is left to annotate
		r.events.Warning(reference(p.kt), d.Refusal.Reason, "Delete", d.Refusal.Message)
		return report(o)
	}
	o.StillUnmanaged = p.facts.Object.Doubtful
	if d.Refusal.Reason != v1.ReasonClusterMismatch {
		return report(o)
	}
	// The status belongs to another operator, which will correct it. So the operator reports the mismatch once for each generation
	// (docs/decisions/another-cluster.md).
	o.ConditionsOnly = true
	if made := p.facts.Object.Made; made != nil && d.Refusal.Advice != "" {
		o.Failure.Advice += ". Topic '" + made.Name + "' was created in this cluster before that, and is kept"
	}
	if p.facts.Own.Answering != "" {
		r.memory.forgetMismatch(p.kt.UID) // the status will change now, whether the answer to the write arrives or not
		return report(o)
	}
	reported, later := r.memory.mismatched(p.kt.UID, p.kt.Generation, r.options.Interval)
	v := verdict{outcome: &o, wait: later}
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

// claim returns the status fields of a topic that the operator saw or created in its cluster.
func (r *Reconciler) claim(p *pass, name string, id kafka.TopicID) *topic.Claim {
	c := &topic.Claim{Name: name, ID: id, ClusterID: p.facts.Own.ID}
	if p.facts.Own.Unstorable {
		c.ClusterID = "" // otherwise each pass would write it in vain
	}
	if c.ClusterID == "" && p.kt.Status.ClusterID != "" && p.kt.Status.TopicID != "" {
		c.ID = kafka.TopicID{} // this may not be the cluster of the status: keep its id
	}
	return c
}

// unreportedClaim returns the claim of the topic that the operator created for the object, if the status lacks its id; otherwise nil. The
// status may have the name: that of a paused object stays. The failure that the status reports may rest on this topic, and has to hold
// after the operator ends, because only its memory has the id: the fallback uses the name.
func (r *Reconciler) unreportedClaim(p *pass) *topic.Claim {
	made := p.facts.Object.Made
	if made == nil || p.kt.Status.TopicID != "" {
		return nil
	}
	return r.claim(p, made.Name, made.ID)
}

// countRefusal updates the metrics of objects that do not own their topics.
func (r *Reconciler) countRefusal(p *pass, v verdict) {
	if v.outcome != nil && v.outcome.State == topic.Failed && isOwnershipReason(v.outcome.Failure.Reason) && !p.facts.Object.Vanished {
		r.metrics.Refused(p.key, v.outcome.Failure.Reason, p.deleting())
		return
	}
	switch {
	case v.then == orphaned:
		r.metrics.Refused(p.key, v1.ReasonNotSelected, true)
	case v.then != retried:
		r.metrics.Allowed(p.key)
	}
}

func isOwnershipReason(reason string) bool {
	switch reason {
	case v1.ReasonClusterMismatch, v1.ReasonTopicIDMismatch, v1.ReasonNotReadyForDeletion, v1.ReasonResourceConflict, v1.ReasonPolicyViolation,
		v1.ReasonClusterIDUnknown:
		return true
	}
	return false
}
