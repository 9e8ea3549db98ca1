package simulator

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// Looks that are left out would have seen the same.
func TestFiguresWithAndWithoutQuietLooks(t *testing.T) {
	g := NewWithT(t)
	for _, most := range []int{1, 4} {
		s := Scale{Brokers: 6, PartitionsPerBroker: 10, MaxUnavailable: most, Restart: 2 * time.Minute, CatchUp: 10 * time.Second}
		quick, err := measure(s, true)
		g.Expect(err).NotTo(HaveOccurred())
		all, err := measure(s, false)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(quick).To(Equal(all))
	}
}

// A roll in batches takes as long as one restart for each batch, and one at a time as long as one for each broker.
func TestTheTimeOfARoll(t *testing.T) {
	sizes := []int{15}
	if os.Getenv("PROVE") == "full" {
		sizes = []int{50, 300, 1000}
	}
	for _, n := range sizes {
		for _, most := range []int{1, 10, n} {
			g := NewWithT(t)
			s := Scale{Brokers: n, PartitionsPerBroker: 20, MaxUnavailable: most, Restart: 2 * time.Minute, CatchUp: 30 * time.Second}
			if n == 1000 {
				s.PartitionsPerBroker = 5
			}
			f, err := Measure(s)
			g.Expect(err).NotTo(HaveOccurred())
			t.Logf("%4d brokers, at most %4d away: %4d batches (at least %d), %10s, %6d looks", n, most, f.Batches, f.Fewest, f.Took, f.Looks)
			g.Expect(f.Restarts).To(Equal(n))
			g.Expect(f.Batches).To(And(BeNumerically(">=", f.Fewest), BeNumerically("<=", n)))
			g.Expect(f.Took).To(BeNumerically("~", time.Duration(f.Batches)*(s.Restart+s.CatchUp), time.Duration(f.Batches)*15*time.Second))
		}
	}
}
