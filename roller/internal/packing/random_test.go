package packing_test

import (
	"math/rand/v2"
	"slices"

	"github.com/kafka-operators/kafka-operators/roller/internal/packing"
)

// randomInput returns a small instance: few or many constraints of one to five members, some repeated, with limits of 1 to 3, and with or
// without caps.
func randomInput(random *rand.Rand, items int) *packing.Input {
	in := &packing.Input{Items: items, Offsets: []int32{0}}
	var constraints [][]int32
	size := random.IntN(4)
	for range random.IntN(1 + items*items/2) {
		members := make([]int32, max(size, 2)) // pairs in half of the cases, else triples
		if size == 0 {
			members = make([]int32, 1+random.IntN(5))
		}
		for m := range members {
			members[m] = int32(random.IntN(items))
		}
		if len(constraints) > 0 && random.IntN(8) == 0 {
			members = slices.Clone(constraints[random.IntN(len(constraints))])
			random.Shuffle(len(members), func(a, b int) { members[a], members[b] = members[b], members[a] })
		}
		constraints = append(constraints, members)
	}
	limits := 1 + random.IntN(3)
	for _, members := range constraints {
		in.Members = append(in.Members, members...)
		in.Offsets = append(in.Offsets, int32(len(in.Members)))
		in.Limits = append(in.Limits, int32(1+random.IntN(limits)))
	}
	if random.IntN(3) == 0 {
		in.MaxSize = 1 + random.IntN(items)
	}
	if random.IntN(2) == 0 {
		for range items {
			in.Groups = append(in.Groups, int32(random.IntN(4)-1)*7)
		}
		in.MaxPerGroup = random.IntN(4)
	}
	if random.IntN(3) == 0 {
		for range items {
			in.Weights = append(in.Weights, int64(random.IntN(10)))
		}
		in.MaxWeight = int64(random.IntN(20))
	}
	return in
}

// fewest returns the smallest number of batches, by dynamic programming over all sets of items. It uses nothing but the Input.
func fewest(in *packing.Input) int {
	allowed := make([]bool, 1<<in.Items)
	for set := range allowed {
		allowed[set] = mayBeTogether(in, set)
	}
	need := make([]int, 1<<in.Items)
	for set := 1; set < len(need); set++ {
		need[set] = in.Items
		for part := set; part > 0; part = (part - 1) & set {
			if allowed[part] {
				need[set] = min(need[set], 1+need[set&^part])
			}
		}
	}
	return need[len(need)-1]
}

func mayBeTogether(in *packing.Input, set int) bool {
	size, weight := 0, int64(0)
	grouped := [64]int{}
	for i := range in.Items {
		if set>>i&1 == 0 {
			continue
		}
		size++
		if in.MaxWeight > 0 && len(in.Weights) > 0 {
			weight += in.Weights[i]
		}
		if len(in.Groups) > 0 && in.Groups[i] >= 0 {
			if grouped[in.Groups[i]]++; in.MaxPerGroup > 0 && grouped[in.Groups[i]] > in.MaxPerGroup {
				return false
			}
		}
	}
	if in.MaxSize > 0 && size > in.MaxSize || in.MaxWeight > 0 && size > 1 && weight > in.MaxWeight {
		return false
	}
	for c, limit := range in.Limits {
		members := 0
		for _, m := range in.Members[in.Offsets[c]:in.Offsets[c+1]] {
			members |= 1 << m
		}
		n := int32(0)
		for both := members & set; both != 0; both &= both - 1 {
			n++
		}
		if n > limit {
			return false
		}
	}
	return true
}

// permuted returns the same constraints in another order, with their members in another order.
func permuted(random *rand.Rand, in *packing.Input) *packing.Input {
	other := *in
	other.Members, other.Limits, other.Offsets = nil, nil, []int32{0}
	for _, c := range random.Perm(len(in.Limits)) {
		members := slices.Clone(in.Members[in.Offsets[c]:in.Offsets[c+1]])
		random.Shuffle(len(members), func(a, b int) { members[a], members[b] = members[b], members[a] })
		other.Members = append(other.Members, members...)
		other.Offsets = append(other.Offsets, int32(len(other.Members)))
		other.Limits = append(other.Limits, in.Limits[c])
	}
	return &other
}
