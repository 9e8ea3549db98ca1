package controller

import (
	"fmt"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
)

// Failure is an error with its own reason in the status.
type Failure struct {
	status.Problem
	// Err is the cause; nil if the user's objects are invalid.
	Err error
	// Watched reports that an event requeues the Kafka when the problem may be over.
	Watched bool
	// Elsewhere reports that it concerns another Kubernetes cluster alone: the nodes in this one are the Kafka's.
	Elsewhere bool
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }

// Unwrap returns what went wrong.
func (f *Failure) Unwrap() error { return f.Err }

// problemf returns a problem that a later pass may resolve by itself.
func problemf(reason, format string, args ...any) status.Problem {
	return status.Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// stalled returns a Failure that only a user can fix.
func stalled(reason, format string, args ...any) *Failure {
	return &Failure{Problem: status.Problem{Reason: reason, Message: fmt.Sprintf(format, args...), Stalled: true}}
}
