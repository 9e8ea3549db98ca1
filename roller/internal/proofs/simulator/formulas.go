package simulator

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// These are the formulas of docs/decisions, written independently of package roller. They take a longer way: they simulate the possible
// outcomes.

// KeepsData checks the availability rule for all partitions of a node that is about to go down, in addition to those of down. It returns
// the violation, or "".
func KeepsData(topics []roller.Topic, id roller.NodeID, down map[roller.NodeID]bool) string {
	for _, t := range topics {
		for _, p := range t.Partitions {
			if !slices.Contains(p.Replicas, id) || lost(p, id) {
				continue
			}
			for _, end := range ends(p) {
				left := 0
				for _, member := range end.ISR {
					if member != id && !down[member] {
						left++
					}
				}
				rf := len(end.Replicas)
				if rf == 1 {
					continue
				}
				minISR, known := t.MinISR.Get()
				if !known {
					return fmt.Sprintf("node %d has a replica of %s, and its min.insync.replicas is not known", id, t.Name)
				}
				if left < 1 || left < min(minISR, rf-1) {
					return fmt.Sprintf("availability rule: %s-%d would have %d of %d replicas in sync without node %d and %v, min.insync.replicas is %d",
						t.Name, p.Index, left, rf, id, keys(down), minISR)
				}
			}
		}
	}
	return ""
}

// lost reports whether a node's log directory with a replica has failed, so that its restart takes nothing from clients: another node leads
// the partition without it, or nobody does.
func lost(p roller.Partition, id roller.NodeID) bool {
	led := p.Leader >= 0 && slices.Contains(p.ISR, id)
	return slices.Contains(p.Offline, id) && !led
}

// ends returns the possible outcomes of a partition: itself, or, during a reassignment, the partition after its cancellation and after its
// completion.
func ends(p roller.Partition) []roller.Partition {
	if len(p.Adding) == 0 && len(p.Removing) == 0 {
		return []roller.Partition{p}
	}
	var cancelled, complete roller.Partition
	for _, id := range p.Replicas {
		in, added, removed := slices.Contains(p.ISR, id), slices.Contains(p.Adding, id), slices.Contains(p.Removing, id)
		if !added {
			cancelled.Replicas = append(cancelled.Replicas, id)
			if in {
				cancelled.ISR = append(cancelled.ISR, id)
			}
		}
		if !removed {
			complete.Replicas = append(complete.Replicas, id)
			if in || added { // a reassignment completes only when all added replicas are in sync
				complete.ISR = append(complete.ISR, id)
			}
		}
	}
	return []roller.Partition{cancelled, complete}
}

// KeepsQuorum checks the quorum rule (docs/decisions/quorum.md) for a voter that is about to go down. It returns the violation, or "".
func KeepsQuorum(quorum roller.Fact[roller.Quorum], id roller.NodeID, timeout time.Duration) string {
	q, known := quorum.Get()
	if !known {
		return fmt.Sprintf("voter %d is to be restarted, and the quorum is not known", id)
	}
	leader := slices.IndexFunc(q.Voters, func(v roller.Voter) bool { return v.ID == q.Leader })
	self := slices.IndexFunc(q.Voters, func(v roller.Voter) bool { return v.ID == id })
	switch {
	case q.Leader < 0:
		return fmt.Sprintf("no leader: voter %d is to be restarted, and the quorum has no leader", id)
	case self < 0:
		return ""
	case leader < 0 || q.Voters[leader].LastCaughtUp < 0:
		return fmt.Sprintf("voter %d is to be restarted, and nobody knows the leader's time", id)
	}
	lag := func(v roller.Voter) time.Duration {
		return time.Duration(q.Voters[leader].LastCaughtUp-v.LastCaughtUp) * time.Millisecond
	}
	good := 0
	for i, v := range q.Voters {
		if i != self && v.LastCaughtUp >= 0 && (i == leader || lag(v) < timeout) {
			good++
		}
	}
	n := len(q.Voters)
	need := (n + 2) / 2 // ceil((n+1)/2)
	if n <= 2 {
		need = n - 1 // docs/decisions/quorum.md
	}
	if good < need {
		return fmt.Sprintf("quorum check: without voter %d there are %d of %d caught up, and %d are needed", id, good, n, need)
	}
	return ""
}

