package roller

import (
	"slices"
	"time"
)

// Pace is how long restarts took lately, from the deletion of the pod until the node was back, with its replicas in sync.
type Pace struct {
	Restart time.Duration `json:"restart"`
	// Count is how many restarts it was learned from.
	Count int `json:"count"`
}

// recent is of how many restarts a pace is the average, about.
const recent = 4

// took notes how long a restart took.
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

// predict is how long it takes until all that is under way is back, and these groups of nodes are, each of which goes when those before it
// are back; 0: nobody can tell, because no such node was restarted before. A broker that goes before its batch (docs/decisions/refill.md)
// makes it shorter only if it differs from the others.
func (r *round) predict(groups [][]NodeID) time.Duration {
	const all = -1 // before any batch
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

// left are the groups of nodes that still need a restart, in the order of Step. They include nodes that are blocked by others, because that
// may end.
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
