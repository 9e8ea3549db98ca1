package roller_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
)

// restored returns the progress after a store wrote and read it.
func restored(t *testing.T, p roller.Progress) roller.Progress {
	data, err := json.Marshal(p)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var again roller.Progress
	NewWithT(t).Expect(json.Unmarshal(data, &again)).To(Succeed())
	return again
}

// A restarted roller continues.
func TestARollerThatCrashesContinues(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2)
	d := roller.Step(&sc.s, roller.Progress{}, sc.policy)
	sc.Expect(d.Actions).To(HaveLen(1))
	stored := restored(t, d.Progress)

	// It crashed before the deletion: for a while the outcome is unclear, then the node is restarted.
	again := roller.Step(&sc.s, stored, sc.policy)
	sc.Expect(again.Actions).To(BeEmpty())
	sc.Expect(again.Phase).To(Equal(roller.PhaseRolling))
	sc.s.At = sc.s.At.Add(time.Minute)
	again = roller.Step(&sc.s, stored, sc.policy)
	sc.Expect(again.Actions).To(HaveLen(1))
	sc.Expect(again.Actions[0].Node).To(BeEquivalentTo(0))

	// It crashed after the deletion: the pod is being replaced, and no other node is restarted.
	sc.node(0).Terminating = true
	sc.Expect(roller.Step(&sc.s, stored, sc.policy).Actions).To(BeEmpty())
	sc.node(0).Terminating, sc.node(0).Instance = false, roller.Known("")
	sc.Expect(roller.Step(&sc.s, stored, sc.policy).Actions).To(BeEmpty())
	sc.node(0).Instance, sc.node(0).Ready = roller.Known("second"), roller.Known(false)
	sc.Expect(roller.Step(&sc.s, stored, sc.policy).Actions).To(BeEmpty())
	sc.node(0).Ready = roller.Known(true)
	sc.current(0)
	next := roller.Step(&sc.s, stored, sc.policy)
	sc.Expect(next.Actions).To(HaveLen(1))
	sc.Expect(next.Actions[0].Node).To(BeEquivalentTo(1))

	// The API server rejected the deletion: the progress is undone, and the next step restarts the node.
	sc.Expect(roller.Step(&sc.s, next.Progress.NotCarriedOut(1), sc.policy).Actions).To(HaveLen(1))
}

// Random histories found this: a roller crashed after it had stored a restart; the node came back, and crashed later. It gets the time that
// any node gets.
func TestANodeThatCameBackUnseenAndCrashedIsWaitedForAnew(t *testing.T) {
	sc := newScene(t).with(controller, 1, 2, 3).led(1)
	stored := restored(t, roller.Step(&sc.s, roller.Progress{}, sc.policy).Progress)
	sc.Expect(stored.Restarts).To(HaveKey(roller.NodeID(2)))
	sc.s.At = sc.s.At.Add(6 * time.Minute)
	n := sc.node(2)
	n.Instance, n.Revision = roller.Known("second"), roller.Known(roller.Revision{Current: "new", Desired: "newer"})
	sc.unready(3*time.Second, 2)
	n.LastReady = n.ReadyChanged
	d := roller.Step(&sc.s, stored, sc.policy)
	sc.Expect(d.Actions).To(BeEmpty())
	sc.Expect(d.Nodes[0].State).To(Equal(roller.StateRestarting))
	sc.Expect(d.Nodes[0].Detail).To(Equal("the roller waits for it until 12:10:57 UTC"))
	sc.s.At = sc.s.At.Add(sc.policy.Patience)
	d = roller.Step(&sc.s, stored, sc.policy)
	sc.Expect(d.Actions).To(ConsistOf(HaveField("Node", roller.NodeID(2))))
}

