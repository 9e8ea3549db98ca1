package packing_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller/internal/packing"
)

func TestVerifyFindsWhatIsWrong(t *testing.T) {
	in := constrained(4, []int32{1, 0, 1}, []int32{2, 1, 2, 3, 3})
	in.MaxSize = 3
	in.Groups, in.MaxPerGroup = []int32{1, 2, 1, -1}, 1
	in.Weights, in.MaxWeight = []int64{1, 1, 1, 9}, 9
	for name, c := range map[string]struct {
		batches [][]int32
		says    string
	}{
		"right":              {[][]int32{{0}, {1, 2}, {3}}, ""},
		"missing":            {[][]int32{{0}, {1, 2}}, "1 items of 4 are in no batch"},
		"twice":              {[][]int32{{0}, {1, 2}, {2}, {3}}, "in a batch twice"},
		"unknown":            {[][]int32{{0}, {1, 2}, {3}, {4}}, "does not exist"},
		"empty":              {[][]int32{{0}, {}, {1, 2}, {3}}, "batch 1 is empty"},
		"not sorted":         {[][]int32{{0}, {2, 1}, {3}}, "batch 1 is out of order"},
		"order of batches":   {[][]int32{{1, 2}, {0}, {3}}, "batch 1 is out of order"},
		"constraint":         {[][]int32{{0, 1}, {2}, {3}}, "batch 0 has 2 members of constraint 0, whose limit is 1"},
		"group":              {[][]int32{{0, 2}, {1}, {3}}, "2 items of group 1"},
		"weight":             {[][]int32{{0}, {1}, {2, 3}}, "weight 10"},
		"size":               {[][]int32{{0, 1, 2, 3}}, "4 items, and 3 are allowed"},
		"members only once":  {[][]int32{{0}, {1, 2}, {3}}, ""},
		"a heavy item alone": {[][]int32{{0}, {1}, {2}, {3}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			err := packing.Verify(in, c.batches)
			if c.says == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(And(MatchError(packing.ErrDivision), MatchError(ContainSubstring(c.says))))
		})
	}
}

func TestVerifyBoundFindsWhatIsNotProven(t *testing.T) {
	in := constrained(6, []int32{1, 0, 1}, []int32{2, 1, 2, 3})
	in.MaxSize = 4
	in.Groups, in.MaxPerGroup = []int32{1, 1, 1, 2, 2, 2}, 2
	in.Weights, in.MaxWeight = []int64{1, 1, 1, 1, 1, 1}, 5
	one := func(kind packing.Kind, batches int, items ...int32) []packing.Part {
		return []packing.Part{{Kind: kind, Batches: batches, Items: items, Constraint: 1, Group: 1}}
	}
	for name, c := range map[string]struct {
		parts  []packing.Part
		proven bool
	}{
		"size":              {one(packing.KindSize, 2, 0, 1, 2, 3, 4), true},
		"too much of size":  {one(packing.KindSize, 2, 0, 1, 2, 3), false},
		"weight":            {one(packing.KindWeight, 2, 0, 1, 2, 3, 4, 5), true},
		"too much weight":   {one(packing.KindWeight, 2, 0, 1, 2, 3, 4), false},
		"group":             {one(packing.KindGroup, 2, 0, 1, 2), true},
		"of another group":  {one(packing.KindGroup, 2, 0, 1, 3), false},
		"constraint":        {one(packing.KindConstraint, 2, 1, 2, 3), true},
		"not a member":      {one(packing.KindConstraint, 2, 0, 2, 3), false},
		"clique":            {one(packing.KindClique, 2, 0, 1), true},
		"not a clique":      {one(packing.KindClique, 2, 0, 2), false},
		"an item twice":     {one(packing.KindClique, 2, 0, 0), false},
		"unknown item":      {one(packing.KindClique, 1, 6), false},
		"search":            {one(packing.KindSearch, 2, 0, 1), true},
		"a division exists": {one(packing.KindSearch, 3, 0, 1, 2), false},
		"parts together":    {append(one(packing.KindClique, 1, 0), one(packing.KindClique, 1, 2)...), false},
		"parts apart":       {append(one(packing.KindClique, 1, 0), one(packing.KindClique, 1, 1)...), true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			total := 0
			for _, p := range c.parts {
				total += p.Batches
			}
			err := packing.VerifyBound(in, packing.Bound{Batches: total, Parts: c.parts}, 10_000)
			if c.proven {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(packing.VerifyBound(in, packing.Bound{Batches: total + 1, Parts: c.parts}, 10_000)).To(MatchError(packing.ErrBound))
				return
			}
			g.Expect(err).To(MatchError(packing.ErrBound))
		})
	}
	g := NewWithT(t)
	g.Expect(packing.VerifyBound(in, packing.Bound{Batches: 2, Parts: one(packing.KindSearch, 2, 0, 1)}, 1)).To(MatchError(packing.ErrTooHard))
}
