package roller

import "slices"

// ledger counts how many replicas each partition can still spare while nodes go down one after another, so that choosing a node does not
// iterate over all partitions of a broker again. It gives the same results as calling shortage each time.
type ledger struct {
	a    *availability
	gone nodeSet
	// first is, for each topic, the index of its first partition; spare is, for each partition and each of its outcomes, how many replicas
	// in sync it can spare, or noOutcome.
	first []int32
	spare [][2]int16
	// shut is, by a broker's position, how many outcomes forbid that it goes down.
	shut []int32
}

// noOutcome is the spare of a missing second outcome.
const noOutcome = int16(1 << 14)

func newLedger(a *availability, down []NodeID) *ledger {
	l := &ledger{a: a, gone: a.set(down), shut: make([]int32, a.ids.n), spare: make([][2]int16, 0, a.total)}
	for t := range a.topics {
		l.first = append(l.first, int32(len(l.spare)))
		minISR, known := a.topics[t].MinISR.Get()
		for p := range a.topics[t].Partitions {
			spare := [2]int16{noOutcome, noOutcome}
			partition := &a.topics[t].Partitions[p]
			two, n := outcomes(partition)
			for i := range two[:n] {
				spare[i] = -1
				if known {
					spare[i] = int16(two[i].left(l.gone) - two[i].required(minISR))
				}
				l.shutBy(partition, two[i].inSync, spare[i])
			}
			l.spare = append(l.spare, spare)
		}
	}
	return l
}

// shutBy counts an outcome of the snapshot: one with nothing to spare forbids its replicas in sync to go down, and one with less all its
// replicas.
func (l *ledger) shutBy(p *Partition, inSync []NodeID, spare int16) {
	if spare >= 1 {
		return
	}
	for _, id := range p.Replicas {
		if (spare < 0 || slices.Contains(inSync, id)) && !p.failed(id) {
			l.shut[l.a.ids.of(id)]++
		}
	}
}

// add marks a node as down.
func (l *ledger) add(id NodeID) {
	at := l.a.ids.of(id)
	if at < 0 || l.gone.marks[at] {
		return
	}
	l.gone.marks[at] = true
	for _, where := range l.a.hosted[at] {
		p := &l.a.topics[where.topic].Partitions[where.partition]
		spare := &l.spare[l.first[where.topic]+where.partition]
		two, n := outcomes(p)
		for i := range two[:n] {
			if slices.Contains(two[i].inSync, id) && l.a.topics[where.topic].MinISR.IsKnown() {
				spare[i]--
				l.shrunk(p, two[i].inSync, spare[i])
			}
		}
	}
}

// shrunk counts what an outcome additionally forbids after the loss of one more replica.
func (l *ledger) shrunk(p *Partition, inSync []NodeID, spare int16) {
	for _, id := range p.Replicas {
		member := slices.Contains(inSync, id)
		if (spare == 0 && member || spare == -1 && !member) && !p.failed(id) {
			l.shut[l.a.ids.of(id)]++
		}
	}
}

// open reports whether the node may go down.
func (l *ledger) open(id NodeID) bool {
	if l.a.unknown != "" {
		return false
	}
	at := l.a.ids.of(id)
	return at < 0 || l.shut[at] == 0
}

// shortage is availability.shortage with all nodes of the ledger down.
func (l *ledger) shortage(id NodeID) string {
	if l.open(id) {
		return ""
	}
	return l.a.shortage(id, l.gone)
}
