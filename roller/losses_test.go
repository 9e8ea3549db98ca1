package roller_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
)

// in places nodes in a Kubernetes cluster.
func (sc *scene) in(place string, nodes ...roller.NodeID) *scene {
	for _, id := range nodes {
		sc.node(id).Place = place
	}
	return sc
}

// voters returns a quorum with this many controllers in each of three Kubernetes clusters. Node 0, in the home cluster, leads.
func voters(t *testing.T, each roller.NodeID) *scene {
	sc := newScene(t)
	for i, place := range []string{"", "east", "west"} {
		for id := range each {
			at := roller.NodeID(i)*each + id
			sc.with(controller, at).in(place, at)
		}
	}
	return sc.led(0)
}

// behind makes voters lag.
func (sc *scene) behind(nodes ...roller.NodeID) *scene {
	q, _ := sc.s.Quorum.Get()
	for _, id := range nodes {
		for i := range q.Voters {
			if q.Voters[i].ID == id {
				q.Voters[i].LastCaughtUp = 1
			}
		}
	}
	return sc
}

// stretched returns brokers over several Kubernetes clusters, with these numbers of brokers, and one partition with a replica on each.
func stretched(t *testing.T, minISR int, isr []roller.NodeID, counts ...int) *scene {
	sc := newScene(t)
	var replicas []roller.NodeID
	for i, n := range counts {
		for range n {
			id := roller.NodeID(len(replicas))
			sc.with(broker, id).in([]string{"", "east", "west"}[i], id)
			replicas = append(replicas, id)
		}
	}
	if isr == nil {
		isr = replicas
	}
	return sc.topics(topicOf("t", minISR, replicas, isr))
}

