package roller_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// lose makes all nodes reject all connections until they are restarted.
func (sc *scene) lose(why string) {
	for i := range sc.s.Nodes {
		n := &sc.s.Nodes[i]
		n.Failing, n.Answers, n.Silent = why, roller.Known(false), sc.s.At
		n.Config = roller.Unknown[brokerconfig.Config](why)
	}
	sc.s.Topics, sc.s.Quorum = roller.Unknown[[]roller.Topic](why), roller.Unknown[roller.Quorum](why)
	left := len(sc.s.Nodes)
	sc.after = func(n *roller.Node) {
		n.Failing, n.Answers, n.Silent, n.Config = "", roller.Known(true), time.Time{}, roller.Known(brokerconfig.Config{})
		if left--; left == 0 {
			sc.topics().led(3)
		}
	}
}

// All certificates have expired: no client can connect, and only restarts help. They begin after patience, controllers first, one at a
// time, and are reported as forced.
func TestExpiredCertificates(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).with(controller, 3, 4, 5).led(3)
	sc.lose("its certificate has expired")
	for range 299 {
		sc.Expect(sc.step().Actions).To(BeEmpty())
	}
	var gaps []time.Duration
	last := noon
	for range 3600 {
		for _, a := range sc.step().Actions {
			sc.Expect(a.Forced).To(ContainSubstring("its certificate has expired"))
			gaps, last = append(gaps, sc.s.At.Sub(last)), sc.s.At
		}
	}
	sc.Expect(sc.restarts).To(Equal(ids(3, 4, 5, 0, 1)))
	for _, gap := range gaps {
		sc.Expect(gap).To(BeNumerically(">=", sc.policy.Patience), "one at a time: nobody can tell whether the last one is back")
	}
	sc.Expect(sc.last.Phase).To(Equal(roller.PhaseDone))
}

// A timeout is no evidence: the roller itself may have lost its network.
func TestTimeoutsAreNoEvidence(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).with(controller, 3, 4, 5).led(3)
	sc.lose("")
	sc.Expect(sc.roll()).To(BeEmpty())
	for i := range sc.s.Nodes {
		sc.current(sc.s.Nodes[i].ID)
	}
	sc.Expect(sc.roll()).To(BeEmpty())
	sc.Expect(sc.last.Phase).NotTo(Equal(roller.PhaseDone))
}

// Everybody refuses the roller, and Kubernetes finds all ready: the brokers may not accept the roller's own certificate, or its listener is
// gone. Nobody knows what is in sync, and no broker that is up to date is restarted.
func TestThatAllRefuseTheRollerIsNoReason(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2).current(0, 1, 2)
	sc.lose("it refuses TLS: bad certificate")
	sc.Expect(sc.roll()).To(BeEmpty())
	sc.Expect(sc.of(0).Reasons).To(BeEmpty())
	sc.current(1, 2)
	sc.node(1).Revision = roller.Known(roller.Revision{Current: "old", Desired: "new"})
	for range 3600 {
		for _, a := range sc.step().Actions {
			sc.Expect(a.Forced).To(HavePrefix("it has been unable to serve clients since"), "an outdated one has its way out")
		}
	}
	sc.Expect(sc.restarts).To(Equal(ids(1)))
	sc.Expect(sc.s.At.Sub(noon)).To(BeNumerically(">=", sc.policy.Patience))
}

