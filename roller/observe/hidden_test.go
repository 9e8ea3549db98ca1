package observe_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/memory"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// Kafka leaves topics that we may not describe out of its list without a word. A broker that has replicas of some says so by its log directories.
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
	g.Expect(facts.Hidden[1]).To(Equal("it has replicas of topics that the roller may not describe (secret-a, secret-b, secret-c and 1 more), and nobody can tell how many others are in sync: allow it Describe and DescribeConfigs on all topics"))
	g.Expect(facts.Hidden[2]).To(Equal(facts.Hidden[1]))
	g.Expect((&observe.Kafka{Brokers: cluster.Client("User:admin", nil)}).Read(t.Context(), []roller.NodeID{0, 1, 2}, nil).Hidden).To(BeEmpty())
}

// late is a Kafka whose brokers tell of a topic that is gone by the time that topics are described.
type late struct{ observe.Brokers }

func (late) TopicsOn(context.Context, int32) ([]string, error) { return []string{"deleted"}, nil }

func TestATopicThatIsGoneIsNotHidden(t *testing.T) {
	g := NewWithT(t)
	k := &observe.Kafka{Brokers: late{memory.New(memory.Options{Brokers: 1}).Client("", nil)}}
	g.Expect(k.Read(t.Context(), []roller.NodeID{0}, nil).Hidden).To(BeEmpty())
}
