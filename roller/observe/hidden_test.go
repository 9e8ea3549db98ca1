package observe_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/memory"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// Kafka silently omits topics that the roller may not describe. A broker's log directories show that it has replicas of such topics.
func TestTopicsThatWeMayNotDescribe(t *testing.T) {
	g := NewWithT(t)
	cluster := memory.New(memory.Options{Brokers: 3, Authorize: func(principal string, operation memory.Operation, topic string) bool {
		return principal == "User:admin" || topic == "" || topic == "open"
	}})
	two := map[int32][]int32{0: {1, 2}}
	var topics []kafka.NewTopic
	for _, name := range []string{"secret-a", "secret-b", "secret-c", "secret-d"} {
		topics = append(topics, kafka.NewTopic{Name: name, Partitions: -1, ReplicationFactor: -1, Assignments: two})
	}
	topics = append(topics, kafka.NewTopic{Name: "open", Partitions: -1, ReplicationFactor: -1, Assignments: map[int32][]int32{0: {0, 1}}})
	_, err := cluster.Client("User:admin", nil).CreateTopics(t.Context(), topics, false)
	g.Expect(err).NotTo(HaveOccurred())
	k := &observe.Kafka{Brokers: cluster.Client("User:roller", nil)}
	facts := k.Read(t.Context(), []roller.NodeID{0, 1, 2}, nil)
	g.Expect(facts.Topics.Or(nil)).To(HaveLen(1))
	g.Expect(facts.Hidden).To(HaveLen(2))
	g.Expect(facts.Hidden[1]).
		To(Equal("it has replicas of topics that the roller may not describe (secret-a, secret-b, secret-c and 1 more), so it is unknown " +
			"how many others are in sync: grant it Describe and DescribeConfigs on all topics"))
	g.Expect(facts.Hidden[2]).To(Equal(facts.Hidden[1]))
	g.Expect((&observe.Kafka{Brokers: cluster.Client("User:admin", nil)}).Read(t.Context(), []roller.NodeID{0, 1, 2},
		nil).Hidden).To(BeEmpty())
}

// late is a Kafka whose brokers report a topic that is deleted before topics are described.
type late struct{ observe.Brokers }

func (late) TopicsOn(context.Context, int32) ([]string, error) { return []string{"deleted"}, nil }

func TestATopicThatIsGoneIsNotHidden(t *testing.T) {
	g := NewWithT(t)
	k := &observe.Kafka{Brokers: late{memory.New(memory.Options{Brokers: 1}).Client("", nil)}}
	g.Expect(k.Read(t.Context(), []roller.NodeID{0}, nil).Hidden).To(BeEmpty())
}

// mum is a Kafka in which one broker does not report its topics. It counts the brokers that were asked.
type mum struct {
	observe.Brokers
	silent int32
	asked  *atomic.Int32
}

func (m mum) TopicsOn(ctx context.Context, id int32) ([]string, error) {
	m.asked.Add(1)
	if id == m.silent {
		return nil, context.DeadlineExceeded
	}
	return m.Brokers.TopicsOn(ctx, id)
}

// hanging is a Kafka in which some brokers accept connections and do not answer.
type hanging struct {
	observe.Brokers
	hangs map[int32]bool
}

func (h hanging) TopicsOn(ctx context.Context, id int32) ([]string, error) {
	if h.hangs[id] {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.Brokers.TopicsOn(ctx, id)
}

// Two brokers hang, and one of them is to be restarted: the other one is asked meanwhile, and not after it. A look that takes longer than
// roller.Freshness would restart nobody, ever.
func TestTwoBrokersThatHangAreAskedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &observe.Kafka{Brokers: hanging{memory.New(memory.Options{Brokers: 3}).Client("", nil), map[int32]bool{1: true, 2: true}}}
		began := time.Now()
		k.Verify(t.Context(), []roller.NodeID{0, 1, 2}, []roller.NodeID{2})
		NewWithT(t).Expect(time.Since(began)).To(BeNumerically("<", roller.Freshness-time.Second))
	})
}

