package roller_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// If it is unknown whether an unready node recovers its logs, the roller assumes that it may. After patience it restarts the node alone,
// with the check of the data, and reports the restart as forced.
func TestAPodThatMayRecoverItsLogsIsGivenTime(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2).current(2).unready(0, 0, 1).topics(topicOf("t", 1, ids(0, 9), ids(0, 9)))
	sc.policy.MaxUnavailable = 3
	for _, id := range ids(0, 1) {
		n := sc.node(id)
		n.Recovery, n.Fenced, n.Answers = roller.Unknown[*roller.Recovery]("pods/log is forbidden"), roller.Known(true), roller.Known(false)
	}
	for range 290 {
		sc.step()
	}
	sc.Expect(sc.restarts).To(BeEmpty())
	sc.Expect(sc.blocked(0)).To(ContainElement(roller.RulePatience))
	sc.Expect(sc.of(0).Detail).To(Equal("it may be recovering its logs: pods/log is forbidden"))
	sc.s.At = noon.Add(sc.policy.Patience)
	sc.after = func(n *roller.Node) { n.Ready, n.ReadyChanged = roller.Known(false), sc.s.At }
	d := sc.step()
	sc.Expect(d.Actions).To(HaveLen(1))
	sc.Expect(d.Actions[0].Forced).To(Equal("it has been unready for 5m0s, and may be recovering its logs: pods/log is forbidden"))
	sc.Expect(sc.step().Actions).To(BeEmpty())
	sc.Expect(sc.of(1-d.Actions[0].Node).Blocks).To(ContainElement(HaveField("Why", ContainSubstring("one at a time"))),
		"whatever may be away")
}

// An unknown fact never counts as "as it should be".
func TestWhatIsNotKnownIsNotDone(t *testing.T) {
	for name, hide := range map[string]func(n *roller.Node){
		"revision":      func(n *roller.Node) { n.Revision = roller.Unknown[roller.Revision]("no set has this pod") },
		"configuration": func(n *roller.Node) { n.Config = roller.Unknown[brokerconfig.Config]("no set has this pod") },
		"readiness":     func(n *roller.Node) { n.Ready = roller.Unknown[bool]("no set has this pod") },
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t).with(broker, 0, 1).current(0, 1)
			sc.Expect(sc.step().Phase).To(Equal(roller.PhaseDone))
			hide(sc.node(1))
			sc.Expect(sc.step().Phase).To(Equal(roller.PhaseUnknown))
			sc.Expect(sc.of(1).Unknown).To(ConsistOf("its " + name + ": no set has this pod"))
			sc.Expect(roller.NewPlan(&sc.s, sc.progress, sc.policy).Unknown).To(Equal(ids(1)))
		})
	}
	sc := newScene(t).with(broker, 0).current(0)
	sc.s.Unread = "cluster east can't be read"
	sc.Expect(sc.step().Phase).To(Equal(roller.PhaseUnknown))
}

// Facts of the present look override the metadata of Kafka.
func TestABrokerThatDoesNotAnswerIsNotInSync(t *testing.T) {
	for name, c := range map[string]struct {
		roles roller.Roles
		see   func(n *roller.Node)
	}{
		"it does not answer":                 {broker, func(n *roller.Node) { n.Answers = roller.Known(false) }},
		"nobody knows whether it answers":    {broker, func(n *roller.Node) { n.Answers = roller.Unknown[bool]("nobody asked") }},
		"its pod is not known":               {broker, func(n *roller.Node) { n.Instance = roller.Unknown[string]("timed out") }},
		"it is fenced, combined and answers": {combined, func(n *roller.Node) { n.Fenced, n.Ready = roller.Known(true), roller.Known(false) }},
		"it is being deleted, and has long been unready": {broker, func(n *roller.Node) {
			n.Terminating, n.Deleted, n.Ready = true, noon, roller.Known(false)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t).with(broker, 0).with(c.roles, 1).with(broker, 2).current(1).topics(topicOf("t", 1, ids(0, 1), ids(0, 1)))
			sc.policy.MaxUnavailable = 3
			c.see(sc.node(1))
			sc.step()
			sc.Expect(sc.blocked(0)).To(ContainElement(roller.RuleAvailability))
		})
	}
}

// The same for voters: the quorum's leader notices a lost voter with a delay.
func TestAVoterThatGoesIsNotCaughtUp(t *testing.T) {
	sc := newScene(t).with(controller, 0, 1, 2).led(2).current(1, 2)
	sc.unready(time.Hour, 1).node(1).Terminating = true
	sc.step()
	sc.Expect(sc.restarts).To(BeEmpty())
	sc.Expect(sc.blocked(0)).To(Equal([]roller.Rule{roller.RuleQuorum}))
}

