package controller

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/executor"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// The calls of the Kafka interface.
const (
	describeCall      = "describe"
	createCall        = "create"
	validateCall      = "validate"
	alterCall         = "alter"
	increaseCall      = "increase"
	reassignmentsCall = "reassignments"
	deleteCall        = "delete"
	brokerCall        = "read broker"
)

// The values that the fake uses for fields that a request omits.
const (
	defaultPartitions   = 1
	defaultReplicas     = 1
	inheritedConfigKey  = "segment.bytes"
	inheritedConfigText = "1073741824"
)

var inheritedConfig = kafka.ConfigEntry{Value: inheritedConfigText, Source: kafka.SourceStaticBroker}

// fakeKafka is an in-memory cluster with scripted failures.
type fakeKafka struct {
	mu     sync.Mutex
	topics map[string]*topic.Actual
	// stale is the state that lagging brokers still report; nil if no broker lags.
	stale map[string]topic.Actual
	calls []string
	// before runs before each call; its error fails the call. after runs after each call; its error replaces the answer.
	before, after func(ctx context.Context, call, what string) error
	moves         map[string]map[int32]kafka.Reassignment
	made          uint64
	waits         func(call, what string)
	// hides makes Kafka show the source of a value that equals its default as the broker's.
	hides bool
	// reliedOn is each number in the configuration of a broker, except for the size of a segment.
	reliedOn string
}

func newFakeKafka() *fakeKafka { return &fakeKafka{topics: map[string]*topic.Actual{}, reliedOn: "2"} }

// fails makes the calls of one kind fail.
func (k *fakeKafka) fails(call string, err error) {
	k.hook(func(_ context.Context, c, _ string) error {
		if c == call {
			return err
		}
		return nil
	})
}

// hook sets the function that runs before each call; nil removes all failures.
func (k *fakeKafka) hook(f func(ctx context.Context, call, what string) error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.before, k.after = f, nil
}

// hookAfter sets the function that runs after each call. Its error stands for an answer that got lost.
func (k *fakeKafka) hookAfter(f func(ctx context.Context, call, what string) error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.before, k.after = nil, f
}

// lag makes describe return the present state until catchUp.
func (k *fakeKafka) lag() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stale = map[string]topic.Actual{}
	for name, a := range k.topics {
		k.stale[name] = clone(a)
	}
}

// show makes describe return an old topic until catchUp.
func (k *fakeKafka) show(old *topic.Actual) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stale = map[string]topic.Actual{old.Topic.Name: *old}
}

func (k *fakeKafka) catchUp() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stale = nil
}

// put makes a topic behind the operator's back, and returns its id.
func (k *fakeKafka) put(name string, partitions int32, replicas int16, config map[string]string) kafka.TopicID {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.add(name, partitions, replicas)
	for key, value := range config {
		t.Config[key] = kafka.ConfigEntry{Value: value, Source: kafka.SourceTopic}
	}
	return t.Topic.ID
}

// drop deletes a topic behind the operator's back.
func (k *fakeKafka) drop(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.topics, name)
}

// set changes a topic's configuration behind the operator's back.
func (k *fakeKafka) set(name, key, value string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.topics[name].Config[key] = kafka.ConfigEntry{Value: value, Source: kafka.SourceTopic}
}

// unset removes the topic's own value of the key that has a default, behind the operator's back.
func (k *fakeKafka) unset(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.topics[name].Config[inheritedConfigKey] = inheritedConfig
}

// move starts a reassignment of each partition of a topic: partitions show the old and the new replicas meanwhile.
func (k *fakeKafka) move(name string, adding, removing []int32) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.moves = map[string]map[int32]kafka.Reassignment{name: {}}
	t := k.topics[name]
	for i := range t.Topic.Partitions {
		p := &t.Topic.Partitions[i]
		p.Replicas = append(slices.Clone(p.Replicas), adding...)
		k.moves[name][p.Index] = kafka.Reassignment{Replicas: p.Replicas, Adding: adding, Removing: removing}
	}
}

// seen sets the replicas that a broker reports for the first partition of a topic.
func (k *fakeKafka) seen(name string, replicas ...int32) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.topics[name].Topic.Partitions[0].Replicas = replicas
}

