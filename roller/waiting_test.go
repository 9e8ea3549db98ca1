package roller_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
)

// slowly makes each restart take a while, during which the node is not ready.
func (sc *scene) slowly(takes time.Duration) *scene {
	back := map[roller.NodeID]time.Time{}
	sc.after = func(n *roller.Node) {
		n.Ready, back[n.ID] = roller.Known(false), sc.s.At.Add(takes)
	}
	sc.before = func() {
		for id, at := range back {
			if !sc.s.At.Before(at) {
				sc.node(id).Ready = roller.Known(true)
			}
		}
	}
	return sc
}

// A controller that waits in the queue is able to be restarted: with many controllers, none is given up before its turn
// (docs/decisions/restart-order.md), so the order stays.
func TestAControllerIsNotGivenUpInTheQueue(t *testing.T) {
	for _, roles := range []roller.Roles{controller, combined} {
		sc := newScene(t).with(roles, 3, 4, 5, 6, 7).with(broker, 0, 1).led(3).slowly(3 * time.Minute)
		sc.policy.MaxUnavailable = 2
		sc.Expect(sc.roll()).To(Equal(ids(4, 5, 6, 7, 3, 0, 1)))
		sc.Expect(sc.s.At.Sub(noon)).To(BeNumerically(">", 18*time.Minute), "brokers wait until the last controller is back")
	}
}

// The roller waits for a controller that is restarted after it was given up.
func TestAControllerThatGoesAfterAllIsWaitedFor(t *testing.T) {
	sc := newScene(t).with(controller, 3, 4).with(broker, 0, 1).led(4).current(0, 1, 3).slowly(time.Minute)
	healthy := sc.s.Quorum
	sc.s.Quorum = roller.Unknown[roller.Quorum]("timed out")
	for range 400 {
		sc.step()
	}
	sc.s.Quorum = healthy
	sc.node(0).Revision = roller.Known(roller.Revision{Current: "old", Desired: "new"})
	sc.step()
	sc.Expect(sc.restarts).To(Equal(ids(4)))
	sc.Expect(sc.roll()).To(Equal(ids(4, 0)))
}

// A restarted node without a pod is not restarted again, even if a restart is requested meanwhile.
func TestANodeIsNotRestartedWhileItHasNoPod(t *testing.T) {
	sc := newScene(t).with(broker, 0).with(controller, 1).led(1)
	sc.after = func(n *roller.Node) { n.Instance, n.Ready = roller.Known(""), roller.Known(false) }
	sc.step()
	sc.Expect(sc.restarts).To(Equal(ids(1)))
	sc.node(1).Requests = []roller.Reason{{Kind: roller.ManualRollingUpdate, Mark: "now"}}
	for range 30 {
		sc.step()
		sc.Expect(sc.restarts).To(Equal(ids(1)))
	}
}

// Controllers that stalled after their restart count again when they are restarted again.
func TestStalledControllersGoOneAtATime(t *testing.T) {
	sc := newScene(t).with(controller, 0, 1, 2, 3, 4).led(4).current(1, 3)
	behind := func(n *roller.Node) {
		q, _ := sc.s.Quorum.Get()
		q.Voters = append([]roller.Voter(nil), q.Voters...)
		q.Voters[n.ID].LastCaughtUp = 1
		sc.s.Quorum = roller.Known(q)
	}
	sc.after = behind
	for range 400 {
		sc.step()
	}
	sc.Expect(sc.restarts).To(Equal(ids(0, 2)), "0 stalled, and three others were caught up without 2")
	sc.node(0).Requests = []roller.Reason{{Kind: roller.ManualRollingUpdate, Mark: "now"}}
	sc.node(1).Requests = sc.node(0).Requests
	sc.led(4)
	q, _ := sc.s.Quorum.Get()
	q.Voters[0].LastCaughtUp = 1
	for range 30 {
		sc.Expect(len(sc.step().Actions)).To(BeNumerically("<=", 1))
	}
}

// The same, if a controller that is restarting blocks the others by its replicas in sync.
func TestACombinedNodeIsNotGivenUpBecauseOfAnother(t *testing.T) {
	sc := newScene(t).with(combined, 3, 4, 5, 6).led(3).slowly(4 * time.Minute)
	sc.policy.MaxUnavailable = 2
	before := sc.before
	sc.before = func() {
		before()
		var in []roller.NodeID
		for _, id := range ids(3, 4, 5, 6) {
			if sc.node(id).Ready.Or(false) {
				in = append(in, id)
			}
		}
		sc.topics(topicOf("t", 3, ids(3, 4, 5, 6), in))
	}
	sc.Expect(sc.roll()).To(Equal(ids(4, 5, 6, 3)))
}

// A log recovery ends by itself, however long it takes: the roll continues afterwards, and does not fail.
func TestALogRecoveryIsWaitedFor(t *testing.T) {
	sc := newScene(t).with(broker, 1, 2, 3)
	ids := []roller.NodeID{1, 2, 3}
	sc.topics(topicOf("orders", 2, ids, ids)).unready(time.Hour, 2)
	sc.node(2).Recovery = roller.Known(&roller.Recovery{RemainingLogs: -1, RemainingSegments: -1})
	sc.Expect(sc.step().Actions).To(BeEmpty())
	sc.Expect(sc.last.Phase).To(Equal(roller.PhaseWaiting))
	sc.Expect(sc.blocked(2)).To(ConsistOf(roller.RuleRecovery))
	sc.Expect(sc.blocked(1)).To(ConsistOf(roller.RuleAvailability), "as long as the other one recovers")
	sc.node(2).Ready, sc.node(2).Recovery = roller.Known(true), roller.Known[*roller.Recovery](nil)
	sc.Expect(sc.roll()).To(Equal([]roller.NodeID{1, 2, 3}))
}

// A broker with many logs needs longer than the patience to load them, also after an orderly stop. It is not restarted for that: it would
// begin anew.
func TestABrokerThatLoadsManyLogsIsWaitedFor(t *testing.T) {
	sc := newScene(t).with(broker, 1, 2)
	ids := []roller.NodeID{1, 2}
	sc.topics(topicOf("orders", 1, ids, ids))
	sc.after = func(n *roller.Node) {
		n.Ready, n.Answers, n.Silent = roller.Known(false), roller.Known(false), sc.s.At
		n.Recovery = roller.Known(&roller.Recovery{RemainingLogs: -1, RemainingSegments: -1, Loading: true})
	}
	sc.step()
	sc.Expect(sc.restarts).To(Equal(ids[:1]))
	for range 3600 {
		sc.step()
	}
	sc.Expect(sc.restarts).To(Equal(ids[:1]))
	sc.Expect(sc.of(1).State).To(Equal(roller.StateRecovering))
	sc.Expect(sc.of(1).Detail).To(Equal("it is loading its logs"))
	n := sc.node(1)
	n.Ready, n.Answers, n.Recovery, sc.after = roller.Known(true), roller.Known(true), roller.Known[*roller.Recovery](nil), nil
	sc.Expect(sc.roll()).To(Equal(ids))
}
