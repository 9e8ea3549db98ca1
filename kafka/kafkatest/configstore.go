package kafkatest

import (
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/internal/rules"
)

// configStore holds the topics' own settings by topic id. kfake knows only ten of Kafka's keys, and validates no values.
type configStore struct {
	mu       sync.Mutex
	topics   map[[16]byte]map[string]string
	defaults map[string]string
}

func newConfigStore() *configStore {
	return &configStore{topics: map[[16]byte]map[string]string{}, defaults: rules.Defaults()}
}

func (s *configStore) create(id [16]byte, configs map[string]*string) {
	own := make(map[string]string, len(configs))
	for key, value := range configs {
		own[key] = *value
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.topics[id] = own
}

func (s *configStore) drop(id [16]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.topics, id)
}

func (s *configStore) alter(id [16]byte, ops []kmsg.IncrementalAlterConfigsRequestResourceConfig) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.topics[id]
	if own == nil {
		own = map[string]string{}
		s.topics[id] = own
	}
	for _, op := range ops {
		switch op.Op {
		case kmsg.IncrementalAlterConfigOpSet:
			own[op.Name] = *op.Value
		case kmsg.IncrementalAlterConfigOpDelete:
			delete(own, op.Name)
		case kmsg.IncrementalAlterConfigOpAppend:
			own[op.Name] += "," + *op.Value
		}
	}
}

// describe returns the settings of a topic: all, or the named ones.
func (s *configStore) describe(id [16]byte, names []string) []kmsg.DescribeConfigsResponseResourceConfig {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []kmsg.DescribeConfigsResponseResourceConfig
	for key, preset := range s.defaults {
		if names != nil && !slices.Contains(names, key) {
			continue
		}
		c := kmsg.NewDescribeConfigsResponseResourceConfig()
		c.Name, c.Value, c.Source, c.IsDefault = key, &preset, kmsg.ConfigSourceDefaultConfig, true
		if value, ok := s.topics[id][key]; ok {
			c.Value, c.Source, c.IsDefault = &value, kmsg.ConfigSourceDynamicTopicConfig, false
		}
		out = append(out, c)
	}
	return out
}
