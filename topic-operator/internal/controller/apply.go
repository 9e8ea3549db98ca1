package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/executor"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// create creates the topic. If it already exists, because a broker lagged or another client was faster, the pass decides again.
func (r *Reconciler) create(ctx context.Context, p *pass, d ownership.Decision) (verdict, error) {
	wanted := p.desired.NewTopic()
	if !ownership.HasFinalizer(p.kt) && r.memory.refuses(p.kt.UID) {
		// Kafka refused it the last time. Validate it first: an object gets no finalizer for a topic that Kafka refuses again.
		if err := r.kafka.Validate(ctx, wanted); err != nil && !kafka.IsExists(err) {
			return r.failed(p, nil, err), nil
		}
	}
	// The finalizer comes before anything that it protects.
	if err := r.adjustFinalizer(ctx, p); err != nil {
		return verdict{}, err
	}
	if err := r.rememberThrottles(ctx, p); err != nil {
		return verdict{}, err
	}
	if p.readsOtherwise() {
		return decideAgain(), r.gather(ctx, p, nil)
	}
	made, err := r.kafka.Create(ctx, wanted, r.mayCreate(ctx, p, d))
	if v, ok, err := r.notMade(ctx, p, err); ok {
		return v, err
	}
	switch {
	case kafka.IsExists(err):
		v := r.look(ctx, p)
		if p.facts.Observed.View == ownership.Absent {
			p.facts.Observed.View = ownership.Taken // the controller has it, and the broker that answered lags behind
		}
		return v, nil
	case err != nil:
		return r.notCreated(ctx, p, err)
	}
	r.memory.wrote(p.key)
	r.memory.topicCreated(p.kt.UID, ownership.Creation{Name: p.desired.Name, ID: made.ID})
	r.reportCreated(p, p.desired, made)
	return report(topic.Outcome{State: topic.Ready, Warnings: topic.Warnings(p.desired, r.options.Rules),
		Claimed: r.claim(p, p.desired.Name, made.ID)}), nil
}

// notCreated removes the finalizer of an object that has no topic if Kafka rejected its creation for good, so that users can delete the
// object at once. A finalizer that this operator did not set may guard a topic in another Kafka cluster, and stays.
func (r *Reconciler) notCreated(ctx context.Context, p *pass, err error) (verdict, error) {
	v := r.failed(p, nil, err)
	s := p.kt.Status
	if definite(err) && s.TopicID == "" && s.ClusterID == "" && p.facts.Object.Made == nil && r.memory.guards(p.kt.UID) {
		r.memory.refuse(p.kt.UID)
		return v, r.removeFinalizer(ctx, p)
	}
	return v, nil
}

// passesBy reports whether an error of Kafka is temporary. A topic that is missing existed a moment ago, and the next pass recreates it.
func passesBy(err error) bool { return kafka.IsRetriable(err) || kafka.IsNotFound(err) }

// lasts reports whether an error of Kafka persists until a user fixes its cause.
func lasts(err error) bool {
	class := kafka.ClassOf(err)
	return definite(err) || class == kafka.ClassAuthentication || class == kafka.ClassDisabled
}

// definite reports whether the error is Kafka's rejection of a request, so that Kafka did not execute it.
func definite(err error) bool {
	switch kafka.ClassOf(err) {
	case kafka.ClassInvalid, kafka.ClassForbidden, kafka.ClassUnsupported:
		return true
	case kafka.ClassUnknown, kafka.ClassRetriable, kafka.ClassThrottled, kafka.ClassAuthentication, kafka.ClassNotFound, kafka.ClassExists,
		kafka.ClassDisabled, kafka.ClassWrongCluster:
	}
	return false
}

