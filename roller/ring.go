package roller

import (
	"fmt"
	"slices"
	"time"
)

// Ring is how much is missing on nodes that block one another's restarts, at the least, and since when that has not decreased.
type Ring struct {
	Nodes []NodeID  `json:"nodes,omitempty"`
	Left  int       `json:"left"`
	Since time.Time `json:"since"`
}

// rings finds nodes that the cluster-loss budget would let wait for one another forever: each should be restarted, is itself not complete,
// and waits only for others of them, or for their restarts because log directories failed. The roller waits as long as the missing amount
// decreases; after policy.Stall without that, the first of them goes.
func (r *round) rings() {
	waits := map[*Assessment][]NodeID{}
	left := map[*Assessment]int{}
	for _, a := range r.nodes {
		if r.losses.places == nil || !a.wanted() || a.Down || len(a.Blocks) > 0 || r.lacks(a) == 0 {
			continue
		}
		left[a] = r.lacks(a)
		r.losses.each(a, func(e *exposure) bool { waits[a] = append(waits[a], e.waits...); return true })
		waits[a] = append(waits[a], r.examine().waitsFor(a.Node, r.examine().all)...)
		if len(waits[a]) == 0 {
			delete(waits, a)
		}
	}
	r.keepRing(waits)
	if len(waits) == 0 {
		r.progress.Ring = nil
		return
	}
	next := Ring{Since: r.s.At}
	for a := range waits {
		next.Nodes = append(next.Nodes, a.Node)
		next.Left += left[a]
	}
	slices.Sort(next.Nodes)
	if last := r.progress.Ring; last != nil && next.Left >= last.Left {
		next.Since = last.Since
		if slices.Equal(next.Nodes, last.Nodes) { // what falls out of sync and comes back is no progress
			next.Left = last.Left
		}
	}
	r.progress.Ring = &next
	if r.s.At.Sub(next.Since) >= r.policy.Stall {
		r.ring = slices.DeleteFunc(slices.Clone(r.nodes), func(a *Assessment) bool { return waits[a] == nil })
	}
}

// keepRing removes the nodes that wait for others than one another.
func (r *round) keepRing(waits map[*Assessment][]NodeID) {
	for again := true; again; {
		again = false
		for a, others := range waits {
			if slices.ContainsFunc(others, func(id NodeID) bool { return waits[r.assessment(id)] == nil }) {
				delete(waits, a)
				again = true
			}
		}
	}
}

// lacks returns how much of a node is missing: replicas out of sync, its place in the quorum, and 1 if it is down or can't be relied on.
func (r *round) lacks(a *Assessment) int {
	lacks := 0
	if at := r.avail.ids.of(a.Node); at >= 0 {
		for _, where := range r.losses.impaired[at] {
			if !slices.Contains(r.avail.topics[where.topic].Partitions[where.partition].ISR, a.Node) {
				lacks++
			}
		}
	}
	if r.ledger.gone.has(a.Node) || slices.Contains(r.unreliableVoters, a.Node) {
		lacks++
	}
	if q, known := r.s.Quorum.Get(); known && !q.caughtUp(a.Node, r.policy.fetchTimeout(a.node)) {
		lacks++
	}
	return lacks
}

// first reports whether the node is in a ring, and may be the first to go.
func (r *round) first(a *Assessment) bool {
	return slices.Contains(r.ring, a) && !slices.ContainsFunc(r.chosen, func(other *Assessment) bool { return other != a })
}

// ringReason explains why the first of a ring goes.
func (r *round) ringReason() string {
	var ids []NodeID
	for _, a := range r.ring {
		ids = append(ids, a.Node)
	}
	return fmt.Sprintf("%s wait for one another, and none of them has made progress since %s", list(ids), clock(r.progress.Ring.Since))
}
