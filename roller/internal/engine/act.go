package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
)

// postponedFor is the pause after a look that carried out nothing, because its decision changed with each further fact.
const postponedFor = 2 * time.Second

// carryOut carries out the decided actions, and undoes the records of those that are known to have failed. Actions on nodes that were not
// verified wait for the next look.
func (e *Engine) carryOut(ctx context.Context, s *roller.Snapshot, d *roller.Decision, verified roller.Asked) ([]actuate.Outcome,
	roller.Progress) {
	progress := d.Progress
	var outcomes []actuate.Outcome
	old := false
	for _, action := range d.Actions {
		if old || !verified.Suffice(action) {
			progress = postponed(progress, action, s.At, old, outcomes)
			if d.Again = time.Millisecond; len(outcomes) == 0 { // nothing has changed
				d.Again = postponedFor
			}
			continue
		}
		o := actuate.Outcome{Action: action, Result: actuate.TooLate}
		if o.Err = e.may(ctx, s, action); o.Err == nil {
			o = e.Act.Do(ctx, action, s.Node(action.Node))
		}
		old = e.aged(s, action) != nil // all actions of a look depend on the same facts
		outcomes = append(outcomes, o)
		progress = recorded(progress, o, s.At, old, outcomes)
	}
	return outcomes, progress
}

// recorded returns the progress with the outcome of an action, which is the last of these outcomes. old reports that the facts were then
// too old.
func recorded(p roller.Progress, o actuate.Outcome, at time.Time, old bool, outcomes []actuate.Outcome) roller.Progress {
	id := o.Action.Node
	switch {
	case o.Result == actuate.TooLate:
		p = postponed(p, o.Action, at, old, outcomes)
	case o.Action.Kind == roller.ActionRestart && o.Result == actuate.NotDone:
		p = p.Deny(id, at, o.Err.Error())
	case o.Action.Kind == roller.ActionRestart && o.Result == actuate.Unclear:
		p = p.Unclear(id, o.Err.Error())
	case o.Action.Kind != roller.ActionReconfigure:
	case o.Result == actuate.NotDone, o.Result == actuate.Unclear:
		// The record keeps the next looks from asking for the same again and again.
		p = p.NotTaken(id, o.Err.Error())
	default:
		p = p.Taken(id)
	}
	if len(o.Refusals) > 0 {
		p = p.Refused(o.Refusals...)
	}
	return p
}

// postponed returns the progress without an action that was not begun in the look at that time, after these outcomes. old reports that the
// facts are too old for it.
func postponed(p roller.Progress, action roller.Action, at time.Time, old bool, outcomes []actuate.Outcome) roller.Progress {
	switch action.Kind {
	case roller.ActionRestart:
		if old && slices.ContainsFunc(outcomes, elected) {
			p = p.ElectionsTookLong(at)
		}
		return p.NotCarriedOut(action.Node)
	case roller.ActionReconfigure:
		return p.NotAltered(action.Node)
	case roller.ActionElectLeaders:
		return p.NotElected(action.Node)
	}
	return p
}

// elected reports whether an election was requested, which takes time even if it fails.
func elected(o actuate.Outcome) bool {
	return o.Action.Kind == roller.ActionElectLeaders && o.Result != actuate.TooLate
}

// may returns why a decided action may no longer be carried out: time has passed, in which this process may have been suspended, or another
// roller has the lock now.
func (e *Engine) may(ctx context.Context, s *roller.Snapshot, action roller.Action) error {
	if err := e.aged(s, action); err != nil {
		return err // without a request about the lock
	}
	if err := e.Lock.Verify(ctx); err != nil {
		return err
	}
	return e.aged(s, action)
}

// aged returns an error if the facts of an action are too old for it.
func (e *Engine) aged(s *roller.Snapshot, action roller.Action) error {
	// By the wall clock, because the monotonic clock stops while the machine is suspended.
	now := e.now().Round(0)
	if now.After(action.Until.Round(0)) || now.Sub(s.At.Round(0)) < -roller.Freshness {
		from := s.From
		if from.IsZero() {
			from = s.At
		}
		return fmt.Errorf("the oldest observed fact is %s old, and may have changed: at most %s is allowed",
			now.Sub(from.Round(0)).Round(time.Millisecond), roller.Freshness)
	}
	return nil
}
