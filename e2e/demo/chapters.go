package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// The samples that the chapters use.
const (
	changed   = "orders"
	lost      = "documents"
	removed   = "hello"
	retention = "retention.ms"
)

func (t *story) create(ctx context.Context) error {
	t.tell.section("KafkaTopics become topics")
	if err := t.kubectl(ctx, "apply", "-n", namespace, "-k", "config/samples"); err != nil {
		return err
	}
	took, err := t.await(ctx, "all KafkaTopics are Ready", t.allReady)
	if err != nil {
		return err
	}
	t.tell.say("All of them were Ready after %s.\n", seconds(took))
	if err := t.kubectl(ctx, "get", "kt", "-n", namespace); err != nil {
		return err
	}
	return t.inKafka(ctx, "")
}

// allReady reports whether every KafkaTopic has the condition Ready.
func (t *story) allReady(ctx context.Context) (bool, error) {
	out, err := t.quietKubectl(ctx, "get", "kt", "-n", namespace, "-o",
		`jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}`)
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(out) {
		if strings.TrimSpace(line) != "True" {
			return false, fmt.Errorf("there is one that is not: %q", out)
		}
	}
	return out != "", nil
}

func (t *story) change(ctx context.Context) error {
	t.tell.section("A change in Kubernetes is a change in Kafka")
	patch := `{"spec":{"partitions":18,"config":{"retention.ms":86400000}}}`
	if err := t.kubectl(ctx, "patch", "kt", changed, "-n", namespace, "--type=merge", "-p", patch); err != nil {
		return err
	}
	took, err := t.await(ctx, "the change is in Kafka", func(ctx context.Context) (bool, error) {
		topic, own, err := t.topic(ctx, changed)
		return len(topic.Partitions) == 18 && own[retention] == "86400000", err
	})
	if err != nil {
		return err
	}
	t.tell.say("Kafka had it after %s.\n", seconds(took))
	return t.inKafka(ctx, changed)
}

func (t *story) drift(ctx context.Context) error {
	t.tell.section("Somebody changes a topic behind the operator's back")
	resource := kafka.TopicResource(changed)
	results, err := t.admin.AlterConfigs(ctx, []kafka.ConfigChange{{Resource: resource, Set: map[string]string{retention: "1000"}}}, false)
	if err != nil {
		return err
	}
	if err := results[resource]; err != nil {
		return err
	}
	t.tell.say("%s was set to 1000 directly in Kafka: records would be gone after a second.", retention)
	t.tell.say("This demo's operator looks after every topic every %v (STRIMZI_FULL_RECONCILIATION_INTERVAL_MS, 2 minutes by default).\n",
		interval)
	took, err := t.await(ctx, "the setting is back", func(ctx context.Context) (bool, error) {
		_, own, err := t.topic(ctx, changed)
		return own[retention] == "86400000", err
	})
	if err != nil {
		return err
	}
	t.tell.say("It was back after %s.\n", seconds(took))
	return t.inKafka(ctx, changed)
}

func (t *story) loss(ctx context.Context) error {
	t.tell.section("Somebody deletes a topic in Kafka")
	before, _, err := t.topic(ctx, lost)
	if err != nil {
		return err
	}
	results, err := t.admin.DeleteTopics(ctx, []kafka.TopicID{before.ID})
	if err != nil {
		return err
	}
	if err := results[before.ID]; err != nil {
		return err
	}
	t.tell.say("The topic %s, id %s, was deleted directly in Kafka. Its KafkaTopic still asks for it.", lost, before.ID)
	var after kafka.Topic
	took, err := t.await(ctx, "the topic is back", func(ctx context.Context) (bool, error) {
		var err error
		after, _, err = t.topic(ctx, lost)
		return err == nil && after.ID != before.ID, err
	})
	if err != nil {
		return err
	}
	t.tell.say("It was back after %s, empty, with the id %s.\n", seconds(took), after.ID)
	if _, err := t.await(ctx, "the status tells the new id", func(ctx context.Context) (bool, error) {
		id, err := t.quietKubectl(ctx, "get", "kt", lost, "-n", namespace, "-o", "jsonpath={.status.topicId}")
		return id == after.ID.String(), err
	}); err != nil {
		return err
	}
	return t.kubectl(ctx, "get", "kt", lost, "-n", namespace, "-o", "jsonpath={.status.topicId}{\"\\n\"}")
}

func (t *story) remove(ctx context.Context) error {
	t.tell.section("A deleted KafkaTopic takes its topic along")
	if err := t.kubectl(ctx, "delete", "kt", removed, "-n", namespace); err != nil {
		return err
	}
	took, err := t.await(ctx, "the topic is gone", func(ctx context.Context) (bool, error) {
		_, _, err := t.topic(ctx, removed)
		if kafka.ClassOf(err) == kafka.ClassNotFound {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		return err
	}
	t.tell.say("Kafka has no topic %s any more, %s later.", removed, seconds(took))
	return nil
}
