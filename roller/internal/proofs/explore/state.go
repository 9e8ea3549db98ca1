package explore

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// Cluster is a small cluster, at the beginning well and to be rolled.
type Cluster struct {
	// Name is for people.
	Name string
	// Nodes are by id, from 0. Without a controller among them the metadata quorum is elsewhere, and well.
	Nodes []roller.Roles
	// Current are nodes that are up to date, Sticky those that look the same after a restart.
	Current, Sticky []roller.NodeID
	Partitions      []Partition
	// Places are the Kubernetes clusters of the nodes; empty: there is one.
	Places []string
	// Moves is a broker that the first partition may be moved to, in place of its first replica, at any time; negative: it is not.
	Moves roller.NodeID
	// MaxUnavailable is the roller's policy.
	MaxUnavailable int
	// Crashes is how many nodes crash at the most, Faults how much else goes wrong: the roller crashes, it is refused, it can't see, leaders
	// move.
	Crashes, Faults int
	// Step is who decides; nil: roller.Step.
	Step func(*roller.Snapshot, roller.Progress, roller.Policy) roller.Decision
}

// decide decides on what is seen in a state.
func (c *Cluster) decide(seen *roller.Snapshot, s *state) roller.Decision {
	if c.Step != nil {
		return c.Step(seen, s.progress, c.policy())
	}
	return roller.Step(seen, s.progress, c.policy())
}

// Partition is one partition, which is a topic of its own.
type Partition struct {
	MinISR   int
	Replicas []roller.NodeID
}

// tick is how far time goes on at once: longer than an action may take to be seen. oldest is as many ticks as patience lasts; nothing gets
// older.
const (
	tick   = 40 * time.Second
	oldest = 2
)

// noon is the time of every look. The clock stands still; instead, what happened before gets older.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// policy is the roller's.
func (c *Cluster) policy() roller.Policy {
	p := roller.DefaultPolicy()
	p.NoElections = true // no rule that is explored asks who leads
	p.MaxUnavailable, p.Patience, p.Stall = c.MaxUnavailable, oldest*tick, oldest*tick
	return p
}

// phase is how a node is.
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
	// outdated: it shows a reason; served: it was restarted for it.
	outdated, served bool
	// ours: we ended it while it served, and it is not back. dead: it crashed, and Kafka has not noticed.
	ours, dead bool
	// lastWay: it was ended to repair a lost quorum, against the rules of the data, and is not back.
	lastWay bool
	// age is for how many ticks it has been as ready as it is, and ended for how many ticks it has been ended by us, if it is not back.
	age, ended uint8
}

// partition is the state of a partition; its sets are bits by node.
type partition struct {
	replicas, isr, adding, removing uint8
	leader                          int8
}

// state is a state of the cluster, and what the roller remembers. It is never changed once it is made.
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

// key tells states apart.
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
		panic(err) // it is made of numbers, texts and times
	}
	return string(append(b, progress...))
}

// The names of a node's instances: the one that there is, and any before.
const (
	thisOne = "this"
	before  = "before"
)

// aged makes all that is remembered a tick older, up to the oldest.
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
	p.Leaderless, p.Witnessed = older(p.Leaderless), older(p.Witnessed)
	p.Back = time.Time{} // without a time to settle it counts for nothing
	p.Paces = nil        // nothing is decided by it
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

// replaced makes what is remembered of a node's instance that of one before.
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