// Facts age while a node stops. So each node of a batch needs its own look, and each action has a time after which it must not begin.
func TestOneRestartPerLook(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2, 3).current(3)
	configured(sc.node(3), false, "8", "9")
	sc.policy.MaxUnavailable = 3
	sc.s.From = noon.Add(-2 * time.Second)
	d := sc.step()
	sc.Expect(d.Actions).To(HaveLen(2))
	sc.Expect(d.Actions[0]).
		To(And(HaveField("Kind", roller.ActionRestart), HaveField("Node", roller.NodeID(0)), HaveField("Until", noon.Add(3*time.Second))))
	sc.Expect(d.Actions[1].Kind).To(Equal(roller.ActionReconfigure), "changes take long, so that they come last")
	sc.Expect(d.Again).To(BeNumerically("<", time.Second), "the next one goes at once")
	sc.Expect(sc.of(1).Blocks[0].Why).To(Equal("it follows node 0, after the other nodes have been observed again"))
	sc.Expect(d.Progress.Restarts).To(HaveLen(1))
}

// Kafka before 4.0 does not report which brokers are fenced, so a broker without any replica in sync counts as fenced.
func TestBrokersOutsideOfTheReplicasInSync(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2).current(2).unready(time.Hour, 0, 1).topics(topicOf("t", 2, ids(0, 1, 2), ids(2)))
	for _, id := range ids(0, 1) {
		n := sc.node(id)
		n.Fenced, n.Answers = roller.Unknown[bool]("the brokers do not report which of them are fenced"), roller.Known(false)
	}
	sc.after = func(n *roller.Node) { n.Answers = roller.Known(true) }
	d := sc.step()
	sc.Expect(sc.restarts).To(Equal(ids(0)))
	sc.Expect(d.Actions[0].Forced).To(ContainSubstring("it serves no clients"))
	sc.Expect(sc.of(0).Down).To(BeTrue())
	sc.topics(topicOf("t", 2, ids(0, 1, 2), ids(1, 2)))
	sc.step()
	sc.Expect(sc.of(1).Down).To(BeFalse(), "it is in sync, so that it may serve somebody")
}

// Topics that the roller may not describe may have it in their replicas in sync, whatever Kubernetes finds of it.
func TestHiddenTopicsDoNotMakeABrokerOutOfSync(t *testing.T) {
	for _, ready := range []bool{false, true} {
		sc := newScene(t).with(broker, 0, 1).current(1).topics(topicOf("t", 2, ids(0, 1), ids(1)))
		n := sc.node(0)
		n.Hidden, n.Ready = "it has replicas of topics that the roller may not describe", roller.Known(ready)
		if ready {
			n.Failing, n.Answers, n.Silent = "it refuses connections", roller.Known(false), noon
		}
		for range 3600 {
			sc.step()
		}
		sc.Expect(sc.restarts).To(BeEmpty())
		sc.Expect(sc.of(0).Down).To(BeFalse())
		sc.Expect(sc.blocked(0)).To(ContainElement(roller.RuleAvailability))
		n.Hidden = ""
		sc.step()
		sc.Expect(sc.restarts).To(Equal(ids(0)))
	}
}

// A broker that refuses connections and serves nobody still needs a quorum to come back.
func TestABrokerThatRefusesConnectionsNeedsAQuorum(t *testing.T) {
	sc := newScene(t).with(broker, 0).with(controller, 3).current(3).led(-1)
	n := sc.node(0)
	n.Failing, n.Answers, n.Silent = "it refuses connections", roller.Known(false), noon
	sc.step()
	sc.Expect(sc.restarts).To(BeEmpty())
	sc.Expect(sc.blocked(0)).To(ContainElement(roller.RuleQuorum))
	sc.led(3).step()
	sc.Expect(sc.restarts).To(Equal(ids(0)))
}

// The roller keeps what it remembers of a missing node until no StrimziPodSet lists the node.
func TestAnAbsentNodeIsNotForgotten(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).topics(topicOf("t", 1, ids(0, 1), ids(0, 1)))
	sc.after = func(n *roller.Node) { n.Ready = roller.Known(false) }
	sc.step()
	sc.Expect(sc.restarts).To(Equal(ids(0)))
	nodes := sc.s.Nodes
	sc.s.Nodes, sc.s.Unread = nodes[1:], "cluster east can't be read"
	sc.policy.MaxUnavailable = 2
	sc.step()
	sc.Expect(sc.progress.Restarts).To(HaveKey(roller.NodeID(0)))
	sc.Expect(sc.blocked(1)).To(ContainElement(roller.RuleAvailability))
	sc.s.Unread = ""
	sc.step()
	sc.Expect(sc.progress.Restarts).To(HaveKey(roller.NodeID(0)), "Kafka lists it in sync")
	known := sc.s.Topics
	sc.s.Topics = roller.Unknown[[]roller.Topic]("timed out")
	sc.step()
	sc.Expect(sc.progress.Restarts).To(HaveKey(roller.NodeID(0)), "nobody knows whether Kafka lists it")
	sc.s.Topics, sc.s.Quorum = known, roller.Unknown[roller.Quorum]("timed out")
	sc.topics(topicOf("t", 1, ids(0, 1), ids(1)))
	sc.step()
	sc.Expect(sc.progress.Restarts).To(HaveKey(roller.NodeID(0)))
	sc.led(9)
	sc.step()
	sc.Expect(sc.progress.Restarts).NotTo(HaveKey(roller.NodeID(0)))
}

