package simulator

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// data checks the availability rule. A broker that does not respond is not in sync, whatever the metadata says
// (docs/decisions/facts-of-a-restart.md).
func (o *oracle) data(n *node, a roller.Action, now truth) (raced bool) {
	if o.wayOut(n, a) {
		o.alone(n)
		o.w.hurt(n)
		return false
	}
	o.comesBack(n)
	topics, known := o.seen.Topics.Get()
	limited := !slices.ContainsFunc(topics, func(t roller.Topic) bool { return !t.MinISR.IsKnown() && serves(t, n.ID) })
	for _, p := range n.hosted {
		p.hurt = p.hurt || o.untold[p.topic.name]
	}
	return o.raced(func(t truth) string {
		switch {
		case t.idle[n.ID]:
			return "" // the broker does not serve anyway
		case !known:
			return fmt.Sprintf("node %d is restarted, and nobody knows what is in sync", n.ID)
		case !limited:
			return fmt.Sprintf("node %d is restarted, and min.insync.replicas is not known", n.ID)
		}
		down := maps.Clone(t.down)
		for _, other := range o.w.nodes {
			down[other.ID] = down[other.ID] || !shownToServe(o.seen.Node(other.ID))
		}
		told := slices.DeleteFunc(slices.Clone(t.topics), func(t roller.Topic) bool { return o.untold[t.Name] })
		return KeepsData(told, n.ID, down)
	}, now)
}

// comesBack checks that the look does not show that a broker could not come back.
func (o *oracle) comesBack(n *node) {
	if q, known := o.seen.Quorum.Get(); known && q.Leader < 0 {
		o.fail("broker %d is restarted, and there is no quorum with which it could come back", n.ID)
	}
	if !n.Roles.Controller && n.up && o.shownLost() {
		o.fail("broker %d is restarted, and most voters are down, so that it could not come back", n.ID)
	}
}

// shownToServe reports whether the look shows that a broker serves. Unknown and recalled facts don't.
func shownToServe(n *roller.Node) bool {
	return n != nil && !n.Terminating && !n.Recalled && n.Instance.Or("") != "" && n.Ready.IsKnown() && n.Answers.Or(false) &&
		!n.Fenced.Or(false)
}

// unseen is the longest time between two looks that count as continuous observation (docs/decisions/lost-clusters.md).
const unseen = time.Minute

// evidence is the time since when a cluster is lost, as shown by looks without long gaps between them.
type evidence struct {
	at         time.Time
	leaderless time.Time
	expired    map[roller.NodeID]time.Time
}

func (e evidence) clone() evidence {
	e.expired = maps.Clone(e.expired)
	return e
}

// since returns since when something is the case that was so since then; zero if it is not. What is not known changes nothing.
func (e evidence) since(then time.Time, is, known bool) time.Time {
	switch {
	case is && then.IsZero():
		return e.at
	case !is && known:
		return time.Time{}
	}
	return then
}

// witness records the evidence of a look. An unknown or recalled fact neither adds evidence nor ends it. An interruption between two looks
// goes unnoticed.
func (o *oracle) witness() {
	e := &o.evidence
	if e.expired == nil || o.seen.Began.Sub(e.at) > unseen {
		*e = evidence{expired: map[roller.NodeID]time.Time{}}
	}
	e.at = o.seen.At
	for i := range o.seen.Nodes {
		n := &o.seen.Nodes[i]
		at := o.w.byID[n.ID]
		evident := n.Failing != "" && (!at.expired.IsZero() || !at.shut.IsZero() || o.w.refused) // the roller can't tell these apart
		e.expired[n.ID] = e.since(e.expired[n.ID], evident, n.Answers.IsKnown() && !n.Recalled)
	}
	ready := func(n roller.Node) bool { return n.Roles.Controller && n.Ready.Or(true) }
	known := o.seen.Quorum.IsKnown()
	none := !known && !slices.ContainsFunc(o.seen.Nodes, ready)
	e.leaderless = e.since(e.leaderless, none || known && !o.w.leaderless.IsZero(), known)
}

