package roller_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// Rules of the checklist (docs/roller/checklist.md) that have no test elsewhere.

// Checklist 9: a node that is not ready is not restarted for that alone.
func TestThatANodeIsNotReadyIsNoReason(t *testing.T) {
	for _, roles := range []roller.Roles{broker, controller, combined} {
		sc := newScene(t).with(roles, 0, 1, 2).current(0, 1, 2).unready(time.Hour, 1)
		sc.led(0)
		sc.Expect(sc.roll()).To(BeEmpty())
		sc.Expect(sc.of(1).Need).To(Equal(roller.NeedNothing))
		sc.Expect(sc.last.Phase).To(Equal(roller.PhaseWaiting), "and nobody says that all is well")
	}
}

// Checklist 10: a change that only a restart applies restarts a controller and a combined node, as it does a broker.
func TestAChangedConfigurationRestartsANodeOfAnyRole(t *testing.T) {
	for _, roles := range []roller.Roles{broker, controller, combined} {
		sc := newScene(t).with(roles, 0, 1, 2).current(0, 1, 2)
		sc.led(0)
		sc.node(1).Config = roller.Known(brokerconfig.Config{
			Desired: map[string]string{"metadata.log.dir": "/b", "log.dirs": "/b"},
			Live: map[string]brokerconfig.Entry{
				"metadata.log.dir": {Value: "/a", ReadOnly: true, Source: brokerconfig.SourceStatic},
				"log.dirs":         {Value: "/a", ReadOnly: true, Source: brokerconfig.SourceStatic},
			},
		})
		sc.after = func(n *roller.Node) { n.Config = roller.Unknown[brokerconfig.Config]("it starts") }
		d := sc.step()
		sc.Expect(d.Actions).To(HaveLen(1))
		sc.Expect(d.Actions[0].Node).To(BeEquivalentTo(1))
		sc.Expect(d.Actions[0].Reasons).To(ConsistOf(HaveField("Kind", roller.ConfigChangeRequiresRestart)), roles.String())
	}
}

// Checklist 11: the list of reasons is open. A caller may add another reason to the Snapshot, and the node is restarted for it once.
func TestAReasonThatNobodyThoughtOf(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).current(0, 1)
	sc.node(1).Requests = []roller.Reason{{Kind: "LicenceExpired", Mark: "2026"}}
	sc.Expect(sc.roll()).To(Equal(ids(1)))
	sc.Expect(sc.roll()).To(Equal(ids(1)), "once")
}

// Checklist 16: a node that is stuck and outdated is restarted without any fact from Kafka, because no node may be able to answer.
func TestAStuckNodeIsRestartedWithoutAWordFromKafka(t *testing.T) {
	for _, roles := range []roller.Roles{broker, controller, combined} {
		sc := newScene(t).with(roles, 0, 1, 2).current(0, 2).unready(0, 1)
		sc.node(1).Stuck = roller.Known("ImagePullBackOff")
		for id := range roller.NodeID(3) {
			sc.node(id).Answers, sc.node(id).Fenced = roller.Unknown[bool]("nobody asked"), roller.Unknown[bool]("nobody answers")
			sc.node(id).Config = roller.Unknown[brokerconfig.Config]("nobody answers")
		}
		sc.s.Quorum, sc.s.Topics = roller.Unknown[roller.Quorum]("nobody answers"), roller.Unknown[[]roller.Topic]("nobody answers")
		sc.step()
		sc.Expect(sc.restarts).To(Equal(ids(1)), roles.String())
	}
}

// Checklist 18: "stuck" takes precedence over "unreachable". A stuck node can't answer, and that is not reported as another reason.
func TestAStuckNodeIsNotCalledSilent(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).unready(time.Hour, 1)
	sc.node(1).Stuck, sc.node(1).Answers, sc.node(1).Silent = roller.Known("CrashLoopBackOff"), roller.Known(false), noon.Add(-time.Minute)
	d := sc.step()
	sc.Expect(d.Actions).To(HaveLen(1))
	sc.Expect(roller.Reasons(d.Actions[0].Reasons)).To(Equal("PodHasOldRevision, PodStuck (CrashLoopBackOff)"))
}

// Checklist 23: a controller that does not respond is not restarted for that, however long it lasts (Strimzi's roller forces a restart).
func TestAControllerThatDoesNotAnswerIsNotRestartedForThat(t *testing.T) {
	sc := newScene(t).with(controller, 0, 1, 2).led(2).current(0, 1, 2)
	sc.node(1).Answers, sc.node(1).Silent = roller.Known(false), noon.Add(-24*time.Hour)
	sc.Expect(sc.roll()).To(BeEmpty())
	sc.Expect(sc.of(1).Need).To(Equal(roller.NeedNothing))
}

