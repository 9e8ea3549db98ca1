package roller_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
)

// failing returns a topic like topicOf, some of whose replicas are in failed log directories and not in sync.
func failing(name string, minISR int, replicas []roller.NodeID, offline ...roller.NodeID) roller.Topic {
	isr := slices.DeleteFunc(slices.Clone(replicas), func(id roller.NodeID) bool { return slices.Contains(offline, id) })
	topic := topicOf(name, minISR, replicas, isr)
	topic.Partitions[0].Offline = offline
	return topic
}

// Brokers that need one another's failed log directories wait for ever. The message says so, and which pod a user deletes, after which all
// are rolled.
func TestBrokersThatWaitForOneAnothersLogDirectories(t *testing.T) {
	const deletes = "(kubectl delete pod my-cluster-kafka-"
	two := []roller.Topic{failing("t", 2, ids(1, 2, 3), 2), failing("u", 2, ids(1, 2, 3), 2), failing("v", 2, ids(1, 2, 3), 1)}
	all := func(of ...roller.Topic) []roller.Topic { return of }
	for name, c := range map[string]struct {
		topics []roller.Topic
		// alone are the nodes that are restarted before a user deletes the pod of a node; the others are stuck.
		alone   []roller.NodeID
		deleted roller.NodeID
		says    string // of node 1
	}{
		"two, and the one with the fewest partitions": {two, nil, 2, "partition t-0 would have 1 replica in sync without node 1, and needs 2 " +
			"(3 replicas, min.insync.replicas 2); only a restart brings back the replicas in failed log directories of node 2; nodes 1 and 2 " +
			"wait for one another, and while any of them restarts, partitions have too few replicas in sync (the fewest without node 2: " +
			"1 partition, such as v-0): once its disks work again, delete its pod yourself (kubectl delete pod my-cluster-kafka-2), or " +
			"reassign these partitions to other brokers"},
		"two that have nothing else in sync": {all(failing("t", 1, ids(1, 2), 2), failing("u", 1, ids(1, 2), 1)), ids(3), 1,
			"would have 0 replicas in sync without node 1, and needs 1"},
		"three in a ring": {all(failing("t", 1, ids(1, 2), 2), failing("u", 1, ids(2, 3), 3), failing("v", 1, ids(3, 1), 1)), nil, 1,
			"; nodes 1, 2 and 3 wait for one another"},
		"one that waits for two": {all(failing("t", 1, ids(1, 2), 2), failing("u", 1, ids(2, 3), 3), failing("v", 1, ids(3, 2), 2)), nil, 2,
			"; nodes 2 and 3 wait for one another"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t).with(broker, 1, 2, 3).topics(c.topics...)
			sc.after = func(n *roller.Node) { sc.topics(repaired(sc.s.Topics.Or(nil), n.ID)...) }
			sc.Expect(sc.roll()).To(Equal(c.alone))
			sc.Expect(sc.last.Phase).To(Equal(roller.PhaseBlocked))
			for _, id := range ids(1, 2, 3) {
				if !slices.Contains(c.alone, id) {
					sc.Expect(sc.of(id).Blocks).To(ConsistOf(HaveField("Rule", roller.RuleAvailability)))
					sc.Expect(sc.of(id).Blocks[0].Why).To(ContainSubstring(deletes+string(rune('0'+c.deleted))), "node %d", id)
				}
			}
			sc.Expect(sc.of(1).Blocks[0].Why).To(ContainSubstring(c.says))

			sc.node(c.deleted).Instance = roller.Known("deleted by a user")
			sc.current(c.deleted)
			sc.topics(repaired(sc.s.Topics.Or(nil), c.deleted)...)
			sc.roll()
			sc.Expect(sc.last.Phase).To(Equal(roller.PhaseDone))
			sc.Expect(sc.restarts).To(HaveLen(2))
		})
	}
}