// The cluster-loss budget (docs/decisions/cluster-loss-budget.md): which nodes it blocks, and which it allows.
func TestTheClusterLossBudget(t *testing.T) {
	unready := func(sc *scene, nodes ...roller.NodeID) *scene {
		sc.unready(time.Hour, nodes...)
		for _, id := range nodes {
			sc.node(id).Answers = roller.Known(false)
		}
		return sc
	}
	unread := func(sc *scene, nodes ...roller.NodeID) *scene {
		sc.s.Unread = "cluster west can't be read"
		for _, id := range nodes {
			n := sc.node(id)
			n.Instance, n.Ready, n.Stuck = roller.Unknown[string]("away"), roller.Unknown[bool]("away"), roller.Unknown[string]("away")
		}
		return sc
	}
	for _, c := range []struct {
		name  string
		scene func(t *testing.T) *scene
		kept  []roller.NodeID // by the budget alone
		goes  roller.NodeID   // the first node that is restarted; negative: none
	}{
		{"three voters, one in each: no waiting can help", func(t *testing.T) *scene { return voters(t, 1) }, nil, 1},
		{"nine voters, all well", func(t *testing.T) *scene { return voters(t, 3) }, nil, 1},
		{"nine voters, one lags, which is up to date", func(t *testing.T) *scene { return voters(t, 3).behind(8).current(8) },
			ids(1, 2, 3, 4, 5, 6, 7, 0), -1},
		{"nine voters, one lags, and is to be restarted itself", func(t *testing.T) *scene { return voters(t, 3).behind(8) },
			ids(1, 2, 3, 4, 5, 6, 7, 0), 8},
		{"nine voters, two in one cluster lag: the loss of another one is an outage already",
			func(t *testing.T) *scene { return voters(t, 3).behind(7, 8).current(7, 8) }, nil, 1},
		{"nine voters, one is down, which is up to date", func(t *testing.T) *scene { return unready(voters(t, 3).current(8), 8).behind(8) },
			ids(1, 2, 3, 4, 5, 6, 7, 0), -1},
		{"nine voters, one is down for long, and on hold", func(t *testing.T) *scene {
			sc := unready(voters(t, 3).current(8), 8).behind(8)
			sc.node(8).Hold = "its disk is broken"
			return sc
		}, nil, 1},
		{"nine voters, three of which are in a cluster that can't be read", func(t *testing.T) *scene { return unread(voters(t, 3), 6, 7, 8) },
			ids(1, 2, 3, 4, 5, 0), -1},
		{"nine voters, three of which are lost, as the others know",
			func(t *testing.T) *scene { return unread(voters(t, 3), 6, 7, 8).behind(6, 7, 8) }, nil, 1},
		{"nine voters in one Kubernetes cluster, one lags", func(t *testing.T) *scene {
			return voters(t, 3).behind(8).current(8).in("", 3, 4, 5, 6, 7, 8)
		}, nil, 1},
		{"five voters in two clusters, one lags", func(t *testing.T) *scene {
			return newScene(t).with(controller, 0, 1, 2, 3, 4).in("east", 3, 4).led(0).behind(4).current(4)
		}, nil, 1},

		{"one replica in each, min.insync.replicas 2: no waiting can help", func(t *testing.T) *scene { return stretched(t, 2, nil, 1, 1, 1) },
			nil, 0},
		{"one replica in each, min.insync.replicas 1, all in sync", func(t *testing.T) *scene { return stretched(t, 1, nil, 1, 1, 1) }, nil, 0},
		{"one replica in each, min.insync.replicas 1, one out of sync", func(t *testing.T) *scene { return stretched(t, 1, ids(0, 1), 1, 1, 1) },
			ids(0, 1), 2},
		{"five replicas, all in sync", func(t *testing.T) *scene { return stretched(t, 2, nil, 2, 2, 1) }, nil, 0},
		{"five replicas, one out of sync", func(t *testing.T) *scene { return stretched(t, 2, ids(0, 2, 3, 4), 2, 2, 1).current(1) }, ids(0, 4),
			2},
		{"five replicas, so many out of sync that it is an outage already",
			func(t *testing.T) *scene { return stretched(t, 2, ids(0, 2, 3), 2, 2, 1).current(1, 2, 3, 4) }, nil, 0},
		{"four replicas in two clusters, one out of sync", func(t *testing.T) *scene { return stretched(t, 1, ids(0, 2, 3), 2, 2).current(1) },
			ids(0), 2},
		{"four replicas, one serves nobody and is to be restarted", func(t *testing.T) *scene {
			return unready(stretched(t, 1, nil, 2, 2).current(0, 2, 3), 1)
		}, nil, 1},
		{"five replicas, and a cluster that can't be read", func(t *testing.T) *scene { return unread(stretched(t, 2, nil, 2, 2, 1), 4) },
			ids(0, 1, 2, 3), -1},
		{"five replicas, and a cluster that is not part of this Kafka any more", func(t *testing.T) *scene {
			sc := stretched(t, 2, ids(0, 1, 2, 3), 2, 2, 1)
			sc.s.Nodes = sc.s.Nodes[:4]
			return sc
		}, nil, 0},
		{"a move, which may be cancelled", func(t *testing.T) *scene {
			sc := stretched(t, 1, ids(0, 2, 3), 2, 2).current(1)
			topics, _ := sc.s.Topics.Get()
			topics[0].Partitions[0].Adding, topics[0].Partitions[0].Removing = ids(3), ids(2)
			return sc
		}, ids(0), 2},
		{"min.insync.replicas is not known", func(t *testing.T) *scene {
			sc := stretched(t, 1, ids(0, 2, 3), 2, 2)
			topics, _ := sc.s.Topics.Get()
			topics[0].MinISR = roller.Unknown[int]("timed out")
			return sc
		}, nil, -1},
		{"one Kubernetes cluster, though not where the roller is", func(t *testing.T) *scene {
			return stretched(t, 1, ids(0, 2, 3), 2, 2).current(1).in("east", 0, 1)
		}, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			sc := c.scene(t)
			plan := roller.NewPlan(&sc.s, sc.progress, sc.policy)
			var kept []roller.NodeID
			for _, a := range plan.Nodes {
				if len(a.Blocks) == 1 && a.Blocks[0].Rule == roller.RuleClusterLoss {
					kept = append(kept, a.Node)
				}
			}
			sc.Expect(kept).To(ConsistOf(c.kept), "in the plan")
			sc.step()
			if c.goes < 0 {
				sc.Expect(sc.restarts).To(BeEmpty())
			} else {
				sc.Expect(sc.restarts).To(Equal(ids(c.goes)))
			}
			for _, id := range kept {
				if sc.Expect(sc.blocked(id)).NotTo(BeEmpty()); c.goes < 0 {
					sc.Expect(sc.blocked(id)).To(ContainElement(roller.RuleClusterLoss))
				}
			}
		})
	}
}

