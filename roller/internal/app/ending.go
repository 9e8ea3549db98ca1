package app

import (
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// ending detects the end of a roll: all is done, or it can't continue.
type ending struct {
	// patience is how long to wait for other nodes to recover, for unknown facts and for checks that fail, before giving up.
	patience time.Duration
	// failed is when the wait for them began; zero if there is no wait.
	failed time.Time
}

// reached reports whether the roll is at its end.
func (e *ending) reached(d roller.Decision, now time.Time) bool {
	switch {
	case d.Phase == roller.PhaseDone:
		return true
	case denied(d):
		return false // and the wait goes on
	case d.Phase == roller.PhaseRolling, d.Phase == roller.PhaseWaiting && slices.ContainsFunc(d.Nodes, waitsForTime),
		len(d.Actions) > 0, slices.ContainsFunc(d.Nodes, comesBack):
		e.failed = time.Time{}
		return false
	case d.Phase == roller.PhaseBlocked && !slices.ContainsFunc(d.Nodes, mayGo):
		return true
	case e.failed.IsZero():
		e.failed = now
	}
	return now.Sub(e.failed) >= e.patience
}

// denied reports whether nothing is under way but attempts that failed: to restart nodes, none of which began (the API server rejected
// them, or it is unknown whether it did, as after earlier ones), or to change configurations.
func denied(d roller.Decision) bool {
	again := func(id roller.NodeID) bool {
		r, tried := d.Progress.Restarts[id]
		before, denied := d.Progress.Denied[id]
		return tried && denied && before.Instance == r.Instance
	}
	begins := func(a roller.Action) bool {
		_, begun := d.Progress.Restarts[a.Node]
		switch a.Kind {
		case roller.ActionRestart:
			return begun && !again(a.Node)
		case roller.ActionReconfigure:
			return d.Progress.Alterations[a.Node].Why == ""
		}
		return true
	}
	continues := func(a roller.Assessment) bool { return comesBack(a) && (a.Ending || !again(a.Node)) }
	tries := len(d.Actions) > 0 || slices.ContainsFunc(d.Nodes, func(a roller.Assessment) bool { return again(a.Node) })
	return tries && !slices.ContainsFunc(d.Actions, begins) && !slices.ContainsFunc(d.Nodes, continues)
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

// usersRules are the rules that only a user can lift. What the other rules wait for may end by itself, such as an election of the
// controllers, or a request that timed out.
var usersRules = []roller.Rule{roller.RuleHold, roller.RuleOwner, roller.RulePaused, roller.RuleConfig, roller.RuleRisk}

// mayGo reports whether a node needs something, and may get it without a user.
func mayGo(a roller.Assessment) bool {
	if a.Need == roller.NeedReconfiguration && a.State != roller.StateReady {
		return true // it is changed once it is ready
	}
	return a.Need != roller.NeedNothing && !slices.ContainsFunc(a.Blocks, func(b roller.Block) bool {
		return slices.Contains(usersRules, b.Rule)
	})
}
