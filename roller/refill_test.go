package roller_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
)

// pairs returns brokers that share their partitions in pairs: 0 and 1, 2 and 3, and so on. The plan's first batch has the even ones, and
// its second the odd ones. Restarted pods stay unready.
func pairs(t *testing.T, n int) *scene {
	sc := newScene(t)
	var topics []roller.Topic
	for id := range roller.NodeID(n) {
		sc.with(broker, id)
		if id%2 == 1 {
			topics = append(topics, topicOf(fmt.Sprint("t", id), 1, ids(id-1, id), ids(id-1, id)))
		}
	}
	sc.policy.MaxUnavailable = n
	sc.after = func(n *roller.Node) { n.Ready = roller.Known(false) }
	return sc.topics(topics...)
}

// steps takes n looks, and returns the nodes that they restarted.
func (sc *scene) steps(n int) []roller.NodeID {
	before := len(sc.restarts)
	for range n {
		sc.step()
	}
	return sc.restarts[before:]
}

func (sc *scene) ready(nodes ...roller.NodeID) {
	for _, id := range nodes {
		sc.node(id).Ready = roller.Known(true)
	}
}

// docs/decisions/refill.md: a broker that shares no partition with the ones that are down does not wait for them.
func TestABrokerGoesBeforeItsBatch(t *testing.T) {
	sc := pairs(t, 8)
	sc.Expect(sc.steps(5)).To(Equal(ids(0, 2, 4, 6)))
	sc.ready(2)
	sc.Expect(sc.steps(3)).To(Equal(ids(3)))
	sc.ready(6, 3)
	sc.Expect(sc.steps(3)).To(Equal(ids(7)))
	sc.ready(0, 4)
	sc.Expect(sc.steps(3)).To(Equal(ids(1, 5)))
}

// docs/decisions/refill.md: refill respects the policy's limits and nodes that are not ready.
func TestWhoGoesBeforeItsBatchTakesNobodysPlace(t *testing.T) {
	t.Run("as many as may be away", func(t *testing.T) {
		sc := pairs(t, 6)
		sc.policy.MaxUnavailable = 2 // 0 and 2, 1 and 4, 3 and 5
		sc.Expect(batchesOf(roller.NewPlan(&sc.s, sc.progress, sc.policy))).To(Equal([][]roller.NodeID{ids(0, 2), ids(1, 4), ids(3, 5)}))
		sc.Expect(sc.steps(3)).To(Equal(ids(0, 2)))
		sc.ready(2)
		sc.Expect(sc.steps(3)).To(Equal(ids(4)))
		sc.ready(4)
		sc.Expect(sc.steps(3)).To(Equal(ids(3)), "with node 1, which waits for node 0, that makes two")
		sc.ready(0)
		sc.Expect(sc.steps(3)).To(Equal(ids(1)))
		sc.ready(1)
		sc.Expect(sc.steps(3)).To(Equal(ids(5)))
	})
	t.Run("of one rack", func(t *testing.T) {
		sc := pairs(t, 6)
		for _, id := range ids(1, 3, 5) {
			sc.node(id).Rack = "odd"
		}
		sc.policy.MaxPerRack = 1
		sc.Expect(batchesOf(roller.NewPlan(&sc.s, sc.progress, sc.policy))).To(Equal([][]roller.NodeID{ids(0, 3, 4), ids(1, 2), ids(5)}))
		sc.Expect(sc.steps(4)).To(Equal(ids(0, 3, 4)))
		sc.ready(3, 4)
		sc.Expect(sc.steps(3)).To(Equal(ids(2)))
		sc.Expect(sc.of(5).Blocks).To(Equal([]roller.Block{{Rule: roller.RuleBatch,
			Why: `node 1 restarts first; restarting this one now would delay it: at most 1 broker of rack "odd" may be down`}}))
		sc.ready(0)
		sc.Expect(sc.steps(3)).To(Equal(ids(1)))
		sc.ready(1)
		sc.Expect(sc.steps(3)).To(Equal(ids(5)))
	})
	t.Run("unready nodes first", func(t *testing.T) {
		sc := pairs(t, 6)
		sc.Expect(sc.steps(4)).To(Equal(ids(0, 2, 4)))
		sc.ready(2)
		sc.unready(time.Hour, 5) // it shares a partition with node 4
		sc.node(4).Answers = roller.Known(true)
		sc.Expect(sc.steps(3)).To(BeEmpty())
		sc.Expect(sc.of(3).Blocks).To(Equal([]roller.Block{{Rule: roller.RuleBatch, Why: "node 5 is not ready, and restarts first"}}))
	})
}

// docs/decisions/refill.md: with a settle time or a limit on leaders, the roller waits for each whole batch.
func TestOneBatchAfterAnother(t *testing.T) {
	for name, change := range map[string]func(*roller.Policy){
		"a time to settle":   func(p *roller.Policy) { p.Settle = 2 * time.Second },
		"a share of leaders": func(p *roller.Policy) { p.MaxLeaderShare = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			sc := pairs(t, 4)
			change(&sc.policy)
			sc.Expect(roller.NewPlan(&sc.s, sc.progress, sc.policy).Refilled).To(BeFalse())
			sc.Expect(sc.steps(3)).To(Equal(ids(0, 2)))
			sc.ready(2)
			sc.Expect(sc.steps(10)).To(BeEmpty())
			sc.Expect(sc.of(3).Blocks).To(Equal([]roller.Block{{Rule: roller.RuleBatch, Why: "node 0 of another batch is Restarting"}}))
			sc.ready(0)
			sc.Expect(sc.steps(5)).To(Equal(ids(1, 3)))
		})
	}
}

// A plan that lacks a broker has to be made again while no broker is down: until then, no broker is restarted ahead of its batch.
func TestAPlanThatIsToBeMadeAgainIsNotRefilled(t *testing.T) {
	sc := pairs(t, 8).current(7)
	sc.Expect(sc.steps(5)).To(Equal(ids(0, 2, 4, 6)))
	sc.node(7).Revision = roller.Known(roller.Revision{Current: "old", Desired: "new"})
	sc.ready(2)
	sc.Expect(sc.steps(3)).To(BeEmpty())
	sc.ready(0, 4, 6)
	sc.Expect(sc.steps(6)).To(Equal(ids(1, 3, 5, 7)))
}
