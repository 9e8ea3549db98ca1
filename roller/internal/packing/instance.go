package packing

import (
	"math/bits"
	"slices"
)

// instance is a prepared Input: one relation contains all pairs that can't be together, and the remaining constraints are few.
type instance struct {
	in *Input
	n  int
	// apart has the pairs that can't be in one batch, because of a constraint or a cap.
	apart relation
	// pairs reports whether there are any.
	pairs bool
	// wide are the constraints that pairs don't express: those with a limit of 2 or more that the pairs in apart don't imply, without
	// duplicates.
	wide []wide
	// slots are the initial slots of a batch.
	slots []slot
	// member contains the items of the wide constraints, and wideOf[of[i]:of[i+1]] the wide constraints of item i.
	member []int32
	of     []int32
	wideOf []int32
	// group is the group of each item to which MaxPerGroup applies, numbered from 0, or -1; groups are their items.
	group  []int32
	groups []bitset
}

// wide is the constraint with that number in the Input: at most limit of member[from:to] may be in one batch.
type wide struct{ from, to, limit, constraint int32 }

// slot is the state of a wide constraint in a batch. It is small, because packing spends most of its time on visiting slots.
type slot struct {
	// room is how many more members the batch may have; with the bit many set if more than one member will remain outside.
	room uint16
	// rest is the exclusive or of all members that are not in the batch: without room, it is the only one that remains.
	rest uint16
}

const many = 1 << 15

func (x *instance) newSlot(w wide) slot {
	s := slot{room: uint16(w.limit)}
	if w.to-w.from > w.limit+1 {
		s.room |= many
	}
	for _, i := range x.members(w) {
		s.rest ^= uint16(i)
	}
	return s
}

// enter records that a member joined the batch, and reports whether no room remains.
func (s *slot) enter(i int32) bool {
	s.room--
	s.rest ^= uint16(i)
	return s.room&^many == 0
}

func (s *slot) leave(i int32) {
	s.room++
	s.rest ^= uint16(i)
}

func newInstance(in *Input) *instance {
	x := &instance{in: in, n: in.Items, apart: newRelation(in.Items)}
	x.relatePairs()
	x.numberGroups()
	x.relateByCaps()
	x.pairs = !x.apart.rows.empty()
	x.collectWide()
	x.indexWide()
	return x
}

func (x *instance) members(w wide) []int32 { return x.member[w.from:w.to] }

func (x *instance) wides(i int32) []int32 { return x.wideOf[x.of[i]:x.of[i+1]] }

// relatePairs adds the pairs of the constraints with limit 1.
func (x *instance) relatePairs() {
	for c, limit := range x.in.Limits {
		if limit != 1 {
			continue
		}
		members := x.in.members(c)
		for a, i := range members {
			for _, j := range members[a+1:] {
				if i != j {
					x.apart.relate(i, j)
				}
			}
		}
	}
}

