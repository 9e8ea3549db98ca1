package saramakafka

import (
	"cmp"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// metadataLog is the topic of the metadata quorum, which has only partition 0.
const metadataLog = "__cluster_metadata"

// DescribeQuorum implements kafka.QuorumReader. Brokers forward the request to the leader; a controller that is not the leader reports
// that, and the router tries another one.
func (c *client) DescribeQuorum(ctx context.Context) (kafka.Quorum, error) {
	var answer *kmsg.DescribeQuorumResponse
	err := c.ask(ctx, &request{name: "DescribeQuorum", broker: anyBroker, leader: true, run: func(ctx context.Context, c *conn) error {
		req := kmsg.NewPtrDescribeQuorumRequest()
		topic := kmsg.NewDescribeQuorumRequestTopic()
		topic.Topic = metadataLog
		topic.Partitions = []kmsg.DescribeQuorumRequestTopicPartition{kmsg.NewDescribeQuorumRequestTopicPartition()}
		req.Topics = append(req.Topics, topic)
		resp, err := c.raw(ctx, req, 0)
		if err != nil {
			return err
		}
		answer = resp.(*kmsg.DescribeQuorumResponse)
		if notLeader(answer) {
			return errNotController
		}
		return nil
	}})
	if err != nil {
		return kafka.Quorum{}, err
	}
	if err := codeError(answer.ErrorCode, text(answer.ErrorMessage)); err != nil {
		return kafka.Quorum{}, err
	}
	if p := metadataPartition(answer); p != nil {
		return quorum(p, answer.Nodes)
	}
	return kafka.Quorum{}, kafka.NewError(kafka.CodeUnknownServer, "The broker's response does not describe the metadata quorum.")
}

func metadataPartition(answer *kmsg.DescribeQuorumResponse) *kmsg.DescribeQuorumResponseTopicPartition {
	for _, t := range answer.Topics {
		for i := range t.Partitions {
			if t.Topic == metadataLog && t.Partitions[i].Partition == 0 {
				return &t.Partitions[i]
			}
		}
	}
	return nil
}

// notLeader reports whether a controller refuses because it is not the leader of the quorum.
func notLeader(answer *kmsg.DescribeQuorumResponse) bool {
	code := answer.ErrorCode
	if p := metadataPartition(answer); code == 0 && p != nil {
		code = p.ErrorCode
	}
	return code == kafka.CodeNotLeaderOrFollower || code == kafka.CodeNotController
}

func quorum(p *kmsg.DescribeQuorumResponseTopicPartition, nodes []kmsg.DescribeQuorumResponseNode) (kafka.Quorum, error) {
	if err := codeError(p.ErrorCode, text(p.ErrorMessage)); err != nil {
		return kafka.Quorum{}, err
	}
	return kafka.Quorum{
		Leader: p.LeaderID, LeaderEpoch: p.LeaderEpoch, HighWatermark: p.HighWatermark,
		Voters: replicas(p.CurrentVoters), Observers: replicas(p.Observers), Nodes: quorumNodes(nodes),
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

func quorumNodes(in []kmsg.DescribeQuorumResponseNode) []kafka.QuorumNode {
	out := make([]kafka.QuorumNode, len(in))
	for i, n := range in {
		out[i].ID = n.NodeID
		for _, l := range n.Listeners {
			out[i].Listeners = append(out[i].Listeners, kafka.Listener{Name: l.Name, Host: l.Host, Port: int32(l.Port)})
		}
	}
	slices.SortFunc(out, func(a, b kafka.QuorumNode) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
