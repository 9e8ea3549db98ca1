package packing

import (
	"cmp"
	"math/bits"
	"slices"
)

// boundByShares bounds the number of batches by how large a batch with each item can be. The largest batches come from a search, which may
// run out of steps: then an item counts as if it could be in a batch of the size that was proven for all, and if there is none, nothing is
// proven. The batches of best are what the search begins with.
func (x *instance) boundByShares(items []int32, best *division, steps *int64) (Part, bool) {
	largest := make([]int32, x.n)
	for b := range best.batches() {
		for _, i := range best.batch(b) {
			largest[i] = int32(len(best.batch(b)))
		}
	}
	proven := false
	if x.hasWide(items) {
		proven = newLargestSearch(x, items, largest, steps).run()
	} else {
		proven = x.largestByPairs(items, largest, steps)
	}
	if !proven {
		return Part{}, false
	}
	p := part(KindShares, 0, items)
	sum := int64(0)
	for _, i := range items {
		size := largest[i]
		if x.in.MaxSize > 0 {
			size = min(size, int32(x.in.MaxSize))
		}
		p.Shares = append(p.Shares, ShareUnit/int64(size))
		sum += ShareUnit / int64(size)
	}
	p.Batches = int(ceil(sum, ShareUnit))
	return p, true
}

func (x *instance) hasWide(items []int32) bool {
	for _, i := range items {
		if len(x.wides(i)) > 0 {
			return true
		}
	}
	return false
}

// largestByPairs finds the largest batches where only pairs count, and reports whether any size is proven. It begins with the batches that
// are larger than all that were seen, and lowers the size as long as there are steps.
func (x *instance) largestByPairs(items []int32, largest []int32, steps *int64) bool {
	order := slices.Clone(items)
	among := newBitset(x.n)
	size := int32(0)
	for _, i := range items {
		among.add(i)
		size = max(size, largest[i])
	}
	bound := make([]int, x.n)
	for _, i := range items {
		bound[i] = x.apart.of(i).common(among)
	}
	slices.SortStableFunc(order, func(i, j int32) int { return cmp.Compare(bound[i], bound[j]) })
	// A little search for a large batch first: the closer to the largest the search for all begins, the sooner it ends.
	little := *steps / 20
	*steps -= little
	seen, _ := largestClique(x.apart, true, order, 0, len(items), &little)
	*steps += max(0, little)
	size = max(size, int32(len(seen)))
	members, most, finished := membersOfCliques(x.apart, true, order, int(size), false, steps)
	if !finished {
		return false
	}
	for at, i := range order {
		largest[i] = size
		if members.has(int32(at)) {
			largest[i] = int32(most)
		}
	}
	for size--; size > 0; size-- {
		members, _, finished = membersOfCliques(x.apart, true, order, int(size), true, steps)
		if !finished {
			break
		}
		for at, i := range order {
			if !members.has(int32(at)) {
				largest[i] = min(largest[i], size)
			}
		}
	}
	return true
}

// largestSearch goes through all batches that the constraints allow, except where it can tell that none of them is larger than what was
// seen with the same items.
type largestSearch struct {
	f       *filler
	items   []int32
	largest []int32
	steps   *int64
	barred  []bitset
	left    []bitset
}

func newLargestSearch(x *instance, items []int32, largest []int32, steps *int64) *largestSearch {
	return &largestSearch{f: newFiller(x), items: items, largest: largest, steps: steps}
}

// run reports whether it came to its end.
func (s *largestSearch) run() bool {
	left := newBitset(s.f.x.n)
	for _, i := range s.items {
		left.add(i)
	}
	return s.extend(left)
}

// extend tries to add each of the items that are left, in order, so that no batch is seen twice.
func (s *largestSearch) extend(left bitset) bool {
	f, depth := s.f, len(s.f.batch)
	for _, i := range f.batch {
		s.largest[i] = max(s.largest[i], int32(depth))
	}
	if f.full() || !s.promising(left, depth) {
		return true
	}
	if depth == len(s.barred) {
		s.barred = append(s.barred, make(bitset, len(left)))
		s.left = append(s.left, make(bitset, len(left)))
	}
	barred, rest := s.barred[depth], s.left[depth]
	copy(barred, f.barred)
	for w := range left {
		for left[w] != 0 {
			if *s.steps <= 0 {
				return false
			}
			i := int32(w<<6 + bits.TrailingZeros64(left[w]))
			left.drop(i)
			if !f.takes(i) {
				continue
			}
			before := f.steps
			f.add(i)
			*s.steps -= f.steps - before
			for v := range left {
				rest[v] = left[v] &^ f.barred[v]
			}
			ok := s.extend(rest)
			s.takeBack(i, barred)
			if !ok {
				return false
			}
			if !s.promising(left, depth) {
				return true
			}
		}
	}
	return true
}

// promising reports whether the batch with all that is left would be larger than the largest that was seen of one of its items.
func (s *largestSearch) promising(left bitset, size int) bool {
	size += left.count()
	for _, i := range s.f.batch {
		if int(s.largest[i]) < size {
			return true
		}
	}
	for w, word := range left {
		for ; word != 0; word &= word - 1 {
			if int(s.largest[w<<6+bits.TrailingZeros64(word)]) < size {
				return true
			}
		}
	}
	return false
}

// takeBack undoes the last add.
func (s *largestSearch) takeBack(i int32, barred bitset) {
	f, x := s.f, s.f.x
	f.batch = f.batch[:len(f.batch)-1]
	copy(f.barred, barred)
	f.weight -= x.in.weight(i)
	for _, at := range x.wides(i) {
		f.slots[at].leave(i)
	}
	if g := x.group[i]; g >= 0 {
		f.grouped[g]--
	}
}
