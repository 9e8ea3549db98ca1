package simulator

import (
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// places returns the Kubernetes clusters that have nodes.
func (w *world) places() []string {
	var all []string
	for _, n := range w.nodes {
		if !slices.Contains(all, n.Place) {
			all = append(all, n.Place)
		}
	}
	return all
}

// unreadable reports whether the roller can't read the node's Kubernetes cluster.
func (w *world) unreadable(n *node) bool { return w.lost[n.Place] || w.unread[n.Place] }

// darkens notes since when the roller can't read a Kubernetes cluster.
func (w *world) darkens(place string) {
	switch _, noted := w.dark[place]; {
	case !w.lost[place] && !w.unread[place]:
		delete(w.dark, place)
	case !noted:
		w.dark[place] = w.now
	}
}

// loses takes a whole Kubernetes cluster down, or brings it back. It never takes the only one down.
func (r *run) loses(s Step) {
	all := r.w.places()
	place := all[s.Arg%len(all)]
	switch {
	case place == r.w.vanished:
	case r.w.lost[place]:
		r.w.restore(place)
	case len(all) > 1:
		r.w.lose(place)
	}
}

func (w *world) lose(place string) {
	w.lost[place] = true
	w.darkens(place)
	w.tell("Kubernetes cluster %q is lost", place)
	for _, n := range w.nodes {
		if n.Place != place {
			continue
		}
		w.hurt(n)
		if n.process {
			w.stopped(n, false)
		}
		n.pod, n.next, n.readyAt = podGone, time.Time{}, w.now
		n.seen, n.seenUntil = nil, time.Time{}
	}
}

// none is the name of no Kubernetes cluster.
const none = "none"

// dooms lets a Kubernetes cluster be lost for good when the roller next restarts one of its nodes.
func (r *run) dooms(s Step) {
	all := r.w.places()
	if len(all) > 2 && r.w.doomed == none && r.w.vanished == none {
		r.w.doomed = all[s.Arg%len(all)]
		r.w.tell("Kubernetes cluster %q will be lost with the next restart there", r.w.doomed)
	}
}

// vanish loses the doomed Kubernetes cluster of a node that the roller restarts.
func (w *world) vanish(n *node) {
	if w.doomed == n.Place && !w.lost[n.Place] {
		w.doomed, w.vanished = none, n.Place
		w.lose(n.Place)
	}
}

// restore brings a Kubernetes cluster back, and its nodes start again.
func (w *world) restore(place string) {
	delete(w.lost, place)
	w.darkens(place)
	w.tell("Kubernetes cluster %q is back", place)
	for _, n := range w.nodes {
		if n.Place == place && n.pod == podGone {
			n.next = w.after(replacement)
		}
	}
}

// unlists takes a node out of the roller's view, or brings it back. The node keeps running.
func (r *run) unlists(s Step) {
	n := r.node(s)
	n.unlisted = !n.unlisted
	r.w.tell("the roller does not look where node %d is: %t", n.ID, n.unlisted)
}

// unlist removes from a snapshot the nodes that are out of the roller's view. One that Kafka does not take for serving stays: for all that
// anybody can tell it was removed, and no rule is about it then.
func (w *world) unlist(s *roller.Snapshot) {
	topics, listed := s.Topics.Get()
	q, known := s.Quorum.Get()
	controllers := slices.ContainsFunc(s.Nodes, func(n roller.Node) bool { return n.Roles.Controller && !w.byID[n.ID].unlisted })
	s.Nodes = slices.DeleteFunc(s.Nodes, func(n roller.Node) bool {
		if !w.byID[n.ID].unlisted {
			return false
		}
		follows := slices.ContainsFunc(q.Voters, func(v roller.Voter) bool {
			lag := w.now.Add(skew(q.Leader)).UnixMilli() - v.LastCaughtUp
			return v.ID == n.ID && controllers && q.Leader >= 0 && v.LastCaughtUp >= 0 && lag < (9*time.Second).Milliseconds()
		})
		untold := n.Roles.Broker && !listed || n.Roles.Controller && !known
		return untold || follows || slices.ContainsFunc(topics, func(t roller.Topic) bool {
			return slices.ContainsFunc(t.Partitions, func(p roller.Partition) bool { return p.Leader >= 0 && slices.Contains(p.ISR, n.ID) })
		})
	})
}

// unreads prevents the roller from reading a Kubernetes cluster, or ends that. The nodes there keep running.
func (r *run) unreads(s Step) {
	all := r.w.places()
	place := all[s.Arg%len(all)]
	r.w.unread[place] = !r.w.unread[place] && len(all) > 1
	r.w.darkens(place)
	r.w.tell("the roller can't read Kubernetes cluster %q: %t", place, r.w.unread[place])
}
