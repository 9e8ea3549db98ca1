package saramakafka

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// ask sends a request that is one question, and returns its error as the port wants it.
func (a *Admin) ask(ctx context.Context, req *request) error {
	ctx, r, done, err := a.call(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = r.do(ctx, req)
	if errors.Is(err, errNotController) {
		return kafka.NewError(kafka.CodeNotController, "")
	}
	return err
}

// DescribeCluster implements kafka.ClusterReader.
func (a *Admin) DescribeCluster(ctx context.Context) (kafka.Cluster, error) {
	ctx, r, done, err := a.call(ctx)
	if err != nil {
		return kafka.Cluster{}, err
	}
	defer done()
	var resp *sarama.DescribeClusterResponse
	_, err = r.do(ctx, &request{name: requestDescribeCluster, broker: anyBroker, anyCluster: true, run: func(ctx context.Context, c *conn) (err error) {
		resp, err = r.describeCluster(ctx, c)
		return err
	}})
	if err != nil {
		return kafka.Cluster{}, err
	}
	if err := codeError(int16(resp.Err), text(resp.ErrorMessage)); err != nil {
		return kafka.Cluster{}, err
	}
	out := kafka.Cluster{ID: resp.ClusterID, Brokers: make([]kafka.Node, len(resp.Brokers))}
	for i, b := range resp.Brokers {
		out.Brokers[i] = kafka.Node{ID: b.BrokerID, Host: b.Host, Port: b.Port, Rack: text(b.Rack), Fenced: b.IsFenced}
	}
	slices.SortFunc(out.Brokers, func(a, b kafka.Node) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// DescribeQuorum implements kafka.QuorumReader.
func (a *Admin) DescribeQuorum(ctx context.Context) (kafka.Quorum, error) {
	const log = "__cluster_metadata"
	var answer *kmsg.DescribeQuorumResponse
	err := a.ask(ctx, &request{name: "DescribeQuorum", broker: anyBroker, run: func(ctx context.Context, c *conn) error {
		req := kmsg.NewPtrDescribeQuorumRequest()
		topic := kmsg.NewDescribeQuorumRequestTopic()
		topic.Topic = log
		topic.Partitions = []kmsg.DescribeQuorumRequestTopicPartition{kmsg.NewDescribeQuorumRequestTopicPartition()}
		req.Topics = append(req.Topics, topic)
		resp, err := c.raw(ctx, req, 0)
		if err != nil {
			return err
		}
		answer = resp.(*kmsg.DescribeQuorumResponse)
		return nil
	}})
	if err != nil {
		return kafka.Quorum{}, err
	}
	if err := codeError(answer.ErrorCode, text(answer.ErrorMessage)); err != nil {
		return kafka.Quorum{}, err
	}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if t.Topic == log && p.Partition == 0 {
				return quorum(p)
			}
		}
	}
	return kafka.Quorum{}, kafka.NewError(kafka.CodeUnknownServer, "The broker's answer does not describe the metadata quorum.")
}

func quorum(p kmsg.DescribeQuorumResponseTopicPartition) (kafka.Quorum, error) {
	if err := codeError(p.ErrorCode, text(p.ErrorMessage)); err != nil {
		return kafka.Quorum{}, err
	}
	return kafka.Quorum{
		Leader: p.LeaderID, LeaderEpoch: p.LeaderEpoch, HighWatermark: p.HighWatermark,
		Voters: replicas(p.CurrentVoters), Observers: replicas(p.Observers),
	}, nil
}

func replicas(in []kmsg.DescribeQuorumResponseTopicPartitionReplicaState) []kafka.Replica {
	out := make([]kafka.Replica, len(in))
	for i, r := range in {
		out[i] = kafka.Replica{
			ID: r.ReplicaID, DirectoryID: r.ReplicaDirectoryID, LogEndOffset: r.LogEndOffset,
			LastFetch: r.LastFetchTimestamp, LastCaughtUp: r.LastCaughtUpTimestamp,
		}
	}
	slices.SortFunc(out, func(a, b kafka.Replica) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// ListReassignments implements kafka.ReassignmentReader. Kafka wants partitions with each name, which callers don't know, so all reassignments are
// asked for; there are few.
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
