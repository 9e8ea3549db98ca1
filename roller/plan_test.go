package roller_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// batchesOf returns the nodes of each batch.
func batchesOf(p roller.Plan) [][]roller.NodeID {
	var all [][]roller.NodeID
	for _, b := range p.Batches {
		all = append(all, b.Nodes)
	}
	return all
}

// racked returns brokers 0..n-1 over three racks, with one partition for each three neighbours.
func racked(t *testing.T, n int) *scene {
	sc := newScene(t)
	var topics []roller.Topic
	for id := range roller.NodeID(n) {
		sc.with(broker, id)
		next := func(k roller.NodeID) roller.NodeID { return (id + k) % roller.NodeID(n) }
		topics = append(topics, topicOf(fmt.Sprint("t", id), 2, ids(id, next(1), next(2)), ids(id, next(1), next(2))))
	}
	for i := range sc.s.Nodes {
		sc.s.Nodes[i].Rack = fmt.Sprint("rack", i%3)
	}
	return sc.topics(topics...)
}

func TestBatchesOfARackedCluster(t *testing.T) {
	sc := racked(t, 9)
	sc.policy.MaxUnavailable = 9
	plan := roller.NewPlan(&sc.s, sc.progress, sc.policy)
	sc.Expect(batchesOf(plan)).To(Equal([][]roller.NodeID{ids(0, 3, 6), ids(1, 4, 7), ids(2, 5, 8)}))
	sc.Expect(plan.Fewest).To(Equal(3))
	sc.Expect(plan.Batches[1].Split).To(ContainSubstring("would have 1 replica in sync without nodes"))
	sc.policy.MaxUnavailable = 2
	plan = roller.NewPlan(&sc.s, sc.progress, sc.policy)
	sc.Expect(plan.Batches).To(HaveLen(plan.Fewest))
	sc.Expect(plan.Fewest).To(Equal(5))
	sc.policy.MaxUnavailable = 1
	plan = roller.NewPlan(&sc.s, sc.progress, sc.policy)
	sc.Expect(batchesOf(plan)).To(Equal([][]roller.NodeID{ids(0), ids(1), ids(2), ids(3), ids(4), ids(5), ids(6), ids(7), ids(8)}))
	sc.Expect(plan.Batches[1].Split).To(Equal("at most 1 broker may be down"))
}

func TestPlanOfAllRoles(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2).with(combined, 3, 4, 5).with(controller, 6, 7, 8).led(6).topics(topicOf("t", 1, ids(1, 9), ids(1)))
	sc.node(7).Hold = "ann"
	configured(sc.current(2).node(2), false, "8", "9")
	plan := roller.NewPlan(&sc.s, sc.progress, sc.policy)
	sc.Expect(batchesOf(plan)).To(Equal([][]roller.NodeID{ids(3), ids(4), ids(5), ids(8), ids(6), ids(0)}))
	sc.Expect(plan.Blocked).To(Equal(ids(7, 1)))
	sc.Expect(plan.Reconfigurations).To(HaveLen(1))
	sc.Expect(plan.Fewest).To(Equal(6))
	sc.Expect(plan.Batches[5].Split).To(Equal("brokers restart after the controllers"))
}

// The execution follows the plan if nothing changes.
func TestPlanEqualsExecution(t *testing.T) {
	first := randomtest.Seed(t)
	for seed := first; seed < first+300; seed++ {
		random := rand.New(rand.NewPCG(seed, 1))
		sc := randomScene(t, random)
		plan := roller.NewPlan(&sc.s, sc.progress, sc.policy)
		for range 5 * len(sc.s.Nodes) {
			sc.Expect(len(sc.step().Actions)).To(BeNumerically("<=", 1), "each is looked at again before it goes (seed %d)", seed)
		}
		sc.Expect(sc.restarts).To(Equal(slices.Concat(batchesOf(plan)...)), "seed %d", seed)
		sc.Expect(len(plan.Batches)).To(BeNumerically(">=", plan.Fewest), "seed %d", seed)
		again := roller.NewPlan(&sc.s, sc.progress, sc.policy)
		sc.Expect(again.Batches).To(BeEmpty(), "seed %d", seed)
	}
}

