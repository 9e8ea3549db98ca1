package roller_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
)

// ids returns node ids.
func ids(of ...roller.NodeID) []roller.NodeID { return of }

// topicOf returns a topic of one partition, led by the first replica in sync.
func topicOf(name string, minISR int, replicas, isr []roller.NodeID) roller.Topic {
	leader := roller.NodeID(-1)
	if len(isr) > 0 {
		leader = isr[0]
	}
	return roller.Topic{Name: name, MinISR: roller.Known(minISR),
		Partitions: []roller.Partition{{Leader: leader, Replicas: replicas, ISR: isr}}}
}

// The availability rule (docs/decisions/availability.md), with the behaviours of Strimzi's KafkaAvailabilityTest that it keeps, and the
// gaps that it closes.
func TestAvailability(t *testing.T) {
	moving := func(isr []roller.NodeID) roller.Topic {
		topic := topicOf("t", 2, ids(1, 2, 3, 4), isr)
		topic.Partitions[0].Removing, topic.Partitions[0].Adding = ids(1), ids(4)
		return topic
	}
	shrinking := topicOf("t", 2, ids(1, 2, 3, 4), ids(1, 2, 3))
	shrinking.Partitions[0].Removing = ids(1, 2)
	failed := func(isr, offline []roller.NodeID) roller.Topic {
		topic := topicOf("t", 2, ids(1, 2, 3), isr)
		topic.Partitions[0].Leader, topic.Partitions[0].Offline = -1, offline
		return topic
	}
	moved := failed(ids(2), ids(1)) // another replica leads
	moved.Partitions[0].Leader = 2
	stale := failed(ids(1), ids(1)) // it leads all the same
	stale.Partitions[0].Leader = 1
	unknownMin := topicOf("t", 0, ids(1, 2), ids(1, 2))
	unknownMin.MinISR = roller.Unknown[int]("DescribeConfigs timed out")
	for _, c := range []struct {
		name    string
		topic   roller.Topic
		id      roller.NodeID
		down    []roller.NodeID
		blocked string // empty: the restart is allowed
	}{
		{"below min ISR, a member", topicOf("t", 2, ids(1, 2, 3), ids(1)), 1, nil,
			"partition t-0 would have 0 replicas in sync without node 1, and needs 2 (3 replicas, min.insync.replicas 2)"},
		{"below min ISR, a replica that is not in sync: it may be the first to catch up",
			topicOf("t", 2, ids(1, 2, 3), ids(1)), 2, nil, "needs 2"},
		{"below min ISR, a broker without a replica", topicOf("t", 2, ids(1, 2, 3), ids(1)), 4, nil, ""},
		{"at min ISR, a member", topicOf("t", 2, ids(1, 2, 3), ids(1, 2)), 1, nil, "would have 1 replica in sync"},
		{"at min ISR, another replica", topicOf("t", 2, ids(1, 2, 3), ids(1, 2)), 3, nil, ""},
		{"above min ISR", topicOf("t", 2, ids(1, 2, 3), ids(1, 2, 3)), 1, nil, ""},
		{"min ISR equals replicas, all in sync", topicOf("t", 3, ids(1, 2, 3), ids(1, 2, 3)), 1, nil, ""},
		{"min ISR equals replicas, one is not in sync", topicOf("t", 3, ids(1, 2, 3), ids(1, 2)), 1, nil,
			"would have 1 replica in sync without node 1, and needs 2"},
		{"two replicas, min ISR 2, all in sync", topicOf("t", 2, ids(1, 2), ids(1, 2)), 1, nil, ""},
		{"two replicas, min ISR 2, the last in sync: the hole of the shipped roller", topicOf("t", 2, ids(1, 2), ids(1)), 1, nil, "needs 1"},
		{"two replicas, min ISR 1, the last in sync", topicOf("t", 1, ids(1, 2), ids(1)), 1, nil, "needs 1"},
		{"min ISR larger than replicas", topicOf("t", 3, ids(1, 2), ids(1, 2)), 2, nil, ""},
		{"one replica", topicOf("t", 1, ids(1), ids(1)), 1, nil, ""},
		{"one replica, min ISR 2", topicOf("t", 2, ids(1), ids(1)), 1, nil, ""},
		{"min ISR 0 is no license to take the last one", topicOf("t", 0, ids(1, 2), ids(1)), 1, nil, "needs 1"},
		{"no leader, the sole member", topicOf("t", 1, ids(1, 2), ids(1)), 1, nil, "needs 1"},
		{"no leader, another replica", topicOf("t", 1, ids(1, 2), ids(1)), 2, nil, ""},
		{"nobody is in sync", topicOf("t", 1, ids(1, 2), nil), 2, nil, "needs 1"},
		{"the last in sync, in a failed log directory", failed(ids(1), ids(1)), 1, nil, ""},
		{"not in sync, in a failed log directory", failed(ids(1), ids(1, 2)), 2, nil, ""},
		{"not in sync, in a failed log directory, and another one leads", moved, 1, nil, ""},
		{"beside the last in sync, in a failed log directory", failed(ids(1), ids(1, 2)), 3, nil, "would have 1 replica in sync without " +
			"node 3, and needs 2 (3 replicas, min.insync.replicas 2); only a restart brings back the replicas in failed " +
			"log directories of nodes 1 and 2"},
		{"a leader, and its log directory should have failed", stale, 1, nil, "needs 2"},
		{"min ISR is not known", unknownMin, 1, nil, "the min.insync.replicas of topic t is unknown: DescribeConfigs timed out"},
		{"with another one down", topicOf("t", 2, ids(1, 2, 3), ids(1, 2, 3)), 1, ids(2), "would have 1 replica in sync without nodes 1 and 2"},
		{"with one down that has no replica", topicOf("t", 2, ids(1, 2, 3), ids(1, 2, 3)), 1, ids(9), ""},
		{"min ISR 1, two of three", topicOf("t", 1, ids(1, 2, 3), ids(1, 2, 3)), 1, ids(2), ""},
		{"moving, the new one is not in sync", moving(ids(1, 2, 3)), 2, nil, ""},
		{"moving, one of those that stay is not in sync", moving(ids(1, 2)), 2, nil, "needs 2"},
		{"shrinking, the last in sync of those that stay", shrinking, 3, nil,
			"would have 0 replicas in sync without node 3, and needs 1 (2 replicas, min.insync.replicas 2), once its reassignment is complete"},
		{"moving, the new one is in sync: if it is cancelled, too few are", moving(ids(2, 3, 4)), 2, nil, "if its reassignment is cancelled"},
		{"moving, all are in sync", moving(ids(1, 2, 3, 4)), 2, nil, ""},
		{"moving, the one that is added", moving(ids(1, 2, 3)), 4, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			why := roller.NewAvailability(roller.Known([]roller.Topic{topicOf("other", 1, ids(7, 8), ids(7, 8)), c.topic})).Shortage(c.id, c.down)
			if c.blocked == "" {
				g.Expect(why).To(BeEmpty())
			} else {
				g.Expect(why).To(ContainSubstring(c.blocked))
			}
		})
	}
}

