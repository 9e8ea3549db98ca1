package packing

import (
	"math/bits"
	"slices"
)

// outcome is the result of a search that may give up.
type outcome int

const (
	undecided outcome = iota
	possible
	impossible
)

// exhaust searches for a division of the items into k batches by trying all of them. It ends with a division, with the proof that there is
// none, or undecided when its steps are used up. It assigns one item after the other, the one with the fewest possible batches first, and
// removes the batches that this makes impossible from the other items. Empty batches are equivalent, so only the first of them is tried.
type exhaust struct {
	x     *instance
	items []int32
	k     int
	steps int64

	// domain contains the batches that an item may still join, as bits; at is its batch, or -1.
	domain []uint64
	at     []int8
	open   bitset // not assigned yet
	used   int    // number of batches with items
	// slots are by batch and wide constraint, grouped by batch and group, size and weight by batch.
	slots   []slot
	grouped []int32
	size    []int32
	weight  []int64
	// near is how many wide constraints an item shares with assigned items, of the first few of each. Of two items, the one with more is
	// assigned first, because that has more consequences.
	near []int32
	// forced are items with one possible batch, assigned are all assigned items in their order, and trail are the removed batches.
	forced   []int32
	assigned []int32
	trail    []removal
}

type removal struct {
	item int32
	bit  uint64
}

// The limits of exhaust: the bits of a domain, and the memory for its counts.
const (
	maxExhaustBatches = 64
	maxExhaustCounts  = 8 << 20
)

// exhaustively tries k batches. The items of the clique are pairwise apart, and are assigned first.
func exhaustively(x *instance, items []int32, k int, clique []int32, steps *int64) (division, outcome) {
	if len(clique) > k {
		return division{}, impossible
	}
	if k > maxExhaustBatches || k*len(x.wide) > maxExhaustCounts {
		return division{}, undecided
	}
	e := &exhaust{x: x, items: items, k: k, steps: *steps,
		domain: make([]uint64, x.n), at: make([]int8, x.n), open: newBitset(x.n), near: make([]int32, x.n),
		slots: slices.Repeat(x.slots, k), grouped: make([]int32, k*len(x.groups)), size: make([]int32, k), weight: make([]int64, k)}
	for _, i := range items {
		e.open.add(i)
		e.domain[i], e.at[i] = 1<<k-1, -1
	}
	result := e.begin(clique)
	*steps = e.steps
	if result != possible {
		return division{}, result
	}
	var d division
	for b := range e.used {
		for _, i := range items {
			if int(e.at[i]) == b {
				d.items = append(d.items, i)
			}
		}
		d.ends = append(d.ends, int32(len(d.items)))
	}
	return d, possible
}

func (e *exhaust) begin(clique []int32) outcome {
	for _, i := range clique {
		if e.used == e.k {
			break // an item was forced into the last batch, so the remaining batches are not equivalent for the clique's next item
		}
		if e.at[i] < 0 && !e.assignAll(i, int8(e.used)) {
			return impossible
		}
	}
	return e.branch()
}

// branch assigns the next item.
func (e *exhaust) branch() outcome {
	i := e.hardest()
	if i < 0 {
		return possible
	}
	options := e.domain[i] & (1<<min(e.used+1, e.k) - 1)
	for ; options != 0; options &= options - 1 {
		if e.steps <= 0 {
			return undecided
		}
		assigned, trail, used := len(e.assigned), len(e.trail), e.used
		if e.assignAll(i, int8(bits.TrailingZeros64(options))) {
			if result := e.branch(); result != impossible {
				return result
			}
		}
		e.undo(assigned, trail, used)
	}
	return impossible
}

// hardest returns the unassigned item with the fewest possible batches, or -1 if all are assigned.
func (e *exhaust) hardest() int32 {
	best, fewest, most := int32(-1), 0, int32(0)
	for w, word := range e.open {
		for ; word != 0; word &= word - 1 {
			i := int32(w<<6 + bits.TrailingZeros64(word))
			left := bits.OnesCount64(e.domain[i])
			weight := e.near[i]
			if best < 0 || left < fewest || left == fewest && weight > most {
				best, fewest, most = i, left, weight
			}
		}
	}
	e.steps -= int64(len(e.items))
	return best
}