// wayOut reports whether a cluster is lost in a way that only this restart can repair (docs/decisions/lost-clusters.md): for patience there
// has been no leader although the voters run, or no client could connect to the node, because its certificate has expired or it is not seen
// to be in sync.
func (o *oracle) wayOut(n *node, a roller.Action) bool {
	lost := func(since time.Time) bool { return !since.IsZero() && o.w.now.Sub(since) >= o.policy.Patience }
	leaderless := n.Roles.Controller && lost(o.evidence.leaderless)
	outdated := slices.ContainsFunc(o.reasons(o.seen.Node(n.ID)), func(key string) bool { return key != "silence" })
	return a.Forced != "" && outdated && (leaderless || lost(o.evidence.expired[n.ID]) && (!n.expired.IsZero() || !o.inSync(n)))
}

// inSync reports whether the look shows that replicas of a broker are, or may be, in sync, whether the roller can connect to it or not.
func (o *oracle) inSync(n *node) bool {
	seen := o.seen.Node(n.ID)
	topics, known := o.seen.Topics.Get()
	return known && n.Roles.Broker && !seen.Fenced.Or(false) && (seen.Hidden != "" || slices.ContainsFunc(topics, func(t roller.Topic) bool {
		return slices.ContainsFunc(t.Partitions, func(p roller.Partition) bool { return p.Leader >= 0 && slices.Contains(p.ISR, n.ID) })
	}))
}

// alone fails if a restart that repairs a cluster coincides with another one.
func (o *oracle) alone(n *node) {
	for _, other := range o.w.nodes {
		if end := o.lastEnd[other.ID]; other != n && other.ours && o.w.now.Sub(end) < o.policy.Patience {
			o.fail("one at a time: node %d is restarted beside node %d, which has only just gone", n.ID, other.ID)
		}
	}
}

// serves reports whether a broker has a replica of a topic that clients may need. One in a failed log directory only comes back by a
// restart, unless it still counts as in sync with a leader.
func serves(t roller.Topic, id roller.NodeID) bool {
	return slices.ContainsFunc(t.Partitions, func(p roller.Partition) bool {
		lost := slices.Contains(p.Offline, id) && (p.Leader < 0 || !slices.Contains(p.ISR, id))
		return slices.Contains(p.Replicas, id) && !lost
	})
}

// quorum checks that only one voter is down at a time, and that a majority stays.
func (o *oracle) quorum(n *node, a roller.Action, now truth) (raced bool) {
	if o.wayOut(n, a) {
		o.alone(n)
		return false
	}
	for _, other := range o.w.nodes {
		stays := other.pod == podStuck || other.hold
		lost := stays && o.w.now.Sub(o.lastEnd[other.ID]) >= o.policy.Patience || o.stranded(other) || o.unread(other) // no rule waits for it
		if other != n && other.Roles.Controller && other.ours && !lost {
			o.fail("voters %d and %d are down at once because of us", other.ID, n.ID)
		}
	}
	if !o.seen.Quorum.IsKnown() {
		o.fail("voter %d is restarted, and the quorum is not known", n.ID)
	}
	return o.raced(func(t truth) string { return KeepsQuorum(o.shownQuorum(t), n.ID, o.policy.QuorumFetchTimeout) }, now)
}

// shownQuorum returns the quorum in which only voters whose pods this look saw running count as caught up: the leader may not have noticed
// yet that another one stopped.
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

// shownLost reports whether this look saw that most voters are down.
func (o *oracle) shownLost() bool {
	lost, voters := 0, o.w.voters()
	for _, v := range voters {
		n := o.seen.Node(v.ID)
		if n != nil && !n.Ready.Or(true) && !n.Answers.Or(true) {
			lost++
		}
	}
	return lost*2 >= len(voters) && lost > 0
}
