package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/executor"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// align changes an existing topic where it differs.
func (r *Reconciler) align(ctx context.Context, p *pass, d ownership.Decision) (verdict, error) {
	if err := r.adjustFinalizer(ctx, p); err != nil {
		return verdict{}, err
	}
	if p.readsOtherwise() {
		return verdict{then: undecided}, r.gather(ctx, p, nil)
	}
	claim := r.claim(p, d.Topic, d.ID)
	moved, unreadMoves := r.readMoves(ctx, p, d.Topic) // without an answer, only the number of replicas can't be judged
	if moved {
		return verdict{then: soon, after: settle}, nil
	}
	plan := topic.Compare(p.desired, p.actual, r.options.Rules)
	if r.memory.storedBefore(p.kt, p.actual.Topic.ID, plan.Stores) {
		plan.Alter, plan.Stores = nil, false
	}
	if d.Claim && plan.Changes() {
		// Of two operators that see the same new object, only the one whose claim is stored changes anything.
		if err := r.writeClaim(ctx, p, *claim); err != nil {
			return verdict{}, err
		}
		if p.facts.Own.Unstorable {
			return verdict{then: undecided}, nil
		}
	}
	if err := r.rememberThrottles(ctx, p); err != nil {
		return verdict{}, err
	}
	altered, lags, errs := r.change(ctx, p, plan, r.stillAllowed(ctx, p, d))
	reliance, unreadReliance := r.readReliance(ctx, p)
	errs = slices.DeleteFunc(append(errs, unreadMoves, unreadReliance), func(err error) bool { return err == nil })
	gone := p.goneThrottles(altered)
	lasting := slices.Concat(plan.KeptWarning(d.Topic), reliance, p.desired.LeftThrottles(gone))
	switch {
	case len(errs) > 0:
		return r.notAligned(ctx, p, claim, gone, lasting, errs)
	case lags:
		return verdict{then: soon, after: settle}, nil
	}
	return r.aligned(p, plan, claim, gone, lasting), nil
}

// notAligned returns the verdict on a topic that could not be changed, or about which something could not be read.
func (r *Reconciler) notAligned(ctx context.Context, p *pass, claim *topic.Claim, gone []string, lasting []topic.Refusal, errs []error) (
	verdict, error) {
	if v, ok, err := r.notMade(ctx, p, errors.Join(errs...)); ok {
		return v, err
	}
	v := r.failed(p, claim, errs...)
	if v.outcome != nil {
		v.outcome.Warnings, v.outcome.Gone = lasting, gone
	}
	return v, nil
}

// readMoves reads the reassignments of a topic whose replication factor differs from the desired one. It reports whether a reassignment may
// have ended that a broker does not show yet.
func (r *Reconciler) readMoves(ctx context.Context, p *pass, name string) (moved bool, err error) {
	if p.actual.NeedsReassignments(p.desired) {
		if p.actual.Reassignments, err = r.kafka.Reassignments(ctx, name); err != nil {
			return false, p.actual.UnreadReassignments(p.desired, err)
		}
	}
	return r.memory.movedLately(p.kt.UID, p.actual.MayHaveMoved(p.desired)) && p.wasReady, nil
}

// readReliance returns a warning if the partitions of an internal topic of Kafka are not those that the brokers rely on. It asks about no
// other topic. A refusal to tell is no failure but unknown: it lasts, and nothing else depends on the answer.
func (r *Reconciler) readReliance(ctx context.Context, p *pass) ([]topic.Refusal, error) {
	key := p.desired.ReliedOnKey()
	if key == "" {
		return nil, nil
	}
	broker, err := r.kafka.BrokerConfig(ctx, []string{key})
	if err != nil && !definite(err) {
		return nil, err
	}
	return p.desired.RelianceWarning(len(p.actual.Topic.Partitions), p.desired.ReliedOn(broker)), nil
}

