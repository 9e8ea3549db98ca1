package packing_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller/internal/packing"
)

// FuzzPack decodes instances of up to eight items, and compares the result with the optimum.
func FuzzPack(f *testing.F) {
	f.Add([]byte{3, 0, 0, 0, 7, 1})
	f.Add([]byte{8, 2, 1, 9, 0x0f, 1, 0xf0, 2, 0x3c, 1, 0xff, 3})
	f.Add([]byte{5, 0, 2, 5, 3, 1, 6, 1, 12, 1, 24, 1, 17, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 4 {
			return
		}
		in := &packing.Input{Items: int(data[0])%8 + 1, MaxSize: int(data[1]) % 9, MaxPerGroup: int(data[2]) % 4, MaxWeight: int64(data[3]) % 32,
			Offsets: []int32{0}}
		for i := range in.Items {
			in.Groups = append(in.Groups, int32(data[i%len(data)]%5)-1)
			in.Weights = append(in.Weights, int64(data[(i+1)%len(data)]%11))
		}
		for at := 4; at+1 < len(data) && at < 80; at += 2 {
			for i := range in.Items {
				if data[at]>>i&1 != 0 {
					in.Members = append(in.Members, int32(i))
				}
			}
			in.Offsets = append(in.Offsets, int32(len(in.Members)))
			in.Limits = append(in.Limits, 1+int32(data[at+1]%4))
		}
		g := NewWithT(t)
		p := pack(g, in)
		best := fewest(in)
		g.Expect(p.Batches).To(HaveLen(best))
		g.Expect(p.Bound.Batches).To(Equal(best))
	})
}
