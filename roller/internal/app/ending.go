package app

import (
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// ending detects the end of a roll: all is done, or it can't continue.
type ending struct {
	// patience is how long to wait for failed, stuck or unready nodes to recover, and for unknown facts, before giving up.
	patience time.Duration
	// failed is when the wait for them began; zero if there is no wait.
	failed time.Time
}

// reached reports whether the roll is at its end.
func (e *ending) reached(d roller.Decision, now time.Time) bool {
	idle := len(d.Actions) == 0
	stays := d.Phase == roller.PhaseFailed || d.Phase == roller.PhaseUnknown ||
		d.Phase == roller.PhaseWaiting && !slices.ContainsFunc(d.Nodes, waitsForTime)
	if !stays || !idle || slices.ContainsFunc(d.Nodes, comesBack) {
		e.failed = time.Time{}
		return d.Phase == roller.PhaseDone || d.Phase == roller.PhaseBlocked && idle
	}
	if e.failed.IsZero() {
		e.failed = now
	}
	return now.Sub(e.failed) >= e.patience
}

// waitsForTime reports whether a node waits for something that ends at a known time, whatever becomes of the other nodes.
func waitsForTime(a roller.Assessment) bool {
	return slices.ContainsFunc(a.Blocks, func(b roller.Block) bool {
		return b.Rule == roller.RuleWindow || b.Rule == roller.RulePatience || b.Rule == roller.RuleSettle
	})
}

// comesBack reports whether a node is being restarted, is recovering, or ends.
func comesBack(a roller.Assessment) bool {
	return a.Ending || slices.Contains([]roller.State{roller.StateRestarting, roller.StateCatchingUp, roller.StateRecovering}, a.State)
}