// assignAll assigns an item, and all items that have only one possible batch as a result. It returns false if an item has none.
func (e *exhaust) assignAll(i int32, b int8) bool {
	e.forced = e.forced[:0]
	if !e.assign(i, b) {
		return false
	}
	for at := 0; at < len(e.forced); at++ {
		j := e.forced[at]
		if e.at[j] >= 0 {
			continue
		}
		if !e.assign(j, int8(bits.TrailingZeros64(e.domain[j]))) {
			return false
		}
	}
	return true
}

func (e *exhaust) assign(i int32, b int8) bool {
	x, at := e.x, int(b)
	e.at[i] = b
	e.open.drop(i)
	e.assigned = append(e.assigned, i)
	e.used = max(e.used, at+1)
	e.size[at]++
	e.weight[at] += x.in.weight(i)
	bit := uint64(1) << at
	e.approach(i, 1)
	ok := e.takeFromSet(x.apart.of(i), bit)
	for _, c := range x.wides(i) {
		s := &e.slots[at*len(x.wide)+int(c)]
		switch {
		case !s.enter(i):
		case s.room == 0:
			ok = e.takeOpen(int32(s.rest), bit) && ok
		default:
			for _, j := range x.members(x.wide[c]) {
				ok = e.takeOpen(j, bit) && ok
			}
		}
	}
	e.steps -= int64(len(e.open)) + 4*int64(len(x.wides(i)))
	if g := x.group[i]; g >= 0 {
		n := &e.grouped[at*len(x.groups)+int(g)]
		if *n++; int(*n) == x.in.MaxPerGroup {
			ok = e.takeFromSet(x.groups[g], bit) && ok
		}
	}
	return e.takeFull(at) && ok
}

// takeFull removes the batch from the items for which its size or weight leaves no room.
func (e *exhaust) takeFull(b int) bool {
	in, bit, ok := e.x.in, uint64(1)<<b, true
	if in.MaxSize > 0 && int(e.size[b]) == in.MaxSize {
		ok = e.takeFromSet(e.open, bit)
	}
	if in.MaxWeight == 0 {
		return ok
	}
	for w, word := range e.open {
		for ; word != 0; word &= word - 1 {
			if j := int32(w<<6 + bits.TrailingZeros64(word)); e.weight[b]+in.weight(j) > in.MaxWeight {
				ok = e.take(j, bit) && ok
			}
		}
	}
	e.steps -= int64(len(e.items))
	return ok
}

func (e *exhaust) takeFromSet(set bitset, bit uint64) bool {
	ok := true
	for w, word := range e.open {
		for word &= set[w]; word != 0; word &= word - 1 {
			ok = e.take(int32(w<<6+bits.TrailingZeros64(word)), bit) && ok
		}
	}
	return ok
}

// takeOpen is take for an item that may already be assigned, or may not be part of the search.
func (e *exhaust) takeOpen(i int32, bit uint64) bool {
	return !e.open.has(i) || e.take(i, bit)
}

// approach records that an item was assigned, or with -1 that it no longer is.
func (e *exhaust) approach(i, by int32) {
	first := e.x.wides(i)
	first = first[:min(len(first), 64)]
	for _, c := range first {
		for _, j := range e.x.members(e.x.wide[c]) {
			e.near[j] += by
		}
	}
	e.steps -= 4 * int64(len(first))
}

// take removes one batch from an unassigned item. It returns false if that was the last.
func (e *exhaust) take(i int32, bit uint64) bool {
	if e.domain[i]&bit == 0 {
		return true
	}
	e.domain[i] &^= bit
	e.trail = append(e.trail, removal{i, bit})
	e.steps--
	if left := e.domain[i]; left&(left-1) == 0 {
		e.forced = append(e.forced, i)
	}
	return e.domain[i] != 0
}

// undo reverts all assignments and removals after the given numbers of each.
func (e *exhaust) undo(assigned, trail, used int) {
	x := e.x
	for _, i := range e.assigned[assigned:] {
		b := int(e.at[i])
		e.at[i] = -1
		e.open.add(i)
		e.size[b]--
		e.weight[b] -= x.in.weight(i)
		e.approach(i, -1)
		for _, c := range x.wides(i) {
			e.slots[b*len(x.wide)+int(c)].leave(i)
		}
		if g := x.group[i]; g >= 0 {
			e.grouped[b*len(x.groups)+int(g)]--
		}
		e.steps -= 4 * int64(len(x.wides(i)))
	}
	for _, r := range e.trail[trail:] {
		e.domain[r.item] |= r.bit
	}
	e.assigned, e.trail, e.used = e.assigned[:assigned], e.trail[:trail], used
}
