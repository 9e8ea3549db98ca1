package roller_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// configured gives a node a configuration in which num.io.threads differs.
func configured(n *roller.Node, readOnly bool, live, desired string) {
	n.Config = roller.Known(brokerconfig.Config{
		Desired: map[string]string{"num.io.threads": desired},
		Live:    map[string]brokerconfig.Entry{"num.io.threads": {Value: live, ReadOnly: readOnly, Source: brokerconfig.SourceStatic}},
	})
}

// refusal returns Kafka's rejection of a value of num.io.threads.
func refusal(to, why string) brokerconfig.Refusal {
	return brokerconfig.Refusal{Key: "num.io.threads", To: &to, Node: brokerconfig.EveryBroker, Why: why}
}

// No node starts with an illegal value. So the value is neither set at runtime nor applied by a restart, and the node is not restarted for
// other reasons.
func TestAnIllegalValue(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2).current(0, 1)
	configured(sc.node(0), false, "8", "-3")
	configured(sc.node(1), true, "8", "many")
	configured(sc.node(2), false, "8", "0")
	sc.Expect(sc.roll()).To(BeEmpty())
	sc.Expect(sc.altered).To(BeEmpty())
	sc.Expect(sc.last.Phase).To(Equal(roller.PhaseBlocked))
	for id, why := range map[roller.NodeID]string{
		0: "num.io.threads=-3 is illegal: it has value -3 which less than the minimum value 1; correct it",
		1: "num.io.threads=many is illegal: it has value 'many' which is not an int; correct it",
		2: "it would not start with its new configuration: num.io.threads=0 is illegal: it has value 0 which less than the minimum value 1; " +
			"correct it",
	} {
		sc.Expect(sc.of(id).Blocks).To(ConsistOf(roller.Block{Rule: roller.RuleConfig, Why: why}))
	}
	configured(sc.node(0), false, "8", "8")
	configured(sc.node(1), false, "8", "8")
	configured(sc.node(2), false, "8", "8")
	sc.Expect(sc.roll()).To(Equal(ids(2)), "once it is corrected")
	sc.Expect(sc.last.Phase).To(Equal(roller.PhaseDone))
}

// A rejected value prevents neither the changes of other keys nor those of other nodes, whatever their roles.
func TestARejectedValueHoldsUpNothingElse(t *testing.T) {
	sc := newScene(t).with(combined, 0, 1, 2).led(0).with(broker, 3).current(1, 2)
	for id := range roller.NodeID(4) {
		sc.node(id).Config = roller.Known(brokerconfig.Config{
			Desired: map[string]string{"num.io.threads": map[bool]string{true: "-3", false: "8"}[id < 3], "max.connections": "5"},
			Live: map[string]brokerconfig.Entry{
				"num.io.threads":  {Value: "8", Source: brokerconfig.SourceStatic},
				"max.connections": {Value: "4", Source: brokerconfig.SourceStatic},
			},
		})
	}
	sc.Expect(sc.step().Actions).To(ConsistOf(
		And(HaveField("Kind", roller.ActionReconfigure), HaveField("Changes.Global", ConsistOf(HaveField("Key", "max.connections")))),
		And(HaveField("Kind", roller.ActionRestart), HaveField("Node", roller.NodeID(3))),
	))
}

// testSuccessfulAlteringConfigNotRoll, testDynamicUpdateThrowsForceableProblemOnFailure: a legal value that a running node rejects is
// applied by a restart.
func TestALegalValueThatIsRefusedWhileTheNodeRuns(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2).current(0, 1, 2)
	for id := range roller.NodeID(2) {
		configured(sc.node(id), false, "8", "100")
	}
	configured(sc.node(2), false, "100", "100")
	sc.after = func(n *roller.Node) { configured(n, false, "100", "100") }
	d := sc.step()
	sc.Expect(d.Actions).To(HaveLen(1))
	sc.Expect(d.Actions[0].Kind).To(Equal(roller.ActionReconfigure))
	sc.progress = restored(t, sc.progress.Refused(refusal("100", "InvalidRequestException: not greater than double")))
	sc.Expect(sc.roll()).To(Equal(ids(0, 1)), "and 2 has nothing to do with it")
	sc.Expect(sc.altered).To(HaveLen(1), "nobody asks again")
	sc.Expect(sc.last.Phase).To(Equal(roller.PhaseDone))
	sc.Expect(sc.progress.Refusals).To(BeEmpty())
	sc.Expect(sc.progress.Alterations).To(BeEmpty())
}