func (r *Reconciler) reportCreated(p *pass, desired topic.Desired, made kafka.CreateResult) {
	shape := fmt.Sprintf("topic '%s' with %d partitions and replication factor %d", desired.Name, made.Partitions, made.ReplicationFactor)
	if p.kt.Status.TopicID != "" {
		logging.Warn(p.log, "Recreated a topic that was deleted outside of Kubernetes", "topic", desired.Name, "oldTopicId",
			p.kt.Status.TopicID, "topicId", made.ID.String())
		r.metrics.DriftReverted(p.key.Namespace)
		r.events.Warning(reference(p.kt), "Recreated", "Create", "Recreated, empty, "+shape+": it was deleted outside of Kubernetes")
		return
	}
	p.log.Info("Created topic", "topic", desired.Name, "topicId", made.ID.String(), "partitions", made.Partitions)
	r.events.Normal(reference(p.kt), "Created", "Create", "Created "+shape)
}

// readsOtherwise reports whether the answers to the pass's writes show another object than the one of the decision: the API server returns
// the same version with other fields under another CustomResourceDefinition.
func (p *pass) readsOtherwise() bool {
	return p.kt.IsManaged() != p.facts.Object.Managed || p.kt.Status.ClusterID != p.facts.Object.ClusterID
}

// readMoves reads the reassignments of a topic whose replication factor differs from the desired one. It reports whether a reassignment may
// have ended that a broker does not show yet.
func (r *Reconciler) readMoves(ctx context.Context, p *pass, name string) (moved bool, err error) {
	if p.actual.NeedsReassignments(p.desired) {
		if p.actual.Reassignments, err = r.kafka.Reassignments(ctx, name); err != nil {
			return false, err
		}
	}
	return r.memory.movedLately(p.kt.UID, p.actual.MayHaveMoved(p.desired)) && p.wasReady, nil
}

// align changes an existing topic where it differs.
func (r *Reconciler) align(ctx context.Context, p *pass, d ownership.Decision) (verdict, error) {
	if err := r.adjustFinalizer(ctx, p); err != nil {
		return verdict{}, err
	}
	if p.readsOtherwise() {
		return decideAgain(), r.gather(ctx, p, nil)
	}
	claim := r.claim(p, d.Topic, d.ID)
	if moved, err := r.readMoves(ctx, p, d.Topic); err != nil {
		return r.failed(p, claim, err), nil
	} else if moved {
		return lookAgain(settle), nil
	}
	plan := topic.Compare(p.desired, p.actual, r.options.Rules)
	if d.Claim && plan.Changes() {
		// Of two operators that see the same new object, only the one whose claim is stored changes anything.
		if err := r.writeClaim(ctx, p, *claim); err != nil {
			return verdict{}, err
		}
		if p.facts.Own.Unstorable {
			return decideAgain(), nil
		}
	}
	if err := r.rememberThrottles(ctx, p); err != nil {
		return verdict{}, err
	}
	altered, errs := r.change(ctx, p, plan, r.stillAllowed(ctx, p, d))
	var made *kafka.ConfigChange
	if altered {
		made = plan.Alter
	}
	gone := p.desired.GoneThrottles(p.actual, made, p.settling)
	lasting := append(plan.KeptWarning(d.Topic), p.desired.LeftThrottles(gone)...)
	if len(errs) > 0 {
		if v, ok, err := r.notMade(ctx, p, errors.Join(errs...)); ok {
			return v, err
		}
		v := r.failed(p, claim, errs...)
		if v.outcome != nil {
			v.outcome.Gone = gone
		}
		return v, nil
	}
	return r.aligned(p, plan, claim, gone, lasting), nil
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
		v.then, v.wait = soon, settle // only a later read proves that no difference remains
	}
	return v
}

