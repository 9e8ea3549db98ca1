package packing_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
	"github.com/kafka-operators/kafka-operators/roller/internal/packing"
)

// constrained returns an input with these constraints, each given as a limit and the members.
func constrained(items int, constraints ...[]int32) *packing.Input {
	in := &packing.Input{Items: items, Offsets: []int32{0}}
	for _, c := range constraints {
		in.Limits = append(in.Limits, c[0])
		in.Members = append(in.Members, c[1:]...)
		in.Offsets = append(in.Offsets, int32(len(in.Members)))
	}
	return in
}

// pack packs, and verifies the result. It verifies bounds that were found by search only for small instances.
func pack(g Gomega, in *packing.Input) packing.Packing {
	p, err := packing.Pack(in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(packing.Verify(in, p.Batches)).To(Succeed())
	steps := 0
	if len(in.Limits) < 1000 {
		steps = 5_000
	}
	g.Expect(packing.VerifyBound(in, p.Bound, steps)).To(Or(Succeed(), MatchError(packing.ErrTooHard)))
	g.Expect(p.Bound.Batches).To(BeNumerically("<=", len(p.Batches)))
	return p
}

func TestNothingToPackIsNoBatch(t *testing.T) {
	g := NewWithT(t)
	p := pack(g, &packing.Input{})
	g.Expect(p.Batches).To(BeEmpty())
	g.Expect(p.Bound.Batches).To(BeZero())
}

func TestItemsThatNothingKeepsApartAreOneBatch(t *testing.T) {
	g := NewWithT(t)
	p := pack(g, constrained(3, []int32{3, 0, 1, 2}, []int32{1, 2}))
	g.Expect(p.Batches).To(Equal([][]int32{{0, 1, 2}}))
	g.Expect(p.Bound.Batches).To(Equal(1))
}

func TestACapOfOneIsTheOrderOfTheItems(t *testing.T) {
	g := NewWithT(t)
	in := placement(50, 1000, true, 0.01, 1)
	in.MaxSize = 1
	p := pack(g, in)
	g.Expect(p.Batches).To(HaveLen(50))
	for i, batch := range p.Batches {
		g.Expect(batch).To(Equal([]int32{int32(i)}))
	}
	g.Expect(p.Bound).To(And(HaveField("Batches", 50), HaveField("Parts", ConsistOf(HaveField("Kind", packing.KindSize)))))
}

func TestACapTakesTheLowItemsFirst(t *testing.T) {
	g := NewWithT(t)
	p := pack(g, &packing.Input{Items: 7, MaxSize: 3})
	g.Expect(p.Batches).To(Equal([][]int32{{0, 1, 2}, {3, 4, 5}, {6}}))
	g.Expect(p.Bound.Parts).To(ConsistOf(And(HaveField("Kind", packing.KindSize), HaveField("Batches", 3))))
}

func TestAGroupIsSpreadOverBatches(t *testing.T) {
	g := NewWithT(t)
	p := pack(g, &packing.Input{Items: 6, Groups: []int32{9, 9, 9, -1, -1, -1}, MaxPerGroup: 2})
	g.Expect(p.Batches).To(Equal([][]int32{{0, 1, 3, 4, 5}, {2}}), "items without a group are not counted")
	g.Expect(p.Bound.Parts).To(ConsistOf(And(HaveField("Kind", packing.KindGroup), HaveField("Group", int32(9)), HaveField("Batches", 2))))
}

func TestAnItemThatIsTooHeavyGoesAlone(t *testing.T) {
	g := NewWithT(t)
	p := pack(g, &packing.Input{Items: 4, Weights: []int64{3, 11, 0, 7}, MaxWeight: 10})
	g.Expect(p.Batches).To(Equal([][]int32{{0, 2, 3}, {1}}))
	g.Expect(p.Bound.Batches).To(Equal(2))
}

func TestAConstraintBoundsTheBatches(t *testing.T) {
	g := NewWithT(t)
	p := pack(g, constrained(7, []int32{2, 1, 2, 3, 4, 5}, []int32{1, 0, 1}))
	g.Expect(p.Batches).To(HaveLen(3))
	g.Expect(p.Bound.Parts).To(ConsistOf(And(
		HaveField("Kind", packing.KindConstraint), HaveField("Constraint", 0), HaveField("Items", []int32{1, 2, 3, 4, 5}),
		HaveField("Batches", 3))))
}

func TestItemsThatAreApartByPairsAreAClique(t *testing.T) {
	g := NewWithT(t)
	p := pack(g, constrained(5, []int32{1, 0, 1}, []int32{1, 1, 2}, []int32{1, 0, 2}, []int32{1, 2, 3}))
	g.Expect(p.Batches).To(HaveLen(3))
	g.Expect(p.Bound.Parts).To(ConsistOf(And(HaveField("Kind", packing.KindClique), HaveField("Items", []int32{0, 1, 2}))))
}

func TestWhatOnlyASearchCanProveIsProvenByIt(t *testing.T) {
	g := NewWithT(t)
	// A ring of five: no three items are pairwise apart, but two batches don't suffice.
	p := pack(g, constrained(5, []int32{1, 0, 1}, []int32{1, 1, 2}, []int32{1, 2, 3}, []int32{1, 3, 4}, []int32{1, 4, 0}))
	g.Expect(p.Batches).To(HaveLen(3))
	g.Expect(p.Bound.Batches).To(Equal(3))
	g.Expect(p.Bound.Parts).To(ConsistOf(HaveField("Kind", packing.KindSearch)))
}

func TestGroupsThatAreApartFillTheirBatchesOnTheirOwn(t *testing.T) {
	g := NewWithT(t)
	// Two halves of three items, of which no two from different halves may be together: 2 x 2 batches with a cap of 2, although 6 / 2 is 3.
	in := &packing.Input{Items: 6, MaxSize: 2, Offsets: []int32{0}}
	for a := range int32(3) {
		for b := int32(3); b < 6; b++ {
			in.Members, in.Limits = append(in.Members, a, b), append(in.Limits, 1)
			in.Offsets = append(in.Offsets, int32(len(in.Members)))
		}
	}
	p := pack(g, in)
	g.Expect(p.Batches).To(Equal([][]int32{{0, 1}, {2}, {3, 4}, {5}}))
	g.Expect(p.Bound.Parts).To(HaveLen(2))
	g.Expect(p.Bound.Batches).To(Equal(4))
}

func TestInvalidInputsAreRefused(t *testing.T) {
	for name, in := range map[string]*packing.Input{
		"limit 0":         constrained(2, []int32{0, 0, 1}),
		"unknown item":    constrained(2, []int32{1, 0, 2}),
		"negative item":   constrained(2, []int32{1, 0, -1}),
		"no offset":       {Items: 2, Members: []int32{0, 1}, Limits: []int32{1}},
		"offsets back":    {Items: 2, Members: []int32{0, 1}, Limits: []int32{1, 1, 1}, Offsets: []int32{0, 2, 1, 2}},
		"offsets short":   {Items: 2, Members: []int32{0, 1}, Limits: []int32{1}, Offsets: []int32{0, 1}},
		"too many items":  {Items: packing.MaxItems + 1},
		"negative items":  {Items: -1},
		"negative cap":    {Items: 1, MaxSize: -1},
		"groups missing":  {Items: 2, Groups: []int32{1}},
		"weights missing": {Items: 2, Weights: []int64{1}},
		"negative weight": {Items: 1, Weights: []int64{-1}},
		"weights too big": {Items: 2, Weights: []int64{1 << 62, 1 << 62}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := packing.Pack(in)
			g.Expect(err).To(MatchError(packing.ErrInput))
			g.Expect(packing.Verify(in, nil)).To(MatchError(packing.ErrInput))
			g.Expect(packing.VerifyBound(in, packing.Bound{}, 1)).To(MatchError(packing.ErrInput))
		})
	}
}

