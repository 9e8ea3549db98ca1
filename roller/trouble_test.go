package roller_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
)

// never keeps a restarted node from becoming ready.
func (sc *scene) never(id roller.NodeID) {
	sc.after = func(n *roller.Node) {
		if n.ID == id {
			n.Ready = roller.Known(false)
		}
	}
}

// pod0NotReadyAfterRollingBroker, pod1NotReadyAfterRolling, pod3NotReadyAfterRolling: a node that does not come back blocks the nodes of
// its kind, and is reported.
func TestANodeThatIsNotReadyAfterItsRestartStopsItsKind(t *testing.T) {
	for _, id := range ids(0, 1, 3) {
		sc := newScene(t).with(broker, 0, 1, 2, 3, 4)
		sc.never(id)
		var want []roller.NodeID
		for other := range id + 1 {
			want = append(want, other)
		}
		sc.Expect(sc.roll()).To(Equal(want))
		sc.Expect(sc.last.Phase).To(Equal(roller.PhaseFailed))
		sc.Expect(sc.of(id).State).To(Equal(roller.StateFailed))
		if id < 4 {
			sc.Expect(sc.of(4).Blocks[0].Why).To(ContainSubstring("node %d was restarted and did not become ready", id))
		}
		// A second run with the stored progress restarts nothing.
		sc.Expect(sc.roll()).To(Equal(want))
		// The node becomes ready by itself: the roll continues.
		sc.after = nil
		sc.node(id).Ready = roller.Known(true)
		sc.Expect(sc.roll()).To(Equal(ids(0, 1, 2, 3, 4)))
		sc.Expect(sc.last.Phase).To(Equal(roller.PhaseDone))
	}
}

// activeControllerNotReadyAfterRolling(+Combined).
func TestAnActiveControllerThatIsNotReadyAfterItsRestart(t *testing.T) {
	for _, roles := range []roller.Roles{controller, combined} {
		sc := newScene(t).with(roles, 0, 1, 2).led(1)
		sc.never(1)
		sc.Expect(sc.roll()).To(Equal(ids(0, 2, 1)))
		sc.Expect(sc.last.Phase).To(Equal(roller.PhaseFailed))
		sc.Expect(sc.of(1).State).To(Equal(roller.StateFailed))
	}
}

// Checklist 27: a failing controller blocks no broker after patience.
func TestAFailingControllerDoesNotStopBrokers(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).with(controller, 3, 4, 5).led(3)
	sc.never(4)
	sc.Expect(sc.roll()).To(Equal(ids(4, 0, 1)))
	sc.Expect(sc.last.Phase).To(Equal(roller.PhaseFailed))
	sc.Expect(sc.blocked(5)).To(ContainElement(roller.RuleHalt))
}

// A node on hold blocks no other node, because the user takes care of it.
func TestANodeOnHold(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2)
	sc.never(1)
	sc.roll()
	sc.node(1).Hold = "annotated by ann: disk is being replaced"
	sc.after = nil
	sc.policy.MaxUnavailable = 2
	sc.Expect(sc.roll()).To(Equal(ids(0, 1, 2)))

	sc = newScene(t).with(broker, 0, 1, 2)
	sc.node(1).Hold = "annotated"
	sc.Expect(sc.roll()).To(Equal(ids(0, 2)))
	sc.Expect(sc.blocked(1)).To(Equal([]roller.Rule{roller.RuleHold}))
	sc.Expect(sc.last.Phase).To(Equal(roller.PhaseBlocked))
}

// A node that no controller is known to recreate is not restarted, for whatever reason, and blocks no other node.
func TestANodeThatNobodyWouldMakeAnew(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2)
	sc.node(1).Foreign = "no StrimziPodSet lists its pod"
	sc.Expect(sc.roll()).To(Equal(ids(0, 2)))
	sc.Expect(sc.blocked(1)).To(Equal([]roller.Rule{roller.RuleOwner}))
	sc.Expect(sc.last.Phase).To(Equal(roller.PhaseBlocked))
	plan := roller.NewPlan(&sc.s, sc.progress, sc.policy)
	sc.Expect(plan.Blocked).To(Equal(ids(1)))
	sc.Expect(plan.Batches).To(BeEmpty())

	sc = newScene(t).with(controller, 3, 4, 5).with(broker, 0)
	sc.led(5)
	sc.node(3).Foreign = "no StrimziPodSet lists its pod"
	sc.Expect(sc.roll()).To(Equal(ids(4, 5, 0)), "the others go on")

	sc = newScene(t).with(broker, 0, 1)
	n := sc.node(0)
	n.Foreign, n.Ready, n.Stuck = "no StrimziPodSet lists its pod", roller.Known(false), roller.Known("CrashLoopBackOff")
	sc.Expect(sc.step().Actions).NotTo(ContainElement(HaveField("Node", roller.NodeID(0))))
}

