package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// verdict is the result of a pass: what users see, and when the object is reconciled next. The latter is one value, then, so that no
// verdict is both retried and over.
type verdict struct {
	then followUp
	// after is how long an object that is reconciled soon waits.
	after time.Duration
	// postpone is added to the time of the timed pass. slot, if set, replaces the object's key, which determines that time.
	postpone time.Duration
	slot     string
	// quiet is how long a failure that is retried may last before the status shows it.
	quiet time.Duration
	// outcome is for the status, the log and the metrics; nil leaves the status alone.
	outcome *topic.Outcome
	// cause is the cause of the transport error behind the outcome, for the log.
	cause string
}

// followUp is how an object goes on after a pass.
type followUp int

const (
	// timed: it is reconciled again at its timed pass.
	timed followUp = iota
	// known: the same, and its status has, or had, the outcome, which is not written again.
	known
	// orphaned: the same; it is being deleted, and waits for an operator that most likely does not exist.
	orphaned
	// soon: it is reconciled again after a while, or at its timed pass if that comes first. This is no failure.
	soon
	// retried: the failure is temporary, so that the pass is repeated with back-off.
	retried
	// over: it was or will be deleted, or is none of the operator's, and needs no further pass.
	over
	// undecided: more facts are known now, so that the same pass decides again.
	undecided
)

// report writes the outcome to the status.
func report(o topic.Outcome) verdict { return verdict{outcome: &o} }

// failed returns the verdict of a pass that failed with Kafka's errors. If one of them is temporary, the pass is retried; and also if Kafka
// rejects the login while a topic is to be deleted whose object vanished, because a corrected Secret asks only for passes over objects.
func (r *Reconciler) failed(p *pass, claim *topic.Claim, errs ...error) verdict {
	err := errors.Join(errs...)
	if as, ok := kafka.WrongCluster(err); ok {
		r.options.Identity.Answered(as)
		p.facts.Own.Answering = as
		return verdict{then: undecided}
	}
	o := topic.Failure(reasonOf(err), "%s", messageOf(err))
	switch {
	case p.facts.Object.Vanished: // the log is the only place for this failure
		o.Failure.Message = "Unable to delete topic '" + p.facts.Object.Topic() + "' from Kafka. " + o.Failure.Message
	case p.deleting():
		o.Failure.Message = "Deletion failed: " + o.Failure.Message
	}
	o.Claimed = claim
	o.Stalled = allLast(errs)
	v := verdict{outcome: &o, cause: causeOf(err)}
	rejected := func(err error) bool { return kafka.ClassOf(err) == kafka.ClassAuthentication }
	if slices.ContainsFunc(errs, passesBy) || p.facts.Object.Vanished && slices.ContainsFunc(errs, rejected) {
		v.then = retried
	}
	return v
}

// wait returns the verdict of a pass that learned nothing, because the broker that answers lags behind the controller. Most catch up in a
// moment. One that does not, because it no longer applies the metadata, is reported after a while.
func (r *Reconciler) wait(p *pass) verdict {
	v := verdict{then: retried}
	if r.memory.failingFor(p.key) < reportAfter {
		return v
	}
	prefix, shows := "", "does not show it"
	if p.deleting() {
		prefix = "Deletion failed: "
	}
	if p.facts.Observed.View == ownership.Present {
		shows = "shows one that was deleted"
	}
	o := topic.Failure(v1.ReasonKafkaError, "%sthe Kafka controller has another state of topic '%s' than the broker that answers, which %s. "+
		"If this lasts, look at the brokers' metric metadata-apply-error-count, and restart the one that lags behind", prefix,
		p.facts.Object.Topic(), shows)
	v.outcome = &o
	return v
}

// passesBy reports whether an error of Kafka is temporary. A topic that is missing existed a moment ago, and the next pass recreates it.
func passesBy(err error) bool { return kafka.IsRetriable(err) || kafka.IsNotFound(err) }

// lasts reports whether an error of Kafka persists until a user fixes its cause.
func lasts(err error) bool {
	class := kafka.ClassOf(err)
	return definite(err) || class == kafka.ClassAuthentication || class == kafka.ClassDisabled
}

// allLast reports whether all of the errors persist, so that no retry helps.
func allLast(errs []error) bool {
	for _, err := range errs {
		if !lasts(err) {
			return false
		}
	}
	return true
}

// definite reports whether the error is Kafka's rejection of a request, so that Kafka did not execute it.
func definite(err error) bool {
	class := kafka.ClassOf(err)
	return class == kafka.ClassInvalid || class == kafka.ClassForbidden || class == kafka.ClassUnsupported
}

// reasonOf distinguishes Kafka's errors from the operator's own.
func reasonOf(err error) string {
	if _, ok := errors.AsType[*kafka.Error](err); ok || kafka.ClassOf(err) == kafka.ClassRetriable {
		return v1.ReasonKafkaError
	}
	return v1.ReasonInternalError
}

// messageOf returns a message that is the same at each attempt. Otherwise every attempt would write the status.
func messageOf(err error) string {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		if _, ok := errors.AsType[*kafka.Error](err); !ok {
			return "TimeoutException: Kafka did not answer in time"
		}
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ") // errors.Join separates errors by line breaks
}

func hasCode(err error, code int16) bool {
	e, ok := errors.AsType[*kafka.Error](err)
	return ok && e.Code == code
}

// causeOf returns the cause of a transport error, for the log.
func causeOf(err error) string {
	if e, ok := errors.AsType[*kafka.Error](err); ok && e.Unwrap() != nil {
		return e.Unwrap().Error()
	}
	return ""
}
