package roller_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// Kafka notices a stopped broker with a delay. A broker that is seen to stop counts as down at once, whatever stopped it
// (docs/decisions/availability.md).
func TestWhatLeavesByItselfCountsAsGone(t *testing.T) {
	for name, leaves := range map[string]func(sc *scene){
		"its pod is being deleted":  func(sc *scene) { sc.node(1).Terminating = true },
		"its container has crashed": func(sc *scene) { sc.unready(0, 1) },
		"it recovers after a crash": func(sc *scene) {
			sc.unready(0, 1).node(1).Recovery = roller.Known(&roller.Recovery{RemainingLogs: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t).with(broker, 0, 1, 2).current(1).topics(topicOf("t", 1, ids(0, 1), ids(0, 1)))
			sc.policy.MaxUnavailable = 3
			leaves(sc)
			sc.step()
			sc.Expect(sc.restarts).NotTo(ContainElement(roller.NodeID(0)))
			sc.Expect(sc.blocked(0)).To(ContainElement(roller.RuleAvailability))
		})
	}
}

// A pod that somebody else deletes takes its voter down.
func TestAVoterThatLeavesByItselfIsWaitedFor(t *testing.T) {
	sc := newScene(t).with(controller, 0, 1, 2).led(2).current(1)
	sc.node(1).Terminating = true
	sc.step()
	sc.Expect(sc.restarts).To(BeEmpty())
	sc.Expect(sc.blocked(0)).To(ContainElement(roller.RuleLimit))
}

// A pod that never finishes terminating has to be cleaned up by a user, and does not block other nodes forever.
func TestAPodThatNeverGoesStopsNobody(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2).current(1).unready(time.Hour, 1)
	sc.node(1).Terminating = true
	sc.Expect(sc.roll()).To(Equal(ids(0, 2)))
}

// The machine of a broker is lost: nothing ends its pod, whose status stays as it was, also if Kubernetes deletes it. The others wait for
// its grace period and the patience, or until it is on hold, and then go as far as the data allows; and users are told.
func TestAPodOnALostMachineStopsNobody(t *testing.T) {
	for name, hold := range map[string]string{"no hold": "", "on hold": "its machine burnt down"} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t).with(broker, 0, 1, 2).topics(topicOf("t", 2, ids(0, 1, 2), ids(0, 2)), topicOf("u", 1, ids(0, 2), ids(0, 2)))
			n := sc.node(1)
			n.Terminating, n.Deleted, n.Overdue, n.Hold = true, noon, noon.Add(10*time.Minute), hold
			n.Answers, n.Silent = roller.Known(false), noon
			sc.Expect(sc.step().Actions).To(BeEmpty())
			sc.Expect(sc.blocked(0)).To(ContainElement(roller.RuleLimit), "it may use its grace period")
			sc.s.At = n.Overdue
			if hold == "" {
				sc.Expect(sc.step().Actions).To(BeEmpty())
				sc.s.At = n.Overdue.Add(sc.policy.Patience)
			}
			sc.step()
			sc.Expect(sc.blocked(0)).To(Equal([]roller.Rule{roller.RuleAvailability}), "it is not in sync")
			sc.Expect(sc.blocked(1)).To(ContainElement(roller.RuleUnknown), "users are told")
			sc.topics(topicOf("t", 1, ids(0, 1, 2), ids(0, 2)))
			sc.Expect(sc.roll()).To(Equal(ids(0, 2)))
			sc.Expect(sc.last.Phase).To(Equal(roller.PhaseBlocked))
		})
	}
}

// Users are told of a pod that does not end also if its node is up to date.
func TestUsersAreToldOfAPodThatLingers(t *testing.T) {
	sc := newScene(t).beside(0, 1)
	n := sc.node(1)
	n.Terminating, n.Deleted, n.Overdue = true, noon, noon.Add(time.Minute)
	sc.step()
	sc.Expect(sc.blocked(1)).To(BeEmpty())
	sc.s.At = n.Overdue.Add(sc.policy.Patience)
	sc.step()
	sc.Expect(sc.of(1).Blocks).To(ConsistOf(And(HaveField("Rule", roller.RuleUnknown),
		HaveField("Why", HavePrefix("its pod should have ended at 12:01:00 UTC: its machine may be lost")))))
	sc.Expect(sc.of(1).Need).To(Equal(roller.NeedNothing))
	sc.Expect(sc.last.Phase).To(Equal(roller.PhaseWaiting))
}

