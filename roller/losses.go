package roller

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller/internal/packing"
)

// losses implements the cluster-loss budget (docs/decisions/cluster-loss-budget.md): it blocks a restart that would turn the loss of any
// one Kubernetes cluster into an outage, if that is not one already, and if waiting can help. It counts replicas in three ways: those that
// may serve, those that serve for certain, and those that would serve if all nodes were back.
type losses struct {
	r *round
	// places are the Kubernetes clusters with nodes; nil if there is no other one to lose. Numbers of places begin with 1; 0 is an unknown
	// place.
	places []string
	// at is the number of a broker's place, by the broker's position.
	at []int
	// back reports whether a broker serves or the roller waits for it, by the broker's position.
	back []bool
	// sure are the brokers that certainly serve no clients.
	sure nodeSet
	// impaired are, by a broker's position, its partitions that are not fully in sync, are being reassigned, or have a replica on a node
	// that is down. No other partition has a replica that the roller waits for.
	impaired [][]place
	// marked reports whether a partition is impaired, by its index.
	marked []bool
	// may counts the replicas that may serve, by place. Like is and can, it is a field so that it is not allocated for each partition.
	may []int
	// is counts the replicas that serve for certain, by place.
	is []int
	// can counts the replicas that would serve if all nodes were back, by place.
	can []int
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

func (r *round) newLosses() *losses {
	l := &losses{r: r}
	for i := range r.s.Nodes {
		if n := &r.s.Nodes[i]; !n.elsewhere() && !slices.Contains(l.places, n.Place) {
			l.places = append(l.places, n.Place)
		}
	}
	if len(l.places) < 2 {
		l.places = nil
		return l
	}
	slices.Sort(l.places)
	ids := &r.avail.ids
	l.at, l.back, l.sure = make([]int, ids.n), make([]bool, ids.n), r.avail.set(nil)
	l.may, l.is, l.can = make([]int, len(l.places)+1), make([]int, len(l.places)+1), make([]int, len(l.places)+1)
	if r.s.Unread != "" { // a node that was not read may exist
		for at := range l.back {
			l.back[at] = true
		}
	}
	for _, a := range r.nodes {
		if at := ids.of(a.Node); at >= 0 {
			l.at[at], l.back[at] = l.place(a.node), !r.unawaited(a)
			if a.certainlyDown() {
				l.sure.add(a.Node)
			}
		}
	}
	l.dent()
	return l
}

// dent collects the impaired partitions.
func (l *losses) dent() {
	a := l.r.avail
	l.impaired, l.marked = make([][]place, a.ids.n), make([]bool, a.total)
	for t := range a.topics {
		for p := range a.topics[t].Partitions {
			if x := &a.topics[t].Partitions[p]; len(x.ISR) != len(x.Replicas) || len(x.Adding)+len(x.Removing) > 0 {
				l.mark(place{int32(t), int32(p)})
			}
		}
	}
	for at, gone := range l.r.ledger.gone.marks {
		if gone {
			l.dents(int32(at))
		}
	}
}

// goes records that a node goes down.
func (l *losses) goes(id NodeID) {
	if at := l.r.avail.ids.of(id); at >= 0 && l.places != nil {
		l.dents(at)
	}
}

func (l *losses) dents(at int32) {
	for _, where := range l.r.avail.hosted[at] {
		l.mark(where)
	}
}

func (l *losses) mark(where place) {
	number := l.r.ledger.first[where.topic] + where.partition
	if l.marked[number] {
		return
	}
	l.marked[number] = true
	for _, id := range l.r.avail.topics[where.topic].Partitions[where.partition].Replicas {
		at := l.r.avail.ids.of(id)
		l.impaired[at] = append(l.impaired[at], where)
	}
}

// elsewhere reports whether the node's Kubernetes cluster is unknown.
func (n *Node) elsewhere() bool { return n.Place == UnknownPlace }

// place returns the number of the node's place.
func (l *losses) place(n *Node) int { return slices.Index(l.places, n.Place) + 1 }

// certainlyDown reports whether a broker certainly serves no clients, or is going to stop. An unknown fact is not certain.
func (a *Assessment) certainlyDown() bool {
	n := a.node
	ready, known := n.Ready.Get()
	return a.Down || n.Terminating || known && !ready && !n.Answers.Or(true) || n.Recovery.Or(nil) != nil
}

// unawaited reports whether the roller does not wait for the node to come back: the node has been down or has refused connections for long,
// and is on hold, so a user knows about it. The roller waits for a node that it has just restarted, however old its facts are.
func (r *round) unawaited(a *Assessment) bool {
	n := a.node
	if a.stage.underWay() && a.stage != stageFailed {
		return false
	}
	since, failing := n.ReadyChanged, !n.Ready.Or(true)
	if !failing && n.lingers(r.s.At, r.policy) {
		since, failing = n.Overdue, true
	}
	if at, noted := r.progress.Failing[n.ID]; !failing && n.Failing != "" {
		since, failing = at, noted
	}
	return n.Hold != "" && failing && r.s.At.Sub(since) >= r.policy.Patience
}

// block describes the loss that the restart of a node would turn into an outage; empty if there is none.
func (l *losses) block(a *Assessment) string {
	if e := l.exposed(a); e != nil {
		return e.String(a.Node)
	}
	return ""
}

// beside is block for the case that the nodes in gone are also down.
func (l *losses) beside(a *Assessment, gone nodeSet) string {
	if l.places == nil {
		return ""
	}
	why := ""
	if at := l.r.avail.ids.of(a.Node); at >= 0 {
		l.partitions(a, l.r.avail.hosted[at], gone, func(e *exposure) bool { why = e.String(a.Node); return false })
	}
	return why
}

// String describes, for users, what would be lost, and which nodes the roller waits for.
func (e *exposure) String(id NodeID) string {
	return fmt.Sprintf("if Kubernetes cluster %s failed while node %d is down, %s would be unavailable: it would have %s, and needs %d; "+
		"waiting for %s avoids that", cmp.Or(e.place, "home"), id, e.what, e.left, e.need, list(e.waits))
}

// exposed returns the first outage that the loss of another Kubernetes cluster would be if the node goes down; nil if there is none.
func (l *losses) exposed(a *Assessment) *exposure {
	var first *exposure
	l.each(a, func(e *exposure) bool { first = e; return false })
	return first
}

// each calls f for each outage that the loss of another Kubernetes cluster would be, until f returns false. A node that is down adds none.
func (l *losses) each(a *Assessment, f func(*exposure) bool) {
	if l.places == nil || a.Down {
		return
	}
	if a.Roles.Controller {
		if e := l.quorum(a); e != nil && !f(e) {
			return
		}
	}
	if at := l.r.avail.ids.of(a.Node); a.Roles.Broker && at >= 0 && !l.sure.has(a.Node) {
		l.partitions(a, l.impaired[at], l.r.ledger.gone, f)
	}
}

// partitions calls f for each exposure among these partitions of a node that is restarted together with others.
func (l *losses) partitions(a *Assessment, those []place, gone nodeSet, f func(*exposure) bool) {
	gone = gone.and(a.Node)
	for _, where := range those {
		t := &l.r.avail.topics[where.topic]
		p := &t.Partitions[where.partition]
		minISR, known := t.MinISR.Get()
		if !known {
			continue
		}
		two, n := outcomes(p)
		for _, o := range two[:n] {
			if !slices.Contains(o.inSync, a.Node) {
				continue
			}
			if e := l.partition(&o, max(1, minISR), a.Node, gone); e != nil {
				e.what = fmt.Sprintf("partition %s-%d%s", t.Name, p.Index, o.when)
				if !f(e) {
					return
				}
			}
		}
	}
}

// partition returns the exposure of a partition that needs a number of replicas in sync for writes; nil if there is none.
func (l *losses) partition(o *outcome, need int, id NodeID, gone nodeSet) *exposure {
	ids := &l.r.avail.ids
	l.count(o, gone)
	if at := ids.of(id); l.back[at] {
		l.can[l.at[at]]-- // the node that goes down
	}
	d, left := l.outage(l.at[ids.of(id)], need)
	if d == 0 {
		return nil
	}
	e := &exposure{place: l.places[d-1], left: amount(left, "replica") + " in sync", need: need}
	for _, other := range o.replicas {
		if at := ids.of(other); other != id && l.back[at] && l.at[at] != d && (gone.has(other) || !slices.Contains(o.inSync, other)) {
			e.waits = append(e.waits, other)
		}
	}
	return e
}

// outage returns the first place, other than its own, whose loss would be an outage by the counts, and the number that would be left; 0 if
// there is none.
func (l *losses) outage(own, need int) (d, left int) {
	may, is, can := sum(l.may), sum(l.is), sum(l.can)
	for d = 1; d <= len(l.places); d++ {
		if d != own && may-l.may[d] >= need && is-l.is[d] < need && can-l.can[d] >= need {
			return d, is - l.is[d]
		}
	}
	return 0, 0
}

func (l *losses) reset() {
	clear(l.may)
	clear(l.is)
	clear(l.can)
}

// count counts the replicas of a partition by place.
func (l *losses) count(o *outcome, gone nodeSet) {
	l.reset()
	for _, id := range o.replicas {
		if at := l.r.avail.ids.of(id); l.back[at] {
			l.can[l.at[at]]++
		}
	}
	for _, id := range o.inSync {
		at := l.at[l.r.avail.ids.of(id)]
		if !l.sure.has(id) {
			l.may[at]++
		}
		if gone.has(id) {
			continue
		}
		l.is[at]++
		if !l.back[l.r.avail.ids.of(id)] { // only Kafka reports it
			l.can[at]++
		}
	}
}

// constrain adds constraints for dividing into batches: of the replicas in sync of a partition outside of one Kubernetes cluster, no more
// may go down than it can spare when that cluster is lost. Nodes that can't go even alone are not packed.
func (l *losses) constrain(in *packing.Input, brokers []*Assessment) {
	if l.places == nil {
		return
	}
	led := l.r.ledger
	item := led.a.items(brokers)
	for t := range led.a.topics {
		minISR := led.a.topics[t].MinISR.Or(0)
		for p := range led.a.topics[t].Partitions {
			two, n := outcomes(&led.a.topics[t].Partitions[p])
			for i := range two[:n] {
				if spare := int(led.spare[led.first[t]+int32(p)][i]); spare > 1 {
					l.count(&two[i], led.gone)
					l.limit(in, item, &two[i], max(1, minISR), spare)
				}
			}
		}
	}
}

// limit adds a partition that can spare a number of replicas as long as no Kubernetes cluster is lost.
func (l *losses) limit(in *packing.Input, item []int32, o *outcome, need, spare int) {
	is := sum(l.is)
	for d := 1; d <= len(l.places); d++ {
		limit := is - l.is[d] - need
		if limit < 1 || limit >= spare {
			continue
		}
		from := len(in.Members)
		for _, id := range o.inSync {
			if at := l.r.avail.ids.of(id); item[at] >= 0 && l.at[at] != d {
				in.Members = append(in.Members, item[at])
			}
		}
		if len(in.Members)-from <= limit {
			in.Members = in.Members[:from]
			continue
		}
		in.Limits = append(in.Limits, int32(limit))
		in.Offsets = append(in.Offsets, int32(len(in.Members)))
	}
}

func sum(counts []int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

// quorum returns the exposure of the metadata quorum if a controller goes down; nil if there is none.
func (l *losses) quorum(a *Assessment) *exposure {
	q, known := l.r.s.Quorum.Get()
	timeout := l.r.policy.fetchTimeout(a.node)
	if !known || q.Leader < 0 || !q.votes(a.Node) || !q.caughtUp(a.Node, timeout) {
		return nil
	}
	missing := l.voters(a, q, timeout)
	d, left := l.outage(l.place(a.node), len(q.Voters)/2+1)
	if d == 0 {
		return nil
	}
	e := &exposure{what: "the metadata quorum", place: l.places[d-1], left: amount(left, "voter"), need: len(q.Voters)/2 + 1}
	for _, m := range missing {
		if l.place(m.node) != d {
			e.waits = append(e.waits, m.Node)
		}
	}
	return e
}

// voters counts the voters by place for the case that a controller goes down, and returns the missing ones that the roller waits for.
func (l *losses) voters(a *Assessment, q Quorum, timeout time.Duration) (missing []*Assessment) {
	l.reset()
	for _, v := range q.Voters {
		caughtUp, other, at := q.caughtUp(v.ID, timeout), l.r.assessment(v.ID), 0
		if other != nil {
			at = l.place(other.node)
		}
		if caughtUp && (other == nil || !other.Down && !other.node.Terminating) {
			l.may[at]++
		}
		if other == a {
			continue
		}
		switch returns := l.r.voterReturns(other); {
		case caughtUp && !slices.Contains(l.r.unreliableVoters, v.ID) && !slices.Contains(l.r.chosen, other):
			l.is[at]++
			l.can[at]++
		case returns && other != nil:
			missing = append(missing, other)
			fallthrough
		case returns:
			l.can[at]++
		}
	}
	return missing
}

// voterReturns reports whether the roller waits for a missing voter; a is nil for one that was not read.
func (r *round) voterReturns(a *Assessment) bool {
	if a == nil {
		return r.s.Unread != ""
	}
	return !r.unawaited(a)
}

// assessment returns that of a node, or nil.
func (r *round) assessment(id NodeID) *Assessment {
	if i := slices.IndexFunc(r.nodes, func(a *Assessment) bool { return a.Node == id }); i >= 0 {
		return r.nodes[i]
	}
	return nil
}
