package kafkatest

import (
	"fmt"
	"strings"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// lengths are around the limits of the protocol: 32,767 bytes for a text, and 16 bits.
var lengths = []int{250, 16_384, 16_385, 32_766, 32_767, 32_768, 65_535, 65_536}

// textCases put a text of each length into each field of each request. The same call has another item, which must be answered correctly and
// without delay.
var textCases = map[string]func(*suite){
	"the name of a topic": func(s *suite) {
		good := s.topic("good")
		s.create(1, good)
		for _, n := range lengths {
			name := strings.Repeat("x", n)
			s.quickly(n, func() {
				described, err := s.admin.DescribeTopics(s.Context(), []string{name, good})
				s.must(err)
				s.must(described[good].Err)
				s.refused("describe", described[name].Err, kafka.ClassInvalid, "InvalidTopicException")

				resource, neighbour := kafka.TopicResource(name), kafka.TopicResource(good)
				configs, err := s.admin.DescribeConfigs(s.Context(), []kafka.ConfigResource{resource, neighbour}, nil)
				s.must(err)
				s.must(configs[neighbour].Err)
				s.refused("describe the configuration", configs[resource].Err, kafka.ClassInvalid, "InvalidTopicException")

				for _, validateOnly := range []bool{true, false} {
					made := s.topic(fmt.Sprint("made-", n))
					created, err := s.admin.CreateTopics(s.Context(), []kafka.NewTopic{
						{Name: name, Partitions: 1, ReplicationFactor: 1}, {Name: made, Partitions: 1, ReplicationFactor: 1},
					}, validateOnly)
					s.must(err)
					s.must(created[made].Err)
					s.refused("create", created[name].Err, kafka.ClassInvalid, "InvalidTopicException")
				}
				increased, err := s.admin.CreatePartitions(s.Context(),
					[]kafka.PartitionIncrease{{Topic: name, Total: 3}, {Topic: good, Total: 3}}, true)
				s.must(err)
				s.must(increased[good])
				s.refused("add partitions", increased[name], kafka.ClassInvalid, "InvalidTopicException")

				altered, err := s.admin.AlterConfigs(s.Context(), []kafka.ConfigChange{
					{Resource: resource, Set: map[string]string{"retention.ms": "1"}},
					{Resource: neighbour, Set: map[string]string{"retention.ms": fmt.Sprint(n)}},
				}, false)
				s.must(err)
				s.must(altered[neighbour])
				s.refused("alter", altered[resource], kafka.ClassInvalid, "InvalidTopicException")

				moves, err := s.admin.ListReassignments(s.Context(), []string{name, good})
				s.must(err)
				if len(moves) != 0 {
					s.Errorf("%v moves", moves)
				}
				lead, other := kafka.TopicPartition{Topic: good}, kafka.TopicPartition{Topic: name}
				elected, err := s.admin.ElectPreferredLeaders(s.Context(), []kafka.TopicPartition{other, lead})
				s.must(err)
				s.must(elected[lead])
				s.refused("elect", elected[other], kafka.ClassInvalid, "InvalidTopicException")
			})
		}
	},
	"the key of a configuration": func(s *suite) {
		good := s.topic("good")
		s.create(1, good)
		s.create(1, s.topic("bad"))
		for _, n := range append([]int{1024, 1025}, lengths...) {
			key := strings.Repeat("k", n)
			s.quickly(n, func() {
				s.texts(good, fmt.Sprint(n), key, "1")
				change := kafka.ConfigChange{Resource: kafka.TopicResource(s.topic("bad")), Delete: []string{key}}
				altered, err := s.admin.AlterConfigs(s.Context(), []kafka.ConfigChange{change,
					{Resource: kafka.TopicResource(good), Set: map[string]string{"retention.ms": "7"}}}, false)
				s.must(err)
				s.must(altered[kafka.TopicResource(good)])
				if n > 1024 { // Kafka accepts the deletion of keys that it does not know
					s.refused("delete a key", altered[change.Resource], kafka.ClassInvalid, "InvalidConfigurationException")
				}

				// The keys to describe belong to the whole call: the call omits an unknown key, or rejects the key as invalid.
				if _, err := s.admin.DescribeConfigs(s.Context(), []kafka.ConfigResource{kafka.TopicResource(good)}, []string{key}); err != nil {
					s.refused("describe a key", err, kafka.ClassInvalid, "InvalidConfigurationException")
				}
			})
		}
	},
	"the value of a configuration": func(s *suite) {
		good := s.topic("good")
		s.create(1, good)
		s.create(1, s.topic("bad"))
		for _, n := range lengths {
			s.quickly(n, func() {
				s.texts(good, fmt.Sprint("number-", n), "retention.ms", strings.Repeat("9", n))
			})
			// Kafka's message quotes a list with blanks between its elements.
			s.quickly(n, func() {
				s.texts(good, fmt.Sprint("list-", n), "leader.replication.throttled.replicas", strings.Repeat("a,", n/2)+strings.Repeat("a", n%2))
			})
			s.quickly(n, func() {
				s.texts(good, fmt.Sprint("bytes-", n), "retention.ms", strings.Repeat("ä", n/2)+strings.Repeat("a", n%2))
			})
		}
		s.quickly(1, func() { s.texts(good, "no-text", "retention.ms", "a\xff") })
	},
	"a long list of throttled replicas": func(s *suite) {
		const key = "follower.replication.throttled.replicas"
		good := s.topic("good")
		s.create(1, good, s.topic("bad"))
		for _, n := range lengths {
			list := throttleList(n)
			if n > 32_767 {
				s.quickly(n, func() { s.texts(good, fmt.Sprint(n), key, list) })
				continue
			}
			s.quickly(n, func() {
				s.alter(kafka.ConfigChange{Resource: kafka.TopicResource(good), Set: map[string]string{key: list}})
				s.entry(good, key, list, kafka.SourceTopic)
				name := s.topic(fmt.Sprint("throttled-", n))
				s.createAll(kafka.NewTopic{Name: name, Partitions: 1, ReplicationFactor: 1, Configs: map[string]*string{key: ptr(list)}})
				s.entry(name, key, list, kafka.SourceTopic)
			})
		}
	},
}

// quickly fails the case if a call waits for an answer that never arrives.
func (s *suite) quickly(n int, f func()) {
	s.Helper()
	began := time.Now()
	f()
	if took := time.Since(began); took > shortly {
		s.Errorf("a text of %d bytes: it took %s", n, took)
	}
}

// texts sends a key and value that Kafka rejects in a creation and in a change of topic bad, each together with valid items.
func (s *suite) texts(good, id, key, value string) {
	s.Helper()
	const exception = "InvalidConfigurationException"
	bad, new, neighbour := s.topic("bad"), s.topic("new-"+id), s.topic("neighbour-"+id)
	for _, validateOnly := range []bool{true, false} {
		created, err := s.admin.CreateTopics(s.Context(), []kafka.NewTopic{
			{Name: new, Partitions: 1, ReplicationFactor: 1, Configs: map[string]*string{key: ptr(value)}},
			{Name: neighbour, Partitions: 1, ReplicationFactor: 1, Configs: map[string]*string{"retention.ms": ptr("1000")}},
		}, validateOnly)
		s.must(err)
		s.must(created[neighbour].Err)
		s.refused("create "+id, created[new].Err, kafka.ClassInvalid, exception)
		altered, err := s.admin.AlterConfigs(s.Context(), []kafka.ConfigChange{
			{Resource: kafka.TopicResource(bad), Set: map[string]string{key: value}},
			{Resource: kafka.TopicResource(good), Set: map[string]string{"retention.ms": "5"}},
		}, validateOnly)
		s.must(err)
		s.must(altered[kafka.TopicResource(good)])
		s.refused("alter "+id, altered[kafka.TopicResource(bad)], kafka.ClassInvalid, exception)
	}
}

// throttleList is a list of replicas of exactly n bytes.
func throttleList(n int) string {
	var b strings.Builder
	for i := 0; ; i++ {
		entry := fmt.Sprintf("%d:0,", i)
		if b.Len()+2*len(entry) > n {
			break
		}
		b.WriteString(entry)
	}
	return b.String() + strings.Repeat("0", n-b.Len()-2) + ":0"
}