// No node is restarted twice for the same reason.
func TestAReasonThatARestartDoesNotDoAwayWith(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1)
	sc.after = func(n *roller.Node) { n.Revision = roller.Known(roller.Revision{Current: "old", Desired: "new"}) }
	sc.Expect(sc.roll()).To(Equal(ids(0, 1)))
	sc.Expect(sc.of(0).Repeated).To(HaveLen(1))
	sc.node(0).Revision = roller.Known(roller.Revision{Current: "old", Desired: "newer"})
	sc.after = func(n *roller.Node) { n.Revision = roller.Known(roller.Revision{Current: "old", Desired: "newer"}) }
	sc.Expect(sc.roll()).To(Equal(ids(0, 1, 0)), "another revision is another reason")
	sc.progress = restored(t, sc.progress)
	sc.Expect(sc.roll()).To(HaveLen(3))
}

// A reason that can't be observed for a while is not forgotten, and is not a new one when it is observed again.
func TestAReasonThatCannotBeSeenIsNotForgotten(t *testing.T) {
	sc := newScene(t).with(broker, 0)
	stays := roller.Known(roller.Revision{Current: "old", Desired: "new"})
	sc.after = func(n *roller.Node) { n.Revision = stays }
	sc.Expect(sc.roll()).To(Equal(ids(0)))
	sc.node(0).Revision = roller.Unknown[roller.Revision]("timed out")
	sc.Expect(sc.roll()).To(HaveLen(1))
	sc.node(0).Revision = stays
	sc.Expect(sc.roll()).To(HaveLen(1))
}

// The roller waits as long as the node makes progress, not for a number of attempts.
func TestARestartedBrokerIsWaitedForAsLongAsItCatchesUp(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).beside(7, 8)
	lag := func(behind int) {
		var topics []roller.Topic
		for i := range 100 {
			isr := ids(0, 7, 8)
			if i < behind {
				isr = ids(7, 8)
			}
			topics = append(topics, topicOf(fmt.Sprint("t", i), 1, ids(0, 7, 8), isr))
		}
		sc.topics(topics...)
	}
	lag(0)
	sc.after = func(*roller.Node) { lag(100) }
	sc.step()
	for behind := 100; behind > 0; behind-- { // one in four minutes: 400 minutes in all
		lag(behind)
		for range 240 {
			sc.step()
			sc.Expect(sc.restarts).To(Equal(ids(0)))
		}
	}
	sc.Expect(sc.of(0).State).To(Equal(roller.StateCatchingUp))
	sc.Expect(sc.of(0).Detail).To(MatchRegexp(`1 replica left, 0.00\d+/s, about 4m\d+s left`))
	sc.after = nil
	lag(0)
	sc.Expect(sc.roll()).To(Equal(ids(0, 1)))
}

// The roller does not wait for a broker that makes no progress, but the broker's partitions still block other restarts.
func TestABrokerThatStallsIsNotWaitedFor(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2).beside(7).topics(topicOf("t", 2, ids(0, 1, 7), ids(0, 1, 7)))
	sc.after = func(n *roller.Node) {
		if n.ID == 0 {
			sc.topics(topicOf("t", 2, ids(0, 1, 7), ids(1, 7)))
		}
	}
	sc.Expect(sc.roll()).To(Equal(ids(0, 2)))
	sc.Expect(sc.of(0).State).To(Equal(roller.StateStalled))
	sc.Expect(sc.blocked(1)).To(Equal([]roller.Rule{roller.RuleAvailability}))
}

// The roller does not wait for replicas that were out of sync before the restart.
func TestReplicasThatWereBehindBefore(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).beside(7, 8).topics(topicOf("t", 1, ids(0, 7, 8), ids(7, 8)))
	sc.Expect(sc.roll()).To(Equal(ids(0, 1)))
	sc.Expect(sc.s.At.Sub(noon)).To(BeNumerically("<", time.Minute))
}

