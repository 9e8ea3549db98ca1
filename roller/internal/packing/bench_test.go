package packing_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kafka-operators/kafka-operators/roller/internal/packing"
)

// placement returns the constraints of partitions with three replicas: placed at random, or one in each of three racks (the rack of a
// broker is its number modulo 3) except for a share of unaware partitions. limit is how many replicas of a partition may be down at once: 1
// stands for min.insync.replicas 2, and 2 for 1.
func placement(brokers, partitions int, racks bool, unaware float64, limit int32) *packing.Input {
	random := rand.New(rand.NewPCG(uint64(brokers), uint64(partitions)))
	in := &packing.Input{Items: brokers, Offsets: []int32{0}}
	for range partitions {
		var replicas [3]int32
		if racks && random.Float64() >= unaware {
			for r := range replicas {
				replicas[r] = int32(random.IntN((brokers-r+2)/3)*3 + r)
			}
		} else {
			replicas[0] = int32(random.IntN(brokers))
			for replicas[1] = replicas[0]; replicas[1] == replicas[0]; {
				replicas[1] = int32(random.IntN(brokers))
			}
			for replicas[2] = replicas[0]; replicas[2] == replicas[0] || replicas[2] == replicas[1]; {
				replicas[2] = int32(random.IntN(brokers))
			}
		}
		in.Members = append(in.Members, replicas[:]...)
		in.Offsets = append(in.Offsets, int32(len(in.Members)))
		in.Limits = append(in.Limits, limit)
	}
	if racks {
		in.Groups = make([]int32, brokers)
		for i := range in.Groups {
			in.Groups[i] = int32(i % 3)
		}
	}
	return in
}

// BenchmarkPack plans Kafka clusters of the sizes that docs/figures.md names.
func BenchmarkPack(b *testing.B) {
	for _, size := range []struct{ brokers, partitions int }{{50, 10_000}, {100, 20_000}, {300, 60_000}, {1000, 20_000}, {1000, 200_000}} {
		for _, kind := range []struct {
			name    string
			racks   bool
			unaware float64
		}{{"random", false, 0}, {"racks", true, 0}, {"unaware0.1%", true, 0.001}, {"unaware1%", true, 0.01}} {
			for limit := int32(1); limit <= 2; limit++ {
				for _, maxSize := range []int{0, 10} {
					name := fmt.Sprintf("brokers=%d/partitions=%d/%s/minISR=%d/cap=%d", size.brokers, size.partitions, kind.name, 3-limit, maxSize)
					b.Run(name, func(b *testing.B) {
						in := placement(size.brokers, size.partitions, kind.racks, kind.unaware, limit)
						in.MaxSize = maxSize
						b.ReportAllocs()
						var p packing.Packing
						for b.Loop() {
							p, _ = packing.Pack(in)
						}
						b.ReportMetric(float64(len(p.Batches)), "batches")
						b.ReportMetric(float64(p.Bound.Batches), "bound")
						b.ReportMetric(float64(len(p.Batches))/float64(p.Bound.Batches), "ratio")
						b.Logf("%v", p.Bound.Parts)
					})
				}
			}
		}
	}
}
