package kafka

import "context"

// NodeConfigReader reads the configuration that single nodes run with. A node knows only its own.
type NodeConfigReader interface {
	// DescribeNodeConfigs asks each node for its own configuration, synonyms included: all keys, or only those named in keys. Every node is
	// asked itself, at the address under which it is registered, and all of them at once.
	//
	// It is also how to learn whether a node answers, for which one key is enough (KeyNodeID). A node that is away, or that is not registered,
	// has an entry of ClassRetriable after Config.NodeTimeout at the latest, even if it is the only one that was asked; the others stand. The
	// method's own error means that nobody could tell where the nodes are.
	DescribeNodeConfigs(ctx context.Context, nodes []int32, keys []string) (map[int32]ConfigResult, error)
}

// NodeTopicReader reads topics as single brokers know them.
type NodeTopicReader interface {
	// ListTopicsOf is TopicReader.ListTopics, answered by this broker and no other, at the address under which it is registered. A broker
	// knows what it has heard from the active controller: one that is cut off from that keeps returning an old state, leaders and replicas in
	// sync included, without an error. How far each broker has come is in QuorumReader.DescribeQuorum (Replica.LastCaughtUp). One that is
	// away, or not registered, is an error of ClassRetriable.
	ListTopicsOf(ctx context.Context, broker int32) ([]Topic, error)
	// TopicsOn returns the names, sorted, of the topics of which a broker has replicas in its log directories, whether or not the client may
	// describe these topics: to describe the cluster is enough. Directories that failed are left out. The broker itself answers; errors are as
	// in ListTopicsOf.
	TopicsOn(ctx context.Context, broker int32) ([]string, error)
}

// LogDir is a log directory of a broker (KIP-113).
type LogDir struct {
	// Path is the directory, as log.dirs names it.
	Path string
	// Replicas is how many replicas of partitions it holds, those included that are moved to it.
	Replicas int
	// Failed reports that the directory is out of service. What it holds is unknown then.
	Failed bool
	// Cordoned reports that the broker gets no new replicas there (KIP-1066). Kafka before 4.3 never does.
	Cordoned bool
}

// LogDirReader reads the log directories of brokers.
type LogDirReader interface {
	// DescribeLogDirs returns the log directories of a broker, sorted by path. The broker itself answers, at the address under which it is
	// registered; one that is away, or not registered, is an error of ClassRetriable.
	DescribeLogDirs(ctx context.Context, broker int32) ([]LogDir, error)
}

// KeyNodeID is a configuration key that every node has. Callers that only need to know whether a node answers ask for it.
const KeyNodeID = "node.id"

// ConfigWriter changes configurations. A change may be sent twice, because doing the same twice changes nothing more.
type ConfigWriter interface {
	// AlterConfigs sets and deletes single keys (incremental alter), or with validateOnly checks whether it could; keys that are not named
	// stay as they are. What Kafka or one of its policies refuses is an entry of ClassInvalid; ClassRetriable is a way that failed.
	//
	// A change of one broker (BrokerResource) is sent to that broker, because only it checks the values against the rest of its own
	// configuration; one of the cluster-wide defaults (ClusterResource) is checked by whichever broker answers, against its own. Keys that
	// Kafka does not know are stored like any other, and shown as sensitive.
	//
	// Kafka acknowledges a change when it is stored. The nodes take it over a moment later, each on its own, or not at all: a value that a
	// node can't read has no effect there, and one that it can't run with (more than twice as many threads as it has) also holds up what is
	// changed later. DescribeNodeConfigs tells what a node runs with (ConfigEntry.Value) and what it was given last (the first of its
	// Synonyms).
	AlterConfigs(ctx context.Context, changes []ConfigChange, validateOnly bool) (map[ConfigResource]error, error)
}

// LeaderElector moves the leadership of partitions.
type LeaderElector interface {
	// ElectPreferredLeaders makes the first replica of each partition its leader. A partition that it already leads is not an error. Where it
	// is not in sync or not in service, the entry is a PreferredLeaderNotAvailableException of ClassRetriable. The controller answers.
	ElectPreferredLeaders(ctx context.Context, partitions []TopicPartition) (map[TopicPartition]error, error)
	// CheckLeader asks a broker whether it leads partitions, and whether all followers in sync have fetched from it since it was elected
	// (KIP-207): nil if so. Where it does not lead, the entry is a NotLeaderOrFollowerException of ClassRetriable. Where a follower did not
	// fetch yet, for which records with acks=all wait, it is an OffsetNotAvailableException of ClassRetriable. The broker itself answers;
	// one that is away, or not registered, is an error of ClassRetriable.
	CheckLeader(ctx context.Context, broker int32, partitions []TopicPartition) (map[TopicPartition]error, error)
}

// BrokerUnregisterer takes brokers that left for good out of a cluster.
type BrokerUnregisterer interface {
	// UnregisterBroker deletes the registration of a broker. The controller answers. A broker that is not registered is an error of
	// ClassNotFound. The request may be sent twice, the second time with that answer.
	//
	// Kafka checks neither that the broker is stopped nor that no partition has a replica on it. One that runs is out of the cluster until it
	// starts again, when it registers again. So the caller makes sure that the broker is fenced (Node.Fenced), and that no replica is left on
	// it.
	UnregisterBroker(ctx context.Context, id int32) error
}

// Controllers is the part of the port that the controllers of a KRaft cluster serve themselves (KIP-919), whatever the state of its
// brokers. Its client is made from the addresses of controllers, with the listener's own TLS and login.
//
// DescribeQuorum finds the leader among them, which alone can answer, and asks it; one that is dead or hangs does not end the search. Where
// none is the leader within the call's time, the error is of ClassRetriable. DescribeNodeConfigs asks controllers by their id; nodes that
// are also brokers too.
//
// AlterConfigs goes to the active controller, and takes changes of any node and of the cluster-wide defaults. Controllers check no value,
// with validateOnly neither (Kafka 4.3): what no node can read, and what only a restart could change, they store like anything else. They
// refuse only a node that is not registered (ClassNotFound). So whoever changes a controller checks before, and reads back after.
//
// Controllers register their addresses since metadata.version 3.7, without which only DescribeQuorum and AlterConfigs work. Pin holds as
// for brokers: each controller shows on the very connection to which cluster it belongs.
type Controllers interface {
	ClusterPinner
	QuorumReader
	NodeConfigReader
	ConfigWriter
}
