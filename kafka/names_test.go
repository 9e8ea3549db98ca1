package kafka_test

import (
	"strings"
	"testing"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/memory"
)

func TestTopicNames(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "A.b_c-9": true, "...": true, "__consumer_offsets": true, strings.Repeat("x", 249): true,
		"": false, ".": false, "..": false, strings.Repeat("x", 250): false, "a b": false, "a/b": false, "ä": false, "a:b": false, "a\x00": false,
	} {
		if got := kafka.IsTopicName(name); got != want {
			t.Errorf("%q: got %t", name, got)
		}
	}
}

// FuzzTopicNames compares with a cluster: the cluster rejects exactly the names that CheckTopicName rejects.
func FuzzTopicNames(f *testing.F) {
	for _, name := range []string{"a", "", ".", "..", "a b", "é", strings.Repeat("x", 250)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		c := memory.New(memory.Options{}).Client("", nil)
		made, err := c.CreateTopics(t.Context(), []kafka.NewTopic{{Name: name, Partitions: 1, ReplicationFactor: 1}}, true)
		if err != nil {
			t.Fatal(err)
		}
		if got := made[name].Err == nil; got != kafka.IsTopicName(name) {
			t.Errorf("%q: IsTopicName says %t, the cluster %v", name, kafka.IsTopicName(name), made[name].Err)
		}
	})
}
