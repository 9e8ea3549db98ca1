package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// withheld is the error of a change that was not sent because the operator could not check whether it is still allowed.
type withheld struct {
	// outcome is what users see of it, by default that nothing is changed.
	outcome string
	// what is unknown, and advice says how a user can help, if so. Both are the same at each attempt, since the status has them.
	what, advice string
	cause        error
}

// Error implements error.
func (w *withheld) Error() string { return "change not made: " + w.what + ": " + w.cause.Error() }

// Unwrap returns why.
func (w *withheld) Unwrap() error { return w.cause }

// withhold returns err as withheld. An error that is withheld already says more.
func withhold(what string, err error) error {
	if known, ok := errors.AsType[*withheld](err); ok {
		return known
	}
	return &withheld{what: what, cause: err}
}

// reportAfter is how long passes fail before the status shows a reason that usually ends by itself: an API server that does not answer, or
// a broker that lags.
const reportAfter = 30 * time.Second

// notAllowed returns the verdict of a pass whose change was withheld. The pass is repeated.
func (r *Reconciler) notAllowed(p *pass, w *withheld) verdict {
	o := topic.Failure(v1.ReasonInternalError, "%s for topic '%s': %s (%s)", cmp.Or(w.outcome, "Nothing is changed in Kafka"),
		p.facts.Object.Topic(), w.what, answerOf(w.cause))
	if w.advice != "" {
		o.Failure.Message += ". " + w.advice
	}
	o.Stalled = apierrors.IsForbidden(w.cause) || w.outcome != ""
	if ownership.WasUnmanaged(p.kt) { // only the status has that
		o.StillUnmanaged, o.Why = true, ownership.UnmanagedReason(p.kt, p.facts.Object)
	}
	v := verdict{then: retried, outcome: &o, quiet: reportAfter, cause: w.cause.Error()}
	if id, own := p.facts.Object.ClusterID, r.options.Identity.Current().ID; id != "" && own != "" && id != own {
		v.quiet = math.MaxInt64 // the status may be another operator's
	}
	return v
}

// answerOf returns the kind of an error of the API server. Its text may differ with each attempt, and each one would write the status.
func answerOf(err error) string {
	reason := apierrors.ReasonForError(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "the API server does not answer in time"
	case errors.Is(err, errNotStored):
		return errNotStored.Error()
	case reason != metav1.StatusReasonUnknown:
		return fmt.Sprintf("the API server answers %s", reason)
	}
	return "the API server does not answer"
}
