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

// offlined is a Kafka that lists replicas of two brokers as offline, of which it has fenced one.
type offlined struct {
	*memory.Client
}

func (o offlined) ListTopicsOf(ctx context.Context, broker int32) ([]kafka.Topic, error) {
	topics, err := o.Client.ListTopicsOf(ctx, broker)
	for i := range topics {
		topics[i].Partitions[0].Offline = []int32{0, 1, 7}
	}
	return topics, err
}

func (o offlined) DescribeCluster(ctx context.Context) (kafka.Cluster, error) {
	cluster, err := o.Client.DescribeCluster(ctx)
	for i := range cluster.Brokers {
		cluster.Brokers[i].Fenced = cluster.Brokers[i].ID == 0
	}
	return cluster, err
}

// Kafka lists the replicas of a broker that is out of service as offline, too. Those come back with the broker.
func TestReplicasInFailedLogDirectories(t *testing.T) {
	g := NewWithT(t)
	cluster := memory.New(memory.Options{Brokers: 3})
	_, err := cluster.Client("", nil).CreateTopics(t.Context(), []kafka.NewTopic{{Name: "t", Partitions: 1, ReplicationFactor: 3}}, false)
	g.Expect(err).NotTo(HaveOccurred())
	k := &observe.Kafka{Brokers: offlined{cluster.Client("", nil)}}
	topics := k.Read(t.Context(), []roller.NodeID{0, 1, 2}, nil).Topics.Or(nil)
	g.Expect(topics).To(HaveLen(1))
	g.Expect(topics[0].Partitions[0].Offline).To(Equal([]roller.NodeID{1}))
}
