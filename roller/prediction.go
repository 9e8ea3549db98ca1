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

// predict is how long it takes until all that is under way is back, and after that these groups of nodes, one after another; 0: nobody can
// tell, because no such node was restarted before.
func (r *round) predict(groups [][]NodeID) time.Duration {
	var total, first time.Duration
	for id, restart := range r.progress.Restarts {
		n := r.s.Node(id)
		if n == nil {
			continue
		}
		pace, known := r.progress.Paces[n.Roles.String()]
		if !known {
			return 0
		}
		first = max(first, pace.Restart-r.s.At.Sub(restart.At))
	}
	if first > 0 {
		total = first + r.policy.Settle
	}
	for _, ids := range groups {
		longest := time.Duration(0)
		for _, id := range ids {
			pace, known := r.progress.Paces[r.s.Node(id).Roles.String()]
			if !known {
				return 0
			}
			longest = max(longest, pace.Restart)
		}
		total += longest + r.policy.Settle
	}
	return max(0, total-r.policy.Settle) // nobody waits after the last one
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
