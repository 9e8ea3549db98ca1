package roller_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
)

// Kafka reports a broker as in sync, and the roller sees no pod of it. The broker may run in a Kubernetes cluster that is not configured,
// where another roller may be deleting its pod. So it counts as down (docs/decisions/facts-of-a-restart.md).
func TestABrokerThatNobodySeesIsNotInSync(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2).topics(topicOf("t", 2, ids(0, 1, 7), ids(0, 1, 7)))
	sc.Expect(sc.roll()).To(Equal(ids(2)))
	sc.Expect(sc.blocked(0)).To(Equal([]roller.Rule{roller.RuleAvailability}))
	sc.Expect(sc.of(0).Blocks[0].Why).To(ContainSubstring("without nodes 0 and 7"))
	plan := roller.NewPlan(&sc.s, sc.progress, sc.policy)
	sc.Expect(plan.Unread).To(Equal("Kafka lists node 7, which no pod or StrimziPodSet is seen of: configure all Kubernetes clusters with " +
		"nodes of this Kafka, and check that its pods have the label strimzi.io/cluster"))
	sc.current(0, 1)
	sc.Expect(sc.step().Phase).To(Equal(roller.PhaseUnknown))
}

// A voter without a pod counts as down in the same way. One that was removed, but not taken out of the quorum, falls behind and blocks
// nothing.
func TestAVoterThatNobodySeesIsNotCaughtUp(t *testing.T) {
	for name, c := range map[string]struct {
		behind  int64
		blocked bool
	}{"it follows": {0, true}, "it was removed long ago": {60_000, false}} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t).with(controller, 0, 1, 2, 3).led(2)
			q, _ := sc.s.Quorum.Get()
			q.Voters[3].LastCaughtUp -= c.behind
			sc.s.Quorum = roller.Known(q)
			sc.s.Nodes = sc.s.Nodes[:3]
			sc.step()
			sc.Expect(sc.restarts).To(BeEmpty(), "three of four have to stay")
			sc.Expect(sc.blocked(0)).To(Equal([]roller.Rule{roller.RuleQuorum}))
			sc.Expect(sc.s.Unseen()).To(HaveLen(map[bool]int{true: 1}[c.blocked]))
		})
	}
	sc := newScene(t).with(controller, 0, 1, 2, 3, 4).led(2)
	q, _ := sc.s.Quorum.Get()
	q.Voters[4].LastCaughtUp = -1
	sc.s.Quorum, sc.s.Nodes = roller.Known(q), sc.s.Nodes[:4]
	sc.Expect(sc.roll()).To(Equal(ids(0, 1, 3, 2)), "a voter that was removed stops nobody")
	sc.Expect(sc.last.Phase).To(Equal(roller.PhaseDone))
}

// A broker that was removed stays registered, fenced, until somebody unregisters it. It stops nobody, also if it was the last in sync.
func TestABrokerThatWasRemovedStopsNobody(t *testing.T) {
	lost := topicOf("t", 1, ids(0, 7), ids(7))
	lost.Partitions[0].Leader = -1
	for name, topic := range map[string]roller.Topic{"others are in sync": topicOf("t", 1, ids(0, 1, 7), ids(0, 1)), "it was the last": lost} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t).with(broker, 0, 1, 2).topics(topic)
			sc.Expect(sc.roll()).To(Equal(ids(0, 1, 2)))
			sc.Expect(sc.last.Phase).To(Equal(roller.PhaseDone))
		})
	}
}

// A view of one Kubernetes cluster of several wipes nothing that the roller remembers of the others' nodes.
func TestWhatNobodySeesIsNotForgotten(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).topics(topicOf("t", 1, ids(0, 1, 2, 3), ids(0, 1, 3))).current(0, 1)
	sc.progress = roller.Progress{
		Restarts:  map[roller.NodeID]roller.Restart{2: {Instance: "first", Roles: broker, Place: "east", At: noon.Add(-time.Minute)}},
		Restarted: map[roller.NodeID][]string{3: {"PodHasOldRevision new"}},
	}
	sc.step()
	sc.Expect(sc.progress.Restarts).To(HaveKey(roller.NodeID(2)))
	sc.Expect(sc.progress.Restarted).To(HaveKey(roller.NodeID(3)))
}
