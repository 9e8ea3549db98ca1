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

// divided is a Kafka in which one broker has another min.insync.replicas in its file than the others.
type divided struct {
	*memory.Client
	broker int32
	minISR string
}

func (d divided) DescribeNodeConfigs(ctx context.Context, nodes []int32, keys []string) (map[int32]kafka.ConfigResult, error) {
	answers, err := d.Client.DescribeNodeConfigs(ctx, nodes, keys)
	if answer, asked := answers[d.broker]; asked {
		answer.Entries["min.insync.replicas"] = kafka.ConfigEntry{Value: d.minISR, Source: kafka.SourceStaticBroker}
	}
	return answers, err
}

// A topic without a min.insync.replicas of its own has that of the broker that leads. Any broker may be asked for the topic, and any may
// lead, so the largest value counts.
func TestALimitThatATopicInheritsIsTheLargestOfTheBrokers(t *testing.T) {
	g := NewWithT(t)
	cluster := memory.New(memory.Options{Brokers: 3})
	one := "1"
	topics := []kafka.NewTopic{{Name: "own", Partitions: 1, ReplicationFactor: 3, Configs: map[string]*string{"min.insync.replicas": &one}},
		{Name: "inherited", Partitions: 1, ReplicationFactor: 3}}
	_, err := cluster.Client("", nil).CreateTopics(t.Context(), topics, false)
	g.Expect(err).NotTo(HaveOccurred())
	limits := func(minISR string) map[string]int {
		k := &observe.Kafka{Brokers: divided{cluster.Client("", nil), 2, minISR}}
		found := map[string]int{}
		for _, topic := range k.Read(t.Context(), []roller.NodeID{0, 1, 2}, nil).Topics.Or(nil) {
			found[topic.Name] = topic.MinISR.Or(0)
		}
		return found
	}
	g.Expect(limits("2")).To(Equal(map[string]int{"own": 1, "inherited": 2}))
	g.Expect(limits("0")).To(Equal(map[string]int{"own": 1, "inherited": 1}))
}
