package roller

import (
	"cmp"
	"fmt"
	"slices"
)

// losses implements the cluster-loss budget (docs/decisions/cluster-loss-budget.md): it blocks a restart that would turn the loss of any
// one Kubernetes cluster into an outage, if that is not one already, and if waiting can help.
type losses struct {
	r *round
	// places are the Kubernetes clusters with nodes; nil if there is no other one to lose. Their numbers begin with 1; 0 is an unknown one.
	places []string
	// placeOf is the number of a broker's place, and awaited reports whether a broker serves or the roller waits for it; both by the
	// broker's position.
	placeOf []int
	awaited []bool
	// down are the brokers that certainly serve no clients.
	down nodeSet
	// impaired are, by a broker's position, its partitions that are not fully in sync, are being reassigned, or have a replica on a node
	// that is down. No other one has a replica that the roller waits for. isImpaired reports whether a partition is among them, by its number.
	impaired   [][]partitionRef
	isImpaired []bool
	// counts is used for one partition after another, so that it is not allocated for each.
	counts remaining
}

// newLosses prepares the checks of a round.
func (r *round) newLosses() *losses {
	l := &losses{r: r}
	l.findPlaces()
	if len(l.places) < 2 {
		l.places = nil
		return l
	}
	l.counts = newRemaining(len(l.places))
	l.locateBrokers()
	l.findImpaired()
	return l
}

func (l *losses) findPlaces() {
	for i := range l.r.s.Nodes {
		if n := &l.r.s.Nodes[i]; n.Place != UnknownPlace && !slices.Contains(l.places, n.Place) {
			l.places = append(l.places, n.Place)
		}
	}
	slices.Sort(l.places)
}

// locateBrokers sets what is known of each broker with replicas.
func (l *losses) locateBrokers() {
	ids := &l.r.avail.ids
	l.placeOf, l.awaited, l.down = make([]int, ids.n), make([]bool, ids.n), l.r.avail.set(nil)
	if l.r.s.Unread != "" { // a node that was not read may exist
		for at := range l.awaited {
			l.awaited[at] = true
		}
	}
	for _, a := range l.r.nodes {
		at := ids.of(a.Node)
		if at < 0 {
			continue
		}
		l.placeOf[at], l.awaited[at] = l.place(a.node), !l.r.unawaited(a)
		if a.certainlyDown() {
			l.down.add(a.Node)
		}
	}
}

// place returns the number of the node's place.
func (l *losses) place(n *Node) int { return slices.Index(l.places, n.Place) + 1 }

// add marks a node as down.
func (l *losses) add(id NodeID) {
	if at := l.r.avail.ids.of(id); at >= 0 && l.places != nil {
		l.impair(at)
	}
}

func (l *losses) findImpaired() {
	avail := l.r.avail
	l.impaired, l.isImpaired = make([][]partitionRef, avail.ids.n), make([]bool, avail.total)
	for t := range avail.topics {
		for p := range avail.topics[t].Partitions {
			if x := &avail.topics[t].Partitions[p]; len(x.ISR) != len(x.Replicas) || len(x.Adding)+len(x.Removing) > 0 {
				l.impairPartition(partitionRef{int32(t), int32(p)})
			}
		}
	}
	for at, gone := range l.r.ledger.gone.marks {
		if gone {
			l.impair(int32(at))
		}
	}
}

// impair marks all partitions of a broker, by its position, as impaired.
func (l *losses) impair(at int32) {
	for _, where := range l.r.avail.hosted[at] {
		l.impairPartition(where)
	}
}

func (l *losses) impairPartition(where partitionRef) {
	number := l.r.ledger.first[where.topic] + where.partition
	if l.isImpaired[number] {
		return
	}
	l.isImpaired[number] = true
	for _, id := range l.r.avail.topics[where.topic].Partitions[where.partition].Replicas {
		at := l.r.avail.ids.of(id)
		l.impaired[at] = append(l.impaired[at], where)
	}
}

// exposure is an outage that the loss of a Kubernetes cluster would be while a node is down, but not after the nodes that the roller waits
// for have come back.
type exposure struct {
	// what would be lost with the Kubernetes cluster place, because left is less than need.
	what, place, left string
	need              int
	// waits are the nodes whose return would prevent it.
	waits []NodeID
}

