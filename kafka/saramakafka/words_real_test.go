package saramakafka_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/memory"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// badWishes makes requests that a cluster must reject, and returns its messages.
func badWishes(t *testing.T, a kafka.Admin) map[string]string {
	t.Helper()
	value := func(s string) *string { return &s }
	for _, name := range []string{"taken", "dotted.name"} {
		results, err := a.CreateTopics(t.Context(), []kafka.NewTopic{{Name: name, Partitions: 3, ReplicationFactor: 1}}, false)
		if err != nil || results[name].Err != nil {
			t.Fatal(err, results)
		}
	}
	with := func(name, key string, v *string) kafka.NewTopic {
		return kafka.NewTopic{Name: name, Partitions: 1, ReplicationFactor: 1, Configs: map[string]*string{key: v}}
	}
	placed := func(name string, assignments map[int32][]int32) kafka.NewTopic {
		return kafka.NewTopic{Name: name, Partitions: -1, ReplicationFactor: -1, Assignments: assignments}
	}
	words := map[string]string{}
	created, err := a.CreateTopics(t.Context(), []kafka.NewTopic{
		{Name: "", Partitions: 1, ReplicationFactor: 1}, {Name: "..", Partitions: 1, ReplicationFactor: 1},
		{Name: "a b", Partitions: 1, ReplicationFactor: 1}, {Name: strings.Repeat("x", 250), Partitions: 1, ReplicationFactor: 1},
		{Name: "taken", Partitions: 1, ReplicationFactor: 1}, {Name: "dotted_name", Partitions: 1, ReplicationFactor: 1},
		{Name: "zero-partitions", Partitions: 0, ReplicationFactor: 1}, {Name: "minus-partitions", Partitions: -5, ReplicationFactor: 1},
		{Name: "zero-replicas", Partitions: 1, ReplicationFactor: 0}, {Name: "many-replicas", Partitions: 1, ReplicationFactor: 9},
		with("unknown-key", "no.such.key", value("1")), with("null", "retention.ms", nil), with("word", "retention.ms", value("soon")),
		with("low", "min.insync.replicas", value("0")), with("truth", "preallocate", value("perhaps")),
		with("type", "compression.type", value("zip")),
		with("list", "cleanup.policy", value("compact,burn")), with("ratio", "min.cleanable.dirty.ratio", value("2")),
		with("float", "segment.bytes", value("1.5")),
		with("small", "segment.bytes", value("1")),
		placed("gap", map[int32][]int32{0: {0}, 2: {0}}), placed("empty", map[int32][]int32{0: {}}),
		placed("stranger", map[int32][]int32{0: {7}}),
		placed("double", map[int32][]int32{0: {0, 0}}),
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range created {
		words["create "+name] = said(r.Err)
	}
	badChanges(t, a, words)
	badFeatures(t, a, words)
	return words
}

// badChanges adds a cluster's messages for invalid changes of topics.
func badChanges(t *testing.T, a kafka.Admin, words map[string]string) {
	t.Helper()
	increased, err := a.CreatePartitions(t.Context(), []kafka.PartitionIncrease{{Topic: "taken", Total: 3}, {Topic: "dotted.name", Total: 1},
		{Topic: "missing", Total: 1}}, false)
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range increased {
		words["partitions "+name] = said(err)
	}
	for key, v := range map[string]string{"no.such.key": "1", "retention.ms": "soon"} {
		altered, err := a.AlterConfigs(t.Context(), []kafka.ConfigChange{{Resource: kafka.TopicResource("taken"),
			Set: map[string]string{key: v}}}, false)
		if err != nil {
			t.Fatal(err)
		}
		words["alter "+key] = said(altered[kafka.TopicResource("taken")])
	}
	altered, err := a.AlterConfigs(t.Context(), []kafka.ConfigChange{{Resource: kafka.TopicResource("missing"),
		Set: map[string]string{"retention.ms": "1"}}}, false)
	if err != nil {
		t.Fatal(err)
	}
	words["alter missing"] = said(altered[kafka.TopicResource("missing")])
	configs, err := a.DescribeConfigs(t.Context(), []kafka.ConfigResource{kafka.TopicResource("missing")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	words["configs of missing"] = said(configs[kafka.TopicResource("missing")].Err)
	deleted, err := a.DeleteTopics(t.Context(), []kafka.TopicID{{1}})
	if err != nil {
		t.Fatal(err)
	}
	words["delete unknown"] = said(deleted[kafka.TopicID{1}])
}

// badFeatures adds a cluster's messages for invalid changes of features.
func badFeatures(t *testing.T, a kafka.Admin, words map[string]string) {
	t.Helper()
	for what, updates := range map[string]map[string]kafka.FeatureUpdate{
		"level 3": {"transaction.version": {Level: 3}}, "level -1": {"transaction.version": {Level: -1}},
		"down":    {"transaction.version": {Level: 1}},
		"unknown": {"no.such": {Level: 1}}, "unknown off": {"no.such": {Level: 0, Downgrade: true}},
		"metadata lost": {kafka.FeatureMetadataVersion: {Level: 29, Downgrade: true}},
		"metadata off":  {kafka.FeatureMetadataVersion: {Level: 0, Downgrade: true}},
		"one of two":    {"group.version": {Level: 0, Downgrade: true}, "no.such": {Level: 1}},
	} {
		words["features "+what] = said(a.UpdateFeatures(t.Context(), updates, false))
	}
	words["unregister unknown"] = said(a.UnregisterBroker(t.Context(), 4711))
}

func said(err error) string {
	if err == nil {
		return "nothing"
	}
	return err.Error()
}

// TestTheFakesSpeakAsKafkaDoes compares the messages that users read, and the topics' default settings.
func TestTheFakesSpeakAsKafkaDoes(t *testing.T) {
	c := realCluster(t, realkafka.Options{})
	adapter, fake := connect(t, kafka.Config{Bootstrap: c.Bootstrap()}), memory.New(memory.Options{}).Client("User:test", nil)
	theirs, ours := badWishes(t, adapter), badWishes(t, fake)
	for _, wish := range slices.Sorted(maps.Keys(theirs)) {
		if theirs[wish] != ours[wish] {
			t.Errorf("%s:\nKafka says %s\nthe fake   %s", wish, theirs[wish], ours[wish])
		}
	}
	resource := kafka.TopicResource("taken")
	actual, err := adapter.DescribeConfigs(t.Context(), []kafka.ConfigResource{resource}, nil)
	if err != nil {
		t.Fatal(err)
	}
	faked, err := fake.DescribeConfigs(t.Context(), []kafka.ConfigResource{resource}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The same keys and defaults. The sources of values may differ: a value in a broker's file is no default.
	for key, e := range actual[resource].Entries {
		if f, ok := faked[resource].Entries[key]; !ok || e.Source == kafka.SourceDefault && f.Value != e.Value {
			t.Errorf("%s is %q in Kafka, %q in the fake", key, e.Value, f.Value)
		}
	}
	for key := range faked[resource].Entries {
		if _, ok := actual[resource].Entries[key]; !ok {
			t.Errorf("Kafka has no %s", key)
		}
	}
}