// change makes all of the plan's changes, so that a rejected one does not block the others. It returns that of the configuration, if made,
// and whether the broker that was read may lag behind the controller.
func (r *Reconciler) change(ctx context.Context, p *pass, plan topic.Plan, allowed executor.Check) (altered *kafka.ConfigChange, lags bool,
	errs []error) {
	var done []string
	if plan.Alter != nil {
		err := r.kafka.Alter(ctx, *plan.Alter, allowed)
		if plan.Stores && (err == nil || definite(err)) {
			r.memory.stored(p.kt, p.actual.Topic.ID)
		}
		switch {
		case err == nil:
			altered = plan.Alter
			done = append(done, "configuration changed: "+changeList(*plan.Alter))
		case plan.Stores && definite(err):
			r.reportNotStored(p, *plan.Alter, err)
		default:
			errs = append(errs, err)
		}
	}
	if plan.Increase == nil {
		r.memory.enough(p.kt.UID)
	} else {
		switch err := r.kafka.Increase(ctx, *plan.Increase, allowed); {
		case err == nil:
			r.memory.enough(p.kt.UID)
			done = append(done, fmt.Sprintf("partitions raised from %d to %d", len(p.actual.Topic.Partitions), plan.Increase.Total))
		case hasCode(err, kafka.CodeInvalidPartitions) && p.settling:
			// The topic has these partitions since our last write, and the broker that answered lags behind.
		case hasCode(err, kafka.CodeInvalidPartitions) && r.memory.fewLately(p.kt.UID):
			lags = true // another operator, or this one before it started again, may have raised them
		default:
			errs = append(errs, err)
		}
	}
	if len(done) > 0 {
		r.memory.wrote(p.key)
		r.reportChanged(p, plan.Differs(), strings.Join(done, "; "))
	}
	return altered, lags, errs
}

// aligned returns the verdict on a topic that matches its KafkaTopic, except for what Kafka can't change.
func (r *Reconciler) aligned(p *pass, plan topic.Plan, claim *topic.Claim, gone []string, lasting []topic.Refusal) verdict {
	warnings := append(topic.Warnings(p.desired, r.options.Rules), lasting...)
	v := report(topic.Outcome{State: topic.Ready, Warnings: warnings, Claimed: claim})
	if len(plan.Refusals) > 0 {
		v = report(topic.Outcome{
			State: topic.Failed, Failure: joined(plan.Refusals), Stalled: true, Warnings: lasting, Gone: gone, Claimed: claim,
		})
	}
	if p.settling {
		v.then, v.after = soon, settle // only a later read proves that no difference remains
	}
	return v
}

func (r *Reconciler) reportChanged(p *pass, differed bool, what string) {
	name := p.facts.Object.Topic()
	if differed && p.wasReady && !p.settling { // while settling, the difference may be one that we removed a moment ago
		logging.Warn(p.log, "Reverted a change made outside of Kubernetes", "topic", name, "what", what)
		r.metrics.DriftReverted(p.key.Namespace)
		r.events.Warning(reference(p.kt), "DriftReverted", "Update", "Topic '"+name+"' was changed outside of Kubernetes; reverted: "+what)
		return
	}
	p.log.Info("Changed topic", "topic", name, "what", what)
	r.events.Normal(reference(p.kt), "Changed", "Update", "Topic '"+name+"': "+what)
}

// reportNotStored reports that Kafka rejects to store settings. The values in force are the wanted ones.
func (r *Reconciler) reportNotStored(p *pass, change kafka.ConfigChange, err error) {
	name, list := p.facts.Object.Topic(), changeList(change)
	logging.Warn(p.log, "Kafka rejected to store the brokers' defaults on the topic", "topic", name, "what", list, "error", err.Error())
	r.events.Warning(reference(p.kt), "NotStored", "Update", "Topic '"+name+"' changes with the brokers' defaults, because Kafka rejects to "+
		"store "+list+" on it: "+err.Error())
}

func changeList(c kafka.ConfigChange) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(c.Set)) {
		parts = append(parts, key+"="+c.Set[key])
	}
	for _, key := range c.Delete {
		parts = append(parts, key+" removed")
	}
	return strings.Join(parts, ", ")
}

// goneThrottles returns the throttles that are no longer the KafkaTopic's to remove. While it is unknown which Kafka cluster answers,
// none is: the KafkaTopic's own one may still have them.
func (p *pass) goneThrottles(altered *kafka.ConfigChange) []string {
	if p.facts.Own.ID == "" && p.facts.Object.ClusterID != "" {
		return nil
	}
	return p.desired.GoneThrottles(p.actual, altered, p.settling)
}
