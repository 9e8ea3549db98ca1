package roller

import (
	"fmt"
	"slices"
)

// availability decides which brokers may be down at the same time (docs/decisions/availability.md). It is computed from the topics of one
// Snapshot, and is safe for concurrent use.
type availability struct {
	unknown string
	topics  []Topic
	ids     positions
	// hosted are the partitions of which a broker has a replica, and led is how many it leads; both by the broker's position.
	hosted [][]partitionRef
	led    []int32
	total  int
	// risky are the partitions that a restart may make unavailable to clients although the availability rule allows it.
	risky [][]partitionRef
}

// partitionRef is the position of a partition in the topics.
type partitionRef struct{ topic, partition int32 }

// newAvailability indexes the topics for many queries.
func newAvailability(topics Fact[[]Topic]) *availability {
	a := &availability{unknown: topics.Why(), topics: topics.Or(nil)}
	a.ids = positionsOf(a.topics)
	count := make([]int32, a.ids.n)
	a.led = make([]int32, a.ids.n)
	for t := range a.topics {
		for p := range a.topics[t].Partitions {
			partition := &a.topics[t].Partitions[p]
			a.total++
			for _, id := range partition.Replicas {
				count[a.ids.of(id)]++
			}
			if at := a.ids.of(partition.Leader); at >= 0 {
				a.led[at]++
			}
		}
	}
	a.hosted, a.risky = make([][]partitionRef, a.ids.n), make([][]partitionRef, a.ids.n)
	for at, n := range count {
		a.hosted[at] = make([]partitionRef, 0, n)
	}
	for t := range a.topics {
		minISR := a.topics[t].MinISR.Or(0)
		for p := range a.topics[t].Partitions {
			partition := &a.topics[t].Partitions[p]
			// If min.insync.replicas is below the number of replicas, clients do not notice the restarts that the availability rule allows.
			risky := minISR >= len(partition.Replicas)-len(partition.Adding)-len(partition.Removing) || len(partition.Replicas) == 1
			for _, id := range partition.Replicas {
				at := a.ids.of(id)
				a.hosted[at] = append(a.hosted[at], partitionRef{int32(t), int32(p)})
				if risky {
					a.risky[at] = append(a.risky[at], partitionRef{int32(t), int32(p)})
				}
			}
		}
	}
	return a
}

// shortage explains why a broker must not go down while all of down are down too, by a partition that would have too few replicas in sync;
// empty if it may. A broker without replicas may always go down.
func (a *availability) shortage(id NodeID, down nodeSet) string {
	if a.unknown != "" {
		return "it is unknown which replicas are in sync: " + a.unknown
	}
	at := a.ids.of(id)
	if at < 0 {
		return ""
	}
	gone := down.and(id)
	for _, where := range a.hosted[at] {
		t := &a.topics[where.topic]
		p := &t.Partitions[where.partition]
		if p.failed(id) {
			continue
		}
		minISR, known := t.MinISR.Get()
		if !known {
			return fmt.Sprintf("the min.insync.replicas of topic %s is unknown: %s", t.Name, t.MinISR.Why())
		}
		two, n := outcomes(p)
		for _, o := range two[:n] {
			if left, required := o.left(gone), o.required(minISR); left < required {
				return fmt.Sprintf("partition %s-%d would have %s in sync without %s, and needs %d (%s, min.insync.replicas %d)%s%s",
					t.Name, p.Index, amount(left, "replica"), list(gone.among(p.Replicas)), required, amount(len(o.replicas), "replica"), minISR, o.when,
					p.remedy())
			}
		}
	}
	return ""
}

// risks returns the effects on clients if the broker goes down in addition to down, although shortage allows it, with the first partition
// of each kind.
func (a *availability) risks(id NodeID, down nodeSet) map[Risk]string {
	risks := map[Risk]string{}
	at := a.ids.of(id)
	if at < 0 {
		return risks
	}
	gone := down.and(id)
	for _, where := range a.risky[at] {
		t := &a.topics[where.topic]
		p := &t.Partitions[where.partition]
		if p.failed(id) {
			continue
		}
		risk := RiskUnwritable
		if len(p.Replicas) == 1 {
			risk = RiskOffline
		} else if minISR, known := t.MinISR.Get(); !known || (outcome{replicas: p.Replicas, inSync: p.ISR}).left(gone) >= minISR {
			continue
		}
		if risks[risk] == "" {
			risks[risk] = fmt.Sprintf("%s-%d", t.Name, p.Index)
		}
	}
	return risks
}

