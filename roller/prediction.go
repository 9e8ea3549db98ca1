package roller

import (
	"slices"
	"time"
)

// Pace is how long recent restarts took, from the deletion of the pod until the node was back, with its replicas in sync.
type Pace struct {
	Restart time.Duration `json:"restart"`
	// Count is the number of restarts that it is based on.
	Count int `json:"count"`
}

// recent is the approximate number of restarts over which a pace averages.
const recent = 4

// took adds the duration of a restart.
func (p *Progress) took(roles Roles, restart time.Duration) {
	if restart <= 0 {
		return
	}
	if p.Paces == nil {
		p.Paces = map[string]Pace{}
	}
	pace := p.Paces[roles.String()]
	pace.Count = min(pace.Count+1, recent)
	pace.Restart += (restart - pace.Restart) / time.Duration(pace.Count)
	p.Paces[roles.String()] = pace
}

// predict returns how long it takes until all restarts under way and these groups of nodes are complete, if each group starts when those
// before it are back; 0 if no such node was restarted before. A broker that goes before its batch (docs/decisions/refill.md) shortens that
// only if it differs from the others.
func (r *round) predict(groups [][]NodeID) time.Duration {
	const all = -1 // the restarts under way, before any batch
	away := map[int]time.Duration{}
	for id, restart := range r.progress.Restarts {
		n := r.s.Node(id)
		if n == nil {
			continue
		}
		pace, known := r.progress.Paces[n.Roles.String()]
		if !known {
			return 0
		}
		batch, planned := r.batch[id]
		if !planned || !r.refills() {
			batch = all
		}
		away[batch] = max(away[batch], pace.Restart-r.s.At.Sub(restart.At))
	}
	var total time.Duration
	for _, ids := range groups {
		longest := time.Duration(0)
		for _, id := range ids {
			pace, known := r.progress.Paces[r.s.Node(id).Roles.String()]
			if !known {
				return 0
			}
			longest = max(longest, pace.Restart)
		}
		own, planned := r.batch[ids[0]]
		for batch, rest := range away {
			if !planned || batch < own {
				total = max(total, rest)
			}
		}
		if total > 0 {
			total += r.policy.Settle
		}
		total += longest
	}
	for _, rest := range away {
		total = max(total, rest)
	}
	return total
}

// left returns the groups of nodes that still need a restart, in the order of Step. They include nodes that are blocked by others, because
// such a block may end.
func (r *round) left() [][]NodeID {
	var groups [][]NodeID
	var brokers []*Assessment
	for _, a := range r.nodes {
		switch _, gone := r.progress.Restarts[a.Node]; {
		case gone || !a.wanted():
		case a.Roles.Controller:
			groups = append(groups, []NodeID{a.Node})
		default:
			brokers = append(brokers, a)
		}
	}
	batches, missing := trimmed(r.progress.Batches, brokers)
	for _, a := range missing {
		batches = append(batches, []NodeID{a.Node})
	}
	return slices.Concat(groups, batches)
}