func keys(set map[roller.NodeID]bool) []roller.NodeID {
	var ids []roller.NodeID
	for id, in := range set {
		if in {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// KeepsLosses checks the cluster-loss budget for a node that is about to go down, in addition to those of down. For each other Kubernetes
// cluster, it compares three cases: what losing that cluster would break now, with this node down, and with this node down but all others
// healthy, except for those in held. It returns the violation, or "".
func KeepsLosses(topics []roller.Topic, quorum roller.Fact[roller.Quorum], place map[roller.NodeID]string, id roller.NodeID, down,
	held map[roller.NodeID]bool, timeout time.Duration) string {
	for _, lost := range slices.Compact(slices.Sorted(maps.Values(place))) {
		if lost == place[id] {
			continue
		}
		in := func(n roller.NodeID) bool { p, known := place[n]; return known && p == lost }
		out := func(down map[roller.NodeID]bool, goes bool) func(roller.NodeID) bool {
			return func(n roller.NodeID) bool { return in(n) || down[n] || goes && n == id }
		}
		// The quorum itself reports which voters are down: a combined node that serves no partition may still vote.
		without := outages(topics, quorum, id, timeout, false, out(down, false), out(nil, false))
		with := outages(topics, quorum, id, timeout, false, out(down, true), out(nil, true))
		best := outages(topics, quorum, id, timeout, true, out(held, true), out(held, true))
		for _, what := range slices.Sorted(maps.Keys(with)) {
			if !without[what] && !best[what] {
				return fmt.Sprintf("cluster-loss budget, %s: the loss of %q would be an outage without node %d and %v, and none without node %d alone",
					what, lost, id, keys(down), id)
			}
		}
	}
	return ""
}

// outages returns what would be out of service of the node's partitions and its quorum: partitions without enough replicas in sync, and a
// quorum without a majority. all: count all replicas as in sync, and all voters as caught up.
func outages(topics []roller.Topic, quorum roller.Fact[roller.Quorum], id roller.NodeID, timeout time.Duration, all bool, gone,
	mute func(roller.NodeID) bool) map[string]bool {
	out := map[string]bool{}
	for _, t := range topics {
		for _, p := range t.Partitions {
			if !slices.Contains(p.Replicas, id) || lost(p, id) {
				continue
			}
			for i, end := range ends(p) {
				members := end.ISR
				if all {
					members = end.Replicas
				}
				if left(members, gone) < max(1, t.MinISR.Or(0)) {
					out[fmt.Sprintf("partition %s-%d (%d)", t.Name, p.Index, i)] = true
				}
			}
		}
	}
	q := quorum.Or(roller.Quorum{})
	if slices.ContainsFunc(q.Voters, func(v roller.Voter) bool { return v.ID == id }) &&
		left(caughtUp(q, timeout, all), mute)*2 <= len(q.Voters) {
		out["the quorum"] = true
	}
	return out
}

// caughtUp returns the voters that are caught up, or all voters.
func caughtUp(q roller.Quorum, timeout time.Duration, all bool) []roller.NodeID {
	var now int64
	for _, v := range q.Voters {
		if v.ID == q.Leader {
			now = v.LastCaughtUp
		}
	}
	var ids []roller.NodeID
	for _, v := range q.Voters {
		if all || v.LastCaughtUp >= 0 && now-v.LastCaughtUp < timeout.Milliseconds() {
			ids = append(ids, v.ID)
		}
	}
	return ids
}

// left returns how many of the nodes remain.
func left(ids []roller.NodeID, gone func(roller.NodeID) bool) int {
	n := 0
	for _, id := range ids {
		if !gone(id) {
			n++
		}
	}
	return n
}
