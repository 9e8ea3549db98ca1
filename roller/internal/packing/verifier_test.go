package packing

import (
	"errors"
	"fmt"
	"slices"
)

// The errors of the checkers.
var (
	// ErrDivision: the batches are no division of the items that the input allows.
	ErrDivision = errors.New("not an allowed division")
	// ErrBound: the certificate does not prove the bound.
	ErrBound = errors.New("not a proof")
	// ErrTooHard: checking the certificate would take too long a search.
	ErrTooHard = errors.New("too much to search through")
)

// Verify returns nil if the batches contain each item exactly once, break no constraint or cap, and have the order that Packing promises.
// Otherwise its error wraps ErrDivision or ErrInput.
func Verify(in *Input, batches [][]int32) error {
	if err := in.check(); err != nil {
		return err
	}
	batchOf := make([]int, in.Items)
	seen := 0
	for b, batch := range batches {
		if len(batch) == 0 {
			return fmt.Errorf("%w: batch %d is empty", ErrDivision, b)
		}
		if !slices.IsSorted(batch) || b > 0 && batches[b-1][0] > batch[0] {
			return fmt.Errorf("%w: batch %d is out of order", ErrDivision, b)
		}
		for _, i := range batch {
			if i < 0 || int(i) >= in.Items || batchOf[i] != 0 {
				return fmt.Errorf("%w: item %d of batch %d does not exist, or is in a batch twice", ErrDivision, i, b)
			}
			batchOf[i] = b + 1
			seen++
		}
		if err := verifyCaps(in, batch); err != nil {
			return fmt.Errorf("%w: batch %d: %w", ErrDivision, b, err)
		}
	}
	if seen != in.Items {
		return fmt.Errorf("%w: %d items of %d are in no batch", ErrDivision, in.Items-seen, in.Items)
	}
	for c := range in.Limits {
		if b, n := mostOf(in.members(c), batchOf); n > int(in.Limits[c]) {
			return fmt.Errorf("%w: batch %d has %d members of constraint %d, whose limit is %d", ErrDivision, b-1, n, c, in.Limits[c])
		}
	}
	return nil
}

// mostOf returns the batch that has most of the members, and their number.
func mostOf(members []int32, batchOf []int) (batch, most int) {
	for at, i := range members {
		n := 1
		for next, j := range members {
			if next > at && j != i && batchOf[j] == batchOf[i] && !slices.Contains(members[:next], j) {
				n++
			}
		}
		if n > most {
			batch, most = batchOf[i], n
		}
	}
	return batch, most
}

func verifyCaps(in *Input, batch []int32) error {
	if in.MaxSize > 0 && len(batch) > in.MaxSize {
		return fmt.Errorf("%d items, and %d are allowed", len(batch), in.MaxSize)
	}
	weight := int64(0)
	for _, i := range batch {
		weight += in.weight(i)
		n := 0
		for _, j := range batch {
			if in.group(i) >= 0 && in.group(j) == in.group(i) {
				n++
			}
		}
		if in.MaxPerGroup > 0 && n > in.MaxPerGroup {
			return fmt.Errorf("%d items of group %d, and %d are allowed", n, in.group(i), in.MaxPerGroup)
		}
	}
	if in.MaxWeight > 0 && len(batch) > 1 && weight > in.MaxWeight {
		return fmt.Errorf("weight %d, and %d is allowed", weight, in.MaxWeight)
	}
	return nil
}

// VerifyBound returns nil if the bound's certificate proves the bound; otherwise its error wraps ErrBound, ErrInput or ErrTooHard. The
// kinds up to KindClique are calculated. The others are searched again in the simplest way, which returns ErrTooHard after this many steps;
// it is meant for about a dozen items.
func VerifyBound(in *Input, bound Bound, steps int) error {
	if err := in.check(); err != nil {
		return err
	}
	total := 0
	partOf := make([]int, in.Items)
	for at, p := range bound.Parts {
		for _, i := range p.Items {
			if i < 0 || int(i) >= in.Items || partOf[i] != 0 {
				return fmt.Errorf("%w: item %d of part %d does not exist, or is in a part twice", ErrBound, i, at)
			}
			partOf[i] = at + 1
		}
		if err := verifyPart(in, p, &steps); err != nil {
			return fmt.Errorf("part %d: %w", at, err)
		}
		total += p.Batches
	}
	if total != bound.Batches {
		return fmt.Errorf("%w: the parts add up to %d and not to %d", ErrBound, total, bound.Batches)
	}
	if len(bound.Parts) < 2 {
		return nil
	}
	return verifyApart(in, func(i, j int32) bool { return partOf[i] != 0 && partOf[j] != 0 && partOf[i] != partOf[j] })
}

