package simulator

import (
	"slices"

	"github.com/kafka-operators/kafka-operators/roller"
)

// queues reports whether a healthy controller only waits for another one that was restarted recently. Patience does not count for it then.
func (o *oracle) queues(n *roller.Node) bool {
	well := o.complete && n.Ready.Or(false) && KeepsQuorum(o.seen.Quorum, n.ID, o.policy.QuorumFetchTimeout) == "" &&
		KeepsData(o.seen.Topics.Or(nil), n.ID, nil) == ""
	return well && slices.ContainsFunc(o.w.nodes, func(c *node) bool {
		return c.Roles.Controller && c.ID != n.ID && c.ours && o.w.now.Sub(o.lastEnd[c.ID]) < o.policy.Patience
	}) && !slices.ContainsFunc(o.w.nodes, func(c *node) bool {
		return c.pod == podStuck || c.ours && o.w.now.Sub(o.lastEnd[c.ID]) >= o.policy.Patience
	})
}

// settled fails if a serving node is restarted before the settle time after another node's return.
func (o *oracle) settled(n *node) {
	for _, other := range o.w.nodes {
		if other.seen != nil || !o.shows(other) {
			continue // the roller may not have seen it back
		}
		if back := other.backAt; o.serves(n) && other.pod == podReady && !other.behind() && !back.IsZero() &&
			o.w.now.Sub(back) < o.policy.Settle {
			o.fail("node %d goes, and node %d is back since %s only", n.ID, other.ID, back.Format("15:04:05"))
		}
	}
}

// shows reports whether this look had all facts to see that a node is back.
func (o *oracle) shows(n *node) bool {
	seen := o.seen.Node(n.ID)
	return !o.slow && o.seen.Topics.IsKnown() && o.seen.Quorum.IsKnown() && seen != nil && seen.Instance.IsKnown() && seen.Ready.IsKnown() &&
		seen.Answers.IsKnown() && seen.Revision.IsKnown()
}

// serves reports whether clients or the quorum use the node.
func (o *oracle) serves(n *node) bool {
	return n.up || n.process && !n.Roles.Broker || n.process && n.Roles.Controller
}

// halt fails if a serving node is restarted while another one is stuck, up to date, and not on hold (docs/decisions/restart-order.md).
func (o *oracle) halt(n *node) {
	for i := range o.seen.Nodes {
		other := &o.seen.Nodes[i]
		r, known := other.Revision.Get()
		if other.ID != n.ID && other.Hold == "" && !o.ended[other.Instance.Or("")] && other.Stuck.Or("") != "" && known &&
			r.Current == r.Desired && o.serves(n) {
			o.fail("node %d is restarted although node %d is stuck and up to date", n.ID, other.ID)
		}
		if c := o.w.byID[other.ID]; c != n && o.failed(c, other) && c.Roles.Controller == n.Roles.Controller && o.serves(n) {
			o.fail("node %d is restarted although node %d has not become ready since its restart", n.ID, other.ID)
		}
	}
}

// failed reports whether a node that is killed again and again has had the patience since its restart, and nothing excuses the roller: the
// node is seen, up to date and not on hold, and no cluster is lost.
func (o *oracle) failed(c *node, seen *roller.Node) bool {
	known := seen.Instance.Or("") != "" && seen.Ready.IsKnown() && seen.Stuck.IsKnown() && c.seen == nil
	return c.killed && c.ours && c.pod == podStarting && known && seen.Hold == "" && len(o.reasons(seen)) == 0 && c.config.illegal() < 0 &&
		o.evidence.leaderless.IsZero() && len(o.seen.Unread) == 0 && o.w.now.Sub(c.createdAt) >= o.policy.Patience
}

// order checks that controllers precede brokers, that the active one is last, and that both wait up to patience for a controller that can't
// be restarted yet (docs/decisions/restart-order.md).
func (o *oracle) order(n *node, before []*node) {
	if n.Roles.Controller && o.w.leader != n.ID || n.pod == podStuck {
		return
	}
	for i := range o.seen.Nodes {
		other := &o.seen.Nodes[i]
		if other.ID == n.ID || !other.Roles.Controller {
			continue
		}
		c := o.w.byID[other.ID]
		if slices.Contains(before, c) || c.ours && o.w.now.Sub(o.lastEnd[c.ID]) < o.policy.Patience {
			o.fail("order: node %d goes although controller %d is not back", n.ID, c.ID)
		}
		if since, wants := o.wants[c.ID]; wants && len(o.reasons(other)) > 0 && !c.ours && o.couldGo(other, c) &&
			o.w.now.Sub(since) < o.policy.Patience {
			o.fail("order: node %d goes before controller %d, which waits since %s", n.ID, c.ID, since.Format("15:04:05"))
		}
	}
}

// stalled reports whether a restarted controller has long not caught up. Without a leader of the quorum that the roller reaches, none
// counts as caught up.
func (o *oracle) stalled(c *node) bool {
	end, restarted := o.lastEnd[c.ID]
	return restarted && (c.behind() || !o.w.governed() || !o.seen.Quorum.IsKnown()) && o.w.now.Sub(end) >= o.policy.Stall
}

// couldGo reports whether nothing about the controller itself prevents its restart.
func (o *oracle) couldGo(seen *roller.Node, c *node) bool {
	leaving := o.stalled(c) || o.keeps(seen) || seen.Terminating || c.pod == podStopping || c.pod == podGone || o.ended[c.instance()]
	return o.startable(seen) && seen.Hold == "" && seen.Foreign == "" && seen.Recovery.Or(nil) == nil && seen.Instance.Or("") != "" &&
		seen.Stuck.Or("") == "" && !leaving
}

// denies records that the API server did not delete a pod.
func (o *oracle) denies(a roller.Action) {
	if o.kept[a.Instance].IsZero() {
		o.kept[a.Instance] = o.w.now
	}
}

// keeps reports whether the API server has long not deleted the pod.
func (o *oracle) keeps(seen *roller.Node) bool {
	since, kept := o.kept[seen.Instance.Or("")]
	return kept && o.w.now.Sub(since) >= o.policy.Patience
}

// startable reports whether the node's desired state is known, and the node would start with it.
func (o *oracle) startable(seen *roller.Node) bool {
	return seen.Revision.IsKnown() && seen.Ready.IsKnown() && seen.Config.IsKnown() && len(o.illegal(seen)) == 0
}

// behind reports whether a replica of the node, or its place in the quorum, is not caught up. Replicas that a reassignment adds do not
// count.
func (n *node) behind() bool {
	return !n.lagsSince.IsZero() || slices.ContainsFunc(n.hosted, func(p *partition) bool {
		return !slices.Contains(p.ISR, n.ID) && !slices.Contains(p.Adding, n.ID)
	})
}

// rank returns a node's position in the order of docs/decisions/restart-order.md.
func (o *oracle) rank(n *node) int {
	ready := o.seen.Node(n.ID).Ready.Or(false)
	q, known := o.seen.Quorum.Get()
	switch {
	case n.Roles.Controller && known && q.Leader == n.ID:
		return 3
	case n.Roles.Controller && ready:
		return 2
	case n.Roles.Controller:
		return 1
	case ready:
		return 5
	}
	return 4
}