// An error never allows a restart (KafkaAvailabilityTest: ...ThrowsTimeoutException...).
func TestAvailabilityThatCannotBeReadBlocks(t *testing.T) {
	g := NewWithT(t)
	a := roller.NewAvailability(roller.Unknown[[]roller.Topic]("Metadata timed out"))
	g.Expect(a.Shortage(1, nil)).To(Equal("it is unknown which replicas are in sync: Metadata timed out"))
	_, known := a.Behind(1)
	g.Expect(known).To(BeFalse())
}

func TestRisksThatTheAvailabilityRuleAllows(t *testing.T) {
	g := NewWithT(t)
	a := roller.NewAvailability(roller.Known([]roller.Topic{
		topicOf("single", 1, ids(1), ids(1)), topicOf("strict", 2, ids(1, 2), ids(1, 2)), topicOf("fine", 1, ids(1, 2), ids(1, 2)),
	}))
	g.Expect(a.Risks(1, nil)).To(Equal(map[roller.Risk]string{roller.RiskOffline: "single-0", roller.RiskUnwritable: "strict-0"}))
	g.Expect(a.Risks(2, nil)).To(Equal(map[roller.Risk]string{roller.RiskUnwritable: "strict-0"}))
	g.Expect(a.Risks(3, nil)).To(BeEmpty())
	failed := topicOf("single", 1, ids(1), ids(1))
	failed.Partitions[0].Leader, failed.Partitions[0].Offline = -1, ids(1)
	g.Expect(roller.NewAvailability(roller.Known([]roller.Topic{failed})).Risks(1, nil)).To(BeEmpty())
}