// The message names the loss that would be an outage, the affected partition or quorum, and the nodes that the budget waits for.
func TestWhatTheClusterLossBudgetSays(t *testing.T) {
	sc := voters(t, 3).behind(8).current(8)
	sc.step()
	sc.Expect(sc.of(1).Blocks).To(Equal([]roller.Block{{
		Rule: roller.RuleClusterLoss,
		Why: "if Kubernetes cluster east failed while node 1 is down, the metadata quorum would be unavailable: it would have 4 voters, " +
			"and needs 5; waiting for node 8 avoids that",
	}}))
	sc.Expect(sc.of(4).Blocks[0].Why).To(ContainSubstring("if Kubernetes cluster home failed"))
	sc.Expect(sc.last.Phase).To(Equal(roller.PhaseBlocked))
	sc = stretched(t, 1, ids(0, 2, 3), 2, 2).current(1, 2, 3)
	sc.step()
	sc.Expect(sc.of(0).Blocks).To(Equal([]roller.Block{{
		Rule: roller.RuleClusterLoss,
		Why: "if Kubernetes cluster east failed while node 0 is down, partition t-0 would be unavailable: it would have 0 replicas in " +
			"sync, and needs 1; waiting for node 1 avoids that",
	}}))
}

// The budget stops blocking when the nodes that it waits for are back.
func TestTheClusterLossBudgetEndsWithWhatItWaitsFor(t *testing.T) {
	sc := voters(t, 3).behind(8).current(8)
	sc.step()
	sc.Expect(sc.restarts).To(BeEmpty())
	sc.led(0)
	sc.Expect(sc.roll()).To(Equal(ids(1, 2, 3, 4, 5, 6, 7, 0)))
}

// A node on hold that rejects all connections does not come back by itself, so the budget does not wait for it.
func TestNobodyWaitsForANodeOnHoldThatRefusesEverybody(t *testing.T) {
	sc := stretched(t, 1, ids(0, 2, 3), 2, 2).current(1, 2, 3)
	n := sc.node(1)
	n.Hold, n.Failing, n.Answers, n.Silent = "somebody knows of it", "its certificate has expired", roller.Known(false), noon
	for range 299 {
		sc.step()
		sc.Expect(sc.blocked(0)).To(Equal([]roller.Rule{roller.RuleClusterLoss}))
	}
	sc.Expect(sc.roll()).To(Equal(ids(0)))
}

// The cluster-loss budget limits the size of batches.
func TestBatchesWithinTheClusterLossBudget(t *testing.T) {
	sc := stretched(t, 1, nil, 2, 2)
	sc.policy.MaxUnavailable = 4
	plan := roller.NewPlan(&sc.s, sc.progress, sc.policy)
	sc.Expect(batchesOf(plan)).To(Equal([][]roller.NodeID{ids(0, 2), ids(1, 3)}))
	sc.Expect(plan.Fewest).To(Equal(2))
	sc.Expect(plan.Batches[1].Split).To(ContainSubstring("if Kubernetes cluster east failed while node"))
	sc.Expect(sc.roll()).To(Equal(ids(0, 2, 1, 3)))
	sc = stretched(t, 1, nil, 2, 2).in("", 2, 3)
	sc.policy.MaxUnavailable = 4
	sc.Expect(batchesOf(roller.NewPlan(&sc.s, sc.progress, sc.policy))).To(HaveLen(2))
	sc.Expect(roller.NewPlan(&sc.s, sc.progress, sc.policy).Batches[0].Nodes).To(HaveLen(3), "there is but one Kubernetes cluster")
}

// The budget does not block the way out of a lost quorum.
func TestTheWayOutOfALostQuorumIsNoMatterOfTheBudget(t *testing.T) {
	sc := voters(t, 3)
	sc.s.Quorum = roller.Known(roller.Quorum{Leader: -1})
	for range 400 {
		if sc.step(); len(sc.restarts) > 0 {
			break
		}
	}
	sc.Expect(sc.restarts).To(HaveLen(1))
	sc.Expect(sc.of(sc.restarts[0]).Forced).To(ContainSubstring("have had no leader"))
}