// slow is a Kafka in which brokers take a while to report their topics. It counts the brokers that were asked.
type slow struct {
	observe.Brokers
	takes map[int32]time.Duration
	asked *atomic.Int32
}

func (s slow) TopicsOn(ctx context.Context, id int32) ([]string, error) {
	s.asked.Add(1)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(s.takes[id]):
		return s.Brokers.TopicsOn(ctx, id)
	}
}

// A broker with many replicas needs a while. The others are not asked for that, and one of them that hangs delays nobody.
func TestABrokerThatIsSlowToTellItsTopics(t *testing.T) {
	for takes, all := range map[time.Duration]int32{700 * time.Millisecond: 1, 2 * time.Second: 3} {
		synctest.Test(t, func(t *testing.T) {
			g := NewWithT(t)
			var asked atomic.Int32
			k := &observe.Kafka{Brokers: slow{memory.New(memory.Options{Brokers: 3}).Client("", nil),
				map[int32]time.Duration{2: takes, 1: time.Hour}, &asked}}
			began := time.Now()
			k.Verify(t.Context(), []roller.NodeID{0, 1, 2}, []roller.NodeID{2})
			g.Expect(time.Since(began)).To(Equal(takes))
			g.Expect(asked.Load()).To(Equal(all))
		})
	}
}

// A broker that does not report its topics may have replicas of topics that other brokers report, and that the roller may not describe.
func TestABrokerThatDoesNotTellItsTopics(t *testing.T) {
	g := NewWithT(t)
	cluster := memory.New(memory.Options{Brokers: 3, Authorize: func(principal string, _ memory.Operation, topic string) bool {
		return principal == "User:admin" || topic != "secret"
	}})
	secret := kafka.NewTopic{Name: "secret", Partitions: -1, ReplicationFactor: -1, Assignments: map[int32][]int32{0: {1, 2}}}
	_, err := cluster.Client("User:admin", nil).CreateTopics(t.Context(), []kafka.NewTopic{secret}, false)
	g.Expect(err).NotTo(HaveOccurred())
	read := func(user string, silent int32, candidates ...roller.NodeID) (map[roller.NodeID]string, int32) {
		var asked atomic.Int32
		k := &observe.Kafka{Brokers: mum{cluster.Client(user, nil), silent, &asked}}
		return k.Verify(t.Context(), []roller.NodeID{0, 1, 2}, candidates).Hidden, asked.Load()
	}
	hidden, _ := read("User:roller", 2, 2)
	g.Expect(hidden).To(HaveKeyWithValue(roller.NodeID(2),
		HavePrefix("the broker does not report its topics, and node 1 hosts topics that the roller may not describe (secret)")))
	hidden, asked := read("User:admin", 2, 2)
	g.Expect(hidden).To(BeEmpty())
	g.Expect(asked).To(BeEquivalentTo(3))
	hidden, asked = read("User:roller", 2, 0)
	g.Expect(hidden).To(BeEmpty())
	g.Expect(asked).To(BeEquivalentTo(1), "the others are not asked without need")
}

// If no broker reports its topics, nobody knows whether some are hidden.
func TestThatNobodyTellsItsTopicsIsNoSignThatNoneIsHidden(t *testing.T) {
	g := NewWithT(t)
	admin := memory.New(memory.Options{Brokers: 3}).Client("", nil)
	var asked atomic.Int32
	nobody := mum{mum{mum{admin, 0, &asked}, 1, &asked}, 2, &asked}
	read := func(b observe.Brokers) map[roller.NodeID]string {
		return (&observe.Kafka{Brokers: b}).Verify(t.Context(), []roller.NodeID{0, 1, 2}, []roller.NodeID{2}).Hidden
	}
	hidden := read(nobody)
	g.Expect(hidden).To(HaveLen(1))
	g.Expect(hidden).To(HaveKeyWithValue(roller.NodeID(2), HavePrefix("no broker reports the topics of which it has replicas, so")))
	g.Expect(read(nobody.Brokers)).To(BeEmpty(), "node 2 tells its own")
	g.Expect(read(mum{mum{admin, 1, &asked}, 2, &asked})).To(BeEmpty(), "node 0 has none that is hidden")
}
