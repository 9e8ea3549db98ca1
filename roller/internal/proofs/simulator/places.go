package simulator

import (
	"slices"
	"time"
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

// loses takes a whole Kubernetes cluster down, or brings it back. It never takes the only one down.
func (r *run) loses(s Step) {
	all := r.w.places()
	place := all[s.Arg%len(all)]
	switch {
	case r.w.lost[place]:
		r.w.restore(place)
	case len(all) > 1:
		r.w.lose(place)
	}
}

func (w *world) lose(place string) {
	w.lost[place] = true
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

// restore brings a Kubernetes cluster back, and its nodes start again.
func (w *world) restore(place string) {
	delete(w.lost, place)
	w.tell("Kubernetes cluster %q is back", place)
	for _, n := range w.nodes {
		if n.Place == place && n.pod == podGone {
			n.next = w.after(replacement)
		}
	}
}

// unreads prevents the roller from reading a Kubernetes cluster, or ends that. The nodes there keep running.
func (r *run) unreads(s Step) {
	all := r.w.places()
	place := all[s.Arg%len(all)]
	r.w.unread[place] = !r.w.unread[place] && len(all) > 1
	r.w.tell("the roller can't read Kubernetes cluster %q: %t", place, r.w.unread[place])
}