// Checklist 26: a combined node has to pass both the quorum check and the check of the data, even if it is not ready.
func TestACombinedNodePassesBothChecks(t *testing.T) {
	for name, ready := range map[string]bool{"ready": true, "not ready": false} {
		t.Run(name, func(t *testing.T) {
			make := func() *scene {
				sc := newScene(t).with(combined, 0, 1, 2).led(2).current(0, 2).beside(9)
				if !ready {
					sc.unready(time.Hour, 1)
				}
				return sc
			}
			sc := make()
			q, _ := sc.s.Quorum.Get()
			q.Voters[0].LastCaughtUp = 1
			sc.Expect(sc.roll()).To(BeEmpty())
			sc.Expect(sc.blocked(1)).To(Equal([]roller.Rule{roller.RuleQuorum}))

			sc = make().topics(topicOf("t", 1, ids(1, 9), ids(1)))
			sc.Expect(sc.roll()).To(BeEmpty())
			sc.Expect(sc.blocked(1)).To(Equal([]roller.Rule{roller.RuleAvailability}))

			sc = make().topics(topicOf("t", 1, ids(1, 9), ids(1, 9)))
			sc.Expect(sc.roll()).To(Equal(ids(1)))
		})
	}
}

// Checklist 34, the quorum rule: the timeout is the desired one of the node; two seconds if its configuration does not set it, or is
// unknown.
func TestTheTimeoutOfTheQuorumCheck(t *testing.T) {
	for name, c := range map[string]struct {
		desired map[string]string
		live    string
		lag     int64
		goes    bool
	}{
		"desired":                       {map[string]string{"controller.quorum.fetch.timeout.ms": "5000"}, "2000", 4000, true},
		"desired, and behind":           {map[string]string{"controller.quorum.fetch.timeout.ms": "5000"}, "9000", 5000, false},
		"none desired":                  {nil, "9000", 1999, true},
		"none desired, and behind":      {nil, "9000", 2000, false},
		"no number desired, and behind": {map[string]string{"controller.quorum.fetch.timeout.ms": "${env:SOON}"}, "9000", 2000, false},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t).with(controller, 0, 1, 2).led(0).current(0, 2)
			q, _ := sc.s.Quorum.Get()
			q.Voters[2].LastCaughtUp -= c.lag
			sc.node(1).Config = roller.Known(brokerconfig.Config{Desired: c.desired, Live: map[string]brokerconfig.Entry{
				"controller.quorum.fetch.timeout.ms": {Value: c.live, Source: brokerconfig.SourceUnknown},
			}})
			if c.goes {
				sc.Expect(sc.step().Actions).To(HaveLen(1))
			} else {
				sc.Expect(sc.step().Actions).To(BeEmpty())
				sc.Expect(sc.blocked(1)).To(Equal([]roller.Rule{roller.RuleQuorum}))
			}
		})
	}
}

// Checklist 43: the quorum check precedes a restart. A change at runtime does not wait for it (Strimzi's does).
func TestAConfigurationIsChangedWithoutAQuorumCheck(t *testing.T) {
	sc := newScene(t).with(combined, 0, 1, 2).led(0).current(0, 1, 2)
	q, _ := sc.s.Quorum.Get()
	q.Voters[2].LastCaughtUp = 1
	configured(sc.node(1), false, "8", "9")
	sc.step()
	sc.Expect(sc.altered).To(HaveLen(1))
}

// Checklist 44: all times of voters are by the leader's clock. The roller's own clock makes no difference.
func TestTheQuorumCheckKnowsNoClockOfOurs(t *testing.T) {
	for _, skew := range []time.Duration{-100 * 365 * 24 * time.Hour, 0, 100 * 365 * 24 * time.Hour} {
		sc := newScene(t).with(controller, 0, 1, 2).led(0).current(0, 2)
		sc.s.At = sc.s.At.Add(skew)
		sc.Expect(sc.step().Actions).To(HaveLen(1), skew.String())
		sc = newScene(t).with(controller, 0, 1, 2).led(0).current(0, 2)
		sc.s.At = sc.s.At.Add(skew)
		q, _ := sc.s.Quorum.Get()
		q.Voters[2].LastCaughtUp = 1
		sc.Expect(sc.step().Actions).To(BeEmpty(), skew.String())
	}
}
