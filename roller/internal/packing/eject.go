package packing

import (
	"cmp"
	"math/bits"
	"slices"
)

// ejector searches for a division into fewer batches if only pairs and the size of batches matter. It dissolves one batch, and moves each
// of its items into the batch from which the fewest items must be ejected; it places those next, and forbids their return for a while
// (Bloechliger and Zufferey's PartialCol, a tabu search).
type ejector struct {
	x *instance
	k int
	// at is the batch of an item, or -1; in are the items of each batch; out are the items without a batch.
	at   []int16
	in   []bitset
	size []int
	out  []int32
	// against is how many items of a batch are apart from an item, and until is the time until which the item may not go there, both by
	// item and batch.
	against []uint16
	until   []int32
	random  generator
	steps   int64
}

// maxEjectTable limits the size of an ejector's tables, by items and batches: 24 MiB.
const maxEjectTable = 4 << 20

// onlyPairs reports whether pairs and MaxSize are the only restrictions on the items.
func (x *instance) onlyPairs(items []int32) bool {
	wide := slices.ContainsFunc(items, func(i int32) bool { return len(x.wides(i)) > 0 })
	return !wide && len(x.groups) == 0 && x.in.MaxWeight == 0
}

// eject improves the division as long as it can, and stores the best one in the solver.
func (s *solver) eject() {
	for s.x.onlyPairs(s.items) && s.best.batches()*s.x.n <= maxEjectTable && s.best.batches() > 1 && s.steps > 0 && !s.proven() {
		e := newEjector(s.x, &s.best)
		e.steps = s.steps
		if e.run() {
			s.best = e.division()
		}
		s.steps = e.steps
	}
}

// newEjector starts with all batches but the smallest.
func newEjector(x *instance, d *division) *ejector {
	k := d.batches() - 1
	e := &ejector{x: x, k: k, at: make([]int16, x.n), in: make([]bitset, k), size: make([]int, k), random: 88172645463325252,
		against: make([]uint16, x.n*k), until: make([]int32, x.n*k)}
	smallest := 0
	for b := range d.batches() {
		if len(d.batch(b)) < len(d.batch(smallest)) {
			smallest = b
		}
	}
	for i := range e.at {
		e.at[i] = -1
	}
	for b := range k {
		e.in[b] = newBitset(x.n)
	}
	next := 0
	for b := range d.batches() {
		if b == smallest {
			e.out = slices.Clone(d.batch(b))
			continue
		}
		for _, i := range d.batch(b) {
			e.put(i, next)
		}
		next++
	}
	slices.SortFunc(e.out, cmp.Compare)
	return e
}

func (e *ejector) put(i int32, b int) {
	e.at[i] = int16(b)
	e.in[b].add(i)
	e.size[b]++
	e.count(i, b, 1)
}

func (e *ejector) remove(i int32, b int) {
	e.at[i] = -1
	e.in[b].drop(i)
	e.size[b]--
	e.count(i, b, ^uint16(0))
}

// count adds by to the number of items in batch b that each item apart from i conflicts with.
func (e *ejector) count(i int32, b int, by uint16) {
	for w, word := range e.x.apart.of(i) {
		for ; word != 0; word &= word - 1 {
			e.against[(w<<6+bits.TrailingZeros64(word))*e.k+b] += by
			e.steps--
		}
	}
}

// run moves the items of out into batches, until none remains or the steps are used up. It reports whether all items have a batch.
func (e *ejector) run() bool {
	for now := int32(1); len(e.out) > 0; now++ {
		if e.steps <= 0 {
			return false
		}
		at, b := e.choose(now)
		if at < 0 {
			continue // all moves are forbidden for a while
		}
		i := e.out[at]
		e.out[at] = e.out[len(e.out)-1]
		e.out = e.out[:len(e.out)-1]
		row := e.x.apart.of(i)
		for w, word := range e.in[b] {
			for word &= row[w]; word != 0; word &= word - 1 {
				j := int32(w<<6 + bits.TrailingZeros64(word))
				e.remove(j, b)
				e.out = append(e.out, j)
				e.until[int(j)*e.k+b] = now + int32(6*len(e.out)/10+e.random.below(10))
			}
		}
		e.put(i, b)
	}
	return true
}

// choose returns the position in out, and the batch, of the best move: one of those that eject the fewest items.
func (e *ejector) choose(now int32) (at, batch int) {
	at = -1
	fewest, ties := 0, 0
	for o, i := range e.out {
		against, until := e.against[int(i)*e.k:int(i+1)*e.k], e.until[int(i)*e.k:int(i+1)*e.k]
		for b, n := range against {
			if at >= 0 && int(n) > fewest || n > 0 && until[b] > now || e.x.in.MaxSize > 0 && e.size[b]-int(n) >= e.x.in.MaxSize {
				continue
			}
			if at < 0 || int(n) < fewest {
				fewest, ties = int(n), 0
			}
			if ties++; e.random.below(ties) == 0 {
				at, batch = o, b
			}
		}
		e.steps -= int64(e.k)
	}
	return at, batch
}

func (e *ejector) division() division {
	var d division
	for b := range e.k {
		for i, of := range e.at {
			if int(of) == b {
				d.items = append(d.items, int32(i))
			}
		}
		if e.size[b] > 0 {
			d.ends = append(d.ends, int32(len(d.items)))
		}
	}
	return d
}
