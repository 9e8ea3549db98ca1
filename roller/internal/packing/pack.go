package packing

import (
	"cmp"
	"math/bits"
	"slices"
)

// Packing is the result of Pack.
type Packing struct {
	// Batches contain every item exactly once. Each is sorted, and the one with the lowest item comes first, so that batches of one item
	// are in the order of the items.
	Batches [][]int32
	// Bound is the proven lower bound of the number of batches.
	Bound Bound
}

// Pack divides the items into batches. Its error wraps ErrInput.
func Pack(in *Input) (Packing, error) {
	if err := in.check(); err != nil {
		return Packing{}, err
	}
	if in.Items == 0 {
		return Packing{}, nil
	}
	x := newInstance(in)
	f := newFiller(x)
	all := make([]int32, x.n)
	for i := range all {
		all[i] = int32(i)
	}
	var d division
	f.firstFit(all, &d)
	bound := x.boundByCaps(all)
	if p, ok := x.boundByConstraint(bound.Batches); ok {
		bound = p
	}
	parts := []Part{bound}
	if d.batches() > bound.Batches {
		if better, solved := solveComponents(x, f); better.batches() <= d.batches() {
			d = better
			if sum(solved) > bound.Batches {
				parts = solved
			}
		}
	}
	return Packing{batchesOf(f, d), Bound{sum(parts), parts}}, nil
}

func sum(parts []Part) int {
	n := 0
	for _, p := range parts {
		n += p.Batches
	}
	return n
}

// solveComponents solves the components one by one: no batch has items of two of them.
func solveComponents(x *instance, f *filler) (division, []Part) {
	var whole division
	var clique []int32
	var parts []Part
	components := x.components()
	total := x.in.Steps
	if total == 0 {
		total = DefaultSteps
	}
	left := total
	for at, items := range components {
		// The unused steps of one component remain for the others.
		budget := left / int64(len(components)-at)
		s := solver{x: x, items: items, steps: budget}
		s.solve(f, budget)
		left -= budget - max(0, s.steps)
		for b := range s.best.batches() {
			whole.items = append(whole.items, s.best.batch(b)...)
			whole.ends = append(whole.ends, int32(len(whole.items)))
		}
		if s.bound.Kind == KindClique {
			clique = append(clique, s.bound.Items...)
		} else {
			parts = append(parts, s.bound)
		}
	}
	// Items of different components are apart, so that their cliques form one clique.
	if len(clique) > 0 {
		slices.Sort(clique)
		parts = append([]Part{part(KindClique, len(clique), clique)}, parts...)
	}
	return whole, parts
}

// components returns the smallest sets of items such that items of two of them are always apart; the one with the lowest item comes first.
func (x *instance) components() [][]int32 {
	var found [][]int32
	left := newBitset(x.n)
	for i := range int32(x.n) {
		left.add(i)
	}
	for i := range int32(x.n) {
		if !left.has(i) {
			continue
		}
		left.drop(i)
		items := []int32{i}
		for at := 0; at < len(items); at++ {
			row := x.apart.of(items[at])
			for w := range left {
				for together := left[w] &^ row[w]; together != 0; together &= together - 1 {
					j := int32(w<<6 + bits.TrailingZeros64(together))
					left.drop(j)
					items = append(items, j)
				}
			}
		}
		slices.Sort(items)
		found = append(found, items)
	}
	return found
}

// batchesOf orders the division. Items move to earlier batches as far as possible, the lowest first.
func batchesOf(f *filler, d division) [][]int32 {
	order := make([]int32, 0, len(d.items))
	for _, batch := range sorted(d) {
		order = append(order, batch...)
	}
	var tidy division
	f.firstFit(order, &tidy)
	return sorted(tidy)
}

func sorted(d division) [][]int32 {
	batches := make([][]int32, d.batches())
	for b := range batches {
		batches[b] = d.batch(b)
		slices.Sort(batches[b])
	}
	slices.SortFunc(batches, func(a, b []int32) int { return cmp.Compare(a[0], b[0]) })
	return batches
}
