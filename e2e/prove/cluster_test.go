package prove

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/e2e/traffic"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

// cluster is a Kafka of one broker that the proofs change without the operators.
type cluster struct {
	*realkafka.Cluster
	admin   *saramakafka.Admin
	records *traffic.Broker

	marking sync.Mutex
	marks   int
}

// marker is a topic whose configuration tells how far the broker has caught up.
const marker = "__marker"

// startKafka starts a cluster for the whole test.
func startKafka(ctx context.Context, t *testing.T) (*cluster, error) {
	c, err := realkafka.Start(ctx, realkafka.Options{Config: map[string]string{"auto.create.topics.enable": "false"}})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	admin, err := saramakafka.New(kafka.Config{Bootstrap: c.Bootstrap(), ClientID: "prove"})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { admin.Close() })
	r, err := traffic.Open(c.Bootstrap()[0])
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = r.Close() }) // the cluster is stopped as well
	started := &cluster{Cluster: c, admin: admin, records: r}
	return started, started.make(ctx, newTopic(marker, 1, nil))
}

// state is the state of a topic that proofs compare. The zero value means that the topic does not exist.
type state struct {
	id         string
	partitions int
	// config has the settings of the topic itself, records the number of records in each partition.
	config  map[string]string
	records []int64
}

func (s state) exists() bool { return s.id != "" }

func (s state) String() string {
	if !s.exists() {
		return "no topic"
	}
	return fmt.Sprintf("id %s, %d partitions, configuration %v, records %v", s.id, s.partitions, s.config, s.records)
}

// differs describes the changes of the topic; empty if there are none.
func (s state) differs(now state) string {
	kept := s.exists() == now.exists() && s.id == now.id && s.partitions == now.partitions && maps.Equal(s.config, now.config) &&
		slices.Equal(s.records, now.records)
	if kept {
		return ""
	}
	return fmt.Sprintf("was %s; is %s", s, now)
}

// lost describes whether the topic itself or records were lost; empty if not. More partitions are no loss.
func (s state) lost(now state) string {
	if s.id == now.id && len(now.records) >= len(s.records) && slices.Equal(s.records, now.records[:len(s.records)]) {
		return ""
	}
	return fmt.Sprintf("was %s; is %s", s, now)
}

// states returns the states of topics; the zero state for those that do not exist. It makes several requests, so it may be wrong about
// topics that change meanwhile.
func (c *cluster) states(ctx context.Context, names ...string) (map[string]state, error) {
	found := map[string]state{}
	if len(names) == 0 {
		return found, nil
	}
	topics, err := c.admin.DescribeTopics(ctx, names)
	if err != nil {
		return nil, err
	}
	partitions := map[string]int{}
	var resources []kafka.ConfigResource
	for name, topic := range topics {
		switch {
		case kafka.IsNotFound(topic.Err):
			found[name] = state{}
		case topic.Err != nil:
			return nil, fmt.Errorf("topic %s: %w", name, topic.Err)
		default:
			found[name] = state{id: topic.Topic.ID.String(), partitions: len(topic.Topic.Partitions), config: map[string]string{}}
			partitions[name] = len(topic.Topic.Partitions)
			resources = append(resources, kafka.TopicResource(name))
		}
	}
	configs, err := c.admin.DescribeConfigs(ctx, resources, nil)
	if err != nil {
		return nil, err
	}
	counts, err := c.records.Count(partitions)
	if err != nil {
		return nil, err
	}
	for name := range partitions {
		config := configs[kafka.TopicResource(name)]
		if config.Err != nil {
			return nil, fmt.Errorf("topic %s: %w", name, config.Err)
		}
		s := found[name]
		for key, entry := range config.Entries {
			if entry.Source == kafka.SourceTopic {
				s.config[key] = entry.Value
			}
		}
		s.records = counts[name]
		found[name] = s
	}
	return found, nil
}