// failed reports whether a log directory of the broker has failed with its replica, so that no client loses the partition with the broker:
// it neither leads the partition nor is in sync with a leader.
func (p *Partition) failed(id NodeID) bool {
	return slices.Contains(p.Offline, id) && (p.Leader < 0 || !slices.Contains(p.ISR, id))
}

// remedy says how replicas in failed log directories come back; empty if there are none.
func (p *Partition) remedy() string {
	if len(p.Offline) == 0 {
		return ""
	}
	return "; only a restart brings back the replicas in failed log directories of " + list(p.Offline)
}

// behind returns how many replicas of the broker are not in sync. Those that a reassignment adds do not count: they were not in sync before
// either, and may take hours. known is false if the topics are unknown.
func (a *availability) behind(id NodeID) (behind int, known bool) {
	if a.unknown != "" {
		return 0, false
	}
	at := a.ids.of(id)
	if at < 0 {
		return 0, true
	}
	for _, where := range a.hosted[at] {
		if p := &a.topics[where.topic].Partitions[where.partition]; !slices.Contains(p.ISR, id) && !slices.Contains(p.Adding, id) {
			behind++
		}
	}
	return behind, true
}

// beside returns the other brokers with replicas of this broker's partitions, by ascending id.
func (a *availability) beside(id NodeID) []NodeID {
	at := a.ids.of(id)
	if at < 0 {
		return nil
	}
	all := a.set(nil)
	var ids []NodeID
	for _, where := range a.hosted[at] {
		for _, other := range a.topics[where.topic].Partitions[where.partition].Replicas {
			if other != id && !all.has(other) {
				all.add(other)
				ids = append(ids, other)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// serves returns a partition that has a leader and the broker in its ISR; empty if there is none. If the topics are unknown, any broker may
// serve.
func (a *availability) serves(id NodeID) string {
	if a.unknown != "" {
		return "?"
	}
	at := a.ids.of(id)
	if at < 0 {
		return ""
	}
	for _, where := range a.hosted[at] {
		t := &a.topics[where.topic]
		if p := &t.Partitions[where.partition]; p.Leader >= 0 && slices.Contains(p.ISR, id) {
			return fmt.Sprintf("%s-%d", t.Name, p.Index)
		}
	}
	return ""
}

// leads returns how many partitions the broker leads.
func (a *availability) leads(id NodeID) int32 {
	if at := a.ids.of(id); at >= 0 {
		return a.led[at]
	}
	return 0
}

// leaderShare returns the share of all partitions that the broker leads, from 0 to 1.
func (a *availability) leaderShare(id NodeID) float64 {
	return float64(a.leads(id)) / float64(max(1, a.total))
}

// outcome is a possible state of a partition. A partition under reassignment has two, because the reassignment may end, or be cancelled, at
// any moment.
type outcome struct {
	replicas, inSync []NodeID
	when             string
}

// outcomes returns the one or two outcomes of a partition. A reassignment ends only when all added replicas are in sync.
func outcomes(p *Partition) (two [2]outcome, n int) {
	if len(p.Adding)+len(p.Removing) == 0 {
		two[0].replicas, two[0].inSync = p.Replicas, p.ISR
		return two, 1
	}
	return moving(p), 2
}

func moving(p *Partition) (two [2]outcome) {
	added := slices.Concat(p.ISR, without(p.Adding, p.ISR))
	two[0] = outcome{without(p.Replicas, p.Adding), without(p.ISR, p.Adding), ", if its reassignment is cancelled"}
	two[1] = outcome{without(p.Replicas, p.Removing), without(added, p.Removing), ", once its reassignment is complete"}
	return two
}

// left returns how many replicas stay in sync without these brokers.
func (o outcome) left(gone nodeSet) int {
	n := 0
	for _, id := range o.inSync {
		if !gone.has(id) {
			n++
		}
	}
	return n
}

// required returns how many must stay in sync: the availability rule.
func (o outcome) required(minISR int) int {
	if len(o.replicas) <= 1 {
		return 0
	}
	return max(1, min(minISR, len(o.replicas)-1))
}

func without(from, these []NodeID) []NodeID {
	var rest []NodeID
	for _, id := range from {
		if !slices.Contains(these, id) {
			rest = append(rest, id)
		}
	}
	return rest
}
