package simulator

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// uneven returns a cluster of brokers that all have to be restarted, with individual boot times.
func uneven(r *rand.Rand, brokers int, boot func() time.Duration) Cluster {
	c := Cluster{Policy: roller.DefaultPolicy()}
	s := Shape{Nodes: brokers, Racks: 3, Aware: r.IntN(2) == 0}
	for id := range roller.NodeID(brokers) {
		c.Nodes = append(c.Nodes, Node{ID: id, Roles: roller.Roles{Broker: true}, Rack: fmt.Sprint("r", id%3), Outdated: true,
			Stop: 10 * time.Second, Boot: boot(), Rate: 10})
	}
	rf := []int{2, 3, 3, 3, 4}[r.IntN(5)]
	for i := range brokers * (1 + r.IntN(5)) / rf {
		c.Topics = append(c.Topics, Topic{Name: fmt.Sprint("t", i), MinISR: 1 + r.IntN(rf-1), Partitions: [][]roller.NodeID{placement(r, s, rf)}})
	}
	c.Policy.MaxUnavailable = []int{2, 5, 10, brokers}[r.IntN(4)]
	c.Policy.MaxPerRack = []int{0, 0, 2}[r.IntN(3)]
	return c
}

// docs/decisions/refill.md: a roll with refill ends, and not later than one that waits for each whole batch.
func TestARefilledRollIsNotLonger(t *testing.T) {
	seeds := uint64(6)
	if os.Getenv("PROVE") == "full" {
		seeds = 200
	}
	g, violations, made := NewWithT(t), 0, 0
	for _, times := range []struct {
		name string
		boot func(r *rand.Rand) time.Duration
	}{
		{"equal", func(*rand.Rand) time.Duration { return time.Minute }},
		{"almost equal", func(r *rand.Rand) time.Duration {
			return 55*time.Second + time.Duration(r.IntN(10_000))*time.Millisecond
		}},
		{"any", func(r *rand.Rand) time.Duration { return time.Duration(10+r.IntN(200)) * time.Second }},
		{"some are slow", func(r *rand.Rand) time.Duration { return []time.Duration{30, 30, 30, 30, 240}[r.IntN(5)] * time.Second }},
	} {
		refilled, whole := time.Duration(0), time.Duration(0)
		for seed := range seeds {
			r := rand.New(rand.NewPCG(seed, 4)) // no secret depends on it
			c := uneven(r, 9+r.IntN(12), func() time.Duration { return times.boot(r) })
			one, err := measure(c, observe.DefaultRecall, true)
			g.Expect(err).NotTo(HaveOccurred(), "%s, seed %d", times.name, seed)
			c.Policy.Settle = time.Nanosecond // one batch after another
			other, err := measure(c, observe.DefaultRecall, true)
			g.Expect(err).NotTo(HaveOccurred(), "%s, seed %d", times.name, seed)
			made++
			refilled, whole = refilled+one.Took, whole+other.Took
			if one.Took > other.Took+other.Took/100+5*time.Second { // leaves room for the times of looks
				violations++
				t.Errorf("%s, seed %d: refilled it takes %s, and one batch after another %s", times.name, seed, one.Took, other.Took)
			}
		}
		t.Logf("%s: %.3f of the time", times.name, float64(refilled)/float64(whole))
		if times.name == "any" && refilled > whole*95/100 {
			t.Errorf("%s: %s and %s: nothing is refilled", times.name, refilled, whole)
		}
	}
	fmt.Printf("PROOF {\"name\":\"refilled rolls beside batches\",\"count\":%d,\"violations\":%d,\"seed\":0}\n", made, violations)
}

// docs/decisions/refill.md: a slow broker delays only the brokers that share a partition with it.
func TestASlowBrokerHoldsUpItsNeighboursAlone(t *testing.T) {
	const islands, size = 5, 4
	g := NewWithT(t)
	roll := func(slow, settle time.Duration) (others, all time.Duration) {
		c := Cluster{Policy: roller.DefaultPolicy()}
		c.Policy.MaxUnavailable, c.Policy.Settle = islands*size, settle
		for id := range roller.NodeID(islands * size) {
			c.Nodes = append(c.Nodes, Node{ID: id, Roles: roller.Roles{Broker: true}, Outdated: true, Stop: 5 * time.Second, Boot: 20 * time.Second,
				Rate: 10})
		}
		c.Nodes[0].Boot = slow
		for island := range roller.NodeID(islands) {
			for i := range roller.NodeID(size) {
				at := func(k roller.NodeID) roller.NodeID { return island*size + (i+k)%size }
				c.Topics = append(c.Topics, Topic{Name: fmt.Sprint("t", len(c.Topics)), MinISR: 2,
					Partitions: [][]roller.NodeID{{at(0), at(1), at(2)}}})
			}
		}
		r := newRun(c, nil)
		for r.w.now.Sub(began) < time.Hour && r.last.Phase != roller.PhaseDone {
			r.look(Step{})
			r.w.pass(max(100*time.Millisecond, r.pause()))
			for _, n := range r.w.nodes[size:] {
				if n.revision != n.wanted || n.pod != podReady {
					others = r.w.now.Sub(began)
				}
			}
		}
		g.Expect(r.broken()).To(BeEmpty())
		return others, r.w.now.Sub(began)
	}
	alike, _ := roll(20*time.Second, 0)
	others, all := roll(4*time.Minute, 0)
	g.Expect(others).To(BeNumerically("~", alike, 10*time.Second))
	g.Expect(all).To(BeNumerically(">", others+2*time.Minute), "its neighbours wait")
	whole, _ := roll(4*time.Minute, time.Nanosecond)
	g.Expect(whole).To(BeNumerically(">", others+2*time.Minute), "one batch after another all wait")
}

// One dead broker at the start keeps those that share a partition with it from a batch of the plan. They go together once it is back; a
// roller that forgets who could not go restarts them one by one.
func TestADeadBrokerMakesARollSerialOnlyWhileItIsDead(t *testing.T) {
	const restart = 30 * time.Second
	for name, planted := range map[string]bool{"the roller": false, "and one that forgets who could not go is found": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := newRun(Scale{Brokers: 30, PartitionsPerBroker: 30, MaxUnavailable: 10, Restart: restart}.cluster(), nil)
			if planted {
				r.decide = func(s *roller.Snapshot, p roller.Progress, policy roller.Policy) roller.Decision {
					p.Shut = nil
					return roller.Step(s, p, policy)
				}
			}
			r.w.crash(r.w.nodes[29])
			for r.w.now.Sub(began) < time.Hour && r.last.Phase != roller.PhaseDone {
				r.look(Step{})
				r.w.pass(max(100*time.Millisecond, r.pause()))
			}
			g.Expect(r.broken()).To(BeEmpty())
			took := r.w.now.Sub(began)
			t.Log(took)
			soon := BeNumerically("<", 30*restart/2)
			if planted {
				g.Expect(took).NotTo(soon)
			} else {
				g.Expect(took).To(soon)
			}
		})
	}
}