// all returns the states of all topics except Kafka's own.
func (c *cluster) all(ctx context.Context) (map[string]state, error) {
	topics, err := c.admin.ListTopics(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range topics {
		if !t.Internal && !strings.HasPrefix(t.Name, "__") {
			names = append(names, t.Name)
		}
	}
	return c.states(ctx, names...)
}

// catchUp waits until the broker shows all that Kafka acknowledged before: brokers replay the metadata in order.
func (c *cluster) catchUp(ctx context.Context) error {
	c.marking.Lock()
	defer c.marking.Unlock()
	c.marks++
	const key = "retention.ms"
	value, resource := strconv.Itoa(c.marks), kafka.TopicResource(marker)
	if err := c.alter(ctx, marker, map[string]string{key: value}); err != nil {
		return err
	}
	return await(ctx, patience, func() error {
		found, err := c.admin.DescribeConfigs(ctx, []kafka.ConfigResource{resource}, []string{key})
		if err != nil {
			return err
		}
		if found[resource].Err == nil && found[resource].Entries[key].Value != value {
			return fmt.Errorf("%w caught up", errNotYet)
		}
		return found[resource].Err
	})
}

// settled returns the state of a topic that nothing changes any more, once a broker shows the last change.
func (c *cluster) settled(ctx context.Context, name string) (state, error) {
	const apart = 200 * time.Millisecond
	var s state
	err := await(ctx, patience, func() error {
		if err := c.catchUp(ctx); err != nil {
			return err
		}
		before, err := c.states(ctx, name)
		if err != nil {
			return err
		}
		pause(ctx, apart)
		after, err := c.states(ctx, name)
		if err != nil {
			return err
		}
		s = after[name]
		if what := before[name].differs(s); what != "" {
			return fmt.Errorf("%w settled: %s", errNotYet, what)
		}
		return nil
	})
	return s, err
}

// errTaken means that another client created the topic.
var errTaken = errors.New("the topic exists already")

// make creates topics without the operators, and waits until the broker shows them.
func (c *cluster) make(ctx context.Context, topics ...kafka.NewTopic) error {
	made, err := c.admin.CreateTopics(ctx, topics, false)
	if err != nil {
		return err
	}
	var names []string
	for name, result := range made {
		switch {
		case kafka.IsExists(result.Err):
			return fmt.Errorf("%w: %s", errTaken, name)
		case result.Err != nil:
			return fmt.Errorf("create topic %s: %w", name, result.Err)
		}
		names = append(names, name)
	}
	return await(ctx, patience, func() error {
		found, err := c.admin.DescribeTopics(ctx, names)
		if err != nil {
			return err
		}
		for name, topic := range found {
			if topic.Err != nil {
				return fmt.Errorf("topic %s: %w", name, topic.Err)
			}
			// An operator may have replaced it first, which is fine.
		}
		return nil
	})
}

// newTopic returns a request for a topic.
func newTopic(name string, partitions int32, config map[string]string) kafka.NewTopic {
	topic := kafka.NewTopic{Name: name, Partitions: partitions, ReplicationFactor: 1, Configs: map[string]*string{}}
	for key, value := range config {
		topic.Configs[key] = &value
	}
	return topic
}

// fill writes records to partition 0 of new topics.
func (c *cluster) fill(ctx context.Context, counts map[string]int) error {
	return await(ctx, patience, func() error {
		var err error
		if len(counts) > 0 {
			counts, err = c.records.Write(counts)
		}
		if err == nil && len(counts) > 0 {
			err = fmt.Errorf("%w: %d topics take no records", errNotYet, len(counts))
		}
		return err
	})
}

// remove deletes a topic, if there is one, without the operators.
func (c *cluster) remove(ctx context.Context, name string) error {
	found, err := c.admin.DescribeTopics(ctx, []string{name})
	if err != nil || kafka.IsNotFound(found[name].Err) {
		return err
	}
	if found[name].Err != nil {
		return found[name].Err
	}
	id := found[name].Topic.ID
	results, err := c.admin.DeleteTopics(ctx, []kafka.TopicID{id})
	if err != nil || kafka.IsNotFound(results[id]) {
		return err
	}
	return results[id]
}

// alter changes a topic's configuration without the operators. It ignores topics that do not exist.
func (c *cluster) alter(ctx context.Context, name string, set map[string]string) error {
	change := kafka.ConfigChange{Resource: kafka.TopicResource(name), Set: set}
	results, err := c.admin.AlterConfigs(ctx, []kafka.ConfigChange{change}, false)
	if err != nil || kafka.IsNotFound(results[change.Resource]) {
		return err
	}
	return results[change.Resource]
}

// patience is how long a proof waits for an event. Expected events take a fraction of it, but the machine may be busy.
const patience = time.Minute

// lag is far longer than a broker needs to learn about a change of the controller, on a busy machine.
const lag = 10 * time.Second
