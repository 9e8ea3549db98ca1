package topicoperator

import (
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

// broker is a Kafka cluster and a super user's client for it.
type broker struct {
	*realkafka.Cluster
	admin *saramakafka.Admin
}

// startBrokers starts a cluster, which is stopped with the Ginkgo node that called startBrokers.
func startBrokers(o realkafka.Options) *broker {
	GinkgoHelper()
	o.Log = GinkgoWriter
	cluster, err := realkafka.Start(ctx, o)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cluster.Close)
	admin, err := saramakafka.New(kafka.Config{Bootstrap: cluster.Bootstrap(), ClientID: "e2e"})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(admin.Close)
	return &broker{Cluster: cluster, admin: admin}
}

// stubborn is a cluster of one broker that deletes no topics (delete.topic.enable=false) and does not auto-create any. It is started when
// it is first needed.
var stubborn = sync.OnceValue(func() *broker {
	return startForSuite(realkafka.Options{Config: map[string]string{"delete.topic.enable": "false", "auto.create.topics.enable": "false"}})
})

// lateBrokers are clusters that were started in a spec and run until the end of the suite.
var lateBrokers []*broker

func startForSuite(o realkafka.Options) *broker {
	GinkgoHelper()
	o.Log = GinkgoWriter
	cluster, err := realkafka.Start(ctx, o)
	Expect(err).NotTo(HaveOccurred())
	admin, err := saramakafka.New(kafka.Config{Bootstrap: cluster.Bootstrap(), ClientID: "e2e"})
	Expect(err).NotTo(HaveOccurred())
	b := &broker{Cluster: cluster, admin: admin}
	lateBrokers = append(lateBrokers, b)
	return b
}

func closeLateBrokers() {
	GinkgoHelper()
	for _, b := range lateBrokers {
		b.admin.Close()
		Expect(b.Close()).To(Succeed())
	}
}

// topic returns a topic; nil if there is none.
func (b *broker) topic(name string) *kafka.Topic {
	GinkgoHelper()
	all, err := b.admin.DescribeTopics(ctx, []string{name})
	Expect(err).NotTo(HaveOccurred())
	if kafka.IsNotFound(all[name].Err) {
		return nil
	}
	Expect(all[name].Err).NotTo(HaveOccurred())
	topic := all[name].Topic
	return &topic
}

// exists reports whether there is a topic of this name.
func (b *broker) exists(name string) bool { GinkgoHelper(); return b.topic(name) != nil }

// id returns a topic's id in the format of statuses; empty if there is no topic.
func (b *broker) id(name string) string {
	GinkgoHelper()
	if t := b.topic(name); t != nil {
		return t.ID.String()
	}
	return ""
}

// partitions returns the number of partitions of a topic.
func (b *broker) partitions(name string) int {
	GinkgoHelper()
	if t := b.topic(name); t != nil {
		return len(t.Partitions)
	}
	return 0
}

// settings returns the configuration of the topic itself.
func (b *broker) settings(name string) map[string]string {
	GinkgoHelper()
	resource := kafka.TopicResource(name)
	all, err := b.admin.DescribeConfigs(ctx, []kafka.ConfigResource{resource}, nil)
	Expect(err).NotTo(HaveOccurred())
	Expect(all[resource].Err).NotTo(HaveOccurred())
	own := map[string]string{}
	for key, entry := range all[resource].Entries {
		if entry.Source == kafka.SourceTopic {
			own[key] = entry.Value
		}
	}
	return own
}

// effective returns a topic's effective value of a key.
func (b *broker) effective(name, key string) string {
	GinkgoHelper()
	resource := kafka.TopicResource(name)
	all, err := b.admin.DescribeConfigs(ctx, []kafka.ConfigResource{resource}, []string{key})
	Expect(err).NotTo(HaveOccurred())
	Expect(all[resource].Err).NotTo(HaveOccurred())
	return all[resource].Entries[key].Value
}

// alter changes a topic's configuration without the operator.
func (b *broker) alter(name string, set map[string]string) {
	GinkgoHelper()
	change := kafka.ConfigChange{Resource: kafka.TopicResource(name), Set: set}
	all, err := b.admin.AlterConfigs(ctx, []kafka.ConfigChange{change}, false)
	Expect(err).NotTo(HaveOccurred())
	Expect(all[change.Resource]).NotTo(HaveOccurred())
}

// make creates a topic without the operator and returns its id.
func (b *broker) make(name string, partitions int32, config map[string]string) string {
	GinkgoHelper()
	topic := kafka.NewTopic{Name: name, Partitions: partitions, ReplicationFactor: 1, Configs: map[string]*string{}}
	for key, value := range config {
		topic.Configs[key] = &value
	}
	all, err := b.admin.CreateTopics(ctx, []kafka.NewTopic{topic}, false)
	Expect(err).NotTo(HaveOccurred())
	Expect(all[name].Err).NotTo(HaveOccurred())
	Eventually(b.exists).WithArguments(name).Should(BeTrue())
	return all[name].ID.String()
}

// remove deletes a topic without the operator.
func (b *broker) remove(name string) {
	GinkgoHelper()
	id := b.topic(name).ID
	all, err := b.admin.DeleteTopics(ctx, []kafka.TopicID{id})
	Expect(err).NotTo(HaveOccurred())
	Expect(all[id]).NotTo(HaveOccurred())
}

// list returns the ids of all topics whose names the filter accepts, by name.
func (b *broker) list(filter func(string) bool) map[string]string {
	GinkgoHelper()
	all, err := b.admin.ListTopics(ctx)
	Expect(err).NotTo(HaveOccurred())
	all = slices.DeleteFunc(all, func(t kafka.Topic) bool { return !filter(t.Name) })
	ids := map[string]string{}
	for _, t := range all {
		ids[t.Name] = t.ID.String()
	}
	return ids
}
