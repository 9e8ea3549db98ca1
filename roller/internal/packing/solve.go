package packing

import (
	"cmp"
	"slices"
)

// If a division is within one part in closeTo of the bound, the search for a better one may take only one part in closeEffort of the steps.
const closeTo, closeEffort = 20, 60

// solver divides one component of the items.
type solver struct {
	x     *instance
	f     *filler
	items []int32
	best  division
	bound Part
	// clique is a set of items of which no two may share a batch.
	clique []int32
	steps  int64
	trial  division
}

// proven reports whether the division is proven to be optimal.
func (s *solver) proven() bool { return s.best.batches() <= s.bound.Batches }

func (s *solver) solve(f *filler, total int64) {
	s.f = f
	f.firstFit(s.items, &s.best)
	s.bound = s.x.boundByCaps(s.items)
	for _, step := range []struct {
		share int64 // of the steps, in hundredths
		do    func()
	}{
		{5, s.fitGroups}, {5, s.exhaustIfNear}, {5, s.findClique}, {1, s.reorder},
		{15, s.exhaust}, {25, s.eject}, {10, s.reorder},
	} {
		if s.proven() {
			return
		}
		if s.best.batches()*closeTo <= s.bound.Batches*(closeTo+1) {
			s.steps = min(s.steps, total/closeEffort)
		}
		budget := min(s.steps, total*step.share/100)
		s.steps -= budget
		left := s.spend(budget, step.do)
		s.steps += left
	}
}

// spend calls do with at most budget steps, and returns the remaining ones.
func (s *solver) spend(budget int64, do func()) int64 {
	saved := s.steps
	s.steps = budget
	do()
	left := max(0, s.steps)
	s.steps = saved
	return left
}

// raise replaces the bound if p is better.
func (s *solver) raise(p Part, ok bool) {
	if ok && p.Batches > s.bound.Batches {
		s.bound = p
	}
}

// fit tries an order of the items.
func (s *solver) fit(order []int32) {
	before := s.f.steps
	s.f.firstFit(order, &s.trial)
	s.steps -= s.f.steps - before
	if s.trial.batches() < s.best.batches() {
		s.best, s.trial = s.trial, s.best
	}
}

// fitGroups tries the items group by group.
func (s *solver) fitGroups() {
	if groups := s.x.in.Groups; len(groups) > 0 {
		order := slices.Clone(s.items)
		slices.SortStableFunc(order, func(i, j int32) int { return cmp.Compare(groups[i], groups[j]) })
		s.fit(order)
	}
}

// exhaustIfNear runs exhaust before all other searches if its result would be final.
func (s *solver) exhaustIfNear() {
	if s.best.batches() != s.bound.Batches+1 {
		return
	}
	s.findClique() // a clique explains more than an exhausted search
	s.exhaust()
}

// findClique searches for items that must all be in different batches.
func (s *solver) findClique() {
	if !s.x.pairs {
		return
	}
	s.clique, _ = largestClique(s.x.apart, false, s.best.items, s.bound.Batches, s.best.batches(), &s.steps)
	if len(s.clique) > 0 {
		s.raise(part(KindClique, len(s.clique), s.clique), true)
	}
}

// exhaust decides, from the bound upwards, whether a number of batches is possible, as long as it can.
func (s *solver) exhaust() {
	for !s.proven() && s.steps > 0 {
		budget := s.steps / 2
		s.steps -= budget
		d, result := exhaustively(s.x, s.items, s.bound.Batches, s.clique, &budget)
		s.steps += max(0, budget)
		switch result {
		case possible:
			s.best = d
		case impossible:
			s.bound = part(KindSearch, s.bound.Batches+1, s.items)
		case undecided:
			return
		}
	}
}

// reorder is iterated greedy (Culberson and Luo): the batches in another order, one after the other, never need more batches, and sometimes
// fewer.
func (s *solver) reorder() {
	random := generator(88172645463325252)
	current, next := s.best.clone(), division{}
	order := make([]int32, 0, len(s.items))
	rank := make([]int32, 0, current.batches())
	for round := 0; s.steps > 0 && !s.proven(); round++ {
		rank = rank[:0]
		for b := range current.batches() {
			rank = append(rank, int32(b))
		}
		switch round % 10 {
		case 0, 2, 4, 6, 8:
			slices.Reverse(rank)
		case 1, 3, 7:
			slices.SortStableFunc(rank, func(a, b int32) int { return cmp.Compare(len(current.batch(int(b))), len(current.batch(int(a)))) })
		default:
			random.shuffle(rank)
		}
		order = order[:0]
		for _, b := range rank {
			order = append(order, current.batch(int(b))...)
		}
		before := s.f.steps
		s.f.firstFit(order, &next)
		s.steps -= s.f.steps - before
		current, next = next, current
		if current.batches() < s.best.batches() {
			s.best = current.clone()
		}
	}
}

// generator generates the same numbers each time (Marsaglia's xorshift): the search must not depend on anything but the input.
type generator uint64

func (g *generator) below(n int) int {
	*g ^= *g << 13
	*g ^= *g >> 7
	*g ^= *g << 17
	return int(uint64(*g>>11) % uint64(n))
}

func (g *generator) shuffle(s []int32) {
	for i := len(s) - 1; i > 0; i-- {
		j := g.below(i + 1)
		s[i], s[j] = s[j], s[i]
	}
}
