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

// connect opens a Kafka client in addition to the operator's.
func connect(s *state) (*saramakafka.Admin, error) {
	return saramakafka.New(kafka.Config{Bootstrap: s.Bootstrap, ClientID: "demo"})
}

// Topics lists the topics in Kafka.
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
	topics, err := admin.ListTopics(ctx)
	if err != nil {
		return err
	}
	text, err := renderTopics(ctx, admin, topics)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(d.tell.out, text)
	return err
}

// renderTopics returns a table of the topics that are not internal to Kafka, with the settings of each.
func renderTopics(ctx context.Context, admin kafka.TopicReader, topics []kafka.Topic) (string, error) {
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
		name := t.Name
		partitions, factor := fmt.Sprint(len(t.Partitions)), fmt.Sprint(replicas)
		for _, line := range settings(config.Entries) {
			rows = append(rows, []string{name, partitions, factor, line})
			name, partitions, factor = "", "", ""
		}
	}
	return table(rows), nil
}

// settings returns the settings of the topic itself, in lines that fit a terminal; there is at least one line.
func settings(entries map[string]kafka.ConfigEntry) []string {
	const width = 60
	lines := []string{""}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		e := entries[key]
		if e.Source != kafka.SourceTopic {
			continue
		}
		setting, last := key+"="+e.Value, len(lines)-1
		switch {
		case lines[last] == "":
			lines[last] = setting
		case len(lines[last])+1+len(setting) <= width:
			lines[last] += " " + setting
		default:
			lines = append(lines, setting)
		}
	}
	return lines
}
