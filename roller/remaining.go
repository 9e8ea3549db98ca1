package roller

import (
	"slices"
	"time"
)

// remaining counts, by Kubernetes cluster, the replicas of a partition or the voters of the quorum while a node is down.
type remaining struct {
	// possible counts those that may serve, certain those that serve for certain, and restored those that would serve if all nodes that the
	// roller waits for were back.
	possible, certain, restored []int
}

func newRemaining(places int) remaining {
	return remaining{possible: make([]int, places+1), certain: make([]int, places+1), restored: make([]int, places+1)}
}

func (c *remaining) reset() {
	clear(c.possible)
	clear(c.certain)
	clear(c.restored)
}

// outage returns the first place, other than the own one, whose loss would be an outage, although it may not be one without the restart,
// and waiting helps; and how many would certainly be left. It returns 0 if there is none.
func (c *remaining) outage(own, need int) (lost, left int) {
	possible, certain, restored := sum(c.possible), sum(c.certain), sum(c.restored)
	for place := 1; place < len(c.certain); place++ {
		if place != own && possible-c.possible[place] >= need && certain-c.certain[place] < need && restored-c.restored[place] >= need {
			return place, certain - c.certain[place]
		}
	}
	return 0, 0
}

func sum(counts []int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

// countReplicas counts the replicas of a partition while the nodes in gone are down.
func (l *losses) countReplicas(o *outcome, gone nodeSet) {
	c := &l.counts
	c.reset()
	for _, id := range o.replicas {
		if at := l.r.avail.ids.of(id); l.awaited[at] {
			c.restored[l.placeOf[at]]++
		}
	}
	for _, id := range o.inSync {
		at := l.r.avail.ids.of(id)
		place := l.placeOf[at]
		if !l.down.has(id) {
			c.possible[place]++
		}
		if gone.has(id) {
			continue
		}
		c.certain[place]++
		if !l.awaited[at] { // only Kafka reports it
			c.restored[place]++
		}
	}
}

// countVoters counts the voters while a controller is down, and returns the missing ones that the roller waits for.
func (l *losses) countVoters(a *Assessment, q Quorum, timeout time.Duration) (missing []*Assessment) {
	c := &l.counts
	c.reset()
	for _, v := range q.Voters {
		caughtUp, other, place := q.caughtUp(v.ID, timeout), l.r.assessment(v.ID), 0
		if other != nil {
			place = l.place(other.node)
		}
		if caughtUp && (other == nil || !other.Down && !other.node.Terminating) {
			c.possible[place]++
		}
		switch {
		case other == a:
		case caughtUp && !slices.Contains(l.r.unreliableVoters, v.ID) && !slices.Contains(l.r.chosen, other):
			c.certain[place]++
			c.restored[place]++
		case other == nil && l.r.s.Unread != "": // a node that was not read may exist
			c.restored[place]++
		case other != nil && !l.r.unawaited(other):
			c.restored[place]++
			missing = append(missing, other)
		}
	}
	return missing
}
