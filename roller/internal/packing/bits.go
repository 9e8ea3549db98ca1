package packing

// bitset is a set of small numbers. All bitsets that are used together have the same length.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(i int32) bool { return b[i>>6]&(1<<(uint(i)&63)) != 0 }
func (b bitset) add(i int32)      { b[i>>6] |= 1 << (uint(i) & 63) }
func (b bitset) drop(i int32)     { b[i>>6] &^= 1 << (uint(i) & 63) }

// unite adds all numbers of o.
func (b bitset) unite(o bitset) {
	o = o[:len(b)]
	for w := range b {
		b[w] |= o[w]
	}
}

func (b bitset) empty() bool {
	for _, w := range b {
		if w != 0 {
			return false
		}
	}
	return true
}

// relation is a symmetric relation between the numbers below n, with one bitset for each of them.
type relation struct {
	words int
	rows  bitset
}

func newRelation(n int) relation {
	words := (n + 63) / 64
	return relation{words, make(bitset, n*words)}
}

func (r relation) of(i int32) bitset {
	return r.rows[int(i)*r.words : (int(i)+1)*r.words : (int(i)+1)*r.words]
}

func (r relation) relate(i, j int32) {
	r.rows[int(i)*r.words+int(j>>6)] |= 1 << (uint(j) & 63)
	r.rows[int(j)*r.words+int(i>>6)] |= 1 << (uint(i) & 63)
}