// randomScene returns a healthy cluster of random size, roles, placement and policy.
func randomScene(t *testing.T, random *rand.Rand) *scene {
	sc := newScene(t)
	n := roller.NodeID(3 + random.IntN(20))
	clusters := 1 + random.IntN(3)
	for id := range n {
		sc.with([]roller.Roles{broker, broker, broker, controller, combined}[random.IntN(5)], id)
		sc.node(id).Rack = fmt.Sprint(random.IntN(3))
		sc.node(id).Place = fmt.Sprint("cluster-", random.IntN(clusters))
		if random.IntN(10) == 0 {
			sc.current(id)
		}
	}
	var brokers, controllers []roller.NodeID
	for _, node := range sc.s.Nodes {
		if node.Roles.Broker {
			brokers = append(brokers, node.ID)
		}
		if node.Roles.Controller {
			controllers = append(controllers, node.ID)
		}
	}
	if len(controllers) > 0 {
		sc.led(controllers[random.IntN(len(controllers))])
	}
	var topics []roller.Topic
	for i := range random.IntN(40) {
		rf := min(1+random.IntN(6), len(brokers))
		if rf == 0 {
			break
		}
		random.Shuffle(len(brokers), func(i, j int) { brokers[i], brokers[j] = brokers[j], brokers[i] })
		replicas := append([]roller.NodeID(nil), brokers[:rf]...)
		topics = append(topics, topicOf(fmt.Sprint("t", i), 1+random.IntN(3), replicas, replicas))
	}
	sc.topics(topics...)
	sc.policy.MaxUnavailable = 1 + random.IntN(5)
	sc.policy.MaxPerRack = random.IntN(3)
	return sc
}

// A plan that is requested during a roll omits the restarts under way and contains the remaining ones. A broker is restarted ahead of its
// batch if no earlier one has to wait for it.
func TestAPlanOnTheWay(t *testing.T) {
	sc := racked(t, 9)
	sc.policy.MaxUnavailable = 3
	sc.step()
	sc.step()
	sc.step()
	sc.Expect(sc.restarts).To(Equal(ids(0, 3, 6)))
	sc.unready(0, 6)
	plan := roller.NewPlan(&sc.s, sc.progress, sc.policy)
	sc.Expect(batchesOf(plan)).To(Equal([][]roller.NodeID{ids(1, 4, 7), ids(2, 5, 8)}))
	sc.Expect(plan.Refilled).To(BeTrue())
	sc.step()
	sc.Expect(sc.restarts).To(Equal(ids(0, 3, 6, 1)), "it shares nothing with node 6, which is away")
	sc.Expect(sc.blocked(4)).To(Equal([]roller.Rule{roller.RuleAvailability}))
	sc.step()
	sc.Expect(sc.restarts).To(HaveLen(4))
	sc.Expect(sc.of(2).Blocks).To(Equal([]roller.Block{{Rule: roller.RuleBatch, Why: "node 4 restarts first; restarting this one now would " +
		"delay it: partition t2-0 would have 1 replica in sync without nodes 2 and 4, and needs 2 (3 replicas, min.insync.replicas 2)"}}))
	sc.node(6).Ready = roller.Known(true)
	sc.Expect(sc.roll()).To(Equal(ids(0, 3, 6, 1, 4, 7, 2, 5, 8)))
}

// A limit that is raised during a roll applies as soon as no broker is down.
func TestALimitThatIsRaised(t *testing.T) {
	sc := racked(t, 9)
	sc.step()
	sc.policy.MaxUnavailable = 9
	sc.step()
	sc.step()
	sc.step()
	sc.Expect(sc.restarts).To(Equal(ids(0, 1, 4, 7)))
}

// docs/decisions/availability.md: limits by rack and by share of leaders.
func TestCaps(t *testing.T) {
	sc := racked(t, 9)
	sc.policy.MaxUnavailable, sc.policy.MaxPerRack = 9, 2
	plan := roller.NewPlan(&sc.s, sc.progress, sc.policy)
	sc.Expect(plan.Batches).To(HaveLen(5)) // 3, if a whole rack could go
	for _, b := range plan.Batches {
		racks := map[string]int{}
		for _, id := range b.Nodes {
			racks[sc.node(id).Rack]++
			sc.Expect(racks[sc.node(id).Rack]).To(BeNumerically("<=", 2))
		}
	}
	sc.policy.MaxPerRack, sc.policy.MaxLeaderShare = 0, 2.5/9
	plan = roller.NewPlan(&sc.s, sc.progress, sc.policy)
	sc.Expect(plan.Batches).To(HaveLen(plan.Fewest))
	for _, b := range plan.Batches {
		sc.Expect(len(b.Nodes)).To(BeNumerically("<=", 2))
	}
}

