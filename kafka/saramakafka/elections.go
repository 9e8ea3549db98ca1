package saramakafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// ElectPreferredLeaders implements kafka.LeaderElector. An election whose answer was lost is requested again, without an effect if the
// first request succeeded.
func (a *Admin) ElectPreferredLeaders(ctx context.Context, partitions []kafka.TopicPartition) (map[kafka.TopicPartition]error, error) {
	b := batch[kafka.TopicPartition, kafka.TopicPartition, error]{
		name: "ElectLeaders", leader: true, maxItems: maxRecords, maxWeight: maxRecords,
		key:    func(p kafka.TopicPartition) kafka.TopicPartition { return p },
		weight: func(kafka.TopicPartition) int { return 1 },
		refuse: func(p kafka.TopicPartition) error { return kafka.CheckTopicName(p.Topic) },
		send:   electLeaders, failure: itself, reason: itself,
	}
	return b.run(ctx, &a.client, partitions)
}

func electLeaders(ctx context.Context, c *conn, partitions []kafka.TopicPartition) (map[kafka.TopicPartition]error, error) {
	const typed = 1 // the first version that names the type of the election
	req := kmsg.NewPtrElectLeadersRequest()
	req.ElectionType = 0 // of the preferred leader
	req.TimeoutMillis = int32(brokerTimeout(ctx).Milliseconds())
	for name, indexes := range byTopic(partitions) {
		topic := kmsg.NewElectLeadersRequestTopic()
		topic.Topic, topic.Partitions = name, indexes
		req.Topics = append(req.Topics, topic)
	}
	resp, err := c.raw(ctx, req, typed)
	if err != nil {
		return nil, err
	}
	return elections(resp.(*kmsg.ElectLeadersResponse), partitions), nil
}

// byTopic groups partitions, whose order does not matter to Kafka.
func byTopic(partitions []kafka.TopicPartition) map[string][]int32 {
	topics := map[string][]int32{}
	for _, p := range partitions {
		topics[p.Topic] = append(topics[p.Topic], p.Partition)
	}
	return topics
}

// elections returns the result of each partition. An error of the whole request applies to all of them.
func elections(resp *kmsg.ElectLeadersResponse, asked []kafka.TopicPartition) map[kafka.TopicPartition]error {
	answers := make(map[kafka.TopicPartition]error, len(asked))
	if resp.ErrorCode != 0 {
		for _, p := range asked {
			answers[p] = kafka.NewError(resp.ErrorCode, "")
		}
		return answers
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			err := codeError(p.ErrorCode, text(p.ErrorMessage))
			if p.ErrorCode == kafka.CodeElectionNotNeeded {
				err = nil // the preferred replica leads already
			}
			answers[kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = err
		}
	}
	return answers
}

// CheckLeader implements kafka.LeaderElector.
func (a *Admin) CheckLeader(ctx context.Context, broker int32, partitions []kafka.TopicPartition) (map[kafka.TopicPartition]error, error) {
	b := batch[kafka.TopicPartition, kafka.TopicPartition, error]{
		name: "ListOffsets", maxItems: maxRecords,
		key:    func(p kafka.TopicPartition) kafka.TopicPartition { return p },
		refuse: func(p kafka.TopicPartition) error { return kafka.CheckTopicName(p.Topic) },
		broker: func(kafka.TopicPartition) int32 { return broker },
		send:   listOffsets, failure: itself, reason: itself,
	}
	return b.run(ctx, &a.client, partitions)
}

// listOffsets requests the high watermarks of partitions, and returns the reasons why a broker can't return them.
func listOffsets(ctx context.Context, c *conn, partitions []kafka.TopicPartition) (map[kafka.TopicPartition]error, error) {
	const (
		sure   = 5  // the first version in which a leader reports that a follower has not fetched from it
		latest = -1 // the high watermark
	)
	req := kmsg.NewPtrListOffsetsRequest()
	for name, indexes := range byTopic(partitions) {
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic = name
		for _, index := range indexes {
			wanted := kmsg.NewListOffsetsRequestTopicPartition()
			wanted.Partition, wanted.Timestamp = index, latest
			topic.Partitions = append(topic.Partitions, wanted)
		}
		req.Topics = append(req.Topics, topic)
	}
	resp, err := c.raw(ctx, req, sure)
	if err != nil {
		return nil, err
	}
	answers := make(map[kafka.TopicPartition]error, len(partitions))
	for _, t := range resp.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range t.Partitions {
			answers[kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = codeError(p.ErrorCode, "")
		}
	}
	return answers, nil
}
