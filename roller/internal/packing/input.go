package packing

import (
	"errors"
	"fmt"
)

// MaxItems is the maximum number of items. Memory grows with its square: 32 MiB at the limit, 125 KiB for 1,000.
const MaxItems = 1 << 14

// DefaultSteps is the maximum number of steps of Pack if Input.Steps is 0.
const DefaultSteps = 300_000_000

// Input is the input of Pack. Pack does not change the slices, and the caller may reuse them after it returns.
type Input struct {
	// Items is the number of items. They are numbered from 0 in the order of preference: a lower item goes earlier.
	Items int

	// Offsets, Members and Limits are the constraints, as flat slices because there may be 200,000 of them: at most Limits[c], which is at
	// least 1, of the items Members[Offsets[c]:Offsets[c+1]] may be in one batch. There is one offset more than limits. The order of
	// members does not matter, and a duplicate counts once.
	Offsets []int32
	Members []int32
	Limits  []int32

	// MaxSize is the maximum number of items in a batch; 0 means any number.
	MaxSize int
	// Groups contains the group of each item (the rack of a broker); an item with a negative one has no group, and MaxPerGroup does not
	// apply to it. If Groups is empty, no item has a group.
	Groups []int32
	// MaxPerGroup is the maximum number of items of one group in a batch; 0 means any number.
	MaxPerGroup int
	// Weights contains the weight of each item (how many partitions a broker leads), at least 0. If it is empty, all weights are 0.
	Weights []int64
	// MaxWeight is the maximum weight of a batch of two or more items; 0: no limit. A heavier item gets its own batch.
	MaxWeight int64

	// Steps is the maximum number of steps of the search for fewer batches and for a better bound, after the first division was found; 0
	// means DefaultSteps. A step visits one word or one constraint, in one to three nanoseconds. Simple inputs need few of them: the search
	// ends when no improvement is possible.
	Steps int64
}

// The errors of an Input, each wrapped in one with the position.
var (
	// ErrInput matches all of them.
	ErrInput = errors.New("invalid input for packing")
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInput, fmt.Sprintf(format, args...))
}

// check returns an error that wraps ErrInput if the input is invalid.
func (in *Input) check() error {
	switch {
	case in.Items < 0 || in.Items > MaxItems:
		return invalid("%d items, not 0 to %d", in.Items, MaxItems)
	case len(in.Groups) != 0 && len(in.Groups) != in.Items:
		return invalid("%d groups for %d items", len(in.Groups), in.Items)
	case len(in.Weights) != 0 && len(in.Weights) != in.Items:
		return invalid("%d weights for %d items", len(in.Weights), in.Items)
	case in.MaxSize < 0 || in.MaxPerGroup < 0 || in.MaxWeight < 0 || in.Steps < 0:
		return invalid("a cap below 0")
	}
	total := int64(0)
	for i, w := range in.Weights {
		if w < 0 {
			return invalid("item %d weighs %d", i, w)
		}
		if total += w; total < 0 {
			return invalid("the weights are too large to be added up")
		}
	}
	return in.checkConstraints()
}

func (in *Input) checkConstraints() error {
	if len(in.Limits) == 0 && len(in.Members) == 0 && len(in.Offsets) <= 1 {
		return nil
	}
	if len(in.Offsets) != len(in.Limits)+1 || in.Offsets[0] != 0 || int(in.Offsets[len(in.Limits)]) != len(in.Members) {
		return invalid("%d offsets, from 0 to %d, are needed for %d limits", len(in.Limits)+1, len(in.Members), len(in.Limits))
	}
	for c, limit := range in.Limits {
		if in.Offsets[c] > in.Offsets[c+1] {
			return invalid("constraint %d ends before it begins", c)
		}
		if limit < 1 {
			return invalid("constraint %d has limit %d", c, limit)
		}
	}
	for _, m := range in.Members {
		if m < 0 || int(m) >= in.Items {
			return invalid("a constraint has item %d of %d", m, in.Items)
		}
	}
	return nil
}

// members returns the items of constraint c, as given.
func (in *Input) members(c int) []int32 { return in.Members[in.Offsets[c]:in.Offsets[c+1]] }

// group returns the group to which MaxPerGroup applies, or a negative number.
func (in *Input) group(i int32) int32 {
	if in.MaxPerGroup == 0 || len(in.Groups) == 0 {
		return -1
	}
	return in.Groups[i]
}

// weight returns the weight of the item if MaxWeight is set, else 0.
func (in *Input) weight(i int32) int64 {
	if in.MaxWeight == 0 || len(in.Weights) == 0 {
		return 0
	}
	return in.Weights[i]
}