// A restart that the API server rejects is retried after a growing delay, and does not block other nodes.
func TestADeniedRestartIsTriedLaterEachTime(t *testing.T) {
	sc := newScene(t).with(broker, 0).topics()
	var at []time.Duration
	for range 1200 {
		d := roller.Step(&sc.s, sc.progress, sc.policy)
		sc.progress = d.Progress
		if len(d.Actions) > 0 {
			at = append(at, sc.s.At.Sub(noon))
			sc.progress = restored(t, sc.progress.Deny(0, sc.s.At, "forbidden"))
		} else {
			sc.Expect(d.Nodes[0].Blocks).To(ConsistOf(HaveField("Rule", roller.RuleDenied)))
		}
		sc.s.At = sc.s.At.Add(time.Second)
	}
	sc.Expect(at).To(Equal([]time.Duration{0, 5 * time.Second, 15 * time.Second, 35 * time.Second, 75 * time.Second, 155 * time.Second,
		315 * time.Second, 615 * time.Second, 915 * time.Second}))
}

// A failed node on hold counts against no limit, because the user takes care of it. Its replicas still count as missing.
func TestAFailedNodeOnHoldReleasesTheOthers(t *testing.T) {
	for _, roles := range []roller.Roles{broker, combined, controller} {
		sc := newScene(t).with(roles, 0, 1, 2, 3, 4).topics(topicOf("t", 1, ids(0, 3), ids(0, 3)))
		if roles.Controller {
			sc.led(4)
		}
		sc.never(0)
		sc.Expect(sc.roll()).To(Equal(ids(0)))
		sc.node(0).Hold = "ann repairs it"
		want := ids(0, 1, 2, 4)
		if !roles.Broker {
			want = ids(0, 1, 2, 3, 4)
		}
		sc.Expect(sc.roll()).To(Equal(want), roles.String())
	}
}

// Brokers that could not join a batch when the plan was made join one as soon as they can.
func TestBrokersThatWereKeptSingleGoTogetherLater(t *testing.T) {
	sc := racked(t, 9)
	sc.policy.MaxUnavailable = 9
	all, _ := sc.s.Topics.Get()
	sc.node(8).Answers = roller.Known(false)
	plan := roller.NewPlan(&sc.s, sc.progress, sc.policy)
	sc.Expect(len(plan.Batches) + len(plan.Blocked)).To(BeNumerically(">", 4))
	sc.step()
	sc.topics(all...).node(8).Answers = roller.Known(true)
	plan = roller.NewPlan(&sc.s, sc.progress, sc.policy)
	sc.Expect(len(plan.Batches)).To(BeNumerically("<=", 4))
}

// A change of all brokers does not wait for the restart, or the hold, of a single broker.
func TestAChangeOfAllBrokersWaitsForNobody(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2).current(1, 2)
	for _, id := range ids(0, 1, 2) {
		configured(sc.node(id), false, "8", "9")
	}
	sc.node(0).Hold, sc.node(1).Hold = "ann", "ann"
	sc.step()
	sc.Expect(sc.altered).To(HaveLen(1))
	sc.Expect(sc.altered[0].Node).To(BeEquivalentTo(2))

	sc = newScene(t).with(broker, 0, 1).topics(topicOf("t", 1, ids(0, 9), ids(0)), topicOf("u", 1, ids(1, 9), ids(1)))
	configured(sc.node(0), false, "8", "9")
	configured(sc.node(1), false, "8", "9")
	sc.step()
	sc.Expect(sc.altered).To(HaveLen(1), "all are blocked from being restarted, which would bring it too")
}

// A restart lists the brokers whose recalled answers it rests on: those with replicas of the same partitions, and no others.
func TestARestartTellsWhoWasNotAsked(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2, 3, 4).current(1, 2, 3, 4)
	sc.topics(topicOf("t", 1, ids(2, 0, 1), ids(2, 0, 1)), topicOf("u", 1, ids(0, 4), ids(0, 4)), topicOf("v", 1, ids(2, 3), ids(2, 3)))
	unasked := func() []roller.NodeID {
		d := roller.Step(&sc.s, sc.progress, sc.policy)
		sc.Expect(d.Actions).To(HaveLen(1))
		return d.Actions[0].Unasked
	}
	sc.Expect(unasked()).To(BeEmpty())
	for i := range sc.s.Nodes {
		sc.s.Nodes[i].Recalled = true
	}
	sc.Expect(unasked()).To(Equal(ids(1, 2, 4)))
	sc.node(1).Recalled = false
	sc.node(4).Answers = roller.Known(false)
	sc.topics(topicOf("t", 1, ids(2, 0, 1), ids(2, 0, 1)), topicOf("u", 1, ids(0, 1, 4), ids(0, 1, 4)))
	sc.Expect(unasked()).To(Equal(ids(2)), "one that is known not to answer counts as gone in any case")
	sc.unready(time.Hour, 0)
	sc.node(0).Fenced = roller.Known(true)
	sc.Expect(unasked()).To(BeEmpty(), "it serves nobody, and takes nothing away")
}
