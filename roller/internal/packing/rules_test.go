package packing_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller/internal/packing"
)

func TestWhyNamesTheRule(t *testing.T) {
	g := NewWithT(t)
	in := constrained(6, []int32{2, 0, 1, 2}, []int32{1, 3, 4}, []int32{1, 4, 3})
	in.MaxSize = 4
	in.Groups, in.MaxPerGroup = []int32{5, 5, 5, -1, -1, 5}, 2
	in.Weights, in.MaxWeight = []int64{0, 0, 0, 4, 0, 7}, 10
	r, err := packing.NewRules(in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Why(0, []int32{1})).To(Equal(packing.Rule{Kind: packing.RuleNone, Constraint: -1, Group: -1}))
	g.Expect(r.Why(0, []int32{1, 2})).To(Equal(packing.Rule{Kind: packing.RuleConstraint, Constraint: 0, Group: -1}))
	g.Expect(r.Why(4, []int32{3})).To(Equal(packing.Rule{Kind: packing.RuleConstraint, Constraint: 1, Group: -1}), "the first of two")
	g.Expect(r.Why(5, []int32{0, 1})).To(Equal(packing.Rule{Kind: packing.RuleGroup, Constraint: -1, Group: 5}))
	g.Expect(r.Why(5, []int32{3})).To(Equal(packing.Rule{Kind: packing.RuleWeight, Constraint: -1, Group: -1}))
	g.Expect(r.Why(5, nil)).To(HaveField("Kind", packing.RuleNone))
	in.MaxSize = 2
	g.Expect(r.Why(4, []int32{0, 1})).To(Equal(packing.Rule{Kind: packing.RuleSize, Constraint: -1, Group: -1}))
}

// TestWhyAgreesWithTheChecker asks about random batches, grown by one item that may or may not join them.
func TestWhyAgreesWithTheChecker(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	asked := map[packing.RuleKind]int{}
	for range 2000 {
		g := NewWithT(t)
		in := randomInput(random, 2+random.IntN(7))
		r, err := packing.NewRules(in)
		g.Expect(err).NotTo(HaveOccurred())
		set := 0
		var batch []int32
		for _, i := range random.Perm(in.Items) {
			rule := r.Why(int32(i), batch)
			asked[rule.Kind]++
			may := rule.Kind == packing.RuleNone
			g.Expect(may).To(Equal(mayBeTogether(in, set|1<<i)), "%d with %v in %+v: %+v", i, batch, in, rule)
			if rule.Kind == packing.RuleConstraint {
				members := in.Members[in.Offsets[rule.Constraint]:in.Offsets[rule.Constraint+1]]
				g.Expect(slices.Contains(members, int32(i))).To(BeTrue())
			}
			if may {
				batch, set = append(batch, int32(i)), set|1<<i
			}
		}
	}
	for _, kind := range []packing.RuleKind{packing.RuleNone, packing.RuleConstraint, packing.RuleSize, packing.RuleGroup,
		packing.RuleWeight} {
		NewWithT(t).Expect(asked[kind]).To(BeNumerically(">", 100), kind.String())
	}
}
