// Package engine runs the loop of a roll: it observes, calls the core for a decision, stores the progress, and carries out the actions.
package engine

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"

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
	// Acquire acquires or renews the lock. Its error is an ErrHeld while another roller holds it, and an ErrDeleted once the Kafka was
	// deleted.
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

// ErrDeleted means that the Kafka was deleted, and its last nodes end.
var ErrDeleted = errors.New("the Kafka was deleted")

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
	if err := e.acquire(ctx, d); errors.Is(err, ErrHeld) || errors.Is(err, ErrDeleted) {
		return e.observeOnly(s, progress, err), nil
	} else if err != nil {
		return roller.Decision{}, err
	}
	if err := e.store(ctx, &s, d, d.Progress); err != nil {
		return roller.Decision{}, err
	}
	outcomes := e.act(ctx, &s, &d, verified)
	d.Again, e.awaits = e.pace(d, s.At), d.Awaits()
	e.report(&s, d, outcomes)
	if d.Phase == roller.PhaseDone {
		e.release(ctx)
	}
	return d, nil
}

// acquire acquires or renews the lock, unless there is nothing to do.
func (e *Engine) acquire(ctx context.Context, d roller.Decision) error {
	if d.Phase == roller.PhaseDone && !e.holding {
		return nil
	}
	if err := e.Lock.Acquire(ctx); err != nil {
		return err
	}
	e.holding = true
	return nil
}

// store stores the progress, with a summary of the decision.
func (e *Engine) store(ctx context.Context, s *roller.Snapshot, d roller.Decision, progress roller.Progress) error {
	return e.Journal.Save(ctx, progress, summary(s, d, e.Policy(s.At), e.Journal.Status()))
}

// act carries out the actions of a decision, and stores their outcomes. It updates the decision by them.
func (e *Engine) act(ctx context.Context, s *roller.Snapshot, d *roller.Decision, verified roller.Asked) []actuate.Outcome {
	acted := len(d.Actions) > 0
	outcomes, progress := e.carryOut(ctx, s, d, verified)
	e.countLate(d, outcomes)
	if !acted {
		return nil
	}
	if err := e.store(ctx, s, *d, progress); err != nil {
		// The stored journal lists all actions as begun: the next look checks these first.
		e.Log.Error(err, "Failed to store the outcome of the last actions")
	}
	d.Progress = progress
	return outcomes
}

func (e *Engine) pace(d roller.Decision, now time.Time) time.Duration {
	if e.Woken {
		return Pace(d, now, UnreadyWoken)
	}
	return Pace(d, now, Unready)
}

func (e *Engine) report(s *roller.Snapshot, d roller.Decision, outcomes []actuate.Outcome) {
	for _, r := range e.Reports {
		r.ReportLook(s, d, outcomes)
	}
}

// observeOnly reports the state while another roller works on the cluster, or may, or once the Kafka was deleted. It stores nothing and
// carries out nothing.
func (e *Engine) observeOnly(s roller.Snapshot, progress roller.Progress, why error) roller.Decision {
	e.holding, e.held = false, why
	policy := e.Policy(s.At)
	policy.Paused = why.Error()
	d := roller.Step(&s, progress, policy)
	if d.Again = watching; errors.Is(why, ErrDeleted) {
		d.Again = 0 // the end of its pods and StrimziPodSets causes the next looks
	}
	e.report(&s, d, nil)
	return d
}

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

func (e *Engine) now() time.Time {
	if e.Now != nil {
		return e.Now()
	}
	return time.Now()
}

// ErrFailed is the error of a roll that can't continue.
var ErrFailed = errors.New("the roll can't continue")