// Whoever put a node on hold does not expect that its pod is deleted, and one that nobody recreates would be lost.
func TestNobodyIsToldToDeleteAPodThatIsKept(t *testing.T) {
	two := []roller.Topic{failing("t", 2, ids(1, 2, 3), 2), failing("u", 2, ids(1, 2, 3), 2), failing("v", 2, ids(1, 2, 3), 1)}
	three := []roller.Topic{failing("t", 1, ids(1, 2), 2), failing("u", 1, ids(2, 1), 1), failing("v", 1, ids(2, 3), 3),
		failing("w", 1, ids(3, 2), 2)}
	hold := func(n *roller.Node) { n.Hold = "ann looks into it" }
	keeps := map[string]func(*roller.Node){"on hold": hold, "of no owner": func(n *roller.Node) { n.Foreign = "nobody owns it" }}
	for name, c := range map[string]struct {
		topics []roller.Topic
		kept   []roller.NodeID
		says   string // of node 1
	}{
		"another one": {two, ids(2), "(the fewest without node 1: 2 partitions, such as t-0): once its disks work again, delete its pod " +
			"yourself (kubectl delete pod my-cluster-kafka-1), or reassign these partitions to other brokers"},
		"all": {two, ids(1, 2), "(the fewest without node 2: 1 partition, such as v-0): reassign these partitions to other brokers, or " +
			"settle what forbids to delete the pod of node 2: WHY"},
		"the only one that lets others go": {three, ids(2), "(the fewest without node 2: 2 partitions, such as u-0): reassign these " +
			"partitions to other brokers, or settle what forbids to delete the pod of node 2: WHY"},
	} {
		for kind, keep := range keeps {
			t.Run(name+", "+kind, func(t *testing.T) {
				sc := newScene(t).with(broker, 1, 2, 3).topics(c.topics...)
				why := ""
				for _, id := range c.kept {
					keep(sc.node(id))
					why = sc.node(id).Hold + sc.node(id).Foreign
				}
				sc.step()
				text := sc.of(1).Blocks[len(sc.of(1).Blocks)-1].Why
				sc.Expect(text).To(ContainSubstring(strings.ReplaceAll(c.says, "WHY", why)))
				for _, id := range c.kept {
					sc.Expect(text).NotTo(ContainSubstring("kubectl delete pod " + sc.node(id).Name))
				}
			})
		}
	}
}

// If a broker waits for the failed log directories of another one, which waits for it because of the cluster-loss budget, the budget gives
// way, as it does where it alone makes brokers wait for one another.
func TestTheClusterLossBudgetWaitsForNoLogDirectoryForEver(t *testing.T) {
	sc := newScene(t).with(broker, 3, 4).beside(5)
	sc.node(4).Place, sc.node(5).Place = "east", "west"
	sc.topics(failing("t", 2, ids(3, 4), 3), failing("u", 1, ids(4, 3, 5), 4))
	sc.after = func(n *roller.Node) { sc.topics(repaired(sc.s.Topics.Or(nil), n.ID)...) }
	sc.step()
	sc.Expect(sc.blocked(3)).To(ConsistOf(roller.RuleClusterLoss))
	sc.Expect(sc.blocked(4)).To(ConsistOf(roller.RuleAvailability))
	sc.Expect(sc.roll()).To(Equal(ids(3, 4)))
	sc.Expect(sc.last.Phase).To(Equal(roller.PhaseDone))
	sc.Expect(sc.s.At.Sub(noon)).To(BeNumerically(">=", sc.policy.Stall))
}

