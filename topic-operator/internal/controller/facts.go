package controller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// gather collects the facts that need no read of the topic from Kafka. The claimants are those of newer, if it is set.
func (r *Reconciler) gather(ctx context.Context, p *pass, newer *changed) error {
	o, err := r.object(ctx, p.kt, p.facts.Object.Vanished)
	p.facts = ownership.Facts{Object: o, Rules: r.options.Ownership}
	if err != nil {
		return err
	}
	if !o.Selected || !o.Managed || o.Paused && !p.deleting() || o.Deleting && !o.Held && !o.Vanished {
		return nil // the other facts do not matter
	}
	p.facts.Own = r.own(r.options.Identity.Own(ctx))
	r.reportUnprotected(p)
	p.facts.Violation = r.options.Violation(o.Key.Namespace, o.Topic())
	var claimants []v1.KafkaTopic
	if newer != nil && newer.topic == o.Topic() {
		claimants = newer.claimants
	} else if claimants, err = r.options.Claims.Of(ctx, o.Topic()); err != nil {
		return err
	}
	p.facts.Others, err = r.others(ctx, p, claimants)
	if err != nil && ownership.Decide(p.facts).Action == ownership.Refuse {
		return nil // without them, it is refused as well
	}
	return err
}

// object returns the facts about the object of a pass, including those that the operator remembers. It returns withheld if it is unknown
// whether the object is managed, and the decision depends on that.
func (r *Reconciler) object(ctx context.Context, kt *v1.KafkaTopic, vanished bool) (ownership.Object, error) {
	o := ownership.ObjectOf(kt, r.options.Selects(kt.Labels))
	o.Vanished = vanished
	doubtful, err := r.doubtful(ctx, kt)
	o.Doubtful = doubtful || err != nil
	if made := r.memory.madeFor(kt.UID); made != nil && (o.Name == "" || o.Name == made.Name) {
		o.Made = made // a status with another topic, such as one from a backup, takes precedence, since the rivals are those of its topic
	}
	o.Settled = r.memory.wasDeleted(o.TopicID) || o.Made != nil && r.memory.wasDeleted(o.Made.ID.String())
	if depends := o.Selected && o.Managed && (!o.Deleting || o.Held) && !vanished; err != nil && depends {
		return o, &withheld{what: "the KafkaTopic may be managed or not", advice: sayManaged, cause: err}
	}
	return o, nil
}

const sayManaged = `The annotation strimzi.io/managed="true" or "false" on it says which`

// others returns the other claimants of the pass's topic. It returns withheld if it is unknown whether one of them is managed: that one may
// own the topic.
func (r *Reconciler) others(ctx context.Context, p *pass, claimants []v1.KafkaTopic) ([]ownership.Claimant, error) {
	var others []ownership.Claimant
	for i := range claimants {
		kt := &claimants[i]
		if client.ObjectKeyFromObject(kt) == p.key || !kt.IsManaged() || !r.options.Selects(kt.Labels) || r.released(kt) {
			continue
		}
		switch unmanaged, err := r.doubtful(ctx, kt); {
		case err != nil:
			return nil, &withheld{what: "KafkaTopic " + client.ObjectKeyFromObject(kt).String() + " claims it as well, and may be managed or not",
				advice: sayManaged, cause: err}
		case unmanaged:
			continue
		}
		others = append(others, ownership.ClaimantOf(kt, r.options.Violation(kt.Namespace, ownership.ClaimedName(kt)) != ""))
	}
	return others, nil
}

// released reports whether the operator released an object that another finalizer still holds: such an object claims nothing.
func (r *Reconciler) released(kt *v1.KafkaTopic) bool {
	return r.options.UseFinalizers && !kt.DeletionTimestamp.IsZero() && !ownership.HasFinalizer(kt)
}

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

// saw evaluates a broker's answer about the topic. An error is not an answer.
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
		p.facts.Observed = ownership.Observation{View: ownership.Present, ID: id, Outdated: r.memory.isDeleted(id),
			Internal: p.actual.Topic.Internal}
	}
	if p.facts.Own.ID == "" {
		// Kafka is reachable now, and can return its cluster id.
		p.facts.Own = r.own(r.options.Identity.Ask(ctx, answered))
	}
	return verdict{then: undecided}
}

// confirm asks the controller, which never lags behind, whether the name of the topic is free. It only validates a creation, and one
// without replicas: the controller rejects that after it has checked the name, and before it asks a CreateTopicPolicy, which may throw.
func (r *Reconciler) confirm(ctx context.Context, p *pass) verdict {
	err := r.kafka.Validate(ctx, kafka.NewTopic{Name: p.facts.Object.Topic(), Partitions: 1})
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
	return verdict{then: undecided}
}

// readsOtherwise reports whether the answers to the pass's writes show another object than the one of the decision: the API server returns
// the same version with other fields under another CustomResourceDefinition.
func (p *pass) readsOtherwise() bool {
	return p.kt.IsManaged() != p.facts.Object.Managed || p.kt.Status.ClusterID != p.facts.Object.ClusterID
}
