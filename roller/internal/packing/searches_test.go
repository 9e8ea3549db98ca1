package packing_test

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
	"github.com/kafka-operators/kafka-operators/roller/internal/packing"
)

const plenty = 1_000_000_000

// TestExhaustDecidesEveryNumberOfBatches tests the search alone, which Pack uses only if nothing simpler suffices.
func TestExhaustDecidesEveryNumberOfBatches(t *testing.T) {
	random := rand.New(rand.NewPCG(randomtest.Seed(t), 10))
	for n := range 1500 {
		g := NewWithT(t)
		in := randomInput(random, 1+random.IntN(8))
		best := fewest(in)
		for k := 1; k <= best+1; k++ {
			batches, found, decided := packing.Exhaust(in, k, plenty)
			g.Expect(decided).To(BeTrue())
			g.Expect(found).To(Equal(k >= best), "%d batches, and %d are needed, instance %d: %+v", k, best, n, in)
			if found {
				g.Expect(packing.Verify(in, batches)).To(Succeed())
			}
			_, found, decided = packing.Exhaust(in, k, 20)
			g.Expect(decided && found != (k >= best)).To(BeFalse(), "without steps it says nothing, rather than something wrong")
		}
	}
}

// TestLargestCliqueIsTheLargest compares the result with a search of all sets.
func TestLargestCliqueIsTheLargest(t *testing.T) {
	random := rand.New(rand.NewPCG(randomtest.Seed(t), 14))
	for range 500 {
		g := NewWithT(t)
		in := randomInput(random, 1+random.IntN(11))
		apart := func(i, j int) bool {
			for c, limit := range in.Limits {
				members := 0
				for _, m := range in.Members[in.Offsets[c]:in.Offsets[c+1]] {
					members |= 1 << m
				}
				if limit == 1 && members>>i&1 != 0 && members>>j&1 != 0 {
					return true
				}
			}
			return !mayBeTogether(in, 1<<i|1<<j)
		}
		for _, not := range []bool{false, true} {
			largest := 0
		sets:
			for set := range 1 << in.Items {
				for i := range in.Items {
					for j := range i {
						if set>>i&1 != 0 && set>>j&1 != 0 && apart(i, j) == not {
							continue sets
						}
					}
				}
				largest = max(largest, bits.OnesCount(uint(set)))
			}
			clique, proven := packing.LargestClique(in, not, plenty)
			g.Expect(proven).To(BeTrue())
			g.Expect(clique).To(HaveLen(largest))
			for at, i := range clique {
				for _, j := range clique[:at] {
					g.Expect(apart(int(i), int(j))).To(Equal(!not))
				}
			}
			fewer, _ := packing.LargestClique(in, not, 30)
			g.Expect(len(fewer)).To(BeNumerically("<=", largest))
		}
	}
}

// TestEjectKeepsTheRules checks instances of pairs, with and without a cap, on which first fit is far from the optimum.
func TestEjectKeepsTheRules(t *testing.T) {
	random := rand.New(rand.NewPCG(randomtest.Seed(t), 16))
	better := 0
	for range 300 {
		g := NewWithT(t)
		in := &packing.Input{Items: 2 + random.IntN(40), Offsets: []int32{0}, MaxSize: random.IntN(6)}
		for range random.IntN(in.Items * in.Items) {
			in.Members = append(in.Members, int32(random.IntN(in.Items)), int32(random.IntN(in.Items)))
			in.Offsets = append(in.Offsets, int32(len(in.Members)))
			in.Limits = append(in.Limits, 1)
		}
		before, after := packing.Eject(in, 200_000)
		g.Expect(packing.Verify(in, after)).To(Succeed())
		g.Expect(len(after)).To(BeNumerically("<=", before))
		if len(after) < before {
			better++
		}
	}
	NewWithT(t).Expect(better).To(BeNumerically(">", 100))
}
