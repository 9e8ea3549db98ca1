package simulator

import (
	"fmt"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// topic is a topic of the world.
type topic struct {
	name       string
	minISR     int
	partitions []*partition
	// hidden: the roller may not describe it.
	hidden bool
}

// partition is a partition of the world.
type partition struct {
	roller.Partition
	topic *topic
	// hurt: something else than our restarts took, or kept, a replica out of sync since all were.
	hurt bool
}

func (p *partition) String() string { return fmt.Sprintf("%s-%d", p.topic.name, p.Index) }

// addTopic makes a topic, all replicas of which are in sync, except those on brokers that are not up.
func (w *world) addTopic(t Topic) {
	made := &topic{name: t.Name, minISR: t.MinISR}
	for i, replicas := range t.Partitions {
		p := &partition{topic: made}
		p.Index, p.Replicas, p.Leader = int32(i), slices.Clone(replicas), replicas[0]
		for _, id := range replicas {
			n := w.byID[id]
			p.ISR = append(p.ISR, id)
			p.hurt = p.hurt || n.ours || n.pod != podReady
			n.hosted = append(n.hosted, p)
		}
		made.partitions = append(made.partitions, p)
	}
	w.topics = append(w.topics, made)
}

// dropTopic deletes a topic.
func (w *world) dropTopic(t *topic) {
	w.topics = slices.DeleteFunc(w.topics, func(o *topic) bool { return o == t })
	for _, n := range w.nodes {
		n.hosted = slices.DeleteFunc(n.hosted, func(p *partition) bool { return p.topic == t })
	}
	w.tell("topic %s is deleted", t.name)
}

// hurt notes that a broker goes, or stays behind, by itself.
func (w *world) hurt(n *node) {
	for _, p := range n.hosted {
		p.hurt = true
	}
}

// healed forgets what happened to a partition that is in sync everywhere.
func (w *world) healed(p *partition) {
	well := len(p.ISR) == len(p.Replicas) && len(p.Adding)+len(p.Removing) == 0
	for _, id := range p.Replicas {
		well = well && w.byID[id].up && w.byID[id].pod == podReady
	}
	p.hurt = p.hurt && !well
}

// alive is how many members of the ISR are up.
func (w *world) alive(p *partition) int {
	n := 0
	for _, id := range p.ISR {
		if w.byID[id].up {
			n++
		}
	}
	return n
}

// fence takes a broker that is gone out of all ISRs, if there is somebody to do that. The last member stays in, and there is no leader
// then.
func (w *world) fence(n *node) {
	if !w.governed() {
		n.fenceAt = w.after(retry)
		return
	}
	n.fenced, n.fenceAt = true, time.Time{}
	w.drop(n)
	w.tell("broker %d is fenced", n.ID)
}

// drop takes a broker out of all ISRs in which there is another one.
func (w *world) drop(n *node) {
	for _, p := range n.hosted {
		if len(p.ISR) > 1 {
			p.ISR = slices.DeleteFunc(p.ISR, func(id roller.NodeID) bool { return id == n.ID })
		}
		if p.Leader == n.ID {
			w.choose(p)
		}
		w.check(p)
	}
}

// choose makes the first member of the ISR that is up, and not on its way out, the leader.
func (w *world) choose(p *partition) {
	was := p.Leader
	p.Leader = -1
	for _, id := range p.Replicas {
		if n := w.byID[id]; slices.Contains(p.ISR, id) && n.up && n.fenceAt.IsZero() {
			p.Leader = id
			break
		}
	}
	if p.Leader >= 0 && was < 0 {
		for _, id := range p.Replicas {
			w.follow(w.byID[id])
		}
	}
}

// electPreferred has the preferred leaders of partitions elected, as the controller does: where they are in sync and in service.
func (w *world) electPreferred(a roller.Action) {
	if !w.governed() {
		return
	}
	for _, p := range w.byID[a.Node].hosted {
		first := p.Replicas[0]
		if n := w.byID[first]; slices.Contains(a.Partitions[p.topic.name], p.Index) && slices.Contains(p.ISR, first) && n.up && !n.fenced {
			p.Leader = first
		}
	}
	w.tell("the leaders of %d topics are elected for node %d", len(a.Partitions), a.Node)
}

// register brings a broker back. What it was still in sync for by the metadata, it is not any more, unless it was the last.
func (w *world) register(n *node) {
	n.fenceAt = time.Time{}
	if !n.fenced {
		w.drop(n)
	}
	n.up, n.fenced = true, false
	for _, p := range n.hosted {
		if p.Leader < 0 {
			w.choose(p)
		}
		w.healed(p)
	}
	w.follow(n)
}

// follow lets a broker catch up, if there is anything to.
func (w *world) follow(n *node) {
	if n.up && !n.slow && n.catchAt.IsZero() && slices.ContainsFunc(n.hosted,
		func(p *partition) bool { return p.Leader >= 0 && !slices.Contains(p.ISR, n.ID) }) {
		n.catchAt = w.after(time.Second)
	}
}

// catchUp brings as many replicas of a broker in sync as do in a second.
func (w *world) catchUp(n *node) {
	if !n.up || n.slow {
		return
	}
	left := n.Rate
	for _, p := range n.hosted {
		if left > 0 && p.Leader >= 0 && !slices.Contains(p.ISR, n.ID) && w.governed() {
			p.ISR = append(p.ISR, n.ID)
			left--
			w.completes(p)
			w.healed(p)
		}
	}
	if left < n.Rate {
		n.improved = w.now
		w.tell("broker %d catches up with %d replicas", n.ID, n.Rate-left)
	}
	w.follow(n)
}

// reassign begins to move one replica of a partition.
func (w *world) reassign(p *partition, from, to *node) {
	if len(p.Adding)+len(p.Removing) > 0 || slices.Contains(p.Replicas, to.ID) || !slices.Contains(p.Replicas, from.ID) || !w.governed() {
		return
	}
	p.Replicas = append(p.Replicas, to.ID)
	p.Adding, p.Removing = []roller.NodeID{to.ID}, []roller.NodeID{from.ID}
	p.hurt = p.hurt || to.ours || to.pod != podReady || from.ours || from.pod != podReady
	to.hosted = append(to.hosted, p)
	w.tell("%s is being reassigned from %d to %d", p, from.ID, to.ID)
	w.follow(to)
}

// completes ends a reassignment once all that are added are in sync.
func (w *world) completes(p *partition) {
	for _, id := range p.Adding {
		if !slices.Contains(p.ISR, id) {
			return
		}
	}
	w.leave(p, p.Removing)
}

// leave ends a reassignment; these brokers have no replica any more.
func (w *world) leave(p *partition, these []roller.NodeID) {
	if len(these) == 0 {
		return
	}
	stay := func(ids []roller.NodeID) []roller.NodeID {
		return slices.DeleteFunc(ids, func(id roller.NodeID) bool { return slices.Contains(these, id) })
	}
	for _, id := range these {
		n := w.byID[id]
		n.hosted = slices.DeleteFunc(n.hosted, func(o *partition) bool { return o == p })
	}
	p.Replicas, p.ISR = stay(p.Replicas), stay(p.ISR)
	p.Adding, p.Removing = nil, nil
	if !slices.Contains(p.Replicas, p.Leader) {
		w.choose(p)
	}
	w.tell("the reassignment of %s ends with replicas %v, in sync %v", p, p.Replicas, p.ISR)
	w.check(p)
}

// check holds the state of a partition against availability rule: what we alone did to it must leave enough replicas in sync.
func (w *world) check(p *partition) {
	if p.hurt || w.broken != "" {
		return
	}
	rf := len(p.Replicas) - len(p.Adding)
	if rf <= 1 {
		return
	}
	if in := w.alive(p); in < min(p.topic.minISR, rf-1) || in < 1 {
		w.broken = fmt.Sprintf("availability rule, seen in the data: partition %s of %d replicas, min.insync.replicas %d, has %d in sync and "+
			"alive, and nobody but us took any down", p, rf, p.topic.minISR, in)
		w.tell("VIOLATION %s", w.broken)
	}
}
