package roller

import (
	"fmt"
	"slices"
	"time"
)

// quorumVerdict says whether the quorum would survive a restart.
type quorumVerdict struct {
	// blocked explains why it might not; empty if it would.
	blocked string
	// warning describes what is lost during the restart although it is allowed (docs/decisions/quorum.md); empty if nothing is.
	warning string
}

// checkQuorum returns whether the quorum continues without one controller (the quorum check; docs/decisions/quorum.md): a majority of all
// voters must be caught up, not counting this one. A voter is caught up if it is the leader, or was so less than timeout before the leader.
// All times are of the leader's clock. Voters in lost do not count, although the leader may still take them for caught up.
func checkQuorum(quorum Fact[Quorum], id NodeID, timeout time.Duration, lost []NodeID) quorumVerdict {
	q, known := quorum.Get()
	switch {
	case !known:
		return quorumVerdict{blocked: "the state of the metadata quorum is unknown: " + quorum.Why()}
	case q.Leader < 0:
		return quorumVerdict{blocked: "the metadata quorum has no leader"}
	case !q.votes(id):
		return quorumVerdict{} // it is no voter, so nothing is lost
	}
	now, ok := q.leaderTime()
	if !ok {
		return quorumVerdict{blocked: fmt.Sprintf("the leader of the metadata quorum, node %d, does not report its progress", q.Leader)}
	}
	caughtUp, behind := q.others(id, now, timeout, lost)
	n := len(q.Voters)
	needed := n/2 + 1
	if n == 2 {
		needed = 1
	}
	switch {
	case n == 1:
		return quorumVerdict{warning: "it is the only voter: there is no metadata quorum until it is back"}
	case n == 2 && caughtUp == needed:
		return quorumVerdict{warning: "there are only two voters: there is no metadata quorum until it is back"}
	case n > 2 && caughtUp >= needed:
		return quorumVerdict{}
	}
	return quorumVerdict{blocked: fmt.Sprintf("%d of %d voters would be caught up without it, and %d are needed; not caught up: %s", caughtUp,
		n, needed, list(behind))}
}

// others counts the other voters that are caught up, and lists those that are not.
func (q Quorum) others(id NodeID, now int64, timeout time.Duration, lost []NodeID) (caughtUp int, behind []NodeID) {
	for _, v := range q.Voters {
		switch {
		case v.ID == id:
		case !slices.Contains(lost, v.ID) && v.LastCaughtUp >= 0 && (v.ID == q.Leader || now-v.LastCaughtUp < timeout.Milliseconds()):
			caughtUp++
		default:
			behind = append(behind, v.ID)
		}
	}
	return caughtUp, behind
}

// votes reports whether the node is a voter.
func (q Quorum) votes(id NodeID) bool {
	for _, v := range q.Voters {
		if v.ID == id {
			return true
		}
	}
	return false
}

// ids returns the ids of the voters, each once: a voter may have several directories.
func (q Quorum) ids() []NodeID {
	var ids []NodeID
	for _, v := range q.Voters {
		ids = append(ids, v.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// static reports whether voters are never added or removed, because all of them are in the configuration.
func (q Quorum) static() bool {
	return !slices.ContainsFunc(q.Voters, func(v Voter) bool { return v.Directory != "" })
}

// leaderTime returns the leader's own LastCaughtUp, which is the present by its clock. A leader may no longer be a voter (KIP-853), and is
// then among the observers.
func (q Quorum) leaderTime() (int64, bool) {
	latest, found := int64(-1), false
	for _, replicas := range [][]Voter{q.Voters, q.Observers} {
		for _, v := range replicas {
			if v.ID == q.Leader && v.LastCaughtUp >= 0 {
				latest, found = max(latest, v.LastCaughtUp), true
			}
		}
	}
	return latest, found
}

// caughtUp reports whether a replica of the quorum is caught up. It returns true for a node that is no voter.
func (q Quorum) caughtUp(id NodeID, timeout time.Duration) bool {
	if !q.votes(id) || id == q.Leader {
		return true
	}
	now, ok := q.leaderTime()
	for _, v := range q.Voters {
		if v.ID == id && ok && v.LastCaughtUp >= 0 && now-v.LastCaughtUp < timeout.Milliseconds() {
			return true
		}
	}
	return false
}
