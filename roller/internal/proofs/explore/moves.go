package explore

import (
	"fmt"
	"math/bits"

	"github.com/kafka-operators/kafka-operators/roller"
)

// move is a transition to another state.
type move struct {
	name string
	to   *state
	// benign reports whether the move is no fault.
	benign bool
}

// moves returns all transitions except the roller's own.
func (c *Cluster) moves(s *state) []move {
	var all []move
	for id := range s.nodes {
		all = append(all, c.nodeMoves(s, id)...)
		all = append(all, c.voterMoves(s, id)...)
	}
	for i := range s.partitions {
		all = append(all, c.partitionMoves(s, i)...)
	}
	if m, ok := c.passes(s); ok {
		all = append(all, m)
	}
	return all
}

// nodeMoves returns the transitions of a pod and the Kafka in it.
func (c *Cluster) nodeMoves(s *state, id int) []move {
	n := s.nodes[id]
	change := func(name string, benign bool, f func(next *state, n *node)) []move {
		next := s.clone()
		f(next, &next.nodes[id])
		return []move{{fmt.Sprintf("node %d %s", id, name), next, benign}}
	}
	switch {
	case n.dead && !c.governed(s): // without a quorum, no controller removes it from the replicas in sync
		return change("starts again", true, func(_ *state, n *node) { n.dead, n.phase = false, starting })
	case n.dead:
		return change("is missed", true, func(next *state, n *node) { n.dead, n.phase = false, starting; c.lose(next, id) })
	case n.phase == up && s.crashes > 0:
		return change("crashes", false, func(next *state, n *node) { next.crashes--; n.dead, n.age = true, 0; c.unseat(next) })
	case n.phase == stopping && (c.governed(s) || !c.Nodes[id].Broker):
		return change("stops", true, func(next *state, n *node) {
			n.phase, n.age = gone, 0
			next.progress = replaced(next.progress, roller.NodeID(id))
			c.unseat(next)
			c.lose(next, id)
		})
	case n.phase == stopping: // without a quorum it stays in the replicas in sync, but stops all the same
		return change("is missed later", true, func(next *state, n *node) {
			n.dead, n.phase, n.age = true, up, 0
			next.progress = replaced(next.progress, roller.NodeID(id))
			c.unseat(next)
		})
	case n.phase == gone:
		return change("gets a pod", true, func(_ *state, n *node) {
			n.phase, n.age = starting, 0
			n.outdated = n.outdated && n.served && c.sticky(id)
		})
	case n.phase == starting && c.comesUp(s, id):
		return change("is up", true, func(next *state, n *node) {
			c.lose(next, id)
			n.phase, n.ours, n.lastWay, n.age, n.ended = up, false, false, 0, 0
			c.relead(next)
		})
	}
	return nil
}

// comesUp reports whether a node can finish its start: a node that is only a broker needs a quorum.
func (c *Cluster) comesUp(s *state, id int) bool {
	return c.governed(s) || c.Nodes[id].Controller
}

func (c *Cluster) sticky(id int) bool {
	for _, other := range c.Sticky {
		if other == roller.NodeID(id) {
			return true
		}
	}
	return false
}

// voterMoves returns the transitions of a voter.
func (c *Cluster) voterMoves(s *state, id int) []move {
	if !c.Nodes[id].Controller || !s.nodes[id].runs() {
		return nil
	}
	var all []move
	caughtUp := s.behind&(1<<id) == 0
	voters, alive := c.voters(s)
	lead := func(name string, benign bool) {
		next := s.clone()
		next.leader = int8(id)
		for other, n := range next.nodes { // a new leader regards no voter as caught up until it fetches
			if c.Nodes[other].Controller && !n.runs() {
				next.behind |= 1 << other
			}
		}
		next.behind &^= 1 << id
		if !benign {
			next.faults--
		}
		c.relead(next)
		all = append(all, move{fmt.Sprintf("node %d %s", id, name), next, benign})
	}
	switch {
	case s.leader < 0 && alive*2 > voters:
		lead("is elected", true)
	case s.leader >= 0 && s.leader != int8(id) && caughtUp && s.faults > 0:
		lead("takes over the quorum", false)
	case s.leader >= 0 && !caughtUp:
		next := s.clone()
		next.behind &^= 1 << id
		all = append(all, move{fmt.Sprintf("voter %d catches up", id), next, true})
	}
	return all
}

