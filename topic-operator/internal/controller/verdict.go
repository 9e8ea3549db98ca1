package controller

import (
	"time"

	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// verdict is what a pass came to: what users see of it, and when the object is looked at again. That is one value, then, so that no verdict
// is both retried and over, or both soon and postponed.
type verdict struct {
	then then
	// wait is, with soon, when to look again; otherwise it postpones the timed pass.
	wait time.Duration
	// outcome is for the status, the log and the metrics; nil leaves the status alone.
	outcome *topic.Outcome
	// cause is the cause of the transport error behind the outcome, for the log.
	cause string
}

// then is how an object goes on after a pass.
type then int

const (
	// timed: it is looked at again at its timed pass.
	timed then = iota
	// known: the same, and its status has, or had, the outcome, which is not written again.
	known
	// orphaned: the same; it is being deleted, and waits for an operator that most likely does not exist.
	orphaned
	// soon: it is looked at again after a while, or at its timed pass if that comes first.
	soon
	// retried: the failure is temporary, so that the pass is repeated with back-off.
	retried
	// over: it was or will be deleted, and needs no further pass.
	over
	// undecided: more facts are known now, so that the same pass decides again.
	undecided
)

// report writes the outcome to the status.
func report(o topic.Outcome) verdict { return verdict{outcome: &o} }

// lookAgain repeats the pass after a while, without a failure.
func lookAgain(after time.Duration) verdict { return verdict{then: soon, wait: after} }

// decideAgain lets the pass decide again, because it knows more facts now.
func decideAgain() verdict { return verdict{then: undecided} }

// finished ends the passes over an object that was or will be deleted.
func finished() verdict { return verdict{then: over} }
