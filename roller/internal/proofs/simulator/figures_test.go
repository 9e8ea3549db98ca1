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
	rolls := 0
	for _, n := range sizes {
		for _, most := range []int{1, 10, n} {
			rolls++
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
	fmt.Printf("PROOF {\"name\":\"time of rolls in batches\",\"count\":%d,\"violations\":0,\"seed\":0}\n", rolls)
}

// While the roller waits for nodes, a look costs two requests. In addition come three for topics, reassignments and brokers from time to
// time, one for each node that is not ready, and one for each node, the less often the more nodes there are.
func TestTheRequestsOfARoll(t *testing.T) {
	g := NewWithT(t)
	r := newRun(Scale{Brokers: 60, PartitionsPerBroker: 1, MaxUnavailable: 1, Restart: time.Minute, CatchUp: time.Second}.cluster(), nil)
	look := func(after time.Duration, asked roller.Asked) int {
		before := r.memory.requests
		r.w.now = began.Add(after)
		r.read(Step{}, asked)
		return r.memory.requests - before
	}
	glance := func(after time.Duration) int { return look(after, roller.Asked{}) }
	ids := func(ids ...roller.NodeID) []roller.NodeID { return ids }
	g.Expect(glance(0)).To(Equal(2+3+60), "the first look asks for all")
	g.Expect(glance(30*time.Second)).To(Equal(2), "they are recalled")
	g.Expect(glance(31*time.Second)).To(Equal(2+3), "those of the topics, the reassignments and the brokers are too old")
	g.Expect(look(33*time.Second, roller.Asked{Nodes: ids(1), Restarts: ids(1), Peers: ids(2, 3)})).
		To(Equal(2+3+2+2), "a restart is decided on what its node and its peers tell now")
	down := r.w.byID[1]
	down.pod, down.process, down.up, down.fenced = podStarting, false, false, true
	g.Expect(glance(38*time.Second)).To(Equal(2+1), "one that is not ready is asked")
	g.Expect(glance(40*time.Second)).To(Equal(2), "it was asked a moment ago, and the brokers are recalled")
	g.Expect(glance(69*time.Second)).To(Equal(2+3+1), "it is asked again")
	down.pod, down.process, down.up, down.fenced = podReady, true, true, false
	g.Expect(glance(70*time.Second)).To(Equal(2+1+1), "it is ready, and may be in service")
	g.Expect(look(160*time.Second, roller.Asked{Nodes: ids(4), Peers: ids(2, 3)})).
		To(Equal(2+3+1+2), "the peers are asked for their configurations in any case")
	g.Expect(glance(301*time.Second)).To(Equal(2+3+60-4), "those of the other nodes are too old")
	elect := roller.Action{Kind: roller.ActionElectLeaders}
	waits := roller.Action{Kind: roller.ActionElectLeaders, Await: true}
	g.Expect(elections([]roller.Action{elect, waits, {Kind: roller.ActionRestart}, {Kind: roller.ActionReconfigure}})).
		To(Equal(1+1+2), "elections are asked for, and then whether the broker leads if a restart waits for that")
}

// A serial roll of 1,000 brokers should need at most 120,000 requests, 120 per broker. Strimzi needs about 100,000.
func TestASerialRollIsCheap(t *testing.T) {
	g := NewWithT(t)
	n := 30
	if os.Getenv("PROVE") == "full" {
		n = 1000
	}
	f, err := Measure(Scale{Brokers: n, PartitionsPerBroker: 20, MaxUnavailable: 1, Restart: 2 * time.Minute, CatchUp: 30 * time.Second,
		Recall: observe.DefaultRecall})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.Restarts).To(Equal(n))
	t.Logf("%d brokers: %d looks, %d requests (%d to peers) in %s", n, f.Looks, f.Requests, f.Peers, f.Took)
	violations := 0
	if f.Requests > 120*n {
		violations++
	}
	fmt.Printf("PROOF {\"name\":\"requests of a serial roll\",\"count\":%d,\"violations\":%d,\"seed\":0}\n", f.Requests, violations)
	g.Expect(f.Requests).To(BeNumerically("<=", 120*n))
}

// A roller that recalls nothing misses the aim of TestASerialRollIsCheap by far.
func TestASerialRollIsNotCheapWithoutRecall(t *testing.T) {
	g := NewWithT(t)
	const n = 30
	f, err := Measure(Scale{Brokers: n, PartitionsPerBroker: 5, MaxUnavailable: 1, Restart: 2 * time.Minute, CatchUp: 30 * time.Second})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.Requests).To(BeNumerically(">", 2*120*n))
}
