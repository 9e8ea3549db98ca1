package roller_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
)

// No node is restarted twice for the same reason. The time that a new instance gets to respond does not count as an answer.
func TestABrokerThatNeverAnswersIsRestartedOnce(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).current(0, 1)
	sc.node(1).Answers, sc.node(1).Silent = roller.Known(false), noon
	sc.after = func(*roller.Node) {}
	for range 3600 {
		sc.step()
	}
	sc.Expect(sc.restarts).To(Equal(ids(1)))
	sc.node(1).Answers = roller.Known(true)
	sc.step()
	sc.node(1).Answers, sc.node(1).Silent = roller.Known(false), sc.s.At
	for range 3600 {
		sc.step()
	}
	sc.Expect(sc.restarts).To(Equal(ids(1, 1)), "it answered in between")
}

// The roller waits for a pod that is not ready. A starting broker that does not respond is expected.
func TestABrokerThatStartsIsNotSilent(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).current(0, 1).unready(0, 1)
	sc.node(1).Answers, sc.node(1).Silent, sc.node(1).Fenced = roller.Known(false), noon, roller.Known(true)
	for range 290 {
		sc.step()
	}
	sc.Expect(sc.restarts).To(BeEmpty())
	sc.after = func(n *roller.Node) { n.Answers = roller.Known(true) }
	sc.Expect(sc.roll()).To(Equal(ids(1)))
	sc.Expect(sc.s.At.Sub(noon)).To(BeNumerically(">", sc.policy.Patience-5*time.Second))
}

// A node is restarted again before it is back from its previous restart. If the second restart did not begin or was rejected, the first one
// counts again.
func TestARestartAfterARestart(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2).current(1, 2).beside(7).topics(topicOf("t", 1, ids(0, 7), ids(0, 7)))
	sc.never(0)
	lost := func(n *roller.Node) {
		n.Ready = roller.Known(false)
		sc.topics(topicOf("t", 1, ids(0, 7), ids(7)))
	}
	sc.after = lost
	sc.roll()
	sc.Expect(sc.restarts).To(Equal(ids(0)))
	sc.node(0).Revision = roller.Known(roller.Revision{Current: "new", Desired: "newer"})
	stored := restored(t, roller.Step(&sc.s, sc.progress, sc.policy).Progress) // and the roller crashes
	sc.Expect(stored.Restarts[0].Before.Instance).To(Equal("first"))
	sc.Expect(stored.NotCarriedOut(0).Restarts[0].Instance).To(Equal("first"))
	sc.progress = stored
	sc.s.At = sc.s.At.Add(time.Minute)
	sc.node(0).Hold = "ann looks at it"
	sc.step()
	sc.Expect(sc.of(0).State).To(Equal(roller.StateFailed))
	sc.node(0).Hold = ""
	sc.step()
	sc.Expect(sc.restarts).To(Equal(ids(0, 0)))
	sc.node(0).Ready = roller.Known(true)
	sc.step()
	sc.Expect(sc.of(0).State).To(Equal(roller.StateCatchingUp), "its replica was in sync before the first of the two")
}

// If the replicas in sync are unknown, no brokers may be restarted together (docs/decisions/availability.md).
func TestSilentBrokersGoOneAtATime(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2).current(0, 1, 2)
	sc.policy.MaxUnavailable = 3
	sc.unready(time.Hour, 0, 1, 2)
	for _, id := range ids(0, 1, 2) {
		sc.node(id).Answers, sc.node(id).Silent = roller.Known(false), noon.Add(-time.Hour)
	}
	sc.s.Topics = roller.Unknown[[]roller.Topic]("nobody answers")
	sc.Expect(sc.step().Actions).To(HaveLen(1))
	sc.Expect(sc.blocked(1)).To(ContainElement(roller.RuleAvailability))
}

// If it is unknown whether an unready pod is stuck, no action is taken on it.
func TestAPodThatMayBeStuckIsLeftAlone(t *testing.T) {
	sc := newScene(t).with(broker, 0).unready(time.Hour, 0)
	sc.node(0).Stuck = roller.Unknown[string]("timed out")
	sc.Expect(sc.roll()).To(BeEmpty())
	sc.Expect(sc.of(0).Detail).To(Equal("it is unknown whether its pod is stuck: timed out"))
}

// A broker that will soon be back will report the replicas in sync, so a silent broker is not restarted meanwhile.
func TestASilentBrokerWaitsForOneThatComesBack(t *testing.T) {
	for name, away := range map[string]func(n *roller.Node){
		"no pod": func(n *roller.Node) { n.Instance, n.Ready = roller.Known(""), roller.Known(false) },
		"recovering": func(n *roller.Node) {
			n.Ready, n.Recovery = roller.Known(false), roller.Known(&roller.Recovery{RemainingLogs: 1})
		},
		"not ready": func(n *roller.Node) {
			n.Ready, n.Fenced, n.ReadyChanged = roller.Known(false), roller.Known(true), noon
		},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t).with(broker, 0, 1).current(0, 1)
			sc.unready(time.Hour, 0)
			for _, id := range ids(0, 1) {
				sc.node(id).Answers, sc.node(id).Silent = roller.Known(false), noon.Add(-time.Hour)
			}
			sc.s.Topics = roller.Unknown[[]roller.Topic]("nobody answers")
			away(sc.node(1))
			sc.Expect(sc.step().Actions).To(BeEmpty())
			sc.Expect(sc.blocked(0)[0]).To(BeElementOf(roller.RuleAvailability, roller.RuleLimit))
		})
	}
}

// If only the path to one Kubernetes cluster fails, the brokers of the others show nothing about those that don't answer there. A broker
// near them does, if it was asked in this look.
func TestBrokersThatOnlyTheRollerCantReach(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2, 3, 4).current(0, 1, 2, 3, 4)
	for _, id := range ids(0, 1, 2) {
		sc.node(id).Place = "east"
		sc.node(id).Answers, sc.node(id).Silent = roller.Known(false), noon
	}
	sc.after = func(n *roller.Node) { n.Answers = roller.Known(true) }
	sc.Expect(sc.roll()).To(BeEmpty())
	sc.Expect(sc.of(0).State).To(Equal(roller.StateSilent), "it is told")

	sc.node(2).Answers, sc.node(2).Recalled = roller.Known(true), true
	d := roller.Step(&sc.s, sc.progress, sc.policy)
	sc.Expect(d.Actions).To(ConsistOf(And(HaveField("Node", roller.NodeID(0)), HaveField("Unasked", ids(2)))))
	sc.node(2).Recalled = false
	sc.Expect(sc.roll()).To(Equal(ids(0, 1)))

	sc = newScene(t).with(broker, 0, 1).current(0, 1)
	sc.node(0).Place = "east"
	sc.node(0).Answers, sc.node(0).Silent = roller.Known(false), noon
	sc.after = func(n *roller.Node) { n.Answers = roller.Known(true) }
	sc.Expect(sc.roll()).To(Equal(ids(0)), "no other broker there could tell")
}

// A broker that has not answered since the roller started has been silent for an unknown time.
func TestABrokerThatNeverAnswered(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).current(0, 1)
	sc.node(0).Answers, sc.node(1).Answers = roller.Known(false), roller.Known(false)
	sc.node(1).Silent = noon.Add(-time.Minute)
	sc.step()
	sc.Expect(sc.of(0).Detail).To(Equal("its pod is ready, but it does not answer"))
	sc.Expect(sc.of(1).Detail).To(Equal("its pod is ready, but it has not answered for 1m0s"))
}