// testBrokerNotInitiallyRollable, testCombinedNotInitiallyRollable, testControllerNotInitiallyRollable: a node that can't be restarted now
// is restarted later.
func TestANodeThatCannotGoAtFirst(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2, 3, 4).beside(9).topics(topicOf("t", 1, ids(1, 9), ids(1)))
	sc.before = func() {
		if len(sc.restarts) == 4 {
			sc.topics(topicOf("t", 1, ids(1, 9), ids(1, 9)))
		}
	}
	sc.Expect(sc.roll()).To(Equal(ids(0, 2, 3, 4, 1)))

	for _, roles := range []roller.Roles{controller, combined} {
		sc := newScene(t).with(roles, 0, 1, 2, 3, 4).led(2)
		healthy := sc.s.Quorum
		q, _ := healthy.Get()
		behind := roller.Quorum{Leader: 2, Voters: append([]roller.Voter(nil), q.Voters...)}
		behind.Voters[3].LastCaughtUp, behind.Voters[4].LastCaughtUp = 1, 1
		sc.s.Quorum = roller.Known(behind) // without node 0 two of five would remain; without node 3 three
		sc.before = func() {
			if len(sc.restarts) == 2 {
				sc.s.Quorum = healthy
			}
		}
		sc.after = func(n *roller.Node) {
			q, _ := sc.s.Quorum.Get()
			q.Voters = append([]roller.Voter(nil), q.Voters...)
			q.Voters[n.ID].LastCaughtUp = 10_000
			sc.s.Quorum = roller.Known(q)
		}
		sc.Expect(sc.roll()).To(Equal(ids(3, 0, 1, 4, 2)))
	}
}

// testBrokerNeverRollable, testCombinedNeverRollable: a node that can't be restarted blocks no other node, and the next run restarts
// nothing.
func TestANodeThatCanNeverGo(t *testing.T) {
	for _, roles := range []roller.Roles{broker, combined} {
		sc := newScene(t).with(roles, 0, 1, 2, 3, 4).topics(topicOf("t", 1, ids(1, 9), ids(1)))
		if roles.Controller {
			sc.led(4)
		}
		sc.Expect(sc.roll()).To(ConsistOf(ids(0, 2, 3, 4)))
		sc.Expect(sc.last.Phase).To(Equal(roller.PhaseBlocked))
		sc.Expect(sc.blocked(1)).To(Equal([]roller.Rule{roller.RuleAvailability}))
		sc.Expect(sc.roll()).To(HaveLen(4))
	}
}

// testControllerNoQuorum: all controllers are blocked. Brokers are restarted after a while only if they could come back.
func TestControllersWithoutAQuorum(t *testing.T) {
	sc := newScene(t).with(broker, 0).with(controller, 1, 2, 3).led(-1)
	sc.node(2).Stuck, sc.node(3).Stuck = roller.Known("Unschedulable"), roller.Known("Unschedulable")
	for _, id := range ids(2, 3) {
		sc.node(id).Hold = "ann repairs it"
	}
	sc.Expect(sc.roll()).To(BeEmpty())
	sc.Expect(sc.blocked(1)).To(Equal([]roller.Rule{roller.RuleQuorum}))
	sc.Expect(sc.of(0).Blocks).To(ContainElement(HaveField("Why", ContainSubstring("could not come back"))))

	sc = newScene(t).with(broker, 0).with(controller, 1, 2, 3).led(-1).current(1, 2, 3)
	sc.Expect(sc.roll()).To(BeEmpty())
	sc.Expect(sc.of(0).Blocks[0].Why).To(ContainSubstring("could not come back"))
	sc.s.Quorum = roller.Unknown[roller.Quorum]("timed out")
	sc.Expect(sc.roll()).To(Equal(ids(0)), "brokers are considered, which may help")
}

