package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/executor"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

// docs/decisions/facts-at-the-call.md explains why the operator reads the facts again right before a change, and what that costs.

// changed is the error of a change that was not sent: right before it, the API server had a KafkaTopic or claimants that do not allow it.
type changed struct {
	topic string
	// object is the KafkaTopic that the API server has; nil if it does not exist any more.
	object    *v1.KafkaTopic
	claimants []v1.KafkaTopic
}

// Error implements error.
func (*changed) Error() string {
	return "the KafkaTopic or the claimants of its topic changed in the meantime"
}

// ErrNotLeader is the error of Options.Leads if another replica of the operator leads, or none does.
var ErrNotLeader = errors.New("this replica is not the leader")

// maxAgeOfFacts is the largest age of the API server's answer when a change is sent: the operator may have been suspended in between.
const maxAgeOfFacts = 5 * time.Second

// stillAllowed returns the check that repeats the decision with the objects of the API server, right before a change is sent. It usually
// runs while the pass waits, but may run after the pass, so that it shares no data with it.
func (r *Reconciler) stillAllowed(ctx context.Context, p *pass, d ownership.Decision) executor.Check {
	was := *p
	was.kt = p.kt.DeepCopy()
	return func(call context.Context) error {
		if ctx.Err() != nil {
			return withhold("the attempt takes too long", ctx.Err()) // the caller gave up, or the operator is stopping
		}
		began := r.options.Now()
		call, cancel := context.WithTimeout(call, maxAgeOfFacts) // a request that hangs would hold up the other changes of the batch
		defer cancel()
		if err := r.options.Leads(call); err != nil {
			return withhold("the Lease of this operator can't be read", err)
		}
		object, claimants, err := r.options.Claims.Now(call, was.key, d.Topic)
		if err != nil {
			return withhold("the KafkaTopics can't be read again", err)
		}
		switch holds, err := r.holds(call, &was, d, object, claimants); {
		case err != nil:
			return err
		case !holds:
			return &changed{topic: d.Topic, object: object, claimants: claimants}
		}
		if age := r.options.Now().Sub(began); age > maxAgeOfFacts { // last, since each of the requests above may take long
			return withhold("the answers are old", fmt.Errorf("the API server's answer is %s old: %w", age, context.DeadlineExceeded))
		}
		return nil
	}
}

// mayCreate returns the check of a creation, which can't lose data: a recent write with the object's resourceVersion is sufficient proof.
func (r *Reconciler) mayCreate(ctx context.Context, p *pass, d ownership.Decision) executor.Check {
	bound, check := p.bound, r.stillAllowed(ctx, p, d)
	return func(call context.Context) error {
		if ctx.Err() == nil && !bound.IsZero() && r.options.Now().Sub(bound) < maxAgeOfFacts {
			return nil
		}
		return check(call)
	}
}

// holds reports whether the decision of a pass stays the same with the current objects of the API server.
func (r *Reconciler) holds(ctx context.Context, was *pass, d ownership.Decision, object *v1.KafkaTopic, claimants []v1.KafkaTopic) (
	holds bool, err error) {
	facts := was.facts
	switch {
	case was.facts.Object.Vanished:
		if object != nil {
			return false, nil // an object with the same name exists again, and may claim the topic
		}
	case object == nil || object.UID != was.kt.UID:
		return false, nil
	case d.Action != ownership.Delete && object.Generation != was.kt.Generation:
		return false, nil // the specification requests something else
	case d.Action != ownership.Delete && r.options.UseFinalizers && !ownership.HasFinalizer(object):
		return false, nil // the object was deletable without its topic
	default:
		if facts.Object, err = r.object(ctx, object, false); err != nil {
			return false, err
		}
	}
	facts.Own = r.own(r.options.Identity.Current())
	facts.Violation = r.options.Violation(was.key.Namespace, d.Topic)
	if facts.Others, err = r.others(ctx, was, claimants); err != nil {
		return false, err
	}
	now := ownership.Decide(facts)
	return now.Action == d.Action && now.ID == d.ID && now.Topic == d.Topic && !now.Claim, nil // the claim is stored by now
}

// notMade handles a change that the check stopped. ok is false for any other error.
func (r *Reconciler) notMade(ctx context.Context, p *pass, err error) (v verdict, ok bool, _ error) {
	if newer, ok := errors.AsType[*changed](err); ok {
		v, err := r.renew(ctx, p, newer)
		return v, true, err
	}
	unknown, ok := errors.AsType[*withheld](err)
	switch {
	case ok && errors.Is(unknown, ErrNotLeader):
		logging.Warn(p.log, "This replica is not the leader and makes no changes", "topic", p.facts.Object.Topic(), "cause", unknown.cause)
		return verdict{then: soon, after: lastRetry}, true, nil
	case ok:
		return verdict{}, true, unknown
	}
	return verdict{}, false, nil
}

// renew restarts the pass with the objects of the API server.
func (r *Reconciler) renew(ctx context.Context, p *pass, newer *changed) (verdict, error) {
	p.log.Info("The KafkaTopic or the claimants of its topic changed before the request to Kafka was sent: deciding again", "topic",
		p.facts.Object.Topic())
	switch {
	case p.facts.Object.Vanished && newer.object != nil, !p.facts.Object.Vanished && newer.object == nil:
		return verdict{}, nil // the object was replaced or deleted: the watch delivers that, or the timed pass finds out that it was not
	case newer.object != nil && newer.object.UID != p.kt.UID:
		return verdict{then: soon, after: firstRetry}, nil
	case newer.object != nil:
		p.kt = newer.object
	}
	if err := r.gather(ctx, p, newer); err != nil {
		return verdict{}, err
	}
	return verdict{then: undecided}, nil
}
