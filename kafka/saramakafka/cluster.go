package saramakafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// DescribeCluster implements kafka.ClusterReader.
func (a *Admin) DescribeCluster(ctx context.Context) (kafka.Cluster, error) {
	const withFenced = 2 // the first version whose answer can hold fenced brokers
	resp, err := a.describeCluster(ctx)
	if err != nil {
		return kafka.Cluster{}, err
	}
	return kafka.Cluster{ID: resp.ClusterID, Brokers: nodesOf(resp), FencedIncluded: resp.Version >= withFenced}, nil
}

// ListReassignments implements kafka.ReassignmentReader. Kafka wants partitions with each name, which callers don't know, so all
// reassignments are asked for, in one request; there are few.
func (a *Admin) ListReassignments(ctx context.Context, topics []string) (map[kafka.TopicPartition]kafka.Reassignment, error) {
	out := map[kafka.TopicPartition]kafka.Reassignment{}
	if topics != nil && len(topics) == 0 {
		return out, nil
	}
	var answer *kmsg.ListPartitionReassignmentsResponse
	err := a.ask(ctx, &request{name: "ListPartitionReassignments", broker: anyBroker, run: func(ctx context.Context, c *conn) error {
		req := kmsg.NewPtrListPartitionReassignmentsRequest()
		req.Topics = nil // all
		req.TimeoutMillis = int32(brokerTimeout(ctx).Milliseconds())
		resp, err := c.raw(ctx, req, 0)
		if err != nil {
			return err
		}
		answer = resp.(*kmsg.ListPartitionReassignmentsResponse)
		if answer.ErrorCode == kafka.CodeNotController {
			return errNotController
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	if err := codeError(answer.ErrorCode, text(answer.ErrorMessage)); err != nil {
		return nil, err
	}
	wanted := make(map[string]bool, len(topics))
	for _, name := range topics {
		wanted[name] = true
	}
	for _, t := range answer.Topics {
		if topics != nil && !wanted[t.Topic] {
			continue
		}
		for _, p := range t.Partitions {
			out[kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = kafka.Reassignment{
				Replicas: p.Replicas, Adding: p.AddingReplicas, Removing: p.RemovingReplicas,
			}
		}
	}
	return out, nil
}
