package roller

import (
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
	stuck    nodeSet
	count    int
}

// newStandstill finds the brokers in a standstill. A partition that is being reassigned keeps nobody in it: its end may bring what is
// missing.
func newStandstill(a *availability) *standstill {
	s := &standstill{}
	for t := range a.topics {
		minISR, known := a.topics[t].MinISR.Get()
		for p := range a.topics[t].Partitions {
			x := &a.topics[t].Partitions[p]
			if known && len(x.Offline) > 0 && len(x.Adding)+len(x.Removing) == 0 {
				s.impaired = append(s.impaired, impairment{a.topics[t].Name, x, outcome{replicas: x.Replicas}.required(minISR)})
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

// forbids reports whether the partition forbids a restart of the broker even when all its replicas are in sync, except for those in failed
// log directories of the stuck brokers. The last one in sync counts although it is in such a directory, as it does for the availability
// rule.
func (x *impairment) forbids(id NodeID, stuck nodeSet) bool {
	p := x.partition
	if p.failed(id) {
		return false
	}
	left := 0
	for _, other := range p.Replicas {
		lacks := stuck.has(other) && slices.Contains(p.Offline, other) && !slices.Contains(p.ISR, other)
		if other != id && !lacks {
			left++
		}
	}
	return left < x.required
}

// keeping returns the partitions that keep a broker in the standstill.
func (s *standstill) keeping(id NodeID) (partitions []impairment) {
	for _, x := range s.impaired {
		if slices.Contains(x.partition.Replicas, id) && x.forbids(id, s.stuck) {
			partitions = append(partitions, x)
		}
	}
	return partitions
}

// awaited returns the brokers of the standstill whose restart a broker waits for, directly or because these wait for others.
func (s *standstill) awaited(id NodeID) []NodeID {
	var all []NodeID
	for next := []NodeID{id}; len(next) > 0; next = next[1:] {
		for _, x := range s.keeping(next[0]) {
			for _, other := range x.partition.Offline {
				if other != next[0] && s.stuck.has(other) && !slices.Contains(all, other) {
					all, next = append(all, other), append(next, other)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// standsStill explains to users that a broker waits for brokers which wait for one another, and which pod to delete; empty if it does not.
// Of those whose restart lets others go, it names the one with the fewest partitions at stake.
func (r *round) standsStill(id NodeID) string {
	if r.standstill == nil {
		r.standstill = newStandstill(r.avail)
	}
	s := r.standstill
	if !s.stuck.has(id) {
		return ""
	}
	var pod *Node
	var stake []impairment
	helps, all := false, s.awaited(id)
	for _, other := range all {
		_, count := s.without(r.avail, other)
		n, lets, keeping := r.s.Node(other), count < s.count-1, s.keeping(other)
		if n != nil && (pod == nil || lets && !helps || lets == helps && len(keeping) < len(stake)) {
			pod, helps, stake = n, lets, keeping
		}
	}
	if pod == nil {
		return ""
	}
	place := ""
	if pod.Place != "" {
		place = " in Kubernetes cluster " + pod.Place
	}
	return fmt.Sprintf("; %s wait for one another, and while any of them restarts, partitions have too few replicas in sync (the fewest "+
		"without node %d: %s, such as %s-%d): once its disks work again, delete its pod yourself (kubectl delete pod %s%s), or reassign "+
		"these partitions to other brokers", list(all), pod.ID, amount(len(stake), "partition"), stake[0].topic, stake[0].partition.Index,
		pod.Name, place)
}