// change executes the plan's changes. It tries all of them, so that a rejected one does not block the others. altered reports whether the
// configuration now matches the plan.
func (r *Reconciler) change(ctx context.Context, p *pass, plan topic.Plan, allowed executor.Check) (altered bool, errs []error) {
	var done []string
	if plan.Alter != nil {
		if err := r.kafka.Alter(ctx, *plan.Alter, allowed); err != nil {
			errs = append(errs, err)
		} else {
			altered = true
			done = append(done, "configuration changed: "+changeList(*plan.Alter))
		}
	}
	if plan.Increase != nil {
		switch err := r.kafka.Increase(ctx, *plan.Increase, allowed); {
		case err == nil:
			done = append(done, fmt.Sprintf("partitions raised from %d to %d", len(p.actual.Topic.Partitions), plan.Increase.Total))
		case p.settling && hasCode(err, kafka.CodeInvalidPartitions):
			// The topic has these partitions since our last write, and the broker that answered lags behind.
		default:
			errs = append(errs, err)
		}
	}
	if len(done) > 0 {
		r.memory.wrote(p.key)
		r.reportChanged(p, strings.Join(done, "; "))
	}
	return altered, errs
}

func (r *Reconciler) reportChanged(p *pass, what string) {
	name := p.facts.Object.Topic()
	if p.wasReady && !p.settling { // while settling, the difference may be one that we removed a moment ago
		logging.Warn(p.log, "Reverted a change made outside of Kubernetes", "topic", name, "what", what)
		r.metrics.DriftReverted(p.key.Namespace)
		r.events.Warning(reference(p.kt), "DriftReverted", "Update", "Topic '"+name+"' was changed outside of Kubernetes; reverted: "+what)
		return
	}
	p.log.Info("Changed topic", "topic", name, "what", what)
	r.events.Normal(reference(p.kt), "Changed", "Update", "Topic '"+name+"': "+what)
}

// failed returns the verdict of a pass that failed with Kafka's errors. If one of them is temporary, the pass is retried.
func (r *Reconciler) failed(p *pass, claim *topic.Claim, errs ...error) verdict {
	err := errors.Join(errs...)
	if as, ok := kafka.WrongCluster(err); ok {
		r.options.Identity.Answered(as)
		p.facts.Own.Answering = as
		return decideAgain()
	}
	o := topic.Failure(reasonOf(err), "%s", messageOf(err))
	switch {
	case p.facts.Object.Vanished: // the log is the only place for this failure
		o.Failure.Message = "Unable to delete topic '" + p.facts.Object.Topic() + "' from Kafka. " + o.Failure.Message
	case p.deleting():
		o.Failure.Message = "Deletion failed: " + o.Failure.Message
	}
	o.Claimed = claim
	o.Stalled = !slices.ContainsFunc(errs, func(err error) bool { return !lasts(err) })
	v := verdict{outcome: &o, cause: causeOf(err)}
	if slices.ContainsFunc(errs, passesBy) {
		v.then = retried
	}
	return v
}

// reasonOf distinguishes Kafka's errors from the operator's own.
func reasonOf(err error) string {
	var e *kafka.Error
	if errors.As(err, &e) || kafka.ClassOf(err) == kafka.ClassRetriable {
		return v1.ReasonKafkaError
	}
	return v1.ReasonInternalError
}

// messageOf returns a message that is the same at each attempt. Otherwise every attempt would write the status.
func messageOf(err error) string {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		var e *kafka.Error
		if !errors.As(err, &e) {
			return "TimeoutException: Kafka did not answer in time"
		}
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ") // errors.Join separates errors by line breaks
}

func hasCode(err error, code int16) bool {
	var e *kafka.Error
	return errors.As(err, &e) && e.Code == code
}

// causeOf returns the cause of a transport error, for the log.
func causeOf(err error) string {
	var e *kafka.Error
	if errors.As(err, &e) && e.Unwrap() != nil {
		return e.Unwrap().Error()
	}
	return ""
}

func joined(refusals []topic.Refusal) topic.Refusal {
	messages := make([]string, len(refusals))
	for i, refusal := range refusals {
		messages[i] = refusal.Message
	}
	return topic.Refusal{Reason: refusals[0].Reason, Message: strings.Join(messages, "; ")}
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
