package ownership

import (
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/traffic"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

// cluster is a Kafka of one broker that specs change without the operators.
type cluster struct {
	*realkafka.Cluster
	name  string
	admin *saramakafka.Admin
	// broker writes and counts records.
	broker *traffic.Broker
}

// startCluster starts a cluster for the whole suite.
func startCluster(name string) *cluster {
	GinkgoHelper()
	c, err := realkafka.Start(ctx, realkafka.Options{Log: GinkgoWriter, Config: map[string]string{"auto.create.topics.enable": "false"}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(c.Close)
	admin, err := saramakafka.New(kafka.Config{Bootstrap: c.Bootstrap(), ClientID: "e2e"})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(admin.Close)
	broker, err := traffic.Open(c.Bootstrap()[0])
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(broker.Close)
	return &cluster{Cluster: c, name: name, admin: admin, broker: broker}
}

// state is the state of a topic that specs compare. The zero value means that the topic does not exist.
type state struct {
	id         string
	partitions int
	// config has the settings of the topic itself, records the number of records in its first partition.
	config  map[string]string
	records int64
}

// state returns the state of a topic. It may fail while a topic is being created or deleted; callers that expect that call it in an
// Eventually.
func (c *cluster) state(name string) state {
	GinkgoHelper()
	all, err := c.admin.DescribeTopics(ctx, []string{name})
	Expect(err).NotTo(HaveOccurred())
	if kafka.IsNotFound(all[name].Err) {
		return state{}
	}
	Expect(all[name].Err).NotTo(HaveOccurred())
	s := state{id: all[name].Topic.ID.String(), partitions: len(all[name].Topic.Partitions), config: map[string]string{}}
	resource := kafka.TopicResource(name)
	configs, err := c.admin.DescribeConfigs(ctx, []kafka.ConfigResource{resource}, nil)
	Expect(err).NotTo(HaveOccurred())
	Expect(configs[resource].Err).NotTo(HaveOccurred())
	for key, entry := range configs[resource].Entries {
		if entry.Source == kafka.SourceTopic {
			s.config[key] = entry.Value
		}
	}
	s.records = c.count(name)
	return s
}

// id returns a topic's id in the format of statuses; empty if there is no topic.
func (c *cluster) id(name string) string {
	GinkgoHelper()
	all, err := c.admin.DescribeTopics(ctx, []string{name})
	Expect(err).NotTo(HaveOccurred())
	if kafka.IsNotFound(all[name].Err) {
		return ""
	}
	Expect(all[name].Err).NotTo(HaveOccurred())
	return all[name].Topic.ID.String()
}

// exists reports whether there is a topic of this name.
func (c *cluster) exists(name string) bool { GinkgoHelper(); return c.id(name) != "" }

// names returns the names of all topics with this suffix, sorted.
func (c *cluster) names(suffix string) []string {
	GinkgoHelper()
	all, err := c.admin.ListTopics(ctx)
	Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, t := range all {
		if strings.HasSuffix(t.Name, suffix) {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return names
}

// make creates a topic with records and returns its state. The settings alternate keys and values.
func (c *cluster) make(name string, settings ...string) state {
	GinkgoHelper()
	topic := kafka.NewTopic{Name: name, Partitions: 1, ReplicationFactor: 1, Configs: map[string]*string{}}
	for pair := range slices.Chunk(settings, 2) {
		topic.Configs[pair[0]] = &pair[1]
	}
	all, err := c.admin.CreateTopics(ctx, []kafka.NewTopic{topic}, false)
	Expect(err).NotTo(HaveOccurred())
	Expect(all[name].Err).NotTo(HaveOccurred())
	Eventually(c.exists).WithArguments(name).Should(BeTrue())
	c.produce(name)
	return c.state(name)
}

// remove deletes a topic.
func (c *cluster) remove(name string) {
	GinkgoHelper()
	id, err := kafka.ParseTopicID(c.id(name))
	Expect(err).NotTo(HaveOccurred())
	all, err := c.admin.DeleteTopics(ctx, []kafka.TopicID{id})
	Expect(err).NotTo(HaveOccurred())
	Expect(all[id]).NotTo(HaveOccurred())
	Eventually(c.exists).WithArguments(name).Should(BeFalse())
}

// someRecords is the number of records that produce writes.
const someRecords = 3

// produce writes some records to the topic's first partition.
func (c *cluster) produce(topic string) {
	GinkgoHelper()
	Eventually(func() (map[string]int, error) {
		notYet, err := c.broker.Write(map[string]int{topic: someRecords})
		if err != nil {
			err = StopTrying("the broker took no records").Wrap(err)
		}
		return notYet, err
	}).Should(BeEmpty(), "topics that take no records yet")
}

// count returns the number of records in the topic's first partition.
func (c *cluster) count(topic string) int64 {
	GinkgoHelper()
	counts, err := c.broker.Count(map[string]int{topic: 1})
	Expect(err).NotTo(HaveOccurred())
	return counts[topic][0]
}

// keeps checks that the topic is unchanged: the same topic, partitions, settings and records.
func (c *cluster) keeps(name string, before state) {
	GinkgoHelper()
	Expect(c.state(name)).To(Equal(before), "topic %s in cluster %s", name, c.name)
}
