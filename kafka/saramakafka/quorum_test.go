package saramakafka

import (
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// TestTheQuorumArrivesAsItIs checks each version of the response: fields that a version lacks are unknown, not zero.
func TestTheQuorumArrivesAsItIs(t *testing.T) {
	sent := kmsg.NewPtrDescribeQuorumResponse()
	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	p.LeaderID, p.LeaderEpoch, p.HighWatermark = -1, 7, 42
	state := func(id int32, directory byte) kmsg.DescribeQuorumResponseTopicPartitionReplicaState {
		return kmsg.DescribeQuorumResponseTopicPartitionReplicaState{
			ReplicaID: id, ReplicaDirectoryID: [16]byte{directory}, LogEndOffset: int64(id) * 10, LastFetchTimestamp: 100 + int64(id),
			LastCaughtUpTimestamp: 200 + int64(id),
		}
	}
	unknown := state(3, 3)
	unknown.LogEndOffset, unknown.LastFetchTimestamp, unknown.LastCaughtUpTimestamp = -1, -1, -1
	p.CurrentVoters = []kmsg.DescribeQuorumResponseTopicPartitionReplicaState{state(2, 2), unknown, state(1, 1)}
	p.Observers = []kmsg.DescribeQuorumResponseTopicPartitionReplicaState{state(9, 9), state(4, 4)}
	topic := kmsg.NewDescribeQuorumResponseTopic()
	topic.Topic, topic.Partitions = metadataLog, []kmsg.DescribeQuorumResponseTopicPartition{p}
	sent.Topics = []kmsg.DescribeQuorumResponseTopic{topic}
	sent.Nodes = []kmsg.DescribeQuorumResponseNode{{NodeID: 1,
		Listeners: []kmsg.DescribeQuorumResponseNodeListener{{Name: "CONTROLLER", Host: "a", Port: 65535}}}}

	full := kafka.Quorum{
		Leader: -1, LeaderEpoch: 7, HighWatermark: 42,
		Voters: []kafka.Replica{
			{ID: 1, DirectoryID: kafka.TopicID{1}, LogEndOffset: 10, LastFetch: 101, LastCaughtUp: 201},
			{ID: 2, DirectoryID: kafka.TopicID{2}, LogEndOffset: 20, LastFetch: 102, LastCaughtUp: 202},
			{ID: 3, DirectoryID: kafka.TopicID{3}, LogEndOffset: -1, LastFetch: -1, LastCaughtUp: -1},
		},
		Observers: []kafka.Replica{
			{ID: 4, DirectoryID: kafka.TopicID{4}, LogEndOffset: 40, LastFetch: 104, LastCaughtUp: 204},
			{ID: 9, DirectoryID: kafka.TopicID{9}, LogEndOffset: 90, LastFetch: 109, LastCaughtUp: 209},
		},
		Nodes: []kafka.QuorumNode{{ID: 1, Listeners: []kafka.Listener{{Name: "CONTROLLER", Host: "a", Port: 65535}}}},
	}
	without := func(change func(*kafka.Replica)) kafka.Quorum {
		q := full
		q.Nodes, q.Voters, q.Observers = []kafka.QuorumNode{}, append([]kafka.Replica(nil), q.Voters...),
			append([]kafka.Replica(nil), q.Observers...)
		for _, replicas := range [][]kafka.Replica{q.Voters, q.Observers} {
			for i := range replicas {
				replicas[i].DirectoryID = kafka.TopicID{}
				change(&replicas[i])
			}
		}
		return q
	}
	for version, want := range []kafka.Quorum{
		without(func(r *kafka.Replica) { r.LastFetch, r.LastCaughtUp = -1, -1 }),
		without(func(*kafka.Replica) {}),
		full,
	} {
		sent.Version = int16(version)
		received := kmsg.NewPtrDescribeQuorumResponse()
		received.Version = int16(version)
		if err := received.ReadFrom(sent.AppendTo(nil)); err != nil {
			t.Fatal(err)
		}
		got, err := quorum(metadataPartition(received), received.Nodes)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("version %d: got %+v, %v\nwant %+v", version, got, err, want)
		}
	}
}

// TestWhoIsNotTheLeaderSaysSo checks both places where Kafka may put that error.
func TestWhoIsNotTheLeaderSaysSo(t *testing.T) {
	answer := func(whole, partition int16) *kmsg.DescribeQuorumResponse {
		resp := kmsg.NewPtrDescribeQuorumResponse()
		resp.ErrorCode = whole
		resp.Topics = []kmsg.DescribeQuorumResponseTopic{{Topic: metadataLog,
			Partitions: []kmsg.DescribeQuorumResponseTopicPartition{{ErrorCode: partition}}}}
		return resp
	}
	for _, c := range []struct {
		whole, partition int16
		want             bool
	}{{0, 0, false}, {0, kafka.CodeNotLeaderOrFollower, true}, {kafka.CodeNotController, 0, true}, {kafka.CodeNotLeaderOrFollower, 0, true},
		{kafka.CodeClusterAuthorization, 0, false}} {
		if got := notLeader(answer(c.whole, c.partition)); got != c.want {
			t.Errorf("%+v: got %t", c, got)
		}
	}
}
