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

// likely is how long the next restart of a node is likely to take; estimated if no restart of a node with the same roles was seen yet.
type likely struct {
	restart   time.Duration
	estimated bool
}

// paces returns how long restarts are likely to take, by the nodes' roles: as long as the last ones, or else as long as the present pods
// took to start.
func (r *round) paces() map[string]likely {
	starts := map[string][]time.Duration{}
	for i := range r.s.Nodes {
		n := &r.s.Nodes[i]
		starts[n.Roles.String()] = append(starts[n.Roles.String()], n.StartTook)
	}
	paces := map[string]likely{}
	for roles, took := range starts {
		if pace, known := r.progress.Paces[roles]; known {
			paces[roles] = likely{restart: pace.Restart}
		} else if restart := typical(took, r.policy.Patience); restart > 0 {
			paces[roles] = likely{restart: restart, estimated: true}
		}
	}
	return paces
}

// typical returns the median of the starts that are known and took no longer than the roller waits for a node; 0 if there is none. A pod
// that seems to have taken longer probably became unready, and ready again, long after its start.
func typical(starts []time.Duration, longest time.Duration) time.Duration {
	believable := slices.DeleteFunc(slices.Clone(starts), func(d time.Duration) bool { return d <= 0 || d > longest })
	if len(believable) == 0 {
		return 0
	}
	slices.Sort(believable)
	return believable[len(believable)/2]
}

// predict returns how long it takes until all restarts under way and these groups of nodes are complete, if each group starts when those
// before it are back; 0 if that is unknown for one of the nodes. estimated means that some of them had no restart to judge by. A broker
// that goes before its batch (docs/decisions/refill.md) shortens that only if it differs from the others.
func (r *round) predict(groups [][]NodeID) (total time.Duration, estimated bool) {
	const all = -1 // the restarts under way, before any batch
	paces, away := r.paces(), map[int]time.Duration{}
	for id, restart := range r.progress.Restarts {
		if r.s.Node(id) == nil {
			continue
		}
		pace, known := r.slowest([]NodeID{id}, paces)
		if !known {
			return 0, false
		}
		estimated = estimated || pace.estimated
		batch, planned := r.batch[id]
		if !planned || !r.refills() {
			batch = all
		}
		away[batch] = max(away[batch], pace.restart-r.s.At.Sub(restart.At))
	}
	for _, ids := range groups {
		pace, known := r.slowest(ids, paces)
		if !known {
			return 0, false
		}
		estimated = estimated || pace.estimated
		own, planned := r.batch[ids[0]]
		for batch, rest := range away {
			if !planned || batch < own {
				total = max(total, rest)
			}
		}
		if total > 0 {
			total += r.policy.Settle
		}
		total += pace.restart
	}
	for _, rest := range away {
		total = max(total, rest)
	}
	return total, estimated
}

// slowest returns how long the restart of the slowest of some nodes is likely to take; estimated if that of any of them is.
func (r *round) slowest(ids []NodeID, paces map[string]likely) (slowest likely, known bool) {
	for _, id := range ids {
		pace, known := paces[r.s.Node(id).Roles.String()]
		if !known {
			return likely{}, false
		}
		slowest.restart = max(slowest.restart, pace.restart)
		slowest.estimated = slowest.estimated || pace.estimated
	}
	return slowest, true
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
