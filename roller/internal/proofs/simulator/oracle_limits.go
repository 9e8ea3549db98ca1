package simulator

import (
	"slices"

	"github.com/kafka-operators/kafka-operators/roller"
)

// caps checks the policy's limits on brokers that are down at once because of the roller.
func (o *oracle) caps(chosen []*node) {
	down, anew := o.downBrokers(chosen)
	if !anew || len(down) == 1 {
		return
	}
	if len(down) > max(1, o.policy.MaxUnavailable) {
		o.fail("too many at once: %d brokers are down because of us, and at most %d may be", len(down), o.policy.MaxUnavailable)
	}
	o.racks(down)
	if share := o.share(down); o.seen.Topics.IsKnown() && o.policy.MaxLeaderShare > 0 && share > o.policy.MaxLeaderShare+1e-9 {
		o.fail("%.3f of all partitions are led by those that go at once, and at most %.3f may be", share, o.policy.MaxLeaderShare)
	}
}

// downBrokers returns the brokers that are down because of the roller, or are stopped now. anew reports whether a serving one is stopped
// now. A combined node that did not come back does not block brokers (docs/decisions/restart-order.md).
func (o *oracle) downBrokers(chosen []*node) (down []*node, anew bool) {
	onlyBrokers := !slices.ContainsFunc(chosen, func(n *node) bool { return n.Roles.Controller })
	for _, n := range o.w.nodes {
		fresh := slices.Contains(chosen, n) && o.serves(n)
		givenUp := onlyBrokers && n.Roles.Controller && o.w.now.Sub(o.lastEnd[n.ID]) >= o.policy.Patience
		held := n.hold && o.w.now.Sub(o.lastEnd[n.ID]) >= o.policy.Patience // the user takes care of it
		if n.Roles.Broker && (n.ours && !givenUp && !held && !o.stranded(n) && !o.unread(n) || fresh) {
			down = append(down, n)
			anew = anew || fresh
		}
	}
	return down, anew
}

// stranded reports whether the node's pod should have ended long ago: its machine is lost, and nobody waits for it.
func (o *oracle) stranded(n *node) bool {
	return n.pod == podStopping && o.w.now.Sub(n.overdue()) >= o.policy.Patience
}

// unread reports whether the roller has not been able to read the node's Kubernetes cluster for the patience: nobody waits for the node.
func (o *oracle) unread(n *node) bool {
	since, dark := o.w.dark[n.Place]
	return dark && o.w.now.Sub(since) >= o.w.policy.Patience
}

// racks checks the policy's limit by rack.
func (o *oracle) racks(down []*node) {
	racks := map[string]int{}
	for _, n := range down {
		racks[n.Rack]++
		if n.Rack != "" && o.policy.MaxPerRack > 0 && racks[n.Rack] > o.policy.MaxPerRack {
			o.fail("%d brokers of rack %q are down because of us, and at most %d may be", racks[n.Rack], n.Rack, o.policy.MaxPerRack)
		}
	}
}

// share returns the share of partitions that these brokers lead, among those that the roller may describe; it can't know the leaders of the
// others.
func (o *oracle) share(brokers []*node) float64 {
	led, total := 0, 0
	for _, t := range o.topics {
		if !slices.ContainsFunc(o.seen.Topics.Or(nil), func(seen roller.Topic) bool { return seen.Name == t.Name }) {
			continue
		}
		for _, p := range t.Partitions {
			total++
			if slices.ContainsFunc(brokers, func(n *node) bool { return n.ID == p.Leader }) {
				led++
			}
		}
	}
	return float64(led) / float64(max(1, total))
}
