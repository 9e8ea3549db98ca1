package explore

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// Cluster is a small cluster that is healthy at the beginning and has to be rolled.
type Cluster struct {
	// Name describes the cluster.
	Name string
	// Nodes are by id, from 0. Without a controller among them, the metadata quorum is elsewhere and healthy.
	Nodes []roller.Roles
	// Current are nodes that are up to date. Sticky are nodes that show the same reason after a restart.
	Current, Sticky []roller.NodeID
	Partitions      []Partition
	// Places are the Kubernetes clusters of the nodes; empty if there is only one.
	Places []string
	// Moves is a broker to which the first partition's first replica may be moved at any time; negative if there is none.
	Moves roller.NodeID
	// MaxUnavailable is the roller's policy.
	MaxUnavailable int
	// Crashes bounds the crashes of nodes, and Faults all other faults: crashes of the roller, rejected actions, unknown facts, and changes
	// of leaders.
	Crashes, Faults int
	// Step decides; nil stands for roller.Step.
	Step func(*roller.Snapshot, roller.Progress, roller.Policy) roller.Decision
}

// decide returns the decision on a snapshot of a state.
func (c *Cluster) decide(seen *roller.Snapshot, s *state) roller.Decision {
	if c.Step != nil {
		return c.Step(seen, s.progress, c.policy())
	}
	return roller.Step(seen, s.progress, c.policy())
}

// Partition is the only partition of a topic.
type Partition struct {
	MinISR   int
	Replicas []roller.NodeID
}

// tick is the step of time, longer than the delay until an action is observed. oldest is the number of ticks in patience; ages don't exceed
// it.
const (
	tick   = 40 * time.Second
	oldest = 2
)

// noon is the time of each look. The clock stands still; instead, past events age.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// policy is the roller's policy.
func (c *Cluster) policy() roller.Policy {
	p := roller.DefaultPolicy()
	p.NoElections = true // no explored rule depends on leaders
	p.MaxUnavailable, p.Patience, p.Stall = c.MaxUnavailable, oldest*tick, oldest*tick
	return p
}

// phase is the phase of a node's pod.
type phase uint8

const (
	up phase = iota
	stopping
	gone
	starting
)

// node is the state of a node.
type node struct {
	phase phase
	// outdated: it shows a reason. served: it was restarted for that reason.
	outdated, served bool
	// ours: the roller stopped it while it served, and it is not back. dead: it crashed, and Kafka has not noticed.
	ours, dead bool
	// lastWay: it was stopped to repair a lost quorum, against the rules about data, and is not back.
	lastWay bool
	// age is the number of ticks since its readiness changed. ended is the number of ticks since the roller stopped it, until it is back.
	age, ended uint8
}

// partition is the state of a partition; its sets are bits by node.
type partition struct {
	replicas, isr, adding, removing uint8
	leader                          int8
}

// state is a state of the cluster with the roller's progress. It is immutable.
type state struct {
	nodes      []node
	partitions []partition
	leader     int8
	// behind are the voters that are not caught up.
	behind          uint8
	crashes, faults uint8
	progress        roller.Progress
}

func (c *Cluster) first() *state {
	s := &state{leader: -1, crashes: uint8(c.Crashes), faults: uint8(c.Faults)}
	for id, roles := range c.Nodes {
		s.nodes = append(s.nodes, node{outdated: !slices.Contains(c.Current, roller.NodeID(id)), age: oldest})
		if roles.Controller {
			s.leader = int8(id)
		}
	}
	for _, p := range c.Partitions {
		var bits uint8
		for _, id := range p.Replicas {
			bits |= 1 << id
		}
		s.partitions = append(s.partitions, partition{replicas: bits, isr: bits, leader: int8(p.Replicas[0])})
	}
	return s
}

func (s *state) clone() *state {
	next := *s
	next.nodes, next.partitions = slices.Clone(s.nodes), slices.Clone(s.partitions)
	return &next
}

// key returns a unique encoding of the state.
func (s *state) key() string {
	b := make([]byte, 0, 512)
	flag := func(yes bool, bit byte) byte {
		if yes {
			return bit
		}
		return 0
	}
	for _, n := range s.nodes {
		b = append(b, byte(n.phase)|flag(n.outdated, 8)|flag(n.served, 16)|flag(n.ours, 32)|flag(n.dead, 64)|flag(n.lastWay, 128), n.age, n.ended)
	}
	for _, p := range s.partitions {
		b = append(b, p.replicas, p.isr, p.adding, p.removing, byte(p.leader))
	}
	b = append(b, byte(s.leader), s.behind, s.crashes, s.faults)
	progress, err := json.Marshal(s.progress)
	if err != nil {
		panic(err) // numbers, texts and times can't fail
	}
	return string(append(b, progress...))
}

// The names of a node's instances: the present one, and all earlier ones.
const (
	thisOne = "this"
	before  = "before"
)

// aged returns the progress with all times one tick older, up to oldest.
func aged(p roller.Progress, by time.Duration) roller.Progress {
	p = p.Clone()
	older := func(t time.Time) time.Time {
		if t.IsZero() {
			return t
		}
		if t = t.Add(-by); t.Before(noon.Add(-oldest * tick)) {
			return noon.Add(-oldest * tick)
		}
		return t
	}
	for id, r := range p.Restarts {
		p.Restarts[id] = *olderRestart(&r, older)
	}
	for id, t := range p.Waiting {
		p.Waiting[id] = older(t)
	}
	if p.Ring != nil {
		p.Ring = &roller.Ring{Left: p.Ring.Left, Since: older(p.Ring.Since)}
	}
	p.Told, p.Leaderless, p.Unled, p.Witnessed = older(p.Told), older(p.Leaderless), older(p.Unled), older(p.Witnessed)
	p.Back = time.Time{} // has no effect without a settle time
	p.Paces = nil        // no decision depends on it
	return p
}

func olderRestart(r *roller.Restart, older func(time.Time) time.Time) *roller.Restart {
	if r == nil {
		return nil
	}
	next := *r
	next.At, next.Ready, next.Improved = older(r.At), older(r.Ready), older(r.Improved)
	next.Before = olderRestart(r.Before, older)
	return &next
}

// replaced marks the remembered instance of a node as an earlier one.
func replaced(p roller.Progress, id roller.NodeID) roller.Progress {
	r, ok := p.Restarts[id]
	if !ok {
		return p
	}
	p = p.Clone()
	r.Instance = before
	if r.Before != nil {
		earlier := *r.Before
		earlier.Instance = before
		r.Before = &earlier
	}
	p.Restarts[id] = r
	return p
}
