package roller

import (
	"fmt"
	"maps"
	"slices"
)

// refill lets a broker go although brokers of other batches are away, if no broker before it has to wait for it (docs/decisions/refill.md).
func (r *round) refill(a *Assessment) []Block {
	other := r.ofAnotherBatch(a)
	if other == nil {
		return nil
	}
	if !r.refills() {
		return blocked(RuleBatch, "node %d of another batch %s", other.Node, r.doing(other))
	}
	if why := r.delays(a); why != "" {
		return blocked(RuleBatch, "%s", why)
	}
	return nil
}

// refills reports whether a broker may go before the batches before its own are back. With a settle time, each broker that comes back would
// restart that time for all that wait; and with a limit on the share of leaders, brokers that lead for others would have to wait until
// these are back.
func (p Policy) refills() bool { return p.MaxUnavailable > 1 && p.Settle == 0 && p.MaxLeaderShare == 0 }

// refills is that of the policy, as long as the plan stays: a new plan is made only when no broker is away.
func (r *round) refills() bool { return r.policy.refills() && !r.due }

// ofAnotherBatch returns a broker of another batch that is away, and that the roller waits for; nil if there is none.
func (r *round) ofAnotherBatch(a *Assessment) *Assessment {
	own, planned := r.batch[a.Node]
	for _, other := range r.away {
		if theirs, also := r.batch[other.Node]; planned && also && own != theirs && other.node.Hold == "" {
			return other
		}
	}
	return nil
}

// delays names a broker that goes before this one, and would have to wait for it; empty if there is none.
func (r *round) delays(a *Assessment) string {
	left := map[int][]*Assessment{} // by earlier batch
	for _, other := range r.nodes {
		batch, planned := r.batch[other.Node]
		switch {
		case !planned || !other.wanted() || slices.Contains(r.away, other):
		case other.rank() < a.rank():
			return fmt.Sprintf("node %d is not ready, and restarts first", other.Node)
		case other.rank() == a.rank() && batch < r.batch[a.Node]:
			left[batch] = append(left[batch], other)
		}
	}
	for _, batch := range slices.Sorted(maps.Keys(left)) {
		if why := r.beside(a, batch, left[batch]); why != "" {
			return fmt.Sprintf("node %d restarts first; restarting this one now would delay it: %s", left[batch][0].Node, why)
		}
	}
	return ""
}

// beside explains why a broker can't be away together with the rest of an earlier batch, when all batches before that are back; empty if it
// can.
func (r *round) beside(a *Assessment, batch int, left []*Assessment) string {
	gone, away := r.with(nil), slices.Clone(left)
	for _, other := range r.counted(a) {
		if theirs, planned := r.batch[other.Node]; planned && theirs < batch {
			gone.drop(other.Node)
		} else {
			away = append(away, other)
		}
	}
	for _, other := range left {
		gone.add(other.Node)
	}
	if caps := r.caps(a, away); len(caps) > 0 {
		return caps[0].Why
	}
	if a.Down {
		return "" // no further node goes down with it
	}
	if why := r.avail.shortage(a.Node, gone); why != "" {
		return why
	}
	return r.losses.whyBeside(a, gone)
}
