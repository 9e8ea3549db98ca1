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

// Why the reasons of a change are read again right before it is made, and what that costs: docs/decisions/facts-at-the-call.md.

// changed is the error of a change that was not made: when it was about to be sent, the API server had a KafkaTopic, or other claimants,
// that do not allow it.
type changed struct {
	topic string
	// object is the KafkaTopic as the API server has it; nil if it is gone.
	object    *v1.KafkaTopic
	claimants []v1.KafkaTopic
}

// Error implements error.
func (*changed) Error() string {
	return "the KafkaTopic or the claimants of its topic changed in the meantime"
}

// ErrNotLeader is the error of Options.Leads where another replica of the operator leads by now, or none.
var ErrNotLeader = errors.New("another replica of the operator is the leader")

// withheld is the error of a change that was not made because it is unknown whether it is still allowed.
type withheld struct{ cause error }

// Error implements error.
func (w *withheld) Error() string { return "change not made: " + w.cause.Error() }

// Unwrap returns why.
func (w *withheld) Unwrap() error { return w.cause }

// maxAgeOfFacts is how old the answer of the API server may be when a change leaves: an operator that was suspended in between reads again.
const maxAgeOfFacts = 5 * time.Second

// stillAllowed returns the check that decides again, right before a change is sent, on what the API server has then. It runs while the pass
// waits, and after it in the worst case, so that it shares nothing with it.
func (r *Reconciler) stillAllowed(ctx context.Context, p *pass, d ownership.Decision) executor.Check {
	was := *p
	was.kt = p.kt.DeepCopy()
	return func(call context.Context) error {
		if ctx.Err() != nil {
			return &withheld{ctx.Err()} // the caller gave up, or the operator stops
		}
		began := r.options.Now()
		if err := r.options.Leads(call); err != nil {
			return &withheld{err}
		}
		object, claimants, err := r.options.Claims.Now(call, was.key, d.Topic)
		if err != nil {
			return &withheld{err}
		}
		if age := r.options.Now().Sub(began); age > maxAgeOfFacts {
			return &withheld{fmt.Errorf("the API server's answer is %s old", age)}
		}
		if !r.holds(call, &was, d, object, claimants) {
			return &changed{topic: d.Topic, object: object, claimants: claimants}
		}
		return nil
	}
}

// mayCreate checks a creation, which can't lose data: a recent write with the resourceVersion of the object is sufficient proof.
func (r *Reconciler) mayCreate(ctx context.Context, p *pass, d ownership.Decision) executor.Check {
	bound, check := p.bound, r.stillAllowed(ctx, p, d)
	return func(call context.Context) error {
		if ctx.Err() == nil && !bound.IsZero() && r.options.Now().Sub(bound) < maxAgeOfFacts {
			return nil
		}
		return check(call)
	}
}

// holds reports whether the decision of a pass is the same with what the API server has now.
func (r *Reconciler) holds(ctx context.Context, was *pass, d ownership.Decision, object *v1.KafkaTopic, claimants []v1.KafkaTopic) bool {
	facts := was.facts
	switch {
	case was.facts.Object.Vanished:
		if object != nil {
			return false // there is one of its name, which may want the topic
		}
	case object == nil || object.UID != was.kt.UID:
		return false
	case d.Action != ownership.Delete && object.Generation != was.kt.Generation:
		return false // it asks for something else
	case d.Action != ownership.Delete && r.options.UseFinalizers && !ownership.HasFinalizer(object):
		return false // it could go, and leave its topic
	default:
		facts.Object = r.object(ctx, object, was.facts.Object.Vanished)
	}
	facts.Own = r.own(r.options.Identity.Current())
	facts.Violation = r.violation(was.key.Namespace, d.Topic)
	facts.Others = r.others(ctx, was, claimants)
	now := ownership.Decide(facts)
	return now.Action == d.Action && now.ID == d.ID && now.Topic == d.Topic && !now.Claim // which was stored by now
}

// notMade deals with a change that the check stopped. ok is false if the error is another one.
func (r *Reconciler) notMade(ctx context.Context, p *pass, err error) (v verdict, ok bool, _ error) {
	var (
		newer   *changed
		unknown *withheld
	)
	switch {
	case errors.As(err, &newer):
		v, err := r.renew(ctx, p, newer)
		return v, true, err
	case errors.Is(err, ErrNotLeader):
		logging.Warn(p.log, "Another replica of the operator is the leader: this one changes nothing any more", "topic", p.facts.Object.Topic())
		return verdict{soon: lastRetry}, true, nil
	case errors.As(err, &unknown):
		return verdict{}, true, unknown
	}
	return verdict{}, false, nil
}

// renew lets the pass begin again with what the API server has.
func (r *Reconciler) renew(ctx context.Context, p *pass, newer *changed) (verdict, error) {
	p.log.Info("The KafkaTopic or the claimants of its topic changed before the request to Kafka was sent: deciding again", "topic",
		p.facts.Object.Topic())
	switch {
	case p.facts.Object.Vanished && newer.object != nil, !p.facts.Object.Vanished && newer.object == nil:
		return verdict{done: true}, nil // there is another one of the name, or none any more: the watch shows it
	case newer.object != nil && newer.object.UID != p.kt.UID:
		return verdict{soon: firstRetry}, nil
	case newer.object != nil:
		p.kt = newer.object
	}
	if err := r.gather(ctx, p, newer); err != nil {
		return verdict{}, err
	}
	return verdict{again: true}, nil
}

// object reads the object of a pass, with what the operator itself remembers of it.
func (r *Reconciler) object(ctx context.Context, kt *v1.KafkaTopic, vanished bool) ownership.Object {
	o := ownership.ObjectOf(kt, r.options.Selects(kt.Labels))
	o.Vanished = vanished
	o.Doubtful = r.doubtful(ctx, kt)
	o.Settled = r.memory.wasDeleted(o.TopicID)
	if made := r.memory.madeFor(kt.UID); made != nil && (o.Name == "" || o.Name == made.Name) {
		o.Made = made // a status that tells of another topic, such as one from a backup, has the last word, since rivals are those of its topic
	}
	return o
}

// always is Options.Leads where there is no other replica.
func always(context.Context) error { return nil }
