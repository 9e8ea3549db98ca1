package simulator

import (
	"maps"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// data is the availability rule. Who does not answer is not in sync, whoever says so (docs/decisions/facts-of-a-restart.md).
func (o *oracle) data(n *node, a roller.Action, now truth) {
	if o.wayOut(n, a) {
		o.alone(n)
		o.w.hurt(n)
		return
	}
	if q, known := o.seen.Quorum.Get(); known && q.Leader < 0 {
		o.fail("broker %d is restarted, and there is no quorum with which it could come back", n.ID)
	}
	topics, known := o.seen.Topics.Get()
	if !known {
		o.fail("node %d is restarted, and nobody knows what is in sync", n.ID)
	}
	if slices.ContainsFunc(topics, func(t roller.Topic) bool { return !t.MinISR.IsKnown() && hosts(t, n.ID) }) {
		o.fail("node %d is restarted, and min.insync.replicas is not known", n.ID)
	}
	for _, p := range n.hosted {
		p.hurt = p.hurt || o.untold[p.topic.name]
	}
	o.either(func(t truth) string {
		if t.idle[n.ID] {
			return "" // nothing is taken away
		}
		down := maps.Clone(t.down)
		for _, other := range o.w.nodes {
			down[other.ID] = down[other.ID] || !shownToServe(o.seen.Node(other.ID))
		}
		told := slices.DeleteFunc(slices.Clone(t.topics), func(t roller.Topic) bool { return o.untold[t.Name] })
		return KeepsData(told, n.ID, down)
	}, now)
}

// shownToServe reports whether a look shows that a broker serves: what is unknown, or only recalled, shows nothing.
func shownToServe(n *roller.Node) bool {
	return n != nil && !n.Terminating && !n.Recalled && n.Instance.Or("") != "" && n.Ready.IsKnown() && n.Answers.Or(false) &&
		!n.Fenced.Or(false)
}

// unseen is how long apart two looks are at the most that count as watching (docs/decisions/lost-clusters.md).
const unseen = time.Minute

// evidence is since when a cluster is lost, as far as looks showed it, none of which was long after the one before.
type evidence struct {
	at         time.Time
	leaderless time.Time
	expired    map[roller.NodeID]time.Time
}

// witness notes the evidence of a look. What can't be seen is neither evidence nor the end of it; what ends and begins again between two
// looks nobody sees.
func (o *oracle) witness() {
	e := &o.evidence
	if e.expired == nil || o.seen.At.Sub(e.at) > unseen {
		*e = evidence{expired: map[roller.NodeID]time.Time{}}
	}
	e.at = o.seen.At
	note := func(since time.Time, is, known bool) time.Time {
		switch {
		case is && since.IsZero():
			return e.at
		case !is && known:
			return time.Time{}
		}
		return since
	}
	for i := range o.seen.Nodes {
		n := &o.seen.Nodes[i]
		e.expired[n.ID] = note(e.expired[n.ID], !o.w.byID[n.ID].expired.IsZero() && n.Failing != "", n.Answers.IsKnown())
	}
	ready := func(n roller.Node) bool { return n.Roles.Controller && n.Ready.Or(true) }
	known := o.seen.Quorum.IsKnown()
	none := !known && !slices.ContainsFunc(o.seen.Nodes, ready)
	e.leaderless = note(e.leaderless, none || known && !o.w.leaderless.IsZero(), known)
}

// wayOut reports whether a cluster is lost in a way that only this restart can repair (docs/decisions/lost-clusters.md): there has been no
// leader for long although its voters live, or nobody can connect to the node.
func (o *oracle) wayOut(n *node, a roller.Action) bool {
	lost := func(since time.Time) bool { return !since.IsZero() && o.w.now.Sub(since) >= o.policy.Patience }
	leaderless := n.Roles.Controller && lost(o.evidence.leaderless)
	outdated := slices.ContainsFunc(o.reasons(o.seen.Node(n.ID)), func(key string) bool { return key != "silence" })
	return a.Forced != "" && outdated && (leaderless || lost(o.evidence.expired[n.ID]))
}

// alone: whatever is restarted to repair a cluster goes by itself.
func (o *oracle) alone(n *node) {
	for _, other := range o.w.nodes {
		if end := o.lastEnd[other.ID]; other != n && other.ours && o.w.now.Sub(end) < o.policy.Patience {
			o.fail("one at a time: node %d is restarted beside node %d, which has only just gone", n.ID, other.ID)
		}
	}
}

func (o *oracle) anybodyAnswers() bool {
	return slices.ContainsFunc(o.seen.Nodes, func(n roller.Node) bool { return n.Roles.Broker && n.Answers.Or(false) })
}

func hosts(t roller.Topic, id roller.NodeID) bool {
	return slices.ContainsFunc(t.Partitions, func(p roller.Partition) bool { return slices.Contains(p.Replicas, id) })
}

// quorum: one voter at a time, and a majority stays.
func (o *oracle) quorum(n *node, a roller.Action, now truth) {
	if o.wayOut(n, a) {
		o.alone(n)
		return
	}
	for _, other := range o.w.nodes {
		lost := (other.pod == podStuck || other.hold) && o.w.now.Sub(o.lastEnd[other.ID]) >= o.policy.Patience // it is nobody's to wait for
		if other != n && other.Roles.Controller && other.ours && !lost {
			o.fail("voters %d and %d are down at once because of us", other.ID, n.ID)
		}
	}
	if !o.seen.Quorum.IsKnown() {
		o.fail("voter %d is restarted, and the quorum is not known", n.ID)
	}
	o.either(func(t truth) string { return KeepsQuorum(o.shownQuorum(t), n.ID, o.policy.QuorumFetchTimeout) }, now)
}

// shownQuorum is the quorum without the voters of which this look does not show that they stay: its leader may not have noticed yet.
func (o *oracle) shownQuorum(t truth) roller.Fact[roller.Quorum] {
	q := t.quorum.Or(roller.Quorum{})
	q.Voters = slices.Clone(q.Voters)
	for i, v := range q.Voters {
		if n := o.seen.Node(v.ID); v.ID != outside && (n == nil || n.Terminating || n.Instance.Or("") == "" || !n.Ready.IsKnown()) {
			q.Voters[i].LastCaughtUp = -1
		}
	}
	return roller.Known(succeeded(q))
}
