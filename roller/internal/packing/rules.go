package packing

import "slices"

// RuleKind describes what kind of rule keeps items apart.
type RuleKind int

// The rules. RuleNone: the items may be together.
const (
	RuleNone RuleKind = iota
	// RuleConstraint: a constraint would have more of its members in the batch than its limit.
	RuleConstraint
	// RuleSize: the batch would have more items than Input.MaxSize.
	RuleSize
	// RuleGroup: the batch would have more items of a group than Input.MaxPerGroup.
	RuleGroup
	// RuleWeight: the batch would be heavier than Input.MaxWeight.
	RuleWeight
)

// String names the rule.
func (k RuleKind) String() string {
	return [...]string{"none", "constraint", "size", "group", "weight"}[k]
}

// Rule is what keeps items apart.
type Rule struct {
	Kind RuleKind
	// Constraint is that of RuleConstraint, the first in the Input if there are several; else -1.
	Constraint int
	// Group is that of RuleGroup; else -1.
	Group int32
}

// Rules answers why items can't be together. It is safe for concurrent use.
type Rules struct {
	in *Input
	// constraintOf[of[i]:of[i+1]] are the constraints that item i is in.
	of           []int32
	constraintOf []int32
}

// NewRules prepares an input for many questions. Its error wraps ErrInput.
func NewRules(in *Input) (*Rules, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	r := &Rules{in: in, of: make([]int32, in.Items+1), constraintOf: make([]int32, len(in.Members))}
	for _, i := range in.Members {
		r.of[i+1]++
	}
	for i := range in.Items {
		r.of[i+1] += r.of[i]
	}
	next := slices.Clone(r.of)
	for c := range in.constraints() {
		for _, i := range in.members(c) {
			r.constraintOf[next[i]] = int32(c)
			next[i]++
		}
	}
	return r, nil
}

// Why describes what keeps the item from joining a batch, which need not be one of Pack's and may have a single item. The constraints come
// first, because they are about safety and the caps are about caution. An item that is in the batch is not looked for there again: the
// answer is RuleNone if the batch is allowed as far as the item's constraints and the caps go.
func (r *Rules) Why(item int32, batch []int32) Rule {
	together := batch
	if !slices.Contains(batch, item) {
		together = append(slices.Clone(batch), item)
	}
	before := int32(-1)
	for _, c := range r.constraintOf[r.of[item]:r.of[item+1]] {
		if c == before {
			continue // the item is named twice
		}
		before = c
		n := int32(0)
		members := r.in.members(int(c))
		for at, m := range members {
			if slices.Contains(together, m) && !slices.Contains(members[:at], m) {
				n++
			}
		}
		if n > r.in.Limits[c] {
			return Rule{RuleConstraint, int(c), -1}
		}
	}
	return r.cap(together, item)
}

func (r *Rules) cap(together []int32, item int32) Rule {
	if size := r.in.MaxSize; size > 0 && len(together) > size {
		return Rule{RuleSize, -1, -1}
	}
	if group := r.in.group(item); group >= 0 {
		n := 0
		for _, i := range together {
			if r.in.group(i) == group {
				n++
			}
		}
		if n > r.in.MaxPerGroup {
			return Rule{RuleGroup, -1, group}
		}
	}
	if r.in.MaxWeight > 0 && len(together) > 1 {
		weight := int64(0)
		for _, i := range together {
			weight += r.in.weight(i)
		}
		if weight > r.in.MaxWeight {
			return Rule{RuleWeight, -1, -1}
		}
	}
	return Rule{RuleNone, -1, -1}
}