// TestSmallInstancesAreSolvedBest compares the result with the optimum from dynamic programming.
func TestSmallInstancesAreSolvedBest(t *testing.T) {
	random := rand.New(rand.NewPCG(randomtest.Seed(t), 2))
	kinds := map[packing.Kind]int{}
	for n := range 3000 {
		in := randomInput(random, 1+random.IntN(8))
		g := NewWithT(t)
		p := pack(g, in)
		best := fewest(in)
		g.Expect(p.Bound.Batches).To(Equal(best), "instance %d: %+v", n, in)
		g.Expect(p.Batches).To(HaveLen(best), "instance %d: %+v", n, in)
		for _, part := range p.Bound.Parts {
			kinds[part.Kind]++
		}
	}
	for _, kind := range []packing.Kind{packing.KindSize, packing.KindGroup, packing.KindWeight, packing.KindConstraint, packing.KindClique,
		packing.KindSearch} {
		NewWithT(t).Expect(kinds[kind]).To(BeNumerically(">", 10), "%s is hardly tried", kind)
	}
}

// TestRandomInstancesKeepThePromises checks instances that are too large to compute the optimum.
func TestRandomInstancesKeepThePromises(t *testing.T) {
	random := rand.New(rand.NewPCG(randomtest.Seed(t), 4))
	for n := range 200 {
		g := NewWithT(t)
		in := randomInput(random, 9+random.IntN(30))
		in.Steps = int64(1 + random.IntN(200_000))
		p := pack(g, in)
		again, err := packing.Pack(in)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again).To(Equal(p), "the same input, instance %d", n)
		other := permuted(random, in)
		q := pack(g, other)
		g.Expect(packing.Verify(in, q.Batches)).To(Succeed(), "the order of constraints means nothing")
		g.Expect(q.Bound.Batches).To(BeNumerically("<=", len(p.Batches)), "no bound of the one contradicts the other")
		g.Expect(p.Bound.Batches).To(BeNumerically("<=", len(q.Batches)))
	}
}