// large returns a cluster of 1,000 brokers and 200,000 partitions over three racks, a share of them placed without regard to racks.
func large(unaware float64) (*roller.Snapshot, roller.Policy) {
	random := rand.New(rand.NewPCG(1, 2))
	s := &roller.Snapshot{At: noon, Quorum: roller.Known(roller.Quorum{Leader: 5000})}
	for id := range roller.NodeID(1000) {
		s.Nodes = append(s.Nodes, roller.Node{
			ID: id, Roles: broker, Rack: fmt.Sprint(id % 3), Instance: roller.Known("i"), Ready: roller.Known(true), Answers: roller.Known(true),
			Stuck: roller.Known(""), Config: roller.Known(brokerconfig.Config{}),
			Revision: roller.Known(roller.Revision{Current: "old", Desired: "new"}), ReadyChanged: noon.Add(-time.Hour),
		})
	}
	var topics []roller.Topic
	for t := range 2000 {
		topic := roller.Topic{Name: fmt.Sprintf("topic-%d", t), MinISR: roller.Known(2)}
		for p := range int32(100) {
			replicas := make([]roller.NodeID, 0, 3)
			for len(replicas) < 3 {
				id := roller.NodeID(random.IntN(333)*3 + len(replicas))
				if random.Float64() < unaware {
					id = roller.NodeID(random.IntN(1000))
				}
				replicas = append(replicas, id)
			}
			topic.Partitions = append(topic.Partitions, roller.Partition{Index: p, Leader: replicas[0], Replicas: replicas, ISR: replicas})
		}
		topics = append(topics, topic)
	}
	s.Topics = roller.Known(topics)
	policy := roller.DefaultPolicy()
	policy.MaxUnavailable = 1000
	return s, policy
}

func BenchmarkPlanOf1000BrokersAnd200000Partitions(b *testing.B) {
	for _, c := range []struct {
		name    string
		unaware float64
	}{{"rack-strict", 0}, {"0.1%-unaware", 0.001 / 3}} {
		b.Run(c.name, func(b *testing.B) {
			s, policy := large(c.unaware)
			b.ReportAllocs()
			for b.Loop() {
				plan := roller.NewPlan(s, roller.Progress{}, policy)
				b.ReportMetric(float64(len(plan.Batches)), "batches")
				b.ReportMetric(float64(plan.Fewest), "fewest")
			}
		})
	}
}

// The plan is the same while the roller is paused or no window is open, and says so, for changes at run time too.
func TestAPlanThatHasToWait(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2).topics(topicOf("t", 1, ids(0, 1, 2), ids(0, 1, 2)))
	configured(sc.current(2).node(2), false, "8", "9")
	open := roller.NewPlan(&sc.s, sc.progress, sc.policy)
	sc.Expect(open.Batches).NotTo(BeEmpty())
	sc.Expect(open.Reconfigurations).NotTo(BeEmpty())
	sc.Expect(open.Waits).To(BeEmpty())
	sc.policy.Paused, sc.policy.Closed = "paused by ann", "the next window opens at 22:00 UTC"
	waits := roller.NewPlan(&sc.s, sc.progress, sc.policy)
	sc.Expect(waits.Waits).To(Equal([]roller.Block{
		{Rule: roller.RulePaused, Why: "paused by ann"}, {Rule: roller.RuleWindow, Why: "the next window opens at 22:00 UTC"},
	}))
	waits.Waits = nil
	sc.Expect(waits).To(Equal(open))
	sc.current(0, 1, 2)
	sc.node(2).Config = sc.node(0).Config
	sc.Expect(roller.NewPlan(&sc.s, sc.progress, sc.policy).Waits).To(BeEmpty(), "nothing waits")
}
