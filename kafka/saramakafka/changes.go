package saramakafka

import (
	"context"
	"maps"
	"slices"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// CreateTopics implements kafka.TopicWriter. Partitions and ReplicationFactor of a result are -1 if the client may create the topic but not
// read its configuration; that is Kafka's rule.
func (a *Admin) CreateTopics(ctx context.Context, topics []kafka.NewTopic, validateOnly bool) (map[string]kafka.CreateResult, error) {
	b := batch[string, kafka.NewTopic, kafka.CreateResult]{
		name: "CreateTopics", repeat: once, mutation: true, thrown: true, maxItems: maxChanges, maxWeight: maxRecords,
		key:    func(t kafka.NewTopic) string { return t.Name },
		weight: recordsOf,
		text:   textOf,
		equal:  sameTopic,
		refuse: kafka.CheckNewTopic,
		send: func(ctx context.Context, c *conn, topics []kafka.NewTopic) (map[string]kafka.CreateResult, error) {
			return createTopics(ctx, c, topics, validateOnly)
		},
		failure: func(err error) kafka.CreateResult { return kafka.CreateResult{Err: err} },
		reason:  func(r kafka.CreateResult) error { return r.Err },
	}
	return b.run(ctx, &a.client, topics)
}

// recordsOf returns the number of metadata records for a topic: one for itself, for each partition, and for each key of its configuration.
func recordsOf(t kafka.NewTopic) int {
	partitions := max(int(t.Partitions), len(t.Assignments))
	if partitions <= 0 {
		partitions = unknownPartitions
	}
	return 1 + partitions + len(t.Configs)
}

// textOf returns the number of bytes in the configuration of a new topic.
func textOf(t kafka.NewTopic) int {
	n := 0
	for key, value := range t.Configs {
		n += len(key) + len(text(value))
	}
	return n
}

func sameTopic(a, b kafka.NewTopic) bool {
	return a.Partitions == b.Partitions && a.ReplicationFactor == b.ReplicationFactor &&
		maps.EqualFunc(a.Assignments, b.Assignments, slices.Equal) &&
		maps.EqualFunc(a.Configs, b.Configs, func(x, y *string) bool { return x == y || x != nil && y != nil && *x == *y })
}

func createTopics(ctx context.Context, c *conn, topics []kafka.NewTopic, validateOnly bool) (map[string]kafka.CreateResult, error) {
	details := make(map[string]*sarama.TopicDetail, len(topics))
	for _, t := range topics {
		details[t.Name] = &sarama.TopicDetail{
			NumPartitions: t.Partitions, ReplicationFactor: t.ReplicationFactor,
			ReplicaAssignment: t.Assignments, ConfigEntries: t.Configs,
		}
	}
	var resp *sarama.CreateTopicsResponse
	err := c.typed(ctx, func(b *sarama.Broker) (err error) {
		resp, err = b.CreateTopics(sarama.NewCreateTopicsRequest(sarama.MaxVersion, details, brokerTimeout(ctx), validateOnly))
		return err
	})
	if err != nil {
		return nil, err
	}
	c.mute(resp.ThrottleTime)
	answers := make(map[string]kafka.CreateResult, len(resp.TopicErrors))
	for name, e := range resp.TopicErrors {
		if e.Err != sarama.ErrNoError {
			answers[name] = kafka.CreateResult{Err: kafka.NewError(int16(e.Err), text(e.ErrMsg))}
			continue
		}
		result := kafka.CreateResult{Partitions: -1, ReplicationFactor: -1}
		if r := resp.TopicResults[name]; r != nil {
			result.Partitions, result.ReplicationFactor = r.NumPartitions, r.ReplicationFactor
			if !validateOnly {
				result.ID = kafka.TopicID(r.TopicID)
			}
		}
		answers[name] = result
	}
	return answers, nil
}

// DeleteTopics implements kafka.TopicWriter. A deletion whose answer was lost is sent again, which is safe because ids are never reused;
// the second answer may then be of ClassNotFound.
func (a *Admin) DeleteTopics(ctx context.Context, ids []kafka.TopicID) (map[kafka.TopicID]error, error) {
	b := batch[kafka.TopicID, kafka.TopicID, error]{
		name: "DeleteTopics", mutation: true, maxItems: maxChanges, maxWeight: maxRecords,
		key:    func(id kafka.TopicID) kafka.TopicID { return id },
		weight: func(kafka.TopicID) int { return 1 },
		refuse: func(id kafka.TopicID) error {
			if id.IsZero() {
				return kafka.NewError(kafka.CodeInvalidRequest, "Topics are deleted by id, and this id is zero.")
			}
			return nil
		},
		send: deleteTopics, failure: itself, reason: itself,
	}
	return b.run(ctx, &a.client, ids)
}

func deleteTopics(ctx context.Context, c *conn, ids []kafka.TopicID) (map[kafka.TopicID]error, error) {
	const byID = 6 // the first version that names topics by id
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = int32(brokerTimeout(ctx).Milliseconds())
	req.Topics = make([]kmsg.DeleteTopicsRequestTopic, len(ids))
	for i, id := range ids {
		req.Topics[i] = kmsg.NewDeleteTopicsRequestTopic()
		req.Topics[i].TopicID = id
	}
	resp, err := c.raw(ctx, req, byID)
	if err != nil {
		return nil, err
	}
	topics := resp.(*kmsg.DeleteTopicsResponse).Topics
	answers := make(map[kafka.TopicID]error, len(topics))
	for _, t := range topics {
		answers[t.TopicID] = codeError(t.ErrorCode, text(t.ErrorMessage))
	}
	return answers, nil
}

// CreatePartitions implements kafka.TopicWriter.
func (a *Admin) CreatePartitions(ctx context.Context, topics []kafka.PartitionIncrease, validateOnly bool) (map[string]error, error) {
	b := batch[string, kafka.PartitionIncrease, error]{
		name: "CreatePartitions", repeat: once, mutation: true, maxItems: maxChanges, maxWeight: maxRecords,
		key: func(p kafka.PartitionIncrease) string { return p.Topic },
		// The present number is unknown here: the whole total is an upper bound.
		weight: func(p kafka.PartitionIncrease) int { return 1 + max(0, int(p.Total)) },
		equal:  func(a, b kafka.PartitionIncrease) bool { return a == b },
		refuse: func(p kafka.PartitionIncrease) error { return kafka.CheckTopicName(p.Topic) },
		send: func(ctx context.Context, c *conn, topics []kafka.PartitionIncrease) (map[string]error, error) {
			return createPartitions(ctx, c, topics, validateOnly)
		},
		failure: itself, reason: itself,
	}
	return b.run(ctx, &a.client, topics)
}

func createPartitions(ctx context.Context, c *conn, topics []kafka.PartitionIncrease, validateOnly bool) (map[string]error, error) {
	req := &sarama.CreatePartitionsRequest{
		Version: 3, TopicPartitions: make(map[string]*sarama.TopicPartition, len(topics)), Timeout: brokerTimeout(ctx),
		ValidateOnly: validateOnly,
	}
	for _, t := range topics {
		req.TopicPartitions[t.Topic] = &sarama.TopicPartition{Count: t.Total}
	}
	var resp *sarama.CreatePartitionsResponse
	err := c.typed(ctx, func(b *sarama.Broker) (err error) {
		resp, err = b.CreatePartitions(req)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.mute(resp.ThrottleTime)
	answers := make(map[string]error, len(resp.TopicPartitionErrors))
	for name, e := range resp.TopicPartitionErrors {
		answers[name] = codeError(int16(e.Err), text(e.ErrMsg))
	}
	return answers, nil
}

// codeError returns the error for a code, or nil for no error.
func codeError(code int16, message string) error {
	if code == 0 {
		return nil
	}
	return kafka.NewError(code, message)
}

// text returns the value of a nullable string.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// itself converts between an error and an answer that consists only of an error, in both directions.
func itself(err error) error { return err }
