package simulator

import (
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// Skipped looks would have read the same.
func TestFiguresWithAndWithoutQuietLooks(t *testing.T) {
	g := NewWithT(t)
	for _, most := range []int{1, 4} {
		s := Scale{Brokers: 6, PartitionsPerBroker: 10, MaxUnavailable: most, Restart: 2 * time.Minute, CatchUp: 10 * time.Second,
			Recall: 30 * time.Second}
		quick, err := measure(s.cluster(), s.Recall, true)
		g.Expect(err).NotTo(HaveOccurred())
		all, err := measure(s.cluster(), s.Recall, false)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(quick).To(Equal(all))
	}
}

// A roll in batches takes one restart per batch, and a serial roll one restart per broker.
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

// While the roller waits for nodes, a look costs three requests. In addition come two for topics and reassignments from time to time, one
// every ten seconds for each node that is not ready, and one for each node, the less often the more nodes there are.
func TestTheRequestsOfARoll(t *testing.T) {
	g := NewWithT(t)
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	m := newMeter(60, 30*time.Second)
	look := func(after time.Duration, done, unready int) int {
		before := m.requests
		m.look(noon.Add(after), done, unready)
		return m.requests - before
	}
	g.Expect(look(0, 0, 0)).To(Equal(3+2+60), "the first look asks for all")
	g.Expect(look(30*time.Second, 0, 0)).To(Equal(3), "they are recalled")
	g.Expect(look(31*time.Second, 0, 0)).To(Equal(3+2), "those of the topics, and the reassignments, are too old")
	g.Expect(look(33*time.Second, 2, 1)).To(Equal(3+1+3+2+2+2),
		"what is done to two nodes is decided on their own configurations and topics as they are, and one that is not ready is asked")
	g.Expect(look(38*time.Second, 0, 1)).To(Equal(3), "it was asked a moment ago")
	g.Expect(look(39*time.Second, 0, 3)).To(Equal(3+2), "those who went since are asked")
	g.Expect(look(44*time.Second, 0, 3)).To(Equal(3+3), "they are asked again")
	g.Expect(look(301*time.Second, 0, 0)).To(Equal(3+2+60), "those of the nodes are too old")

	before := m.requests
	m.elected([]roller.Action{{Kind: roller.ActionElectLeaders}, {Kind: roller.ActionRestart}, {Kind: roller.ActionReconfigure}})
	g.Expect(m.requests-before).To(Equal(1+4), "an election is asked for, and then whether the broker leads")
}

// A serial roll of 1,000 brokers should need at most 120,000 requests, 120 per broker. Strimzi needs about 100,000.
func TestASerialRollIsCheap(t *testing.T) {
	g := NewWithT(t)
	n := 30
	if os.Getenv("PROVE") == "full" {
		n = 1000
	}
	f, err := Measure(Scale{Brokers: n, PartitionsPerBroker: 5, MaxUnavailable: 1, Restart: 2 * time.Minute, CatchUp: 30 * time.Second,
		Recall: observe.DefaultRecall})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.Restarts).To(Equal(n))
	t.Logf("%d brokers: %d looks, %d requests in %s", n, f.Looks, f.Requests, f.Took)
	violations := 0
	if f.Requests > 120*n {
		violations++
	}
	fmt.Printf("PROOF {\"name\":\"requests of a serial roll\",\"count\":%d,\"violations\":%d,\"seed\":0}\n", f.Requests, violations)
	g.Expect(f.Requests).To(BeNumerically("<=", 120*n))
}
