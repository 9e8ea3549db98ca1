package roller

import "github.com/kafka-operators/kafka-operators/roller/internal/packing"

// constraints returns the limits of the availability rule on brokers that go down together, in addition to the nodes that are down already:
// no more replicas in sync of a partition may go down than it can spare. A partition that can spare none has no constraint, because its
// brokers are shut and never packed.
func (l *ledger) constraints(brokers []*Assessment) packing.Input {
	in := packing.Input{Items: len(brokers), Offsets: []int32{0}}
	item := l.a.items(brokers)
	for t := range l.a.topics {
		for p := range l.a.topics[t].Partitions {
			two, n := outcomes(&l.a.topics[t].Partitions[p])
			for i := range two[:n] {
				limit := int(l.spare[l.first[t]+int32(p)][i])
				if limit < 1 {
					continue
				}
				from := len(in.Members)
				for _, id := range two[i].inSync {
					if at := l.a.ids.of(id); at >= 0 && item[at] >= 0 {
						in.Members = append(in.Members, item[at])
					}
				}
				limitMembers(&in, from, limit)
			}
		}
	}
	return in
}

// items returns, by a broker's position, its index among the brokers; -1 for other brokers, and for those that are down, which count
// already.
func (a *availability) items(brokers []*Assessment) []int32 {
	item := make([]int32, a.ids.n)
	for i := range item {
		item[i] = -1
	}
	for i, b := range brokers {
		if at := a.ids.of(b.Node); at >= 0 && !b.Down {
			item[at] = int32(i)
		}
	}
	return item
}

// constrain adds constraints for dividing into batches: of the replicas in sync of a partition outside of one Kubernetes cluster, no more
// may go down than it can spare when that cluster is lost. Nodes that can't go even alone are not packed.
func (l *losses) constrain(in *packing.Input, brokers []*Assessment) {
	if l.places == nil {
		return
	}
	ledger, topics := l.r.ledger, l.r.avail.topics
	item := l.r.avail.items(brokers)
	for t := range topics {
		minISR := topics[t].MinISR.Or(0)
		for p := range topics[t].Partitions {
			two, n := outcomes(&topics[t].Partitions[p])
			for i := range two[:n] {
				if spare := int(ledger.spare[ledger.first[t]+int32(p)][i]); spare > 1 {
					l.countReplicas(&two[i], ledger.gone)
					l.constrainPartition(in, item, &two[i], max(1, minISR), spare)
				}
			}
		}
	}
}

// constrainPartition adds the constraints for a partition that can spare a number of replicas as long as no Kubernetes cluster is lost.
func (l *losses) constrainPartition(in *packing.Input, item []int32, o *outcome, need, spare int) {
	certain := sum(l.counts.certain)
	for lost := 1; lost <= len(l.places); lost++ {
		limit := certain - l.counts.certain[lost] - need
		if limit < 1 || limit >= spare {
			continue
		}
		from := len(in.Members)
		for _, id := range o.inSync {
			if at := l.r.avail.ids.of(id); item[at] >= 0 && l.placeOf[at] != lost {
				in.Members = append(in.Members, item[at])
			}
		}
		limitMembers(in, from, limit)
	}
}

// limitMembers adds the constraint that no more of the members from an index on may go down together than the limit.
func limitMembers(in *packing.Input, from, limit int) {
	if len(in.Members)-from <= limit {
		in.Members = in.Members[:from] // all of them may go down
		return
	}
	in.Limits = append(in.Limits, int32(limit))
	in.Offsets = append(in.Offsets, int32(len(in.Members)))
}