// If most controllers are down, the quorum is lost, whether a node reports that or not, and even if the controllers that are down are on
// hold.
func TestBrokersStayWhereMostControllersAreDown(t *testing.T) {
	for _, leaderAnswers := range []bool{false, true} { // a leader that responds has not noticed yet
		sc := newScene(t).with(broker, 0).with(controller, 1, 2, 3).led(1).current(1)
		if !leaderAnswers {
			sc.policy.Paused = "not yet"
			sc.step() // the leader tells who votes
			sc.policy.Paused = ""
			sc.s.Quorum = roller.Unknown[roller.Quorum]("no controller that answers is the leader")
		}
		for _, id := range ids(2, 3) {
			sc.node(id).Stuck, sc.node(id).Hold = roller.Known("CrashLoopBackOff"), "ann repairs it"
		}
		sc.Expect(sc.roll()).To(BeEmpty())
		sc.Expect(sc.blocked(0)).To(Equal([]roller.Rule{roller.RuleQuorum}))
		sc.Expect(sc.last.Phase).To(Equal(roller.PhaseBlocked))
		sc.node(2).Stuck = roller.Known("")
		sc.Expect(sc.roll()).To(Equal(ids(0)), "two of three are enough")
	}
}

// Controllers that do not vote, yet or any more, are no matter of the quorum, whether they are down or not.
func TestControllersThatDoNotVote(t *testing.T) {
	for _, c := range []struct {
		voters, down, restarted []roller.NodeID
	}{
		{ids(1), ids(2, 3), ids(0)},
		{ids(1, 2, 3), ids(2, 3), nil},
		{ids(1, 2, 3), ids(4, 5, 6), ids(0)},
		{ids(1, 2, 3), ids(3, 4, 5, 6), ids(0)},
	} {
		sc := newScene(t).with(broker, 0).with(controller, 1, 2, 3, 4, 5, 6).current(1, 2, 3, 4, 5, 6)
		q := roller.Quorum{Leader: 1}
		for _, id := range c.voters {
			q.Voters = append(q.Voters, roller.Voter{ID: id, LastCaughtUp: 10_000})
		}
		sc.s.Quorum = roller.Known(q)
		for _, id := range c.down {
			sc.node(id).Stuck, sc.node(id).Hold = roller.Known("Unschedulable"), "ann makes room"
		}
		sc.Expect(sc.roll()).To(Equal(c.restarted), "voters %v, down %v", c.voters, c.down)
	}
}

// testControllerNeverRollable, testControllerAndOneMoreNeverRollable: the active controller waits for the others, but not longer than
// patience.
func TestTheActiveControllerDoesNotWaitForEver(t *testing.T) {
	sc := newScene(t).with(combined, 0, 1, 2).led(2).topics(topicOf("t", 1, ids(1, 9), ids(1)))
	sc.Expect(sc.roll()).To(Equal(ids(0, 2)))
	sc.Expect(sc.s.At.Sub(noon)).To(BeNumerically(">", sc.policy.Patience))
}

// testBrokerInRecoveryState, testControllerInRecoveryState, testCombinedInRecoveryState (never; checklist 12).
func TestANodeInRecoveryIsLeftAlone(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2, 3).unready(time.Hour, 0)
	sc.node(0).Recovery = roller.Known(&roller.Recovery{RemainingLogs: 10, RemainingSegments: 100})
	sc.Expect(sc.roll()).To(Equal(ids(1, 2, 3)))
	sc.Expect(sc.of(0).State).To(Equal(roller.StateRecovering))
	sc.Expect(sc.of(0).Blocks[0].Why).To(ContainSubstring("10 logs and 100 segments left"))

	sc = newScene(t).with(broker, 0, 1).with(combined, 3, 4, 5).led(5).unready(time.Hour, 4)
	sc.node(4).Recovery = roller.Known(&roller.Recovery{RemainingLogs: -1})
	sc.Expect(sc.roll()).To(Equal(ids(3, 5, 0, 1)), "brokers are considered all the same")
}