// What is between the roller and a broker refuses the roller, and Kafka says that the broker serves: the checks that can be made are made.
func TestABrokerThatRefusesOnlyTheRoller(t *testing.T) {
	served := topicOf("t", 2, ids(0, 1, 2), ids(0, 1))
	for name, c := range map[string]struct {
		change func(sc *scene, n *roller.Node)
		goes   bool
		rule   roller.Rule
	}{
		"it is in sync":                {func(*scene, *roller.Node) {}, false, roller.RuleAvailability},
		"nobody knows if it is fenced": {func(_ *scene, n *roller.Node) { n.Fenced = roller.Unknown[bool]("x") }, false, roller.RuleAvailability},
		"its topics are hidden": {func(sc *scene, n *roller.Node) {
			sc.topics()
			n.Hidden = "its topics are hidden"
		}, false, roller.RuleAvailability},
		"it is fenced": {func(_ *scene, n *roller.Node) { n.Fenced = roller.Known(true) }, true, ""},
		"it is not in sync": {func(sc *scene, n *roller.Node) {
			sc.topics(topicOf("t", 2, ids(0, 1, 2), ids(0, 2)))
		}, true, ""},
		"nobody knows what is in sync": {func(sc *scene, _ *roller.Node) {
			sc.s.Topics = roller.Unknown[[]roller.Topic]("timed out")
		}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t).with(broker, 0, 1, 2).current(0, 2).topics(served)
			n := sc.node(1)
			n.Failing, n.Answers, n.Silent = "it refuses connections", roller.Known(false), noon
			c.change(sc, n)
			for range 3600 {
				if sc.step(); len(sc.restarts) > 0 {
					break
				}
			}
			if c.goes {
				sc.Expect(sc.restarts).To(Equal(ids(1)))
				return
			}
			sc.Expect(sc.restarts).To(BeEmpty())
			sc.Expect(sc.blocked(1)).To(ContainElement(c.rule))
		})
	}
}

// A restart would not help a node that is up to date.
func TestAnExpiredCertificateThatARestartDoesNotReplace(t *testing.T) {
	sc := newScene(t).with(controller, 3, 4, 5).led(3).current(3, 4, 5)
	sc.lose("its certificate has expired")
	sc.Expect(sc.roll()).To(BeEmpty())
}

// The controllers run, but elect no leader.
func TestAQuorumThatFindsNoLeader(t *testing.T) {
	for _, roles := range []roller.Roles{controller, combined} {
		sc := newScene(t).with(roles, 3, 4, 5).with(broker, 0).led(-1)
		sc.after = func(*roller.Node) {
			if len(sc.restarts) == 2 {
				sc.led(3)
			}
		}
		for range 299 {
			sc.Expect(sc.step().Actions).To(BeEmpty())
			sc.Expect(sc.blocked(3)).To(ContainElement(roller.RuleQuorum))
		}
		for len(sc.restarts) < 2 {
			for _, a := range sc.step().Actions {
				sc.Expect(a.Forced).To(Equal("the controllers have had no leader since 12:00:00 UTC"))
			}
			sc.Expect(sc.s.At.Sub(noon)).To(BeNumerically("<", time.Hour))
		}
		sc.Expect(sc.roll()).To(ContainElements(ids(3, 4, 5, 0)))
		sc.Expect(sc.last.Phase).To(Equal(roller.PhaseDone))
	}
}

// Each election is a moment without a leader. Whoever can't read the quorum between two of them has not seen that there was none.
func TestTwoElectionsAreNoLostQuorum(t *testing.T) {
	sc := newScene(t).with(controller, 3, 4, 5).led(-1)
	sc.Expect(sc.step().Actions).To(BeEmpty())
	sc.s.Quorum = roller.Unknown[roller.Quorum]("the request timed out")
	for range 299 {
		sc.Expect(sc.step().Actions).To(BeEmpty())
	}
	sc.led(-1)
	began := sc.s.At
	for len(sc.restarts) == 0 && sc.s.At.Sub(began) < time.Hour {
		sc.step()
	}
	sc.Expect(sc.restarts).To(Equal(ids(3)))
	sc.Expect(sc.s.At.Sub(began)).To(BeNumerically(">=", sc.policy.Patience))
}