// A wait that ends by itself, or with a restart that the roller makes, is no standstill.
func TestAWaitForALogDirectoryThatEndsIsNoStandstill(t *testing.T) {
	moved := failing("t", 1, ids(1, 2, 3), 2)
	moved.Partitions[0].Adding, moved.Partitions[0].Removing = ids(3), ids(2)
	lagging := topicOf("t", 2, ids(1, 2, 3), ids(1, 3))
	leaderless := topicOf("t", 1, ids(1, 2), ids(2))
	leaderless.Partitions[0].Leader, leaderless.Partitions[0].Offline = -1, ids(2)
	unknown := failing("t", 1, ids(1, 2), 2)
	unknown.MinISR = roller.Unknown[int]("DescribeConfigs timed out")
	back := failing("u", 1, ids(1, 2), 1)
	eligible := failing("t", 2, ids(1, 2, 3), 2) // KIP-966: nobody is in sync, and node 2 is eligible to lead
	eligible.Partitions[0].ISR, eligible.Partitions[0].Leader = nil, -1
	leads := failing("t", 1, ids(1, 2), 2) // all the same
	leads.Partitions[0].ISR, leads.Partitions[0].Leader = ids(2), 2
	for name, topics := range map[string][]roller.Topic{
		"nobody in sync":                    {eligible, failing("u", 1, ids(1, 4), 1)},
		"one that leads all the same":       {leads, failing("u", 1, ids(1, 4), 1)},
		"only one has failed":               {failing("t", 1, ids(1, 2), 2)},
		"both, in different partitions":     {failing("t", 1, ids(1, 2, 3), 2), failing("u", 1, ids(1, 2, 3), 1)},
		"a reassignment removes it":         {moved, back},
		"a replica that catches up":         {lagging, failing("u", 2, ids(1, 2, 3), 1)},
		"one that has no leader":            {leaderless, back},
		"it is unknown how many it needs":   {unknown, back},
		"a third one that can be restarted": {failing("t", 1, ids(1, 2, 3), 2, 3), failing("u", 1, ids(1, 2), 1)},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(roller.Standstill(topics)).To(BeEmpty())
		})
	}
}

// A standstill is what is left when all brokers are restarted that the availability rule allows, again and again.
func TestAStandstillIsWhatNoRestartEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1)) // no secret depends on it
	found := 0
	for range 10_000 {
		var topics []roller.Topic
		for range 1 + r.IntN(6) {
			replicas := ids(0, 1, 2, 3, 4)
			r.Shuffle(len(replicas), func(i, j int) { replicas[i], replicas[j] = replicas[j], replicas[i] })
			replicas = replicas[:2+r.IntN(2)]
			topic := failing("t", 1+r.IntN(3), replicas, replicas[:r.IntN(len(replicas))]...)
			if p := &topic.Partitions[0]; len(p.Offline) > 0 && r.IntN(3) == 0 { // the last in sync has failed
				p.ISR, p.Leader = p.Offline[:1], -1
			}
			topics = append(topics, topic)
		}
		got, left := roller.Standstill(topics), ids(0, 1, 2, 3, 4)
		for again := true; again; {
			again = false
			for _, id := range left {
				if roller.NewAvailability(roller.Known(topics)).Shortage(id, nil) == "" {
					topics = repaired(topics, id)
					left, again = slices.DeleteFunc(slices.Clone(left), func(other roller.NodeID) bool { return other == id }), true
				}
			}
		}
		if !slices.Equal(got, left) && len(got)+len(left) > 0 {
			t.Fatalf("%v, and not %v, in %v", got, left, topics)
		}
		if len(got) > 0 {
			found++
		}
	}
	if found < 500 {
		t.Errorf("only %d standstills", found)
	}
}

// repaired returns the topics after a restart of a broker, and once all replicas have caught up that have a leader.
func repaired(topics []roller.Topic, id roller.NodeID) []roller.Topic {
	topics = slices.Clone(topics)
	for i := range topics {
		p := topics[i].Partitions[0]
		offline := slices.DeleteFunc(slices.Clone(p.Offline), func(other roller.NodeID) bool { return other == id })
		leads := func(other roller.NodeID) bool { return !slices.Contains(offline, other) }
		if p.Offline = offline; p.Leader >= 0 || slices.ContainsFunc(p.ISR, leads) {
			p = failing("t", 1, p.Replicas, offline...).Partitions[0]
		}
		topics[i].Partitions = []roller.Partition{p}
	}
	return topics
}
