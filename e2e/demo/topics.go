package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

// connect opens a Kafka client beside the operator's.
func connect(s *state) (*saramakafka.Admin, error) {
	return saramakafka.New(kafka.Config{Bootstrap: s.Bootstrap, ClientID: "demo"})
}

// Topics lists the topics as Kafka sees them.
func (d *Demo) Topics(ctx context.Context) error {
	s, err := d.running()
	if err != nil {
		return err
	}
	admin, err := connect(s)
	if err != nil {
		return err
	}
	defer admin.Close()
	text, err := listTopics(ctx, admin)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(d.tell.out, text)
	return err
}

// listTopics renders the topics that are not Kafka's own, with the settings that differ from the brokers'.
func listTopics(ctx context.Context, admin kafka.TopicReader) (string, error) {
	topics, err := admin.ListTopics(ctx)
	if err != nil {
		return "", err
	}
	topics = slices.DeleteFunc(topics, func(t kafka.Topic) bool { return t.Internal })
	slices.SortFunc(topics, func(a, b kafka.Topic) int { return strings.Compare(a.Name, b.Name) })
	if len(topics) == 0 {
		return "(no topics)\n", nil
	}
	var resources []kafka.ConfigResource
	for _, t := range topics {
		resources = append(resources, kafka.TopicResource(t.Name))
	}
	configs, err := admin.DescribeConfigs(ctx, resources, nil)
	if err != nil {
		return "", err
	}
	rows := [][]string{{"TOPIC", "PARTITIONS", "REPLICAS", "SETTINGS"}}
	for _, t := range topics {
		config := configs[kafka.TopicResource(t.Name)]
		if config.Err != nil {
			return "", config.Err
		}
		replicas := 0
		if len(t.Partitions) > 0 {
			replicas = len(t.Partitions[0].Replicas)
		}
		rows = append(rows, []string{t.Name, fmt.Sprint(len(t.Partitions)), fmt.Sprint(replicas), settings(config.Entries)})
	}
	return table(rows), nil
}

// settings names what is set on the topic itself.
func settings(entries map[string]kafka.ConfigEntry) string {
	var own []string
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if e := entries[key]; e.Source == kafka.SourceTopic {
			own = append(own, key+"="+e.Value)
		}
	}
	return strings.Join(own, " ")
}
