package packing

import "slices"

// filler fills one batch after the other, and tracks which items the current batch can take.
type filler struct {
	x *instance
	// barred are the items that the batch can't take for another reason than their weight, including its own items.
	barred bitset
	batch  []int32
	weight int64
	// slots are the states of the wide constraints, and grouped is how many items of the batch each group has.
	slots   []slot
	grouped []int32
	// steps counts the work done.
	steps int64

	left []int32
}

func newFiller(x *instance) *filler {
	return &filler{x: x, barred: newBitset(x.n), slots: slices.Clone(x.slots), grouped: make([]int32, len(x.groups))}
}

// takes reports whether the item may join the batch.
func (f *filler) takes(i int32) bool {
	if f.barred.has(i) {
		return false
	}
	return f.x.in.MaxWeight == 0 || len(f.batch) == 0 || f.weight+f.x.in.weight(i) <= f.x.in.MaxWeight
}

func (f *filler) full() bool { return f.x.in.MaxSize > 0 && len(f.batch) >= f.x.in.MaxSize }

func (f *filler) add(i int32) {
	x := f.x
	f.batch = append(f.batch, i)
	f.barred.unite(x.apart.of(i))
	f.barred.add(i)
	f.weight += x.in.weight(i)
	for _, at := range x.wides(i) {
		s := &f.slots[at]
		switch {
		case !s.enter(i):
		case s.room == 0:
			f.barred.add(int32(s.rest))
		default:
			for _, j := range x.members(x.wide[at]) {
				f.barred.add(j)
			}
		}
	}
	if g := x.group[i]; g >= 0 {
		if f.grouped[g]++; int(f.grouped[g]) == x.in.MaxPerGroup {
			f.barred.unite(x.groups[g])
		}
	}
	f.steps += int64(len(f.barred)) + 2*int64(len(x.wides(i)))
}

// next starts a batch.
func (f *filler) next() {
	if len(f.batch) > f.x.n/8 {
		copy(f.slots, f.x.slots)
		f.steps += int64(len(f.slots)) / 16
	} else {
		for _, i := range f.batch {
			for _, at := range f.x.wides(i) {
				f.slots[at].leave(i)
			}
			f.steps += int64(len(f.x.wides(i)))
		}
	}
	clear(f.grouped)
	clear(f.barred)
	f.batch = f.batch[:0]
	f.weight = 0
}

// division is a division of items: the items batch after batch, and the end of each batch.
type division struct {
	items []int32
	ends  []int32
}

func (d *division) batches() int { return len(d.ends) }

func (d *division) batch(b int) []int32 {
	from := int32(0)
	if b > 0 {
		from = d.ends[b-1]
	}
	return d.items[from:d.ends[b]]
}

func (d *division) clone() division { return division{slices.Clone(d.items), slices.Clone(d.ends)} }

// firstFit puts each item, in this order, into the first batch that accepts it. It fills one batch at a time, which gives the same result
// with less state. It never needs more batches than a division whose batches the order lists one after the other.
func (f *filler) firstFit(order []int32, into *division) {
	into.items, into.ends = into.items[:0], into.ends[:0]
	f.left = append(f.left[:0], order...)
	for left := f.left; len(left) > 0; {
		f.next()
		kept := 0
		for at, i := range left {
			if f.full() {
				kept += copy(left[kept:], left[at:])
				break
			}
			if f.takes(i) {
				f.add(i)
				continue
			}
			left[kept] = i
			kept++
		}
		f.steps += int64(len(left))
		left = left[:kept]
		into.items = append(into.items, f.batch...)
		into.ends = append(into.ends, int32(len(into.items)))
	}
	f.next()
}
