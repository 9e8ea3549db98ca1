package simulator

import (
	"fmt"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// topic is a topic of the simulated cluster.
type topic struct {
	name       string
	minISR     int
	partitions []*partition
	// hidden: the roller may not describe it.
	hidden bool
}

// partition is a partition of the simulated cluster.
type partition struct {
	roller.Partition
	topic *topic
	// hurt: since all replicas were in sync, something other than the roller's restarts removed a replica from the ISR or kept it out.
	hurt bool
}

func (p *partition) String() string { return fmt.Sprintf("%s-%d", p.topic.name, p.Index) }

// addTopic creates a topic. Its replicas are in sync, except for those on brokers that are not up.
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

// limit changes the min.insync.replicas of a topic.
func (w *world) limit(t *topic, minISR int) {
	t.minISR = minISR
	for _, p := range t.partitions {
		p.hurt = true // restarts that have begun knew another one
	}
	w.tell("min.insync.replicas of topic %s is %d", t.name, minISR)
}

// dropTopic deletes a topic.
func (w *world) dropTopic(t *topic) {
	w.topics = slices.DeleteFunc(w.topics, func(o *topic) bool { return o == t })
	for _, n := range w.nodes {
		n.hosted = slices.DeleteFunc(n.hosted, func(p *partition) bool { return p.topic == t })
	}
	w.tell("topic %s is deleted", t.name)
}

// hurt marks the broker's partitions as affected by something other than the roller.
func (w *world) hurt(n *node) {
	for _, p := range n.hosted {
		p.hurt = true
	}
}

// healed resets hurt of a partition once all its replicas are in sync and healthy.
func (w *world) healed(p *partition) {
	well := len(p.ISR) == len(p.Replicas) && len(p.Adding)+len(p.Removing) == 0
	for _, id := range p.Replicas {
		well = well && w.byID[id].up && w.byID[id].pod == podReady
	}
	p.hurt = p.hurt && !well
}

// alive returns how many members of the ISR are up.
func (w *world) alive(p *partition) int {
	n := 0
	for _, id := range p.ISR {
		if w.byID[id].up {
			n++
		}
	}
	return n
}

// fence removes a broker that is down from all ISRs, if there is an active controller. The last member stays, and the partition then has no
// leader.
func (w *world) fence(n *node) {
	if !w.governed() {
		n.fenceAt = w.after(retry)
		return
	}
	n.fenced, n.fenceAt = true, time.Time{}
	w.drop(n)
	w.tell("broker %d is fenced", n.ID)
}

// drop removes a broker from all ISRs that have another member.
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

// choose elects the first replica that is in the ISR, up, and not stopping.
func (w *world) choose(p *partition) {
	was := p.Leader
	p.Leader = -1
	for _, id := range p.Replicas {
		if n := w.byID[id]; slices.Contains(p.ISR, id) && n.up && n.fenceAt.IsZero() && !slices.Contains(p.Offline, id) {
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

// electPreferred elects the preferred leaders of partitions as the controller does: if they are in sync and in service.
func (w *world) electPreferred(a roller.Action) {
	if !w.governed() {
		return
	}
	for _, p := range w.byID[a.Node].hosted {
		first := p.Replicas[0]
		leads := slices.Contains(p.ISR, first) && !slices.Contains(p.Offline, first)
		if n := w.byID[first]; slices.Contains(a.Partitions[p.topic.name], p.Index) && leads && n.up && !n.fenced {
			p.Leader = first
		}
	}
	w.tell("the leaders of %d topics are elected for node %d", len(a.Partitions), a.Node)
}

// register brings a broker back. It leaves the ISRs in which it still was, unless it is the last member.
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

// follow lets a broker start to catch up, if a replica of it is not in sync.
func (w *world) follow(n *node) {
	if n.up && !n.slow && n.catchAt.IsZero() && slices.ContainsFunc(n.hosted,
		func(p *partition) bool { return p.Leader >= 0 && !slices.Contains(p.ISR, n.ID) && !n.spoils(p) }) {
		n.catchAt = w.after(time.Second)
	}
}

// spoils reports whether a failed disk keeps the broker's replica of a partition out of sync.
func (n *node) spoils(p *partition) bool {
	return p == n.dead || p == n.wavering || slices.Contains(p.Offline, n.ID)
}

// fail lets the log directory of some partitions of a broker fail, until the broker restarts. Their replicas leave the ISRs, unless they
// are the last members: then the partitions have no leader.
func (w *world) fail(n *node, some func(i int) bool) {
	for i, p := range n.hosted {
		if !some(i) || slices.Contains(p.Offline, n.ID) {
			continue
		}
		p.hurt, p.Offline = true, append(slices.Clone(p.Offline), n.ID)
		if len(p.ISR) > 1 {
			p.ISR = without(p.ISR, n.ID)
		}
		if p.Leader == n.ID {
			w.choose(p)
		}
	}
	w.tell("a log directory of broker %d fails", n.ID)
}

// repair brings the failed log directories of a broker back, as a restart does.
func (n *node) repair() {
	for _, p := range n.hosted {
		p.Offline = without(p.Offline, n.ID)
	}
}

// failed reports whether a log directory of the broker has failed.
func (n *node) failed() bool {
	return slices.ContainsFunc(n.hosted, func(p *partition) bool { return slices.Contains(p.Offline, n.ID) })
}

// without returns the other nodes.
func without(ids []roller.NodeID, id roller.NodeID) []roller.NodeID {
	return slices.DeleteFunc(slices.Clone(ids), func(other roller.NodeID) bool { return other == id })
}

// flap takes the wavering replica of a broker with a failed disk out of sync, or brings it back.
func (w *world) flap(n *node) {
	n.flapAt = w.after(2 * time.Minute)
	p := n.wavering
	if !n.up || !w.governed() || p.Leader < 0 || !slices.Contains(p.Replicas, n.ID) || slices.Contains(p.Offline, n.ID) {
		return
	}
	w.hurt(n)
	switch at := slices.Index(p.ISR, n.ID); {
	case at < 0:
		p.ISR = append(p.ISR, n.ID)
		w.completes(p)
	case len(p.ISR) > 1:
		p.ISR = slices.Delete(slices.Clone(p.ISR), at, at+1)
		if p.Leader == n.ID {
			w.choose(p)
		}
	}
	w.tell("a replica of broker %d comes and goes: %s has in sync %v", n.ID, p, p.ISR)
}

// catchUp brings as many replicas of a broker in sync as its rate allows in a second.
func (w *world) catchUp(n *node) {
	if !n.up || n.slow {
		return
	}
	left := n.Rate
	for _, p := range n.hosted {
		if left > 0 && p.Leader >= 0 && !slices.Contains(p.ISR, n.ID) && !n.spoils(p) && w.governed() {
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

// reassign starts to move one replica of a partition.
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

// completes ends a reassignment once all added replicas are in sync.
func (w *world) completes(p *partition) {
	for _, id := range p.Adding {
		if !slices.Contains(p.ISR, id) {
			return
		}
	}
	w.leave(p, p.Removing)
}

// leave ends a reassignment by removing these replicas.
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
	p.Replicas, p.ISR, p.Offline = stay(p.Replicas), stay(p.ISR), stay(p.Offline)
	p.Adding, p.Removing = nil, nil
	if !slices.Contains(p.Replicas, p.Leader) {
		w.choose(p)
	}
	w.tell("the reassignment of %s ends with replicas %v, in sync %v", p, p.Replicas, p.ISR)
	w.check(p)
}

// check checks the availability rule for a partition that only the roller affected: enough replicas must be in sync.
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
