package packing

import (
	"math/bits"
	"slices"
)

// cliqueSearch searches for a largest set of items in which any two are related, by branch and bound: it colours the candidates greedily,
// and no clique contains more of them than there are colours (Tomita and Seki; San Segundo's form with bitsets).
type cliqueSearch struct {
	n, words int
	rows     []bitset // the relation between candidates, by their positions
	steps    int64
	enough   int // a clique of this size ends the search

	current, best []int32
	// levels are the working memory, one for each possible size of current.
	levels []cliqueLevel
	done   bool
}

type cliqueLevel struct {
	candidates, uncoloured, colour bitset
	order, colours                 []int32
}

// largestClique returns a clique among the items: the largest of all if proven is true, or one of at least enough items. It may return none
// if there is none of at least atLeast items, and proven then states that. The search is fastest if unrelated items follow each other, and
// takes at most steps.
func largestClique(of relation, not bool, items []int32, atLeast, enough int, steps *int64) (clique []int32, proven bool) {
	s := newCliqueSearch(of, not, items)
	s.steps, s.enough = *steps-int64(s.n*s.n), enough
	s.best = make([]int32, 0, s.n)
	root := s.level(0)
	for i := range s.n {
		root.candidates.add(int32(i))
	}
	s.expand(0, max(0, atLeast-1))
	*steps = s.steps
	for _, at := range s.best {
		clique = append(clique, items[at])
	}
	slices.Sort(clique)
	return clique, s.done || s.steps > 0
}

// found records a clique that can't be extended, if it is the largest so far.
func (s *cliqueSearch) found(floor int) {
	if len(s.current) > max(floor, len(s.best)) {
		s.best = append(s.best[:0], s.current...)
		s.done = len(s.best) >= s.enough
	}
}

// newCliqueSearch copies the relation between the items, or its complement if not is set.
func newCliqueSearch(of relation, not bool, items []int32) *cliqueSearch {
	n := len(items)
	s := &cliqueSearch{n: n, words: (n + 63) / 64, rows: make([]bitset, n)}
	flat := make(bitset, n*s.words)
	for a, i := range items {
		s.rows[a] = flat[a*s.words : (a+1)*s.words]
		row := of.of(i)
		for b, j := range items {
			if a != b && row.has(j) != not {
				s.rows[a].add(int32(b))
			}
		}
	}
	return s
}

func (s *cliqueSearch) level(at int) *cliqueLevel {
	if at == len(s.levels) {
		sets := make(bitset, 3*s.words)
		s.levels = append(s.levels, cliqueLevel{candidates: sets[:s.words], uncoloured: sets[s.words : 2*s.words], colour: sets[2*s.words:]})
	}
	return &s.levels[at]
}

// expand searches for cliques that are larger than floor and than the best one.
func (s *cliqueSearch) expand(depth, floor int) {
	s.colour(depth, max(floor, len(s.best))-depth)
	for at := len(s.levels[depth].order) - 1; at >= 0; at-- {
		l := &s.levels[depth]
		if depth+int(l.colours[at]) <= max(floor, len(s.best)) {
			return
		}
		if s.steps <= 0 || s.done {
			return
		}
		i := l.order[at]
		s.current = append(s.current[:depth], i)
		child := s.level(depth + 1)
		l = &s.levels[depth] // level may have moved the levels
		for w := range child.candidates {
			child.candidates[w] = l.candidates[w] & s.rows[i][w]
		}
		s.steps -= int64(s.words)
		if !child.candidates.empty() {
			s.expand(depth+1, floor)
		} else {
			s.found(floor)
		}
		s.levels[depth].candidates.drop(i)
	}
}

// colour colours the candidates, and lists those with a colour above skip: the others are in no clique that is large enough.
func (s *cliqueSearch) colour(depth, skip int) {
	l := &s.levels[depth]
	l.order, l.colours = l.order[:0], l.colours[:0]
	copy(l.uncoloured, l.candidates)
	for colour := 1; !l.uncoloured.empty(); colour++ {
		copy(l.colour, l.uncoloured)
		for w := range l.colour {
			for l.colour[w] != 0 {
				i := int32(w<<6 + bits.TrailingZeros64(l.colour[w]))
				l.colour.drop(i)
				l.uncoloured.drop(i)
				row := s.rows[i][w:]
				for o, word := range row {
					l.colour[w+o] &^= word
				}
				s.steps -= int64(len(row))
				if colour > skip {
					l.order, l.colours = append(l.order, i), append(l.colours, int32(colour))
				}
			}
		}
	}
}