// The same, but it was the roller that deleted the pod, to restart the node.
func TestAPodOnALostMachineThatTheRollerDeletedStopsNobody(t *testing.T) {
	for name, reason := range map[string]roller.Reason{
		"its old revision":                         {Kind: roller.PodHasOldRevision, Mark: "new"},
		"a configuration that nobody can read now": {Kind: roller.ConfigChangeRequiresRestart, Mark: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t).with(broker, 0, 1, 2).topics(topicOf("t", 2, ids(0, 1, 2), ids(0, 2)), topicOf("u", 1, ids(0, 2), ids(0, 2)))
			n := sc.node(1)
			n.Terminating, n.Deleted, n.Overdue = true, noon, noon.Add(10*time.Minute)
			n.Answers, n.Silent = roller.Known(false), noon
			if reason.Kind == roller.ConfigChangeRequiresRestart {
				sc.current(1)
				n.Config = roller.Unknown[brokerconfig.Config]("it does not answer")
			}
			begun := roller.Restart{Instance: "first", At: noon, Roles: broker, Reasons: []roller.Reason{reason}}
			sc.progress.Restarts = map[roller.NodeID]roller.Restart{1: begun}
			sc.Expect(sc.step().Actions).To(BeEmpty())
			sc.s.At = n.Overdue.Add(sc.policy.Patience - time.Second)
			sc.Expect(sc.step().Actions).To(BeEmpty())
			sc.Expect(sc.blocked(0)).To(ContainElement(roller.RuleLimit), "it may use its grace period")
			sc.step()
			sc.Expect(sc.blocked(0)).To(Equal([]roller.Rule{roller.RuleAvailability}), "it is not in sync")
			sc.Expect(sc.last.Phase).To(Equal(roller.PhaseFailed), "users are told")
			sc.topics(topicOf("t", 1, ids(0, 1, 2), ids(0, 2)))
			sc.Expect(sc.roll()).To(Equal(ids(0, 2)))
			sc.Expect(sc.last.Phase).To(Equal(roller.PhaseFailed))
			sc.Expect(sc.of(1).State).To(Equal(roller.StateFailed))
		})
	}
}

// The new pod of a restarted node was ready, perhaps between two looks, and somebody else deleted it on a machine that is lost. That is no
// failure of the restart.
func TestARestartedNodeThatWasReadyAndLostItsMachineStopsNobody(t *testing.T) {
	for name, c := range map[string]struct {
		ready     bool
		lastReady time.Time
		want      []roller.NodeID
	}{
		"Kubernetes has noticed that it is unready": {lastReady: noon.Add(30 * time.Second), want: ids(0, 2)},
		"Kubernetes still shows it as ready":        {ready: true, want: ids(0, 2)},
		"it was never ready":                        {},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t).with(broker, 0, 1, 2).current(1).topics(topicOf("t", 1, ids(0, 1, 2), ids(0, 2)))
			n := sc.node(1)
			n.Instance, n.Created, n.Ready, n.LastReady = roller.Known("second"), noon.Add(10*time.Second), roller.Known(c.ready), c.lastReady
			n.Terminating, n.Deleted, n.Overdue = true, noon.Add(40*time.Second), noon.Add(time.Minute)
			n.Answers, n.Silent = roller.Known(false), noon.Add(40*time.Second)
			sc.progress.Restarts = map[roller.NodeID]roller.Restart{1: {Instance: "first", At: noon, Roles: broker,
				Reasons: []roller.Reason{{Kind: roller.PodUnresponsive}}}}
			sc.s.At = n.Overdue.Add(sc.policy.Patience)
			sc.Expect(sc.roll()).To(Equal(c.want))
			if c.want == nil {
				sc.Expect(sc.blocked(0)).To(ContainElement(roller.RuleHalt))
			}
		})
	}
}

// Without a quorum, no controller removes a crashed broker from the replicas in sync. A broker that is neither ready nor responding counts
// as down, however long.
func TestABrokerThatCrashedLongAgoCountsAsGone(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2).current(1).unready(time.Hour, 1).topics(topicOf("t", 2, ids(0, 1, 2), ids(0, 1, 2)))
	sc.node(1).Answers = roller.Known(false)
	sc.Expect(sc.roll()).To(BeEmpty())
	sc.Expect(sc.blocked(0)).To(ContainElement(roller.RuleAvailability))
	sc.node(1).Answers = roller.Known(true)
	sc.Expect(sc.roll()).To(Equal(ids(0, 2)), "its probe is broken, and it is in sync")
}
