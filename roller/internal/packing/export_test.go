package packing

// Searches that the tests call directly, because Pack uses them only if nothing simpler suffices.

func everything(in *Input) (*instance, []int32, division) {
	x := newInstance(in)
	items := make([]int32, in.Items)
	for i := range items {
		items[i] = int32(i)
	}
	var d division
	newFiller(x).firstFit(items, &d)
	return x, items, d
}

// Exhaust tries to divide the items into k batches. It reports whether it found a division, and whether the search finished.
func Exhaust(in *Input, k int, steps int64) (batches [][]int32, found, decided bool) {
	x, items, _ := everything(in)
	d, result := exhaustively(x, items, k, nil, &steps)
	return sorted(d), result == possible, result != undecided
}

// LargestClique returns a largest set of items that are pairwise apart, or, with not, of which no two are apart.
func LargestClique(in *Input, not bool, steps int64) ([]int32, bool) {
	x, items, _ := everything(in)
	return largestClique(x.apart, not, items, 0, len(items), &steps)
}

// Eject tries to divide the items into fewer batches than first fit does. The input may only have pairs and MaxSize.
func Eject(in *Input, steps int64) (before int, after [][]int32) {
	x, items, d := everything(in)
	s := solver{x: x, items: items, best: d, bound: x.boundByCaps(items), steps: steps}
	s.eject()
	return d.batches(), sorted(s.best)
}

// Wide returns the limits of the constraints that pairs can't express.
func Wide(in *Input) []int32 {
	var limits []int32
	for _, w := range newInstance(in).wide {
		limits = append(limits, w.limit)
	}
	return limits
}
