// Package engine goes around: it observes, asks the core what is to be done, stores what must be remembered, and has it done.
package engine

import (
	"context"
	"errors"
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
	// Status is what people could see when it was loaded, in JSON; empty if nothing was.
	Status() string
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

// FailureReporter is a Reporter that is told, too, of each look at which nothing was decided, or at which what was decided could not be stored.
type FailureReporter interface {
	// Failed is told why. A look that ends because the program does is no failure.
	Failed(err error)
}

// ErrNoNodes is the error of a look at which no node was seen: nobody can tell whether there are none, or nobody let us see them.
var ErrNoNodes = errors.New("no node of the Kafka cluster was seen: are its pods labelled strimzi.io/cluster, and may they be listed?")

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
	d, err := e.look(ctx)
	if err == nil || ctx.Err() != nil {
		return d, err
	}
	for _, r := range e.Reports {
		if f, wants := r.(FailureReporter); wants {
			f.Failed(err)
		}
	}
	return d, err
}

func (e *Engine) look(ctx context.Context) (roller.Decision, error) {
	progress, paused, err := e.Journal.Load(ctx)
	if err != nil {
		return roller.Decision{}, err
	}
	s, d := e.decide(ctx, progress, paused)
	if len(s.Nodes) == 0 {
		return roller.Decision{}, ErrNoNodes
	}
	status := summary(d, s.At, e.Journal.Status())
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
		case (o.Result == actuate.NotDone || o.Result == actuate.Unclear) && action.Kind == roller.ActionReconfigure:
			progress = progress.NotTaken(action.Node)
		case o.Result == actuate.Refused:
			progress = progress.Refused(action.Node, o.Err.Error())
		}
	}
	return outcomes, progress
}

// Run looks again and again until done says so, or ctx ends. Between two looks it waits as long as the decision says, or until something wakes it.
func (e *Engine) Run(ctx context.Context, wake <-chan struct{}, idle time.Duration, done func(roller.Decision) bool) error {
	const firstPause, longestPause = time.Second, 30 * time.Second
	pause := firstPause
	for {
		began := time.Now()
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
			if err := sleep(ctx, calm-time.Since(began)); err != nil {
				return err
			}
		}
	}
}

// calm is the shortest time from one look to the next, however much there is to see.
const calm = 500 * time.Millisecond

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// ErrFailed is the error of a roll that can't go on.
var ErrFailed = errors.New("the roll can't go on")