// describe describes, for users, what would be lost while a node is down, and which nodes the roller waits for.
func (e *exposure) describe(id NodeID) string {
	return fmt.Sprintf("if Kubernetes cluster %s failed while node %d is down, %s would be unavailable: it would have %s, and needs %d; "+
		"waiting for %s avoids that", cmp.Or(e.place, "home"), id, e.what, e.left, e.need, list(e.waits))
}

// why describes the first exposure that the restart of a node would cause; empty if there is none.
func (l *losses) why(a *Assessment) string {
	if e := l.first(a); e != nil {
		return e.describe(a.Node)
	}
	return ""
}

// whyBeside is why for the partitions of a broker and the case that the nodes in gone are also down.
func (l *losses) whyBeside(a *Assessment, gone nodeSet) string {
	at := l.r.avail.ids.of(a.Node)
	if l.places == nil || at < 0 {
		return ""
	}
	why := ""
	l.eachOfPartitions(a, l.r.avail.hosted[at], gone, func(e *exposure) bool { why = e.describe(a.Node); return false })
	return why
}

// first returns the first exposure that the restart of a node would cause; nil if there is none.
func (l *losses) first(a *Assessment) *exposure {
	var first *exposure
	l.each(a, func(e *exposure) bool { first = e; return false })
	return first
}

// each calls f for each exposure that the restart of a node would cause, until f returns false. A node that is down causes none.
func (l *losses) each(a *Assessment, f func(*exposure) bool) {
	if l.places == nil || a.Down {
		return
	}
	if a.Roles.Controller {
		if e := l.ofQuorum(a); e != nil && !f(e) {
			return
		}
	}
	if at := l.r.avail.ids.of(a.Node); a.Roles.Broker && at >= 0 && !l.down.has(a.Node) {
		l.eachOfPartitions(a, l.impaired[at], l.r.ledger.gone, f)
	}
}

// eachOfPartitions calls f for each exposure among these partitions of a broker that is restarted while the nodes in gone are down, until f
// returns false.
func (l *losses) eachOfPartitions(a *Assessment, partitions []partitionRef, gone nodeSet, f func(*exposure) bool) {
	gone = gone.and(a.Node)
	for _, where := range partitions {
		t := &l.r.avail.topics[where.topic]
		p := &t.Partitions[where.partition]
		minISR, known := t.MinISR.Get()
		if !known || p.failed(a.Node) {
			continue
		}
		two, n := outcomes(p)
		for _, o := range two[:n] {
			if !slices.Contains(o.inSync, a.Node) {
				continue
			}
			if e := l.ofPartition(&o, max(1, minISR), a.Node, gone); e != nil {
				e.what = fmt.Sprintf("partition %s-%d%s", t.Name, p.Index, o.when)
				if !f(e) {
					return
				}
			}
		}
	}
}

// ofPartition returns the exposure of a partition that needs a number of replicas in sync for writes; nil if there is none.
func (l *losses) ofPartition(o *outcome, need int, id NodeID, gone nodeSet) *exposure {
	ids := &l.r.avail.ids
	l.countReplicas(o, gone)
	at := ids.of(id)
	if l.awaited[at] {
		l.counts.restored[l.placeOf[at]]-- // the node that goes down
	}
	lost, left := l.counts.outage(l.placeOf[at], need)
	if lost == 0 {
		return nil
	}
	e := &exposure{place: l.places[lost-1], left: amount(left, "replica") + " in sync", need: need}
	for _, other := range o.replicas {
		at, missing := ids.of(other), gone.has(other) || !slices.Contains(o.inSync, other)
		if other != id && missing && l.awaited[at] && l.placeOf[at] != lost {
			e.waits = append(e.waits, other)
		}
	}
	return e
}

// ofQuorum returns the exposure of the metadata quorum if a controller goes down; nil if there is none.
func (l *losses) ofQuorum(a *Assessment) *exposure {
	q, known := l.r.s.Quorum.Get()
	timeout := l.r.policy.fetchTimeout(a.node)
	if !known || q.Leader < 0 || !q.votes(a.Node) || !q.caughtUp(a.Node, timeout) {
		return nil
	}
	missing := l.countVoters(a, q, timeout)
	need := len(q.Voters)/2 + 1
	lost, left := l.counts.outage(l.place(a.node), need)
	if lost == 0 {
		return nil
	}
	e := &exposure{what: "the metadata quorum", place: l.places[lost-1], left: amount(left, "voter"), need: need}
	for _, other := range missing {
		if l.place(other.node) != lost {
			e.waits = append(e.waits, other.Node)
		}
	}
	return e
}
