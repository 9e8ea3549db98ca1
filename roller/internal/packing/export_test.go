package packing

// What the tests try on its own, because Pack comes to it only where nothing simpler suffices.

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

// Exhaust tries to divide the items into k batches. It tells whether it found a division, and whether it came to an answer.
func Exhaust(in *Input, k int, steps int64) (batches [][]int32, found, decided bool) {
	x, items, _ := everything(in)
	d, result := exhaustively(x, items, k, nil, &steps)
	return sorted(d), result == possible, result != undecided
}

// LargestClique is a largest set of items that are apart from each other, or with not of which none are.
func LargestClique(in *Input, not bool, steps int64) ([]int32, bool) {
	x, items, _ := everything(in)
	return largestClique(x.apart, not, items, 0, len(items), &steps)
}

// Eject tries to divide the items into fewer batches than first fit does, if only pairs and MaxSize bear on them.
func Eject(in *Input, steps int64) (before int, after [][]int32) {
	x, items, d := everything(in)
	s := solver{x: x, items: items, best: d, bound: x.boundByCaps(items), steps: steps}
	s.eject()
	return d.batches(), sorted(s.best)
}

// Wide is how many constraints are left that pairs don't express, and the limits of them.
func Wide(in *Input) []int32 {
	var limits []int32
	for _, w := range newInstance(in).wide {
		limits = append(limits, w.limit)
	}
	return limits
}
