package simulator

import (
	"slices"

	"github.com/kafka-operators/kafka-operators/roller"
)

// caps are those of the policy on how many brokers are down at once because of us.
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

// downBrokers are the brokers that are down because of us, or go now; anew: one that serves somebody goes now. Combined nodes that did not
// come back do not stop brokers (docs/decisions/restart-order.md).
func (o *oracle) downBrokers(chosen []*node) (down []*node, anew bool) {
	onlyBrokers := !slices.ContainsFunc(chosen, func(n *node) bool { return n.Roles.Controller })
	for _, n := range o.w.nodes {
		fresh := slices.Contains(chosen, n) && o.serves(n)
		givenUp := onlyBrokers && n.Roles.Controller && o.w.now.Sub(o.lastEnd[n.ID]) >= o.policy.Patience
		held := n.hold && o.w.now.Sub(o.lastEnd[n.ID]) >= o.policy.Patience // somebody knows of it
		if n.Roles.Broker && (n.ours && !givenUp && !held || fresh) {
			down = append(down, n)
			anew = anew || fresh
		}
	}
	return down, anew
}

// racks is the policy's limit by rack.
func (o *oracle) racks(down []*node) {
	racks := map[string]int{}
	for _, n := range down {
		racks[n.Rack]++
		if n.Rack != "" && o.policy.MaxPerRack > 0 && racks[n.Rack] > o.policy.MaxPerRack {
			o.fail("%d brokers of rack %q are down because of us, and at most %d may be", racks[n.Rack], n.Rack, o.policy.MaxPerRack)
		}
	}
}

// share is how large a part of all partitions these brokers lead, of those that the roller may describe: who leads the
// others it can't know.
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
