// Package engine goes around: it observes, asks the core what is to be done, stores what must be remembered, and has it done.
package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
)

// Journal keeps the progress.
type Journal interface {
	// Load returns what was stored, and who paused the roller, if anybody did.
	Load(ctx context.Context) (p roller.Progress, paused string, err error)
	// Save stores the progress, and what people may want to see. It fails if another roller stored something since Load.
	Save(ctx context.Context, p roller.Progress, status any) error
}

// Actuator carries out actions.
type Actuator interface {
	Do(ctx context.Context, action roller.Action, node *roller.Node) actuate.Outcome
}

// Reporter is told of each look.
type Reporter interface {
	// Looked is told what was decided on which facts, and what came of it.
	Looked(s *roller.Snapshot, d roller.Decision, outcomes []actuate.Outcome)
}

// Engine rolls one Kafka cluster. It is not safe for concurrent use.
type Engine struct {
	// Observe returns a fresh Snapshot. Nothing is done on any other.
	Observe func(ctx context.Context) roller.Snapshot
	// Glance, if set, is a cheaper Observe, in which some facts may be a little older. It is what shows whether anything is to be done.
	Glance  func(ctx context.Context) roller.Snapshot
	Journal Journal
	Act     Actuator
	// Policy is the policy of the moment.
	Policy  func(now time.Time) roller.Policy
	Reports []Reporter
	Log     logr.Logger

	// changing: the last look found a configuration that is to be changed, or is just being changed. How that goes is in no glance.
	changing bool
}

// Look makes one step. Its error says that nothing could be decided, or that what was decided could not be stored; then nothing was done.
func (e *Engine) Look(ctx context.Context) (roller.Decision, error) {
	progress, paused, err := e.Journal.Load(ctx)
	if err != nil {
		return roller.Decision{}, err
	}
	s, d := e.decide(ctx, progress, paused)
	status := summary(d)
	if err := e.Journal.Save(ctx, d.Progress, status); err != nil {
		return roller.Decision{}, err
	}
	outcomes, after := e.carryOut(ctx, &s, d)
	if len(outcomes) > 0 {
		if err := e.Journal.Save(ctx, after, status); err != nil {
			// What was stored before says that all was begun, which is looked into before anything else is.
			e.Log.Error(err, "What became of the last actions could not be stored")
		}
		d.Progress = after
	}
	for _, r := range e.Reports {
		r.Looked(&s, d, outcomes)
	}
	return d, nil
}

// decide glances first, and where something would be done, or configurations are being changed, decides on fresh facts.
func (e *Engine) decide(ctx context.Context, progress roller.Progress, paused string) (roller.Snapshot, roller.Decision) {
	on := func(s roller.Snapshot) roller.Decision {
		policy := e.Policy(s.At)
		if paused != "" {
			policy.Paused = paused
		}
		return roller.Step(&s, progress, policy)
	}
	if e.Glance != nil && !e.changing {
		s := e.Glance(ctx)
		if d := on(s); len(d.Actions) == 0 {
			return s, d
		}
	}
	s := e.Observe(ctx)
	d := on(s)
	e.changing = slices.ContainsFunc(d.Nodes, func(a roller.Assessment) bool { return a.Need == roller.NeedReconfiguration })
	return s, d
}

// carryOut does what was decided, and takes back what is known not to have been done.
func (e *Engine) carryOut(ctx context.Context, s *roller.Snapshot, d roller.Decision) ([]actuate.Outcome, roller.Progress) {
	progress := d.Progress
	var outcomes []actuate.Outcome
	for _, action := range d.Actions {
		o := e.Act.Do(ctx, action, s.Node(action.Node))
		outcomes = append(outcomes, o)
		switch {
		case o.Result == actuate.NotDone && action.Kind == roller.ActionRestart:
			progress = progress.NotCarriedOut(action.Node)
		case o.Result == actuate.Refused:
			progress = progress.Refused(action.Node, o.Err.Error())
		}
	}
	return outcomes, progress
}

// Status is what people see of a roll in the journal.
type Status struct {
	Phase roller.Phase `json:"phase"`
	// Nodes are those that need something, or are not ready, in short.
	Nodes map[string]string `json:"nodes,omitempty"`
}

func summary(d roller.Decision) Status {
	status := Status{Phase: d.Phase}
	for _, a := range d.Nodes {
		if line := Line(a); line != "" {
			if status.Nodes == nil {
				status.Nodes = map[string]string{}
			}
			status.Nodes[a.Name] = line
		}
	}
	return status
}

// Line says in one line what a node needs and what keeps it; empty if it is ready and needs nothing. It does not say what changes from second to second.
func Line(a roller.Assessment) string {
	switch {
	case a.Need == roller.NeedNothing && a.State == roller.StateReady:
		return ""
	case a.Need == roller.NeedNothing:
		return string(a.State)
	case len(a.Blocks) == 0:
		return fmt.Sprintf("%s: %s", a.State, a.Need)
	case a.Blocks[0].Rule == roller.RuleUnderWay:
		return string(a.State)
	}
	return fmt.Sprintf("%s: %s waits: %s", a.State, a.Need, a.Blocks[0].Rule)
}

// Run looks again and again until done says so, or ctx ends. Between two looks it waits as long as the decision says, or until something wakes it.
func (e *Engine) Run(ctx context.Context, wake <-chan struct{}, idle time.Duration, done func(roller.Decision) bool) error {
	const firstPause, longestPause = time.Second, 30 * time.Second
	pause := firstPause
	for {
		d, err := e.Look(ctx)
		wait := d.Again
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			e.Log.Error(err, "Nothing could be decided; trying again", "in", pause.String())
			wait, pause = pause, min(2*pause, longestPause)
		case done(d):
			return nil
		default:
			pause = firstPause
		}
		if wait == 0 {
			wait = idle
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		case <-wake:
			timer.Stop()
		}
	}
}

// ErrFailed is the error of a roll that can't go on.
var ErrFailed = errors.New("the roll can't go on")
