package memory

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/internal/rules"
)

// topic is immutable once it is in a state: a change replaces it. So a snapshot need not copy it.
type topic struct {
	kafka.Topic
	configs map[string]string
}

// state is everything that requests can change.
type state struct {
	topics     map[string]*topic
	ids        map[kafka.TopicID]*topic
	collations map[string]string // rules.Collation of a name to the name
	nodes      rules.NodeConfigs
	away       map[int32]bool // nodes that don't answer; of these, brokers are fenced
	// unregistered are the brokers that UnregisterBroker removed.
	unregistered map[int32]bool
	features     map[string]int16 // the levels above 0
	epoch        int64            // of features
	created      uint64           // topics ever created: the source of ids
}

func newState() state {
	return state{
		topics: map[string]*topic{}, ids: map[kafka.TopicID]*topic{},
		collations: map[string]string{},
		away:       map[int32]bool{}, unregistered: map[int32]bool{}, features: rules.Features(),
	}
}

func (s *state) clone() state {
	return state{
		topics: maps.Clone(s.topics), ids: maps.Clone(s.ids), collations: maps.Clone(s.collations),
		nodes: s.nodes, away: maps.Clone(s.away), created: s.created,
		unregistered: maps.Clone(s.unregistered), features: s.features, epoch: s.epoch,
	}
}

// put adds or replaces a topic.
func (s *state) put(t *topic) {
	s.topics[t.Name], s.ids[t.ID] = t, t
	s.collations[rules.Collation(t.Name)] = t.Name
}

// remove deletes a topic.
func (s *state) remove(t *topic) {
	delete(s.topics, t.Name)
	delete(s.ids, t.ID)
	delete(s.collations, rules.Collation(t.Name))
}

// nextID returns an unused id: the topic's number, after a mark that distinguishes such ids from real ones.
func (s *state) nextID() kafka.TopicID {
	s.created++
	id := kafka.TopicID{'m', 'e', 'm', 'o', 'r', 'y'}
	binary.BigEndian.PutUint64(id[8:], s.created)
	return id
}

// with returns a changed copy of the topic. change may modify the copy's partitions.
func (t *topic) with(change func(*topic)) *topic {
	out := &topic{Topic: t.Topic, configs: t.configs}
	out.Partitions = slices.Clone(t.Partitions)
	change(out)
	return out
}

// partition returns a new partition that its first replica leads.
func partition(index int32, replicas []int32) kafka.Partition {
	return kafka.Partition{Index: index, Leader: replicas[0], Replicas: replicas, ISR: slices.Clone(replicas)}
}

func place(brokers []int32, index int32, factor int) []int32 {
	replicas := make([]int32, factor)
	for i := range replicas {
		replicas[i] = brokers[(int(index)+i)%len(brokers)]
	}
	return replicas
}

// Topic is a topic with its own settings, as State lists it.
type Topic struct {
	kafka.Topic
	// Configs are the settings that differ from the defaults, by key.
	Configs map[string]string
}

// Snapshot is a cluster's state at one time. It is immutable.
type Snapshot struct{ state state }

// Topics lists the topics of the snapshot, sorted by name. The caller may modify the result.
func (s *Snapshot) Topics() []Topic {
	out := make([]Topic, 0, len(s.state.topics))
	for _, name := range slices.Sorted(maps.Keys(s.state.topics)) {
		t := s.state.topics[name]
		out = append(out, Topic{Topic: copied(t), Configs: maps.Clone(t.configs)})
	}
	return out
}

// copied returns a deep copy of the topic.
func copied(t *topic) kafka.Topic {
	out := t.Topic
	out.Partitions = slices.Clone(t.Partitions)
	for i := range out.Partitions {
		p := &out.Partitions[i]
		p.Replicas, p.ISR, p.Offline = slices.Clone(p.Replicas), slices.Clone(p.ISR), slices.Clone(p.Offline)
	}
	return out
}