// get returns a topic; nil if there is none.
func (k *fakeKafka) get(name string) *topic.Actual {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, ok := k.topics[name]
	if !ok {
		return nil
	}
	c := clone(t)
	return &c
}

// partitions returns how many partitions a topic has; 0 if there is none.
func (k *fakeKafka) partitions(name string) int {
	if t := k.get(name); t != nil {
		return len(t.Topic.Partitions)
	}
	return 0
}

// config returns the configuration that is set on the topic itself.
func (k *fakeKafka) config(name string) map[string]string {
	own := map[string]string{}
	if t := k.get(name); t != nil {
		for key, entry := range t.Config {
			if entry.Source == kafka.SourceTopic {
				own[key] = entry.Value
			}
		}
	}
	return own
}

// took returns the calls since the last took.
func (k *fakeKafka) took() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	calls := k.calls
	k.calls = nil
	return calls
}

func clone(a *topic.Actual) topic.Actual {
	c := *a
	c.Topic.Partitions = slices.Clone(a.Topic.Partitions)
	c.Config = maps.Clone(a.Config)
	return c
}

func (k *fakeKafka) add(name string, partitions int32, replicas int16) *topic.Actual {
	k.made++
	t := &topic.Actual{Config: map[string]kafka.ConfigEntry{inheritedConfigKey: inheritedConfig}}
	t.Topic.Name, t.Topic.Internal = name, topic.IsInternal(name)
	binary.BigEndian.PutUint64(t.Topic.ID[8:], k.made)
	grow(t, partitions, replicas)
	k.topics[name] = t
	return t
}

func grow(t *topic.Actual, partitions int32, replicas int16) {
	for i := int32(len(t.Topic.Partitions)); i < partitions; i++ { // small
		p := kafka.Partition{Index: i}
		for n := range int32(replicas) {
			p.Replicas = append(p.Replicas, n)
		}
		t.Topic.Partitions = append(t.Topic.Partitions, p)
	}
}

// asked records a call, and runs the scripted hooks before and after carryOut.
func (k *fakeKafka) asked(ctx context.Context, call, what string, carryOut func() error) error {
	k.mu.Lock()
	k.calls = append(k.calls, call+" "+what)
	before, after := k.before, k.after
	k.mu.Unlock()
	if before != nil {
		if err := before(ctx, call, what); err != nil {
			return err
		}
	}
	k.mu.Lock()
	err := carryOut()
	k.mu.Unlock()
	if err == nil && after != nil {
		err = after(ctx, call, what)
	}
	return err
}

// change runs the waiting hook, then the check, and carries the call out only if the check allows it.
func (k *fakeKafka) change(ctx context.Context, call, what string, allowed executor.Check, carryOut func() error) error {
	k.mu.Lock()
	waits := k.waits
	k.mu.Unlock()
	if waits != nil {
		waits(call, what)
	}
	if allowed != nil {
		if err := allowed(ctx); err != nil {
			return err
		}
	}
	return k.asked(ctx, call, what, carryOut)
}

// waiting sets a function that runs while a change waits to be sent to Kafka.
func (k *fakeKafka) waiting(f func(call, what string)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waits = f
}

func (k *fakeKafka) Describe(ctx context.Context, name string, _ bool) (a topic.Actual, err error) {
	err = k.asked(ctx, describeCall, name, func() error {
		if k.stale != nil {
			old, ok := k.stale[name]
			if !ok {
				return kafka.NewError(kafka.CodeUnknownTopicOrPartition, "")
			}
			a = clone(&old)
			return nil
		}
		t, ok := k.topics[name]
		if !ok {
			return kafka.NewError(kafka.CodeUnknownTopicOrPartition, "")
		}
		a = clone(t)
		if k.hides && a.Config[inheritedConfigKey].Value == inheritedConfigText {
			a.Config[inheritedConfigKey] = inheritedConfig
		}
		return nil
	})
	return a, err
}

func (k *fakeKafka) Locate(ctx context.Context, name string) (kafka.Topic, error) {
	a, err := k.Describe(ctx, name, false)
	return a.Topic, err
}