// testPodStuckThrowsFatalProblem: while a node is stuck and up to date, no other node is restarted (docs/roller/checklist.md).
func TestAStuckNodeThatIsUpToDateStopsAll(t *testing.T) {
	for _, stuck := range []string{"CrashLoopBackOff", "ImagePullBackOff", "ContainerCreating", "Unschedulable"} {
		sc := newScene(t).with(broker, 0, 1, 2).with(controller, 3).led(3).current(1).unready(0, 1)
		sc.node(1).Stuck = roller.Known(stuck)
		sc.Expect(sc.roll()).To(BeEmpty())
		sc.Expect(sc.last.Phase).To(Equal(roller.PhaseFailed))
		sc.Expect(sc.blocked(0)).To(ContainElement(roller.RuleHalt))
		sc.Expect(sc.blocked(3)).To(ContainElement(roller.RuleHalt))
		sc.node(1).Stuck, sc.node(1).Ready = roller.Known(""), roller.Known(true)
		sc.Expect(sc.roll()).To(Equal(ids(3, 0, 2)))
	}
}

// testPodStuckForceRestartWithOldRevision: a node that is stuck and outdated is restarted first, at once, without checks of data that its
// restart can't harm, and this is reported.
func TestAStuckNodeThatIsOutOfDateIsRestarted(t *testing.T) {
	for _, stuck := range []string{"CrashLoopBackOff", "ImagePullBackOff", "ContainerCreating", "Unschedulable"} {
		sc := newScene(t).with(broker, 0, 1, 2).unready(0, 1).topics(topicOf("t", 1, ids(1, 9), ids(1)))
		sc.node(1).Stuck = roller.Known(stuck)
		sc.node(1).Answers, sc.node(1).Silent = roller.Known(false), noon
		sc.after = func(n *roller.Node) { n.Answers = roller.Known(true) }
		d := sc.step()
		sc.Expect(d.Actions).To(HaveLen(1))
		sc.Expect(d.Actions[0].Forced).To(ContainSubstring("Stuck: " + stuck))
		sc.Expect(roller.Reasons(d.Actions[0].Reasons)).To(Equal("PodHasOldRevision, PodStuck (" + stuck + ")"))
		sc.topics()
		sc.Expect(sc.roll()).To(Equal(ids(1, 0, 2)))
	}
}

// Strimzi issue 9426: combined nodes that are all pending are restarted together, because there is no quorum to lose.
func TestAllControllersThatAreDownAreRestartedTogether(t *testing.T) {
	sc := newScene(t).with(combined, 0, 1, 2).unready(0, 0, 1, 2)
	for id := range roller.NodeID(3) {
		sc.node(id).Stuck = roller.Known("Unschedulable")
	}
	sc.s.Quorum, sc.s.Topics = roller.Unknown[roller.Quorum]("nobody answers"), roller.Unknown[[]roller.Topic]("nobody answers")
	sc.after = func(n *roller.Node) { n.Ready, n.ReadyChanged = roller.Known(false), sc.s.At }
	for range 3 {
		sc.step()
	}
	sc.Expect(sc.restarts).To(Equal(ids(0, 1, 2)), "one look after another, and none waits for one that went before")
}

// testRollHandlesErrorWhenOpeningBrokerAdminClient and the like (docs/decisions/restart-order.md: a broker that can't be reached is
// restarted, but not against a check).
func TestASilentBroker(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2).current(0, 1, 2)
	sc.node(1).Answers, sc.node(1).Silent = roller.Known(false), noon
	sc.after = func(n *roller.Node) { n.Answers = roller.Known(true) }
	sc.Expect(sc.roll()).To(Equal(ids(1)))
	sc.Expect(sc.s.At.Sub(noon)).To(BeNumerically("~", sc.policy.Silence, 5*time.Second), "one question without an answer is no reason")

	sc = newScene(t).with(broker, 0, 1).current(0, 1).topics(topicOf("t", 1, ids(1, 9), ids(1)))
	sc.node(1).Answers, sc.node(1).Silent = roller.Known(false), noon.Add(-time.Hour)
	sc.Expect(sc.roll()).To(BeEmpty())
	sc.Expect(sc.blocked(1)).To(Equal([]roller.Rule{roller.RuleAvailability}))
	sc.s.Topics = roller.Unknown[[]roller.Topic]("timed out")
	sc.Expect(sc.roll()).To(BeEmpty(), "the other one answers, so the check can be made later")
	sc.node(0).Answers, sc.node(0).Silent = roller.Known(false), noon.Add(-time.Hour)
	sc.after = func(n *roller.Node) { sc.node(n.ID).Answers = roller.Known(true) }
	sc.Expect(sc.roll()).To(BeEmpty(), "that nobody answers is a fact about us: Kubernetes finds both ready")
	sc.unready(time.Hour, 1)
	d := sc.step()
	sc.Expect(d.Actions).To(HaveLen(1))
	sc.Expect(d.Actions[0].Forced).To(ContainSubstring("no broker answers"))

	sc = newScene(t).with(controller, 0, 1, 2).led(2).current(0, 1, 2)
	sc.node(1).Answers, sc.node(1).Silent = roller.Known(false), noon.Add(-time.Hour)
	sc.Expect(sc.roll()).To(BeEmpty(), "a controller that does not answer is no reason (checklist 23)")
}

