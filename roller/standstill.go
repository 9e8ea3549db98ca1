package roller

import (
	"cmp"
	"fmt"
	"slices"
)

// impairment is a partition with replicas in failed log directories, and how many replicas the availability rule requires.
type impairment struct {
	topic     string
	partition *Partition
	required  int
}

// standstill are brokers that wait for one another's failed log directories, and those that wait for these: no restart that the
// availability rule allows brings back what any of them needs.
type standstill struct {
	impaired []impairment
	// hosted are the impaired partitions of which a broker has a replica.
	hosted map[NodeID][]impairment
	stuck  nodeSet
	count  int
	// all are the brokers with replicas of impaired partitions.
	all nodeSet
	// helps remembers of a broker whether its restart lets others go.
	helps map[NodeID]bool
}

// newStandstill finds the brokers in a standstill. A partition that is being reassigned keeps nobody in it: its end may bring what is
// missing.
func newStandstill(a *availability) *standstill {
	s := &standstill{all: a.set(nil), hosted: map[NodeID][]impairment{}, helps: map[NodeID]bool{}}
	for t := range a.topics {
		minISR, known := a.topics[t].MinISR.Get()
		for p := range a.topics[t].Partitions {
			x := &a.topics[t].Partitions[p]
			if known && len(x.Offline) > 0 && len(x.Adding)+len(x.Removing) == 0 {
				next := impairment{a.topics[t].Name, x, outcome{replicas: x.Replicas}.required(minISR)}
				s.impaired = append(s.impaired, next)
				for _, id := range x.Replicas {
					s.all.add(id)
					s.hosted[id] = append(s.hosted[id], next)
				}
			}
		}
	}
	s.stuck, s.count = s.without(a)
	return s
}

// without returns the brokers in the standstill, and their number, if these had been restarted.
func (s *standstill) without(a *availability, restarted ...NodeID) (stuck nodeSet, count int) {
	stuck = a.set(nil)
	for _, x := range s.impaired {
		for _, id := range x.partition.Replicas {
			if !stuck.has(id) && !slices.Contains(restarted, id) {
				stuck.add(id)
				count++
			}
		}
	}
	for {
		still, left := a.set(nil), 0
		for _, x := range s.impaired {
			for _, id := range x.partition.Replicas {
				if stuck.has(id) && !still.has(id) && x.forbids(id, stuck) {
					still.add(id)
					left++
				}
			}
		}
		if left == count {
			return stuck, count
		}
		stuck, count = still, left
	}
}

// forbids reports whether the partition forbids a restart of the broker as long as the stuck brokers are not restarted, even when all
// other replicas that can be in sync are. The last ones in sync count although they are in failed log directories, as they do for the
// availability rule. As long as they have no restart, nobody leads, and no other replica can catch up. If nobody is in sync (KIP-966), any
// replica that the stuck brokers do not keep may be the one that leads again.
func (x *impairment) forbids(id NodeID, stuck nodeSet) bool {
	p := x.partition
	if p.failed(id) {
		return false
	}
	lost := func(of NodeID) bool { return stuck.has(of) && p.failed(of) }
	led := len(p.ISR) == 0 || slices.ContainsFunc(p.ISR, func(of NodeID) bool { return !lost(of) })
	left := 0
	for _, other := range p.Replicas {
		if other != id && (slices.Contains(p.ISR, other) || led && !lost(other)) {
			left++
		}
	}
	return left < x.required
}

// keeping returns the partitions that keep a broker in the standstill.
func (s *standstill) keeping(id NodeID) (partitions []impairment) {
	for _, x := range s.hosted[id] {
		if x.forbids(id, s.stuck) {
			partitions = append(partitions, x)
		}
	}
	return partitions
}

// waitsFor returns the brokers whose restart a broker waits for, of those that are stuck.
func (s *standstill) waitsFor(id NodeID, stuck nodeSet) (ids []NodeID) {
	for _, x := range s.hosted[id] {
		if !x.forbids(id, stuck) {
			continue
		}
		for _, other := range x.partition.Offline {
			if other != id && stuck.has(other) && !slices.Contains(ids, other) {
				ids = append(ids, other)
			}
		}
	}
	return ids
}

// awaited returns the brokers of the standstill whose restart a broker waits for, directly or because these wait for others.
func (s *standstill) awaited(a *availability, id NodeID) (all []NodeID) {
	found := a.set(nil)
	for next := []NodeID{id}; len(next) > 0; next = next[1:] {
		for _, other := range s.waitsFor(next[0], s.stuck) {
			if !found.has(other) {
				found.add(other)
				all, next = append(all, other), append(next, other)
			}
		}
	}
	slices.Sort(all)
	return all
}

// letsGo reports whether the restart of a broker in the standstill lets others go.
func (s *standstill) letsGo(a *availability, id NodeID) bool {
	helps, known := s.helps[id]
	if !known {
		_, count := s.without(a, id)
		helps = count < s.count-1
		s.helps[id] = helps
	}
	return helps
}

// standsStill explains to users that a broker waits for brokers which wait for one another, and which pod to delete; empty if it does not.
// It names no pod that a user put on hold, or that nobody is known to recreate.
func (r *round) standsStill(id NodeID) string {
	s := r.examine()
	if !s.stuck.has(id) {
		return ""
	}
	all := s.awaited(r.avail, id)
	pod := r.fewestAtStake(all)
	if pod == nil {
		return ""
	}
	stake := s.keeping(pod.ID)
	text := fmt.Sprintf("; %s wait for one another, and while any of them restarts, partitions have too few replicas in sync (the fewest "+
		"without node %d: %s, such as %s-%d): ", list(all), pod.ID, amount(len(stake), "partition"), stake[0].topic, stake[0].partition.Index)
	if why := pod.kept(); why != "" {
		return text + fmt.Sprintf("reassign these partitions to other brokers, or settle what forbids to delete the pod of node %d: %s", pod.ID,
			why)
	}
	place := ""
	if pod.Place != "" {
		place = " in Kubernetes cluster " + pod.Place
	}
	return text + fmt.Sprintf("once its disks work again, delete its pod yourself (kubectl delete pod %s%s), or reassign these partitions to "+
		"other brokers", pod.Name, place)
}

// fewestAtStake returns which of the brokers of the standstill a user should delete: of those whose restart lets others go, the one with
// the fewest partitions at stake that may be deleted.
func (r *round) fewestAtStake(all []NodeID) *Node {
	rank := func(n *Node) []int {
		worse := []int{1, 1, len(r.standstill.keeping(n.ID))}
		if r.standstill.letsGo(r.avail, n.ID) {
			worse[0] = 0
		}
		if n.kept() == "" {
			worse[1] = 0
		}
		return worse
	}
	var best *Node
	for _, id := range all {
		if n := r.s.Node(id); n != nil && (best == nil || slices.Compare(rank(n), rank(best)) < 0) {
			best = n
		}
	}
	return best
}

// kept explains why nobody should delete the node's pod; empty if a user may.
func (n *Node) kept() string { return cmp.Or(n.Hold, n.Foreign) }

// examine returns the standstill of the round.
func (r *round) examine() *standstill {
	if r.standstill == nil {
		r.standstill = newStandstill(r.avail)
	}
	return r.standstill
}