// verifyApart returns an error unless the constraints keep all pairs of the kind apart.
func verifyApart(in *Input, of func(i, j int32) bool) error {
	apart := make([]bool, in.Items*in.Items)
	for c, limit := range in.Limits {
		for _, i := range in.members(c) {
			for _, j := range in.members(c) {
				apart[int(i)*in.Items+int(j)] = apart[int(i)*in.Items+int(j)] || limit == 1 && i != j
			}
		}
	}
	for i := range int32(in.Items) {
		for j := range i {
			if of(i, j) && !apart[int(i)*in.Items+int(j)] && verifyCaps(in, []int32{j, i}) == nil {
				return fmt.Errorf("%w: items %d and %d may be together", ErrBound, j, i)
			}
		}
	}
	return nil
}

func verifyPart(in *Input, p Part, steps *int) error {
	switch p.Kind {
	case KindClique:
		if p.Batches > len(p.Items) {
			return fmt.Errorf("%w: %s", ErrBound, p)
		}
		return verifyApart(in, func(i, j int32) bool { return slices.Contains(p.Items, i) && slices.Contains(p.Items, j) })
	case KindSearch:
		return verifySearch(in, p, steps)
	case KindSize, KindGroup, KindWeight, KindConstraint:
	}
	return verifyQuotient(in, p)
}

// verifyQuotient checks the kinds in which an allowed batch has at most the capacity, and all items together have the given total.
func verifyQuotient(in *Input, p Part) error {
	all, capacity := int64(len(p.Items)), int64(in.MaxSize)
	foreign := func(int32) bool { return false }
	switch p.Kind {
	case KindGroup:
		capacity = int64(in.MaxPerGroup)
		foreign = func(i int32) bool { return p.Group < 0 || in.group(i) != p.Group }
	case KindWeight:
		all, capacity = 0, in.MaxWeight
		for _, i := range p.Items {
			all += min(in.weight(i), capacity)
		}
	case KindConstraint:
		if p.Constraint < 0 || p.Constraint >= len(in.Limits) {
			return fmt.Errorf("%w: there is no constraint %d", ErrBound, p.Constraint)
		}
		capacity = int64(in.Limits[p.Constraint])
		foreign = func(i int32) bool { return !slices.Contains(in.members(p.Constraint), i) }
	case KindSize, KindClique, KindSearch:
	}
	if slices.ContainsFunc(p.Items, foreign) {
		return fmt.Errorf("%w: an item does not belong to %s", ErrBound, p)
	}
	if capacity < 1 || int64(p.Batches) > (all+capacity-1)/capacity {
		return fmt.Errorf("%w: %s is more than %d divided by %d", ErrBound, p, all, capacity)
	}
	return nil
}

// allowed reports whether the items may be a batch.
func allowed(in *Input, batch []int32) bool {
	for c, limit := range in.Limits {
		n := int32(0)
		for at, i := range in.members(c) {
			if slices.Contains(batch, i) && !slices.Contains(in.members(c)[:at], i) {
				n++
			}
		}
		if n > limit {
			return false
		}
	}
	return verifyCaps(in, batch) == nil
}

// verifySearch tries all divisions into one batch less than the bound.
func verifySearch(in *Input, p Part, steps *int) error {
	batches := make([][]int32, 0, p.Batches)
	var place func(at int) error
	place = func(at int) error {
		if at == len(p.Items) {
			return fmt.Errorf("%w: %v is a division", ErrBound, batches)
		}
		for b := range min(len(batches)+1, p.Batches-1) {
			if *steps--; *steps < 0 {
				return ErrTooHard
			}
			if b == len(batches) {
				batches = append(batches, nil)
			}
			batches[b] = append(batches[b], p.Items[at])
			if allowed(in, batches[b]) {
				if err := place(at + 1); err != nil {
					return err
				}
			}
			if batches[b] = batches[b][:len(batches[b])-1]; len(batches[b]) == 0 {
				batches = batches[:b]
			}
		}
		return nil
	}
	return place(0)
}