// partitionMoves returns the transitions of a partition.
func (c *Cluster) partitionMoves(s *state, i int) []move {
	if !c.governed(s) {
		return nil
	}
	var all []move
	p := s.partitions[i]
	for id := range s.nodes {
		if bit := uint8(1) << id; p.leader >= 0 && p.replicas&bit != 0 && p.isr&bit == 0 && s.nodes[id].runs() {
			all = append(all, c.changed(s, i, fmt.Sprintf("is in sync on %d", id), true, func(p *partition) {
				p.isr |= bit
				if p.adding != 0 && p.adding&^p.isr == 0 {
					p.replicas, p.isr, p.adding, p.removing = p.replicas&^p.removing, p.isr&^p.removing, 0, 0
				}
			}))
		}
	}
	if i == 0 && c.Moves >= 0 && s.faults > 0 {
		all = append(all, c.reassignments(s)...)
	}
	return all
}

// reassignments begin and are cancelled at any time. A reassignment ends when the last added replica is in sync.
func (c *Cluster) reassignments(s *state) []move {
	p, to, from := s.partitions[0], uint8(1)<<c.Moves, uint8(1)<<c.Partitions[0].Replicas[0]
	switch n := s.nodes[c.Moves]; {
	case p.adding == 0 && p.replicas&to == 0 && n.phase == up && n.runs():
		return []move{c.changed(s, 0, "is to be moved", false, func(p *partition) { p.replicas, p.adding, p.removing = p.replicas|to, to, from })}
	case p.adding != 0 && p.isr&^to != 0:
		return []move{c.changed(s, 0, "is not to be moved", false, func(p *partition) {
			p.replicas, p.isr, p.adding, p.removing = p.replicas&^to, p.isr&^to, 0, 0
		})}
	}
	return nil
}

// changed returns a move that changes one partition.
func (c *Cluster) changed(s *state, i int, name string, benign bool, f func(p *partition)) move {
	next := s.clone()
	f(&next.partitions[i])
	if !benign {
		next.faults--
	}
	c.relead(next)
	return move{fmt.Sprintf("partition %d %s", i, name), next, benign}
}

// passes is the move of one tick. Within a tick, Kafka notices nodes that crashed or stopped.
func (c *Cluster) passes(s *state) (move, bool) {
	next := s.clone()
	for id := range next.nodes {
		n := &next.nodes[id]
		if n.dead && (c.governed(s) || !c.Nodes[id].Broker) {
			return move{}, false
		}
		n.age = min(oldest, n.age+1)
		if n.ours {
			n.ended = min(oldest, n.ended+1)
		}
		if c.governed(s) && !n.runs() {
			c.lose(next, id)
		}
	}
	next.progress = aged(next.progress, tick)
	return move{"time passes", next, true}, true
}

// unseat removes the quorum's leader if its node is down, or if it has no majority.
func (c *Cluster) unseat(s *state) {
	voters, alive := c.voters(s)
	if s.leader >= 0 && (!s.nodes[s.leader].runs() || alive*2 <= voters) {
		s.leader = -1
	}
}

// lose removes a broker from the replicas in sync of its partitions, unless it is the last one, and a voter from those that are caught up.
func (c *Cluster) lose(s *state, id int) {
	for i := range s.partitions {
		if p := &s.partitions[i]; bits.OnesCount8(p.isr) > 1 {
			p.isr &^= 1 << id
		}
	}
	if c.Nodes[id].Controller {
		s.behind |= 1 << id
	}
	c.relead(s)
}

// relead elects a leader for each partition that is in sync and serving.
func (c *Cluster) relead(s *state) {
	if !c.governed(s) {
		return
	}
	for i := range s.partitions {
		p := &s.partitions[i]
		if p.leader >= 0 && p.isr&(1<<p.leader) != 0 && s.nodes[p.leader].serves() {
			continue
		}
		p.leader = -1
		for id := range s.nodes {
			if p.isr&(1<<id) != 0 && s.nodes[id].serves() {
				p.leader = int8(id)
				break
			}
		}
	}
}
