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
		s := Scale{Brokers: 6, PartitionsPerBroker: 10, MaxUnavailable: most, Restart: 2 * time.Minute, CatchUp: 10 * time.Second, Recall: 30 * time.Second}
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

// While nodes are waited for, a look costs four requests, and one for each node and one for the topics now and then.
func TestTheRequestsOfARoll(t *testing.T) {
	g := NewWithT(t)
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	m := meter{nodes: 50, recall: 30 * time.Second, asked: noon.Add(-time.Minute)}
	m.look(noon, false)
	g.Expect(m.requests).To(Equal(4+51), "the first look asks for all")
	m.look(noon.Add(30*time.Second), false)
	g.Expect(m.requests).To(Equal(4+51+4), "they are recalled")
	m.look(noon.Add(31*time.Second), false)
	g.Expect(m.requests).To(Equal(2*(4+51)+4), "they are too old")
	m.look(noon.Add(33*time.Second), true)
	g.Expect(m.requests).To(Equal(3*(4+51)+2*4), "what is done is decided on nothing less than all")
}
