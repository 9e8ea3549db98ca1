// Package engine runs the loop of a roll: it observes, calls the core for a decision, stores the progress, and carries out the actions.
package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
)

// Journal stores the progress.
type Journal interface {
	// Load returns the stored progress, and the name of a client that paused the roller, if one did.
	Load(ctx context.Context) (p roller.Progress, paused string, err error)
	// Save stores the progress, and a status for people. It fails if another roller stored something since Load.
	Save(ctx context.Context, p roller.Progress, status any) error
	// Status returns the status that was stored when Load was last called, in JSON; empty if none was.
	Status() string
}

// Actuator carries out actions.
type Actuator interface {
	Do(ctx context.Context, action roller.Action, node *roller.Node) actuate.Outcome
}

// Lock prevents other rollers from working on the same Kafka cluster.
type Lock interface {
	// Acquire acquires or renews the lock. Its error is an ErrHeld while another roller holds it.
	Acquire(ctx context.Context) error
	// Verify returns nil if this process holds the lock now. It changes nothing.
	Verify(ctx context.Context) error
	// Release releases the lock.
	Release(ctx context.Context) error
}

// Reporter receives each look.
type Reporter interface {
	// ReportLook receives the facts of a look, the decision, and the outcome of each action.
	ReportLook(s *roller.Snapshot, d roller.Decision, outcomes []actuate.Outcome)
}

// FailureReporter is a Reporter that also receives each look that reached no decision, or whose decision could not be stored.
type FailureReporter interface {
	// Failed receives the reason. A look that ends with the program is no failure.
	Failed(err error)
}

// ErrNoNodes is the error of a look that found no node: there may be none, or the roller may not be allowed to list them.
var ErrNoNodes = errors.New("found no nodes: check that the pods have the label strimzi.io/cluster, and that the roller may list pods")

// ErrHeld means that another roller works on the Kafka cluster, or did so until it was killed.
var ErrHeld = errors.New("another roller is already restarting this Kafka cluster")

// Engine rolls one Kafka cluster. It is not safe for concurrent use.
type Engine struct {
	// Observe returns a fresh Snapshot. Actions are carried out only on a fresh one.
	Observe func(ctx context.Context) roller.Snapshot
	// Glance, if set, is a cheaper Observe, in which some facts may be older. It shows whether there is anything to do. awaits is what the
	// last look waited for: until then, facts on which only actions depend may be older still.
	Glance func(ctx context.Context, awaits roller.Awaited) roller.Snapshot
	// Verify, which must be set together with Glance, returns facts that are as fresh as those of Observe for actions that depend only on
	// the asked nodes.
	Verify func(ctx context.Context, asked roller.Asked) roller.Snapshot
	// Longest is how long a look may take. If it takes longer, the process was suspended, and nobody looked meanwhile.
	Longest time.Duration
	// Woken means that a change of a pod triggers a look, so that pods need no short interval.
	Woken   bool
	Journal Journal
	Act     Actuator
	// Lock is held from the first look with pending work to the last one.
	Lock Lock
	// Policy returns the policy at a time.
	Policy  func(now time.Time) roller.Policy
	Reports []Reporter
	Log     logr.Logger
	// Now returns the current time; nil uses the clock.
	Now func() time.Time

	// held is the reason why the lock could not be acquired at the last look.
	held error
	// holding means that the lock was acquired, and not released.
	holding bool
	// late is how many looks in a row came too late for all their actions.
	late int
	// changing are the nodes whose configuration has just been changed. A glance does not show the result of that.
	changing []roller.NodeID
	// awaits is what the last look waited for.
	awaits roller.Awaited
}

// Look executes one step. It returns an error if it could not decide, or could not store its decision; then it has carried out nothing.
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
	e.held = nil
	progress, paused, err := e.Journal.Load(ctx)
	if err != nil {
		return roller.Decision{}, err
	}
	s, d, verified := e.decide(ctx, progress, paused)
	if len(s.Nodes) == 0 {
		return roller.Decision{}, ErrNoNodes
	}
	if d.Phase != roller.PhaseDone || e.holding {
		switch err := e.Lock.Acquire(ctx); {
		case errors.Is(err, ErrHeld):
			return e.observeOnly(s, progress, err), nil
		case err != nil:
			return roller.Decision{}, err
		}
		e.holding = true
	}
	status := summary(&s, d, e.Policy(s.At), e.Journal.Status())
	if err := e.Journal.Save(ctx, d.Progress, status); err != nil {
		return roller.Decision{}, err
	}
	outcomes, after := e.carryOut(ctx, &s, &d, verified)
	acted := len(d.Actions) > 0
	if e.tooLate(&d, outcomes) {
		status = summary(&s, d, e.Policy(s.At), e.Journal.Status())
	}
	if acted {
		if err := e.Journal.Save(ctx, after, status); err != nil {
			// The stored journal lists all actions as begun: the next look checks these first.
			e.Log.Error(err, "Failed to store the outcome of the last actions")
		}
		d.Progress = after
	}
	unready := Unready
	if e.Woken {
		unready = UnreadyWoken
	}
	d.Again, e.awaits = Pace(d, s.At, unready), d.Awaits()
	for _, r := range e.Reports {
		r.ReportLook(&s, d, outcomes)
	}
	if d.Phase == roller.PhaseDone {
		e.release(ctx)
	}
	return d, nil
}

// observeOnly reports the state while another roller works on the cluster, or may. It stores nothing and carries out nothing.
func (e *Engine) observeOnly(s roller.Snapshot, progress roller.Progress, why error) roller.Decision {
	e.holding, e.held = false, why
	policy := e.Policy(s.At)
	policy.Paused = why.Error()
	d := roller.Step(&s, progress, policy)
	d.Again = watching
	for _, r := range e.Reports {
		r.ReportLook(&s, d, nil)
	}
	return d
}