func TestBrokerIDsOfAnySize(t *testing.T) {
	g := NewWithT(t)
	a := roller.NewAvailability(roller.Known([]roller.Topic{topicOf("t", 1, ids(1<<30, 5), ids(1<<30)),
		topicOf("u", 1, ids(0, 5), ids(0, 5))}))
	g.Expect(a.Shortage(1<<30, nil)).To(ContainSubstring("t-0"))
	g.Expect(a.Shortage(0, nil)).To(BeEmpty())
	g.Expect(a.Shortage(1<<29, nil)).To(BeEmpty())
	behind, _ := a.Behind(5)
	g.Expect(behind).To(Equal(1))
	g.Expect(a.LeaderShare(1 << 30)).To(Equal(0.5))
}

// A log directory that failed comes back only with a restart of its broker, also if it has the last replicas in sync.
func TestBrokersWithFailedLogDirectories(t *testing.T) {
	for _, most := range []int{1, 3} {
		sc := newScene(t).with(broker, 0, 1, 2)
		sc.policy.MaxUnavailable = most
		topic := topicOf("t", 2, ids(0, 1, 2), ids(1))
		topic.Partitions[0].Leader, topic.Partitions[0].Offline = -1, ids(1)
		sc.topics(topic)
		sc.after = func(*roller.Node) { sc.topics(topicOf("t", 2, ids(0, 1, 2), ids(0, 1, 2))) }
		sc.Expect(sc.roll()).To(ConsistOf(ids(0, 1, 2)))
		sc.Expect(sc.restarts[0]).To(Equal(roller.NodeID(1)))
		sc.Expect(sc.last.Phase).To(Equal(roller.PhaseDone))
	}
}

// Nor does it wait for other Kubernetes clusters, whose replicas can only come back after it.
func TestAFailedLogDirectoryIsNotExposed(t *testing.T) {
	sc := newScene(t).with(broker, 0).beside(1, 2)
	sc.node(1).Place, sc.node(2).Place = "east", "west"
	topic := topicOf("t", 1, ids(0, 1, 2), ids(0))
	topic.Partitions[0].Leader, topic.Partitions[0].Offline = -1, ids(0)
	sc.topics(topic)
	sc.Expect(sc.roll()).To(Equal(ids(0)))
}

// Topics that the roller may not describe may need the broker.
func TestABrokerWithTopicsThatNobodyMayDescribe(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1)
	sc.node(0).Hidden = "it has replicas of topics that the roller may not describe"
	sc.Expect(sc.roll()).To(Equal(ids(1)))
	sc.Expect(sc.of(0).Blocks).To(Equal([]roller.Block{{Rule: roller.RuleAvailability, Why: sc.node(0).Hidden}}))
	sc.Expect(sc.last.Phase).To(Equal(roller.PhaseBlocked))
	sc.node(0).Hidden = ""
	sc.Expect(sc.roll()).To(Equal(ids(1, 0)))
}