// A restart does not bypass a policy.
func TestAValueThatAPolicyForbids(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).current(0, 1)
	configured(sc.node(0), false, "8", "12")
	configured(sc.node(1), false, "12", "12")
	sc.step()
	final := refusal("12", "PolicyViolationException: no")
	final.Final = true
	sc.progress = restored(t, sc.progress.Refused(final))
	sc.Expect(sc.roll()).To(BeEmpty())
	sc.Expect(sc.altered).To(HaveLen(1))
	sc.Expect(sc.of(0).Blocks).To(ConsistOf(roller.Block{
		Rule: roller.RuleConfig, Why: "Kafka rejects num.io.threads=12: PolicyViolationException: no; correct it, or make Kafka accept it",
	}))
	configured(sc.node(0), false, "8", "9")
	configured(sc.node(1), false, "12", "9")
	sc.step()
	sc.Expect(sc.altered).To(HaveLen(2), "something else is wanted")
	sc.Expect(sc.progress.Refusals).To(BeEmpty())
}

// The stored value would override the file. The roller first changes it through the controllers, which do not reject it, and then restarts
// the node.
func TestAStoredValueThatIsRefused(t *testing.T) {
	sc := newScene(t).with(broker, 0).current(0)
	stored := func(value string) {
		synonyms := []brokerconfig.Synonym{
			{Key: "num.io.threads", Value: value, Source: brokerconfig.SourceDynamicGlobal},
			{Key: "num.io.threads", Value: "8", Source: brokerconfig.SourceStatic},
		}
		sc.node(0).Config = roller.Known(brokerconfig.Config{
			Desired: map[string]string{"num.io.threads": "100"},
			Live:    map[string]brokerconfig.Entry{"num.io.threads": {Value: "16", Source: brokerconfig.SourceDynamicGlobal, Synonyms: synonyms}},
		})
	}
	stored("16")
	sc.progress = sc.progress.Refused(refusal("100", "not greater than double"))
	d := sc.step()
	sc.Expect(d.Actions).To(ConsistOf(HaveField("Changes.StoredGlobal", ConsistOf(HaveField("To", HaveValue(Equal("100")))))))
	stored("100")
	sc.after = func(n *roller.Node) { configured(n, false, "100", "100") }
	sc.Expect(sc.roll()).To(Equal(ids(0)))
}

// A change that has to wait for another key is requested three times, because the other key may block it forever. Then the value is stored
// through the controllers, and only nodes that do not apply it at runtime are restarted.
func TestAKeyThatWaitsForAnotherOne(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).current(0, 1)
	configured(sc.node(0), false, "8", "100")
	configured(sc.node(1), false, "8", "100")
	waits := refusal("100", "InvalidRequestException: it failed for background.threads=3")
	waits.Waits = 1
	for range 3 {
		d := sc.step()
		sc.Expect(d.Actions).To(ConsistOf(And(HaveField("Kind", roller.ActionReconfigure), HaveField("Changes.Global", HaveLen(1)))))
		sc.progress = restored(t, sc.progress.Refused(waits).Refused(waits)) // the second refusal, at the same time, does not count
		sc.s.At = sc.s.At.Add(time.Minute)
	}
	d := sc.step()
	sc.Expect(d.Actions).To(ConsistOf(HaveField("Changes", And(HaveField("Global", BeEmpty()), HaveField("StoredGlobal", HaveLen(1))))))
	stored := func(live string) roller.Fact[brokerconfig.Config] {
		synonyms := []brokerconfig.Synonym{
			{Key: "num.io.threads", Value: "100", Source: brokerconfig.SourceDynamicGlobal},
			{Key: "num.io.threads", Value: "8", Source: brokerconfig.SourceStatic},
		}
		return roller.Known(brokerconfig.Config{
			Desired: map[string]string{"num.io.threads": "100"},
			Live:    map[string]brokerconfig.Entry{"num.io.threads": {Value: live, Source: brokerconfig.SourceDynamicGlobal, Synonyms: synonyms}},
		})
	}
	sc.node(0).Config, sc.node(1).Config = stored("8"), stored("100")
	sc.after = func(n *roller.Node) { n.Config = stored("100") }
	sc.Expect(sc.roll()).To(Equal(ids(0)), "the other one took it up")
	sc.Expect(sc.last.Phase).To(Equal(roller.PhaseDone))
	sc.Expect(sc.progress.Refusals).To(BeEmpty())
}

// Strimzi issue 7391: a value that Kafka accepts but does not report is not set forever. A broker that can't apply one value reports none
// of them: it is restarted once.
func TestAConfigurationThatIsNotTakenUp(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).current(0, 1)
	configured(sc.node(0), false, "9", "9")
	configured(sc.node(1), false, "4", "9")
	sc.after = func(*roller.Node) {}
	sc.Expect(sc.roll()).To(Equal(ids(1)))
	sc.Expect(sc.altered).To(HaveLen(3))
	sc.Expect(sc.of(1).Repeated).To(HaveLen(1), "it is told")
}