// ringOf returns two nodes, each of which is in sync where the other one is not.
func ringOf(t *testing.T) *scene {
	sc := newScene(t).with(broker, 0, 1, 2, 3).in("east", 2, 3).current(2, 3)
	return sc.topics(topicOf("a", 1, ids(0, 1, 2, 3), ids(0, 2, 3)), topicOf("b", 1, ids(0, 1, 2, 3), ids(1, 2, 3)),
		topicOf("c", 1, ids(0, 1, 2, 3), ids(1, 2, 3)))
}

// The roller waits for two nodes that wait for one another as long as one of them catches up. Then it restarts the first one, and reports
// why.
func TestNodesThatWaitForOneAnother(t *testing.T) {
	sc := ringOf(t)
	start := sc.s.At
	for sc.s.At.Before(start.Add(sc.policy.Stall)) {
		sc.step()
		sc.Expect(sc.restarts).To(BeEmpty())
	}
	sc.Expect(sc.blocked(0)).To(Equal([]roller.Rule{roller.RuleClusterLoss}))
	sc.topics(topicOf("a", 1, ids(0, 1, 2, 3), ids(0, 2, 3)), topicOf("b", 1, ids(0, 1, 2, 3), ids(1, 2, 3)))
	for start = sc.s.At; sc.s.At.Before(start.Add(sc.policy.Stall)); {
		sc.step()
		sc.Expect(sc.restarts).To(BeEmpty(), "one replica has caught up")
	}
	plan := roller.NewPlan(&sc.s, sc.progress, sc.policy)
	sc.Expect(batchesOf(plan)[0]).To(Equal(ids(0)))
	sc.step()
	sc.Expect(sc.restarts).To(Equal(ids(0)))
	sc.Expect(sc.of(0).Forced).To(HavePrefix("nodes 0 and 1 wait for one another, and none of them has made progress since "))
	for range 10 {
		sc.step()
	}
	sc.Expect(sc.restarts).To(Equal(ids(0)), "node 1 waits for node 0")
	sc.topics(topicOf("a", 1, ids(0, 1, 2, 3), ids(0, 2, 3)), topicOf("b", 1, ids(0, 1, 2, 3), ids(0, 1, 2, 3)))
	sc.Expect(sc.roll()).To(Equal(ids(0, 1)))
	sc.Expect(sc.progress.Ring).To(BeNil())
}

// Replicas that come and go are no progress of nodes that wait for one another.
func TestNodesThatWaitForOneAnotherWhileReplicasComeAndGo(t *testing.T) {
	sc := ringOf(t)
	all, more := sc.s.Topics, roller.Known([]roller.Topic{topicOf("a", 1, ids(0, 1, 2, 3), ids(0, 2, 3)),
		topicOf("b", 1, ids(0, 1, 2, 3), ids(1, 2, 3))})
	for i := 0; len(sc.restarts) == 0 && i < 3600; i++ {
		if sc.s.Topics = all; i/60%2 == 0 {
			sc.s.Topics = more
		}
		sc.step()
	}
	sc.Expect(sc.restarts).To(Equal(ids(0)))
	sc.Expect(sc.s.At.Sub(noon)).To(BeNumerically("~", sc.policy.Stall, 2*time.Minute))
}

// A node that is up to date is no part of a ring, even if others wait for it: a user has to repair it.
func TestANodeThatIsWaitedForAndUpToDateIsNoRing(t *testing.T) {
	sc := ringOf(t).current(1)
	for range 1000 {
		sc.step()
	}
	sc.Expect(sc.restarts).To(BeEmpty())
	sc.Expect(sc.last.Phase).To(Equal(roller.PhaseBlocked))
}

func BenchmarkPlanOfAStretchedKafka(b *testing.B) {
	for _, behind := range []bool{false, true} {
		b.Run(fmt.Sprintf("behind=%t", behind), func(b *testing.B) {
			s, policy := large(0)
			for i := range s.Nodes {
				s.Nodes[i].Place = []string{"", "east", "west"}[i%3]
			}
			topics, _ := s.Topics.Get()
			for t := range topics {
				topics[t].MinISR = roller.Known(1)
				if p := &topics[t].Partitions[0]; behind {
					p.ISR = p.ISR[:2]
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				roller.NewPlan(s, roller.Progress{}, policy)
			}
		})
	}
}