// TestBoundsOfSearchesHold checks instances that are small enough to search again, and limits the steps of Pack at each stage.
func TestBoundsOfSearchesHold(t *testing.T) {
	random := rand.New(rand.NewPCG(randomtest.Seed(t), 6))
	kinds := map[packing.Kind]int{}
	for range 1500 {
		g := NewWithT(t)
		in := randomInput(random, 5+random.IntN(5))
		in.Steps = int64(1 + random.IntN(20_000))
		p := pack(g, in)
		g.Expect(packing.VerifyBound(in, p.Bound, 5_000_000)).To(Succeed())
		for _, part := range p.Bound.Parts {
			kinds[part.Kind]++
		}
	}
	NewWithT(t).Expect(kinds[packing.KindSearch]).To(BeNumerically(">", 10))
}

func TestPlacementsByRacksAreAsManyBatchesAsRacks(t *testing.T) {
	for _, brokers := range []int{50, 100, 300, 1000} {
		for _, told := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d brokers, racks told %t", brokers, told), func(t *testing.T) {
				g := NewWithT(t)
				in := placement(brokers, 200*brokers, true, 0, 1)
				if !told {
					in.Groups = nil
				}
				p := pack(g, in)
				g.Expect(p.Batches).To(HaveLen(3))
				g.Expect(p.Bound.Batches).To(Equal(3))
				for rack, batch := range p.Batches {
					g.Expect(slices.ContainsFunc(batch, func(i int32) bool { return int(i)%3 != rack })).To(BeFalse())
				}
				in.Limits = slices.Repeat([]int32{2}, len(in.Limits))
				p = pack(g, in)
				g.Expect(p.Batches).To(HaveLen(2), "with min.insync.replicas 1 two racks go at once")
				g.Expect(p.Bound.Batches).To(Equal(2))
			})
		}
	}
}

// TestAThousandthOfPartitionsThatIgnoreRacksCostsLittle checks that they cost at most a tenth of the bound.
func TestAThousandthOfPartitionsThatIgnoreRacksCostsLittle(t *testing.T) {
	for _, brokers := range []int{50, 100, 300, 1000} {
		for limit := int32(1); limit <= 2; limit++ {
			for _, maxSize := range []int{0, 10} {
				t.Run(fmt.Sprintf("%d brokers, limit %d, cap %d", brokers, limit, maxSize), func(t *testing.T) {
					g := NewWithT(t)
					in := placement(brokers, 200*brokers, true, 0.001, limit)
					in.MaxSize = maxSize
					p := pack(g, in)
					g.Expect(len(p.Batches)*10).To(BeNumerically("<=", p.Bound.Batches*11), "%d batches, bound %d", len(p.Batches), p.Bound.Batches)
				})
			}
		}
	}
}

func TestRandomPlacementsNeedManyBatches(t *testing.T) {
	for _, c := range []struct{ brokers, batches, bound int }{{50, 50, 50}, {100, 100, 100}, {300, 139, 116}, {1000, 151, 25}} {
		t.Run(fmt.Sprint(c.brokers), func(t *testing.T) {
			g := NewWithT(t)
			p := pack(g, placement(c.brokers, 200*c.brokers, false, 0, 1))
			g.Expect(len(p.Batches)).To(BeNumerically("<=", c.batches))
			g.Expect(p.Bound.Batches).To(BeNumerically(">=", c.bound))
		})
	}
}

func TestConstraintsThatSayNothingNewAreDropped(t *testing.T) {
	g := NewWithT(t)
	in := constrained(6,
		[]int32{3, 0, 1, 2, 3}, []int32{2, 3, 2, 1, 0}, []int32{3, 3, 2, 1, 0, 0}, // the same members: the lowest limit counts
		[]int32{2, 4, 5}, []int32{2, 4, 4, 5}, // can't exceed the limit
		[]int32{1, 0, 4}, []int32{2, 0, 4, 5}, // two of the three are apart
		[]int32{2, 1, 4, 5})
	g.Expect(packing.Wide(in)).To(Equal([]int32{2, 2}))
	pack(g, in)
}