// A restarted controller is back when it is caught up in the quorum.
func TestARestartedControllerIsWaitedForInTheQuorum(t *testing.T) {
	sc := newScene(t).with(controller, 0, 1, 2, 3, 4).led(4)
	sc.after = func(n *roller.Node) {
		q, _ := sc.s.Quorum.Get()
		q.Voters = append([]roller.Voter(nil), q.Voters...)
		q.Voters[n.ID].LastCaughtUp = 1
		sc.s.Quorum = roller.Known(q)
	}
	for range 60 {
		sc.step()
	}
	sc.Expect(sc.restarts).To(Equal(ids(0)), "three others are caught up, but one goes at a time")
	sc.after = nil
	sc.led(4)
	sc.Expect(sc.roll()).To(Equal(ids(0, 1, 2, 3, 4)))
}

// Pause, resume, maintenance windows, pace.
func TestPauseWindowAndPace(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2)
	sc.policy.Settle = time.Minute
	sc.step()
	sc.policy.Paused = "paused by ann"
	sc.Expect(sc.roll()).To(Equal(ids(0)))
	sc.Expect(sc.blocked(1)).To(Equal([]roller.Rule{roller.RulePaused}))
	sc.policy.Paused, sc.policy.Closed = "", "the next window opens at 22:00 UTC"
	sc.Expect(sc.roll()).To(Equal(ids(0)))
	sc.Expect(sc.last.Phase).To(Equal(roller.PhaseWaiting))
	sc.policy.Closed = ""
	sc.step()
	sc.Expect(sc.restarts).To(Equal(ids(0, 1)))
	for range 50 {
		sc.step()
	}
	sc.Expect(sc.restarts).To(Equal(ids(0, 1)))
	sc.Expect(sc.blocked(2)).To(Equal([]roller.Rule{roller.RuleSettle}))
	sc.Expect(sc.roll()).To(Equal(ids(0, 1, 2)))
}

func TestRisksThatThePolicyForbids(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).topics(topicOf("single", 1, ids(0), ids(0)))
	sc.policy.Forbid = []roller.Risk{roller.RiskOffline}
	sc.Expect(sc.roll()).To(Equal(ids(1)))
	sc.Expect(sc.of(0).Blocks[0].Why).To(Equal("partition single-0 would be offline, which the policy forbids"))
}

// A reassignment may take hours to copy a replica to a broker that was restarted. The broker is back when the replicas are in sync that it
// had before.
func TestAReplicaThatIsAddedIsNotWaitedFor(t *testing.T) {
	for _, begun := range []bool{true, false} { // before the restart, or after it
		sc := newScene(t).with(broker, 0, 1).beside(7).current(1)
		orders, moved := topicOf("orders", 1, ids(0, 7), ids(0, 7)), topicOf("moved", 1, ids(7, 0), ids(7))
		moved.Partitions[0].Adding = ids(0)
		sc.topics(orders)
		if begun {
			sc.topics(orders, moved)
		}
		sc.step()
		sc.Expect(sc.restarts).To(Equal(ids(0)))
		sc.topics(orders, moved)
		sc.step()
		sc.Expect(sc.progress.Restarts).To(BeEmpty())
	}
}

// A replica that falls out of sync and comes back again and again is no progress: the node stalls, and the others go on by the rules of the
// data.
func TestReplicasThatComeAndGoAreNoProgress(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2, 3, 4, 5)
	replicas, others := ids(0, 1, 2), topicOf("c", 2, ids(3, 4, 5), ids(3, 4, 5))
	sc.topics(topicOf("a", 1, replicas, replicas), topicOf("b", 1, replicas, replicas), others)
	sc.step()
	sc.Expect(sc.restarts).To(Equal(ids(0)))
	for i := range 3600 {
		isr := replicas
		if i/120%2 == 0 {
			isr = ids(1, 2)
		}
		sc.topics(topicOf("a", 1, replicas, ids(1, 2)), topicOf("b", 1, replicas, isr), others) // the disk of node 0's replica of a failed
		sc.step()
	}
	sc.Expect(sc.of(0).State).To(Equal(roller.StateStalled))
	sc.Expect(sc.restarts).To(ConsistOf(ids(0, 1, 2, 3, 4, 5)))
}
