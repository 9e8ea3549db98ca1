package packing

import "fmt"

// Kind is the kind of a proof that items need a number of batches.
type Kind int

// The kinds of a Part. All but KindSearch can be checked with a pencil.
const (
	// KindSize: the items divided by Input.MaxSize, rounded up.
	KindSize Kind = iota
	// KindGroup: the items are of one group, divided by Input.MaxPerGroup.
	KindGroup
	// KindWeight: the items' weights, none counted above Input.MaxWeight, divided by that.
	KindWeight
	// KindConstraint: the items are members of one constraint, divided by its limit.
	KindConstraint
	// KindClique: any two of the items must be in different batches.
	KindClique
	// KindSearch: an exhaustive search tried to divide the items into one batch less.
	KindSearch
)

// String returns the name of the kind.
func (k Kind) String() string {
	return [...]string{"size", "group", "weight", "constraint", "clique", "search"}[k]
}

// Bound is a proven minimum number of batches, with its proof.
type Bound struct {
	Batches int
	// Parts have disjoint items. No item of one part can be in a batch with one of another, so their numbers of batches add up.
	Parts []Part
}

// Part proves that its items need that many batches.
type Part struct {
	Kind    Kind
	Batches int
	// Items are the items of the proof, in ascending order.
	Items []int32
	// Constraint is the constraint of KindConstraint, else -1.
	Constraint int
	// Group is the group of KindGroup, else -1.
	Group int32
}

// String describes the part, for logs and tests.
func (p Part) String() string {
	switch p.Kind {
	case KindConstraint:
		return fmt.Sprintf("%d by constraint %d", p.Batches, p.Constraint)
	case KindGroup:
		return fmt.Sprintf("%d by group %d", p.Batches, p.Group)
	case KindSize, KindWeight, KindClique, KindSearch:
	}
	return fmt.Sprintf("%d by %s of %d items", p.Batches, p.Kind, len(p.Items))
}

func part(kind Kind, batches int, items []int32) Part {
	return Part{Kind: kind, Batches: batches, Items: items, Constraint: -1, Group: -1}
}

func ceil[N int | int64](a, b N) N { return (a + b - 1) / b }

// boundByCaps returns the best bound for the items that follows from a single cap.
func (x *instance) boundByCaps(items []int32) Part {
	best := part(KindClique, 1, items[:1])
	if size := x.in.MaxSize; size > 0 && ceil(len(items), size) > best.Batches {
		best = part(KindSize, ceil(len(items), size), items)
	}
	if len(x.groups) > 0 {
		ofGroup := make([][]int32, len(x.groups))
		for _, i := range items {
			if g := x.group[i]; g >= 0 {
				ofGroup[g] = append(ofGroup[g], i)
			}
		}
		for _, of := range ofGroup {
			if n := ceil(len(of), x.in.MaxPerGroup); n > best.Batches {
				best = part(KindGroup, n, of)
				best.Group = x.in.Groups[of[0]]
			}
		}
	}
	if x.in.MaxWeight > 0 {
		sum := int64(0)
		for _, i := range items {
			sum += min(x.in.weight(i), x.in.MaxWeight)
		}
		if n := int(ceil(sum, x.in.MaxWeight)); n > best.Batches {
			best = part(KindWeight, n, items)
		}
	}
	return best
}

// boundByConstraint returns the best bound that follows from a single constraint, if it is better than floor.
func (x *instance) boundByConstraint(floor int) (Part, bool) {
	best, found := 0, false
	for c, limit := range x.in.Limits {
		n := int(x.in.Offsets[c+1] - x.in.Offsets[c])
		if ceil(n, int(limit)) <= floor {
			continue
		}
		if n = ceil(len(distinct(x.in.members(c))), int(limit)); n > floor {
			best, floor, found = c, n, true
		}
	}
	if !found {
		return Part{}, false
	}
	p := part(KindConstraint, floor, distinct(x.in.members(best)))
	p.Constraint = best
	return p, true
}

// distinct returns the members in ascending order, without duplicates.
func distinct(members []int32) []int32 {
	s := append([]int32(nil), members...)
	sortShort(s)
	kept := 0
	for at, i := range s {
		if at == 0 || i != s[kept-1] {
			s[kept] = i
			kept++
		}
	}
	return s[:kept]
}
