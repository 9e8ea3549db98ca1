package saramakafka

import (
	"cmp"
	"context"
	"slices"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// DescribeCluster implements kafka.ClusterReader.
func (a *Admin) DescribeCluster(ctx context.Context) (kafka.Cluster, error) {
	const withFenced = 2 // the first version whose answer can hold fenced brokers
	ctx, r, done, err := a.call(ctx)
	if err != nil {
		return kafka.Cluster{}, err
	}
	defer done()
	var resp *sarama.DescribeClusterResponse
	_, err = r.do(ctx, &request{name: requestDescribeCluster, broker: anyBroker, anyCluster: true,
		run: func(ctx context.Context, c *conn) (err error) {
			resp, err = r.describeCluster(ctx, c)
			return err
		}})
	if err == nil {
		err = codeError(int16(resp.Err), text(resp.ErrorMessage))
	}
	if err != nil {
		return kafka.Cluster{}, err
	}
	return kafka.Cluster{ID: resp.ClusterID, Brokers: nodesOf(resp), FencedIncluded: resp.Version >= withFenced}, nil
}

// nodesOf returns the nodes of a description, sorted by id.
func nodesOf(resp *sarama.DescribeClusterResponse) []kafka.Node {
	out := make([]kafka.Node, len(resp.Brokers))
	for i, b := range resp.Brokers {
		out[i] = kafka.Node{ID: b.BrokerID, Host: b.Host, Port: b.Port, Rack: text(b.Rack), Fenced: b.IsFenced}
	}
	slices.SortFunc(out, func(a, b kafka.Node) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// ListReassignments implements kafka.ReassignmentReader. Kafka requires partitions with each name, which callers don't have, so one request
// reads all reassignments; there are few.
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
