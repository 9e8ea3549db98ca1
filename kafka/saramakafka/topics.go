package saramakafka

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/IBM/sarama"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// DescribeTopics implements kafka.TopicReader.
func (a *Admin) DescribeTopics(ctx context.Context, names []string) (map[string]kafka.TopicResult, error) {
	b := batch[string, string, kafka.TopicResult]{
		name: "Metadata", maxItems: maxNames,
		key:    func(name string) string { return name },
		refuse: kafka.CheckTopicName,
		send: func(ctx context.Context, c *conn, names []string) (map[string]kafka.TopicResult, error) {
			resp, err := metadata(ctx, c, names)
			if err != nil {
				return nil, err
			}
			answers := make(map[string]kafka.TopicResult, len(resp.Topics))
			for _, t := range resp.Topics {
				if t.Err != sarama.ErrNoError {
					answers[t.Name] = kafka.TopicResult{Err: kafka.NewError(int16(t.Err), "")}
					continue
				}
				answers[t.Name] = kafka.TopicResult{Topic: topic(t)}
			}
			return answers, nil
		},
		failure: func(err error) kafka.TopicResult { return kafka.TopicResult{Err: err} },
		reason:  func(r kafka.TopicResult) error { return r.Err },
	}
	return b.run(ctx, &a.client, names)
}

// ListTopics implements kafka.TopicReader.
func (a *Admin) ListTopics(ctx context.Context) ([]kafka.Topic, error) {
	return a.listTopics(ctx, anyBroker)
}

// ListTopicsOf implements kafka.NodeTopicReader.
func (a *Admin) ListTopicsOf(ctx context.Context, broker int32) ([]kafka.Topic, error) {
	return a.listTopics(ctx, broker)
}

func (a *Admin) listTopics(ctx context.Context, broker int32) ([]kafka.Topic, error) {
	ctx, r, done, err := a.call(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	req := &request{name: "Metadata", broker: anyBroker}
	if broker != anyBroker {
		if err := r.direct(ctx, req, broker); err != nil {
			return nil, err
		}
	}
	var out []kafka.Topic
	req.run = func(ctx context.Context, c *conn) error {
		resp, err := metadata(ctx, c, nil) // nil means all
		if err != nil {
			return err
		}
		out = make([]kafka.Topic, 0, len(resp.Topics))
		for i, t := range resp.Topics {
			// Topics with an error are being created or deleted at this moment.
			if t.Err == sarama.ErrNoError {
				out = append(out, topic(t))
			}
			resp.Topics[i] = nil // there may be many: free sarama's copy of a topic early
		}
		return nil
	}
	_, err = r.do(ctx, req)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b kafka.Topic) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// metadata reads topics, or all of them if names is empty, and never creates one (docs/decisions/kafkas-words.md).
func metadata(ctx context.Context, c *conn, names []string) (*sarama.MetadataResponse, error) {
	var resp *sarama.MetadataResponse
	err := c.typed(ctx, func(b *sarama.Broker) (err error) {
		req := sarama.NewMetadataRequest(sarama.MaxVersion, names)
		req.AllowAutoTopicCreation = false
		resp, err = b.GetMetadata(req)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.mute(time.Duration(resp.ThrottleTimeMs) * time.Millisecond)
	return resp, nil
}

// topic converts sarama's view of a topic.
func topic(t *sarama.TopicMetadata) kafka.Topic {
	out := kafka.Topic{Name: t.Name, ID: kafka.TopicID(t.Uuid), Internal: t.IsInternal, Partitions: make([]kafka.Partition, len(t.Partitions))}
	for i, p := range t.Partitions {
		out.Partitions[i] = kafka.Partition{
			Index: p.ID, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch,
			Replicas: p.Replicas, ISR: p.Isr, Offline: p.OfflineReplicas,
		}
	}
	slices.SortFunc(out.Partitions, func(a, b kafka.Partition) int { return cmp.Compare(a.Index, b.Index) })
	return out
}