// A combined node whose pod somebody else replaced meanwhile is up to date. It can't become ready without a quorum, so it may only wait for
// the others.
func TestACombinedNodeThatWaitsForAQuorum(t *testing.T) {
	sc := newScene(t).with(combined, 3, 4).led(-1).current(3).unready(0, 3)
	waits := sc.node(3)
	waits.Answers, waits.Silent, waits.Config = roller.Known(false), noon, roller.Unknown[brokerconfig.Config]("it does not answer")
	waits.Fenced = roller.Unknown[bool]("there is no quorum")
	sc.after = func(*roller.Node) {
		sc.led(3)
		waits.Ready, waits.Answers, waits.Config = roller.Known(true), roller.Known(true), roller.Known(brokerconfig.Config{})
	}
	sc.Expect(sc.roll()).To(Equal(ids(4)))
	sc.Expect(sc.s.At.Sub(noon)).To(BeNumerically(">=", sc.policy.Patience))
}

// The same, but it is unknown whether the node recovers its logs. It gets the time that any node gets, and then does not block the others
// forever.
func TestACombinedNodeWhoseLogCantBeRead(t *testing.T) {
	sc := newScene(t).with(combined, 3, 4).led(-1).current(3).unready(0, 3)
	waits := sc.node(3)
	waits.Answers, waits.Silent, waits.Config = roller.Known(false), noon, roller.Unknown[brokerconfig.Config]("it does not answer")
	waits.Fenced, waits.Recovery = roller.Unknown[bool]("there is no quorum"), roller.Unknown[*roller.Recovery]("pods/log is forbidden")
	sc.after = func(*roller.Node) {
		sc.led(3)
		waits.Ready, waits.Answers, waits.Config = roller.Known(true), roller.Known(true), roller.Known(brokerconfig.Config{})
	}
	for len(sc.restarts) == 0 && sc.s.At.Sub(noon) < time.Hour {
		for _, a := range sc.step().Actions {
			sc.Expect(a.Forced).To(Equal("the controllers have had no leader since 12:00:00 UTC; " +
				"it is unknown whether node 3 waits for one or recovers its logs: pods/log is forbidden"))
		}
	}
	sc.Expect(sc.restarts).To(Equal(ids(4)))
	sc.Expect(sc.s.At.Sub(noon)).To(BeNumerically(">=", sc.policy.Patience))
}

// If most controllers are down, no leader can be elected, and restarts of the running ones would not help.
func TestAQuorumWithoutItsNodes(t *testing.T) {
	sc := newScene(t).with(controller, 3, 4, 5).led(-1).current(4, 5)
	for _, id := range ids(4, 5) {
		sc.node(id).Instance, sc.node(id).Ready = roller.Known(""), roller.Known(false)
	}
	sc.Expect(sc.roll()).To(BeEmpty())
	sc.Expect(sc.blocked(3)).To(ContainElement(roller.RuleQuorum))
}

// A Kubernetes cluster is lost while one of its nodes is restarted. Nobody knows what became of the node, and nobody can put it on hold:
// after the patience, the roller goes on elsewhere, as it does without that restart, and the node stays unknown until it is read again.
func TestAKubernetesClusterThatIsLostDuringARestart(t *testing.T) {
	sc := voters(t, 3).current(0, 1, 2, 3, 4, 5, 6, 7)
	sc.never(8)
	sc.step()
	sc.Expect(sc.restarts).To(Equal(ids(8)))
	const why = "cluster west can't be read"
	sc.s.Unread = why
	west := map[roller.NodeID]roller.Node{}
	for _, id := range ids(6, 7, 8) {
		n := sc.node(id)
		west[id] = *n
		*n = roller.Node{ID: id, Name: n.Name, Place: "west", Roles: controller, Instance: roller.Unknown[string](why),
			Ready: roller.Unknown[bool](why), Stuck: roller.Unknown[string](why), Answers: roller.Known(false)}
	}
	for _, id := range ids(0, 1, 2, 3, 4, 5) {
		sc.node(id).Revision = roller.Known(roller.Revision{Current: "old", Desired: "new"})
	}
	sc.behind(6, 7, 8)
	for range 299 {
		sc.Expect(sc.step().Phase).To(Equal(roller.PhaseRolling))
	}
	sc.Expect(sc.restarts).To(Equal(ids(8)), "it may only be a moment")
	sc.Expect(sc.roll()).To(Equal(ids(8, 1, 2, 3, 4, 5, 0)))
	sc.Expect(sc.last.Phase).To(Equal(roller.PhaseUnknown), "the roll ends, and says what is not known")
	sc.Expect(sc.of(8).Unknown[0]).To(Equal("whether it is back from its restart: " + why))
	sc.Expect(sc.of(8).Detail).To(ContainSubstring("it was restarted at 12:00:00 UTC, and the roller does not wait for it"))

	// It is read again: the node that is not ready counts as it did.
	sc.s.Unread = ""
	for id, n := range west {
		*sc.node(id) = n
	}
	sc.led(0)
	sc.node(1).Revision = roller.Known(roller.Revision{Current: "old", Desired: "newer"})
	sc.Expect(sc.step().Phase).To(Equal(roller.PhaseFailed))
	sc.Expect(sc.blocked(1)).To(ContainElement(roller.RuleHalt))
}