// testBrokerInRunningState, testFailGettingBrokerState (checklist 17): the roller waits for an unready node, then considers it.
func TestAnUnreadyNodeIsWaitedFor(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2).unready(0, 1)
	sc.step()
	sc.Expect(sc.restarts).To(BeEmpty())
	sc.Expect(sc.blocked(1)).To(Equal([]roller.Rule{roller.RulePatience}))
	sc.Expect(sc.blocked(0)).To(Equal([]roller.Rule{roller.RuleLimit}), "it counts as away as long as it is waited for")
	sc.Expect(sc.roll()).To(Equal(ids(1, 0, 2)))

	sc = newScene(t).with(broker, 0, 1, 2).current(1).unready(0, 1)
	sc.Expect(sc.roll()).To(Equal(ids(0, 2)), "one that nothing can be done for stops nobody for ever")
	sc.Expect(sc.s.At.Sub(noon)).To(BeNumerically(">", sc.policy.Patience))
}

// testFailWhenPodIsReadyThrows: an unknown fact does not count as "no".
func TestWhatIsNotKnownIsLeftAlone(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2)
	sc.node(0).Instance = roller.Unknown[string]("cluster east is unreachable")
	sc.node(1).Ready = roller.Unknown[bool]("cluster east is unreachable")
	sc.Expect(sc.roll()).To(Equal(ids(2)))
	sc.Expect(sc.of(0).Blocks[0].Why).To(Equal("its pod is unknown: cluster east is unreachable"))
	sc.Expect(sc.last.Phase).To(Equal(roller.PhaseBlocked))

	sc = newScene(t).with(broker, 0)
	sc.s.Topics = roller.Unknown[[]roller.Topic]("timed out")
	sc.Expect(sc.roll()).To(BeEmpty())
	sc = newScene(t).with(controller, 0)
	sc.s.Quorum = roller.Unknown[roller.Quorum]("timed out")
	sc.Expect(sc.roll()).To(BeEmpty())
	sc = newScene(t).with(broker, 0, 1)
	sc.node(0).Revision = roller.Unknown[roller.Revision]("no such StrimziPodSet")
	sc.Expect(sc.roll()).To(Equal(ids(1)))
}

// A missing pod is no success; its owner creates a new one.
func TestAMissingPod(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1)
	sc.node(0).Instance = roller.Known("")
	sc.Expect(sc.roll()).To(Equal(ids(1)))
	sc.Expect(sc.of(0).State).To(Equal(roller.StateMissing))
}

// A container that is killed again and again before it is ready does not renew the node's patience: the node has failed, and others are not
// restarted into the same.
func TestANodeThatIsKilledAgainAndAgainHasFailed(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2, 3, 4, 5)
	sc.policy.MaxUnavailable = 2
	sc.never(0)
	for range 240 {
		sc.step()
		sc.node(1).Ready = roller.Known(len(sc.restarts) < 2) // the second one is slow, so that the first one's patience ends meanwhile
	}
	for i := range 3600 {
		if i%240 == 0 { // by a liveness probe, or the kernel
			sc.node(0).ReadyChanged = sc.s.At
		}
		if i == 100 {
			sc.node(1).Ready, sc.node(1).ReadyChanged = roller.Known(true), sc.s.At
		}
		sc.step()
		if i > 100 {
			sc.Expect(sc.last.Phase).To(Equal(roller.PhaseFailed))
		}
	}
	sc.Expect(sc.restarts).To(Equal(ids(0, 1)))
	sc.Expect(sc.blocked(5)).To(ContainElement(roller.RuleHalt))
}
