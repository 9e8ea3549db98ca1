package engine

import (
	"context"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// mostReadings is how often a look reads further facts when the decision changes.
const mostReadings = 3

// Reading turns a decision on recalled facts into one on facts that were read in this look (docs/decisions/facts-of-a-restart.md).
type Reading struct {
	// Verify reads all facts about the asked nodes.
	Verify func(roller.Asked) *roller.Snapshot
	// Step decides on these facts.
	Step func(s *roller.Snapshot) roller.Decision
}

// Decide decides on the first observation, in which all facts about the asked nodes are fresh. While the decided actions need facts about
// further nodes, it reads these and decides again. It returns the nodes whose facts are fresh.
func (r Reading) Decide(s *roller.Snapshot, asked roller.Asked) (*roller.Snapshot, roller.Decision, roller.Asked) {
	d := r.Step(s)
	for range mostReadings {
		enough := true
		for _, a := range d.Actions {
			if !asked.Suffice(a) {
				enough, asked = false, asked.And(a)
			}
		}
		if enough {
			break
		}
		s = r.Verify(asked)
		d = r.Step(s)
	}
	return s, d, asked
}

// shown is how long each look reads the configuration of a node anew after a change, until it shows. What Kafka rejects, or what waits, a
// glance shows as well, at a fraction of the cost.
const shown = time.Minute

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