// A node that failed halts the others also while its Kubernetes cluster can't be read for a moment, now and then.
func TestANodeThatFailedAndIsNotReadForAMoment(t *testing.T) {
	sc := voters(t, 3).current(0, 1, 2, 3, 4, 5, 6, 7)
	sc.never(8)
	sc.step()
	sc.node(1).Revision = roller.Known(roller.Revision{Current: "old", Desired: "new"})
	failed := *sc.node(8)
	for range 1200 {
		*sc.node(8), sc.s.Unread = failed, ""
		if sc.s.At.Second() < 50 {
			sc.s.Unread = "cluster west can't be read"
			sc.node(8).Instance, sc.node(8).Ready = roller.Unknown[string]("x"), roller.Unknown[bool]("x")
		}
		sc.step()
	}
	for range 2 { // two looks with a long gap: in between, it may have been readable
		sc.s.At = sc.s.At.Add(10 * time.Minute)
		sc.Expect(sc.step().Actions).To(BeEmpty())
	}
	sc.Expect(sc.restarts).To(Equal(ids(8)))
}

// Brokers with expired certificates crash again and again. Each run of their container is short, and they hold up no controller.
func TestControllersDoNotWaitForBrokersThatCrash(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).with(controller, 3, 4, 5).led(3)
	sc.lose("its certificate has expired")
	sc.before = func() {
		for _, id := range ids(0, 1) {
			n := sc.node(id)
			n.Ready, n.CrashesSince, n.ReadyChanged = roller.Known(false), noon.Add(-time.Hour), sc.s.At.Add(-time.Second)
		}
	}
	for len(sc.restarts) == 0 {
		sc.step()
		sc.Expect(sc.s.At.Sub(noon)).To(BeNumerically("<", 2*sc.policy.Patience))
	}
	sc.Expect(sc.restarts).To(Equal(ids(3)))
	sc.before = func() {}
	n := sc.node(0)
	n.CrashesSince, n.ReadyChanged = time.Time{}, sc.s.At
	sc.step()
	sc.Expect(sc.blocked(4)).To(ContainElement(roller.RuleLimit), "this one may have been ready until now")
}

// A controller that crashes again and again may be caught up while its container runs, and counts as no voter for a restart.
func TestAControllerThatCrashesIsNoVoter(t *testing.T) {
	sc := newScene(t).with(controller, 3, 4, 5).led(5).current(3, 5)
	n := sc.node(3)
	n.Ready, n.CrashesSince, n.ReadyChanged = roller.Known(false), noon.Add(-time.Hour), noon.Add(-time.Second)
	sc.step()
	sc.Expect(sc.blocked(4)).To(ContainElement(roller.RuleQuorum))
	n.CrashesSince, n.Ready = time.Time{}, roller.Known(true)
	sc.step()
	sc.Expect(sc.restarts).To(Equal(ids(4)))
}
