package packing

import "math/bits"

// largestFirst recursively (Leighton's RLF) divides the items into sets in which no two are related: a set starts with the item that has
// the most relations to the remaining items, and continues with the one that shares most of its relations with the set. If replicas are
// placed by racks, the sets are the racks, although the input does not contain racks. Caps are ignored: the sets only define an order for
// firstFit. When the steps are used up, items are taken in their order.
type largestFirst struct {
	of    relation
	left  bitset // items without a set
	open  bitset // of these, candidates for the current set
	shut  bitset // items without a set that are related to one in the current set
	steps int64
}

func recursiveLargestFirst(n int, of relation, items []int32, steps *int64) division {
	l := &largestFirst{of: of, left: newBitset(n), open: newBitset(n), shut: newBitset(n), steps: *steps}
	for _, i := range items {
		l.left.add(i)
	}
	d := division{items: make([]int32, 0, len(items))}
	for len(d.items) < len(items) {
		copy(l.open, l.left)
		clear(l.shut)
		for at := l.first(); at >= 0; at = l.following() {
			d.items = append(d.items, at)
			l.left.drop(at)
			l.open.drop(at)
			row := of.of(at)
			for w := range l.open {
				l.shut[w] |= l.open[w] & row[w]
				l.open[w] &^= row[w]
			}
		}
		d.ends = append(d.ends, int32(len(d.items)))
	}
	*steps = l.steps
	return d
}

// first returns the item with the most relations to the remaining items.
func (l *largestFirst) first() int32 {
	best, most := int32(-1), -1
	for w, word := range l.open {
		for ; word != 0; word &= word - 1 {
			i := int32(w<<6 + bits.TrailingZeros64(word))
			if l.steps <= 0 {
				return i
			}
			l.steps -= int64(l.of.words)
			if n := l.of.of(i).common(l.left); n > most {
				best, most = i, n
			}
		}
	}
	return best
}

// following returns the item that is related to most of those that the set can't take; among equals, to the fewest of those that it can.
func (l *largestFirst) following() int32 {
	best, most, fewest := int32(-1), -1, 0
	for w, word := range l.open {
		for ; word != 0; word &= word - 1 {
			i := int32(w<<6 + bits.TrailingZeros64(word))
			if l.steps <= 0 {
				return i
			}
			l.steps -= int64(l.of.words)
			row := l.of.of(i)
			n := row.common(l.shut)
			if n < most {
				continue
			}
			if o := row.common(l.open); n > most || o < fewest {
				best, most, fewest = i, n, o
			}
		}
	}
	return best
}
