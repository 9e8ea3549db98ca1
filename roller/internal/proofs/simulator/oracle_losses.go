package simulator

import (
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/roller"
)

// losses checks the cluster-loss budget (docs/decisions/cluster-loss-budget.md). Like data and quorum, it reports a race (raced).
func (o *oracle) losses(n *node, a roller.Action, now truth) (raced bool) {
	if o.wayOut(n, a) || o.ringReason(n, a) {
		return false
	}
	place := o.w.placed()
	return o.raced(func(t truth) string {
		told := slices.DeleteFunc(slices.Clone(t.topics), func(t roller.Topic) bool { return o.untold[t.Name] })
		return KeepsLosses(told, t.quorum, place, n.ID, t.down, t.held, o.policy.QuorumFetchTimeout)
	}, now)
}

// placed returns the Kubernetes cluster of each node.
func (w *world) placed() map[roller.NodeID]string {
	place := map[roller.NodeID]string{}
	for _, n := range w.nodes {
		place[n.ID] = n.Place
	}
	return place
}

// ringReason reports whether a node is the first of several that wait for one another, none of which catches up.
func (o *oracle) ringReason(n *node, a roller.Action) bool {
	return strings.Contains(a.Forced, "wait for one another") && (n.behind() || !o.w.answers(n)) && o.w.now.Sub(n.improved) >= o.policy.Stall
}