// shown is how long each look reads the configuration of a node anew after a change, until it shows. What Kafka rejects, or what waits, a
// glance shows as well, at a fraction of the cost.
const shown = time.Minute

// watching is the interval of looks while another roller works.
const watching = 10 * time.Second

// Close releases the lock.
func (e *Engine) Close(ctx context.Context) { e.release(ctx) }

func (e *Engine) release(ctx context.Context) {
	if !e.holding {
		return
	}
	e.holding = false
	if err := e.Lock.Release(ctx); err != nil {
		e.Log.Error(err, "Failed to release the lease; it expires by itself")
	}
}

// decide glances first. If there is something to do, or configurations are being changed, it decides on facts about these nodes, and those
// that they depend on, that it reads in this look. Actions on other nodes wait for the next look.
func (e *Engine) decide(ctx context.Context, progress roller.Progress, paused string) (roller.Snapshot, roller.Decision, roller.Asked) {
	began := e.now()
	reading := Reading{
		Verify: func(asked roller.Asked) *roller.Snapshot {
			s := e.Verify(ctx, asked)
			return &s
		},
		Step: func(s *roller.Snapshot) roller.Decision {
			s.Began = began
			if s.At.Round(0).Sub(began.Round(0)) > e.Longest {
				s.Began = s.At
			}
			policy := e.Policy(s.At)
			if paused != "" {
				policy.Paused = paused
			}
			return roller.Step(s, progress, policy)
		},
	}
	first, asked := e.first(ctx)
	s, d, asked := reading.Decide(&first, asked)
	if len(asked.Nodes) == 0 {
		return *s, d, asked
	}
	e.changing = nil
	for _, a := range d.Nodes {
		last, tried := d.Progress.Alterations[a.Node]
		if tried && a.Changes.Live() && s.At.Sub(last.At) < shown {
			e.changing = append(e.changing, a.Node)
		}
	}
	return *s, d, asked
}

// first returns the first observation, and the nodes whose facts are all fresh in it.
func (e *Engine) first(ctx context.Context) (s roller.Snapshot, asked roller.Asked) {
	switch {
	case e.Glance == nil:
		s = e.Observe(ctx)
		for _, n := range s.Nodes {
			asked.Nodes = append(asked.Nodes, n.ID)
		}
		asked.Restarts = asked.Nodes
		return s, asked
	case len(e.changing) > 0:
		asked.Nodes = e.changing
		return e.Verify(ctx, asked), asked
	}
	return e.Glance(ctx, e.awaits), asked
}

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
		switch {
		case o.Result == actuate.NotDone && action.Kind == roller.ActionRestart:
			progress = progress.Deny(action.Node, s.At, o.Err.Error())
		case o.Result == actuate.Unclear && action.Kind == roller.ActionRestart:
			progress = progress.Unclear(action.Node, o.Err.Error())
		case o.Result == actuate.TooLate:
			progress = postponed(progress, action, s.At, old, outcomes)
		case action.Kind != roller.ActionReconfigure:
		case o.Result == actuate.NotDone, o.Result == actuate.Unclear:
			// The record keeps the next looks from asking for the same again and again.
			progress = progress.NotTaken(action.Node, o.Err.Error())
		default:
			progress = progress.Taken(action.Node)
		}
		if len(o.Refusals) > 0 {
			progress = progress.Refused(o.Refusals...)
		}
	}
	return outcomes, progress
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

func (e *Engine) now() time.Time {
	if e.Now != nil {
		return e.Now()
	}
	return time.Now()
}

// Run calls Look until done returns true, ctx ends, another roller works on the cluster, a right is missing, or no node has been seen for
// the patience. It waits between two looks as the decision requests.
func (e *Engine) Run(ctx context.Context, idle time.Duration, done func(roller.Decision) bool) error {
	const firstPause, longestPause = time.Second, 30 * time.Second
	pause := firstPause
	var failing failure
	for {
		d, err := e.Look(ctx)
		wait := d.Again
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case failing.lasts(err, e.now(), e.Policy(e.now()).Patience):
			return err
		case err != nil:
			e.Log.Error(err, "Failed to decide, retrying", "in", pause.String())
			wait, pause = pause, min(2*pause, longestPause)
		case e.held != nil:
			return e.held
		case done(d):
			return nil
		default:
			pause = firstPause
		}
		if wait == 0 {
			wait = idle
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// unsynced is how long an API server that has just started may reject requests because it does not know its roles yet.
const unsynced = 30 * time.Second

// failure tracks since when looks have failed in the same way.
type failure struct {
	// looked means that a look succeeded before.
	looked bool
	// way is how; empty if they succeed, or fail in a way that is worth further attempts.
	way   string
	since time.Time
}

// lasts reports whether looks have failed in the same way for so long that another attempt is unlikely to help.
func (f *failure) lasts(err error, now time.Time, patience time.Duration) bool {
	way, limit := "", patience
	switch {
	case err == nil:
		f.looked = true
	case apierrors.IsForbidden(err):
		if way, limit = "forbidden", unsynced; !f.looked {
			limit = 0
		}
	case errors.Is(err, ErrNoNodes):
		way = "no nodes"
	}
	if way != f.way {
		f.way, f.since = way, now
	}
	return way != "" && now.Sub(f.since) >= limit
}

// ErrFailed is the error of a roll that can't continue.
var ErrFailed = errors.New("the roll can't continue")