// numberGroups numbers the groups from 0, in their order.
func (x *instance) numberGroups() {
	x.group = make([]int32, x.n)
	var ids []int32
	for i := range x.group {
		if g := x.in.group(int32(i)); g >= 0 {
			ids = append(ids, g)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	x.groups = make([]bitset, len(ids))
	for g := range x.groups {
		x.groups[g] = newBitset(x.n)
	}
	for i := range x.group {
		x.group[i] = -1
		if g := x.in.group(int32(i)); g >= 0 {
			at, _ := slices.BinarySearch(ids, g)
			x.group[i] = int32(at)
			x.groups[at].add(int32(i))
		}
	}
}

// relateByCaps marks pairs that exceed a cap as incompatible.
func (x *instance) relateByCaps() {
	if x.in.MaxSize != 1 && x.in.MaxPerGroup != 1 && x.in.MaxWeight == 0 {
		return
	}
	for i := range int32(x.n) {
		for j := i + 1; j < int32(x.n); j++ {
			sameGroup := x.in.MaxPerGroup == 1 && x.group[i] >= 0 && x.group[i] == x.group[j]
			tooHeavy := x.in.MaxWeight > 0 && x.in.weight(i)+x.in.weight(j) > x.in.MaxWeight
			if x.in.MaxSize == 1 || sameGroup || tooHeavy {
				x.apart.relate(i, j)
			}
		}
	}
}

// collectWide collects the constraints with a limit above 1 that are not superfluous, without duplicates.
func (x *instance) collectWide() {
	candidates, members := 0, 0
	for c, limit := range x.in.Limits {
		if limit > 1 {
			candidates++
			members += len(x.in.members(c))
		}
	}
	if candidates == 0 {
		return
	}
	x.wide = make([]wide, 0, candidates)
	x.member = make([]int32, 0, members)
	seen := newWideSet(candidates)
	for c, limit := range x.in.Limits {
		if limit == 1 {
			continue
		}
		from := len(x.member)
		x.member = append(x.member, x.in.members(c)...)
		members := x.member[from:]
		sortShort(members)
		members = slices.Compact(members)
		x.member = x.member[:from+len(members)]
		w := wide{int32(from), int32(from + len(members)), limit, int32(c)}
		if x.superfluous(members, int(limit)) || seen.known(x, w) {
			x.member = x.member[:from]
		} else {
			x.wide = append(x.wide, w)
		}
	}
}

// superfluous reports whether the pairs that are apart already keep more than limit of the members from being together: the members can be
// divided into limit sets in which any two are apart.
func (x *instance) superfluous(members []int32, limit int) bool {
	if len(members) <= limit || !x.pairs {
		return len(members) <= limit
	}
	var first [8]int32
	var sets [8][]int32
	if limit > len(sets) {
		return false
	}
	used := 0
next:
	for _, i := range members {
		for s := range used {
			if x.apartFromAll(i, sets[s]) {
				sets[s] = append(sets[s], i)
				continue next
			}
		}
		if used == limit {
			return false
		}
		first[used] = i
		sets[used] = first[used : used+1 : used+1]
		used++
	}
	return true
}

func (x *instance) apartFromAll(i int32, from []int32) bool {
	row := x.apart.of(i)
	for _, j := range from {
		if !row.has(j) {
			return false
		}
	}
	return true
}

// indexWide collects for each item its wide constraints.
func (x *instance) indexWide() {
	x.of = make([]int32, x.n+1)
	for _, i := range x.member {
		x.of[i+1]++
	}
	for i := range x.n {
		x.of[i+1] += x.of[i]
	}
	x.wideOf = make([]int32, len(x.member))
	x.slots = make([]slot, len(x.wide))
	next := slices.Clone(x.of)
	for at, w := range x.wide {
		for _, i := range x.members(w) {
			x.wideOf[next[i]] = int32(at)
			next[i]++
		}
		x.slots[at] = x.newSlot(w)
	}
}

// sortShort sorts in place. It is fast for lists of three to five, which most of them are.
func sortShort(s []int32) {
	if len(s) > 16 {
		slices.Sort(s)
		return
	}
	for a := 1; a < len(s); a++ {
		for b := a; b > 0 && s[b] < s[b-1]; b-- {
			s[b], s[b-1] = s[b-1], s[b]
		}
	}
}

// wideSet finds wide constraints by their members: a hash table with open addressing. A slot contains the position in instance.wide plus 1,
// or 0 if it is empty, and in the bits above a part of the hash, so that few other constraints are compared.
type wideSet struct {
	slots []uint32
	width int // of a position in the table, and in instance.wide
}

func newWideSet(n int) wideSet {
	width := max(4, bits.Len(uint(2*n)))
	return wideSet{make([]uint32, 1<<width), width}
}

// known reports whether a constraint with the same members exists, and lowers its limit if this one's is lower. If not, it adds w as the
// next one.
func (s wideSet) known(x *instance, w wide) bool {
	hash := uint64(0)
	for _, i := range x.members(w) {
		hash = bits.RotateLeft64(hash^uint64(i+1), 23) * 0x9e3779b97f4a7c15
	}
	hash ^= hash >> 32
	hash *= 0x9e3779b97f4a7c15
	position := uint32(1)<<s.width - 1
	tag := uint32(hash) &^ position
	for at := uint32(hash >> (64 - s.width)); ; at = (at + 1) & position {
		slot := s.slots[at]
		if slot == 0 {
			s.slots[at] = tag | uint32(len(x.wide)+1)
			return false
		}
		if slot&^position != tag {
			continue
		}
		other := &x.wide[slot&position-1]
		if slices.Equal(x.members(*other), x.members(w)) {
			if w.limit < other.limit {
				other.limit, other.constraint = w.limit, w.constraint
			}
			return true
		}
	}
}