func (k *fakeKafka) Create(ctx context.Context, n kafka.NewTopic, allowed executor.Check) (made kafka.CreateResult, err error) {
	err = k.change(ctx, createCall, n.Name, allowed, func() error {
		if _, ok := k.topics[n.Name]; ok {
			return kafka.NewError(kafka.CodeTopicAlreadyExists, fmt.Sprintf("Topic '%s' already exists.", n.Name))
		}
		if n.Partitions < 0 {
			n.Partitions = defaultPartitions
		}
		if n.ReplicationFactor < 0 {
			n.ReplicationFactor = defaultReplicas
		}
		t := k.add(n.Name, n.Partitions, n.ReplicationFactor)
		for key, value := range n.Configs {
			t.Config[key] = kafka.ConfigEntry{Value: *value, Source: kafka.SourceTopic}
		}
		made = kafka.CreateResult{ID: t.Topic.ID, Partitions: n.Partitions, ReplicationFactor: n.ReplicationFactor}
		return nil
	})
	return made, err
}

func (k *fakeKafka) Validate(ctx context.Context, n kafka.NewTopic) error {
	return k.asked(ctx, validateCall, n.Name, func() error {
		if _, ok := k.topics[n.Name]; ok {
			return kafka.NewError(kafka.CodeTopicAlreadyExists, fmt.Sprintf("Topic '%s' already exists.", n.Name))
		}
		return nil
	})
}

func (k *fakeKafka) Alter(ctx context.Context, c kafka.ConfigChange, allowed executor.Check) error {
	return k.change(ctx, alterCall, c.Resource.Name, allowed, func() error {
		t, ok := k.topics[c.Resource.Name]
		if !ok {
			return kafka.NewError(kafka.CodeUnknownTopicOrPartition, "")
		}
		for key, value := range c.Set {
			t.Config[key] = kafka.ConfigEntry{Value: value, Source: kafka.SourceTopic}
		}
		for _, key := range c.Delete {
			delete(t.Config, key)
		}
		return nil
	})
}

func (k *fakeKafka) Increase(ctx context.Context, p kafka.PartitionIncrease, allowed executor.Check) error {
	return k.change(ctx, increaseCall, p.Topic, allowed, func() error {
		t, ok := k.topics[p.Topic]
		switch {
		case !ok:
			return kafka.NewError(kafka.CodeUnknownTopicOrPartition, "")
		case int(p.Total) <= len(t.Topic.Partitions):
			return kafka.NewError(kafka.CodeInvalidPartitions, fmt.Sprintf("Topic already has %d partition(s).", len(t.Topic.Partitions)))
		}
		grow(t, p.Total, int16(len(t.Topic.Partitions[0].Replicas))) // small
		return nil
	})
}

func (k *fakeKafka) Reassignments(ctx context.Context, name string) (moves map[int32]kafka.Reassignment, err error) {
	err = k.asked(ctx, reassignmentsCall, name, func() error {
		moves = maps.Clone(k.moves[name])
		return nil
	})
	return moves, err
}

func (k *fakeKafka) BrokerConfig(ctx context.Context, keys []string) (values map[string]string, err error) {
	err = k.asked(ctx, brokerCall, "", func() error {
		values = map[string]string{}
		for _, key := range keys {
			values[key] = k.reliedOn
			if strings.HasSuffix(key, "segment.bytes") {
				values[key] = "104857600"
			}
		}
		return nil
	})
	return values, err
}

func (k *fakeKafka) Delete(ctx context.Context, id kafka.TopicID, allowed executor.Check) error {
	return k.change(ctx, deleteCall, id.String(), allowed, func() error {
		for name, t := range k.topics {
			if t.Topic.ID == id {
				delete(k.topics, name)
				return nil
			}
		}
		return kafka.NewError(kafka.CodeUnknownTopicID, "")
	})
}

// answers returns a hook that fails calls, each kind with its own error.
func answers(errs map[string]error) func(context.Context, string, string) error {
	return func(_ context.Context, call, _ string) error { return errs[call] }
}