// A change at runtime needs no check of the data. testRollHandlesErrorWhenGettingBrokerConfig: an unknown configuration is no reason.
func TestAConfigurationIsChangedWhateverIsInSync(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).current(0, 1).topics(topicOf("t", 2, ids(0, 1), nil))
	configured(sc.node(0), false, "8", "9")
	sc.node(1).Config = roller.Unknown[brokerconfig.Config]("DescribeConfigs timed out")
	sc.step()
	sc.Expect(sc.altered).To(HaveLen(1))
	sc.Expect(sc.restarts).To(BeEmpty())
}

func TestAConfigurationThatNeedsARestart(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).current(0, 1)
	configured(sc.node(0), true, "8", "9")
	sc.after = func(n *roller.Node) { configured(n, true, "9", "9") }
	sc.Expect(sc.roll()).To(Equal(ids(0)))
	configured(sc.node(0), true, "9", "10")
	sc.policy.NoReconfiguration = true
	sc.Expect(sc.roll()).To(Equal(ids(0)))
}

// A node that reports a different value after its restart applied another value that was desired meanwhile, and is restarted once more. A
// node that reports a different value after each restart is not restarted forever.
func TestAValueThatIsAnotherOneAfterEachRestart(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).current(0, 1)
	configured(sc.node(0), true, "8", "9")
	restarts := 0
	sc.after = func(n *roller.Node) {
		restarts++
		configured(n, true, strconv.Itoa(10+restarts), "9")
	}
	sc.Expect(sc.roll()).To(Equal(ids(0, 0, 0)))
	sc.Expect(sc.of(0).Repeated).To(HaveLen(1), "it is told")
	sc.progress = restored(t, sc.progress)
	configured(sc.node(0), true, "8", "9")
	sc.Expect(sc.roll()).To(HaveLen(3))

	configured(sc.node(0), true, "8", "10")
	sc.after = func(n *roller.Node) { configured(n, true, "10", "10") }
	sc.Expect(sc.roll()).To(Equal(ids(0, 0, 0, 0)), "another wish is another reason")
}

// The journal of an earlier version records for which values a node was restarted, but not which ones it had.
func TestARestartForAConfigurationThatAnEarlierVersionRemembers(t *testing.T) {
	sc := newScene(t).with(broker, 0).current(0)
	configured(sc.node(0), true, "8", "9")
	sc.after = func(*roller.Node) {}
	sc.Expect(sc.roll()).To(Equal(ids(0)))
	for id, keys := range sc.progress.Restarted {
		for i := range keys {
			keys[i], _, _ = strings.Cut(keys[i], "<")
		}
		sc.progress.Restarted[id] = keys
	}
	sc.Expect(sc.roll()).To(Equal(ids(0)))
	sc.Expect(sc.of(0).Repeated).To(HaveLen(1))
}

// A change that Kafka rejected for one broker is not requested through another one.
func TestARefusalCountsForAllBrokers(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).current(0, 1)
	configured(sc.node(0), false, "8", "9")
	configured(sc.node(1), false, "8", "9")
	silent := sc.node(0).Config
	sc.node(0).Config = roller.Unknown[brokerconfig.Config]("timed out")
	sc.Expect(sc.step().Actions).To(HaveLen(1))
	sc.progress = sc.progress.Refused(refusal("9", "InvalidRequestException: no"))
	sc.node(0).Config = silent
	sc.Expect(sc.roll()).To(Equal(ids(0, 1)))
	sc.Expect(sc.altered).To(HaveLen(1))
}

// Changes that need no restart are not made through a node that the roller must leave alone, even if the node needs a restart as well.
func TestANodeThatIsLeftAloneIsNotReconfigured(t *testing.T) {
	for name, leave := range map[string]func(n *roller.Node){
		"on hold": func(n *roller.Node) { n.Hold = "ann paused the Kafka" },
		"foreign": func(n *roller.Node) { n.Foreign = "no StrimziPodSet lists its pod" },
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t).with(broker, 0, 1)
			for id := range roller.NodeID(2) {
				configured(sc.node(id), false, "8", "9")
				leave(sc.node(id))
			}
			sc.Expect(sc.roll()).To(BeEmpty())
			sc.Expect(sc.altered).To(BeEmpty())
			sc.Expect(roller.NewPlan(&sc.s, sc.progress, sc.policy).Reconfigurations).To(BeEmpty())

			sc.current(1).node(1).Hold, sc.node(1).Foreign = "", ""
			sc.step()
			sc.Expect(sc.altered).To(ConsistOf(HaveField("Node", roller.NodeID(1))), "the change for all brokers waits for no other one")
		})
	}
}

// A foreign broker is not chosen to carry a change for all brokers.
func TestAForeignBrokerHoldsUpNoChange(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).current(0, 1)
	sc.node(0).Foreign = "no StrimziPodSet lists its pod"
	for id := range roller.NodeID(2) {
		configured(sc.node(id), false, "8", "9")
	}
	sc.step()
	sc.Expect(sc.altered).To(ConsistOf(HaveField("Node", roller.NodeID(1))))
}
