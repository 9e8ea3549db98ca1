package kafka

import "context"

// NodeConfigReader reads the configuration of running nodes. A node returns only its own.
type NodeConfigReader interface {
	// DescribeNodeConfigs asks each node for its own configuration, synonyms included: all keys, or only those named in keys. It asks every
	// node directly, at its registered address, and all of them concurrently.
	//
	// It also shows whether a node answers, for which one key is sufficient (KeyNodeID). A node that is unavailable or not registered has
	// an entry of ClassRetriable after Config.NodeTimeout at the latest, even if it is the only requested one; the others keep their
	// entries. The method's own error means that no broker returned addresses: nodes without an entry were not asked.
	DescribeNodeConfigs(ctx context.Context, nodes []int32, keys []string) (map[int32]ConfigResult, error)
}

// NodeTopicReader reads topics from single brokers.
type NodeTopicReader interface {
	// ListTopicsOf is TopicReader.ListTopics, answered by this broker, at its registered address. A broker has the metadata that it
	// received from the active controller: one that is cut off from the controller keeps returning an old state, leaders and replicas in
	// sync included, without an error. QuorumReader.DescribeQuorum shows how far each broker lags (Replica.LastCaughtUp). A broker that is
	// unavailable or not registered is an error of ClassRetriable.
	ListTopicsOf(ctx context.Context, broker int32) ([]Topic, error)
	// TopicsOn returns the names, sorted, of the topics of which a broker has replicas in its log directories, even if the client may not
	// describe these topics: the permission to describe the cluster is sufficient. Failed directories are omitted. The broker itself
	// answers; errors are as in ListTopicsOf.
	TopicsOn(ctx context.Context, broker int32) ([]string, error)
}

// LogDir is a log directory of a broker (KIP-113).
type LogDir struct {
	// Path is the directory, as in log.dirs.
	Path string
	// Replicas is how many replicas of partitions the directory contains, including those that are being moved to it.
	Replicas int
	// Failed reports that the directory is out of service. Its content is then unknown.
	Failed bool
	// Cordoned reports that the broker gets no new replicas there (KIP-1066). It is always false before Kafka 4.3.
	Cordoned bool
}

// LogDirReader reads the log directories of brokers.
type LogDirReader interface {
	// DescribeLogDirs returns the log directories of a broker, sorted by path. The broker itself answers, at its registered address; one
	// that is unavailable or not registered is an error of ClassRetriable.
	DescribeLogDirs(ctx context.Context, broker int32) ([]LogDir, error)
}

// KeyNodeID is a configuration key that every node has. Callers that only check whether a node answers request it.
const KeyNodeID = "node.id"

// ConfigWriter changes configurations. A change may be sent twice, because repeating it changes nothing more.
type ConfigWriter interface {
	// AlterConfigs sets and deletes single keys (incremental alter), or with validateOnly checks whether it could; other keys stay. A
	// change that Kafka or one of its policies rejects is an entry of ClassInvalid; ClassRetriable is a failed connection.
	//
	// A change of one broker (BrokerResource) is sent to that broker, because only it checks the values against the rest of its own
	// configuration; a change of the cluster-wide defaults (ClusterResource) is checked by the broker that answers, against its own. Keys
	// that Kafka does not define are stored like any other, and shown as sensitive.
	//
	// Kafka acknowledges a change when it is stored. The nodes apply it a moment later, each independently, or not at all: a value that a
	// node can't parse has no effect there, and one that it can't run with (more than twice as many threads as it has) also blocks later
	// changes. DescribeNodeConfigs returns the value that a node runs with (ConfigEntry.Value) and the last one that was stored for it (the
	// first of its Synonyms).
	AlterConfigs(ctx context.Context, changes []ConfigChange, validateOnly bool) (map[ConfigResource]error, error)
}

// LeaderElector moves the leadership of partitions.
type LeaderElector interface {
	// ElectPreferredLeaders makes the first replica of each partition its leader. A partition that it already leads is not an error. If it
	// is not in sync or not in service, the entry is a PreferredLeaderNotAvailableException of ClassRetriable. The controller answers.
	ElectPreferredLeaders(ctx context.Context, partitions []TopicPartition) (map[TopicPartition]error, error)
	// CheckLeader asks a broker whether it leads partitions, and whether all followers in sync have fetched from it since its election
	// (KIP-207): nil if so. If it does not lead, the entry is a NotLeaderOrFollowerException of ClassRetriable. If a follower has not
	// fetched yet, for which records with acks=all wait, it is an OffsetNotAvailableException of ClassRetriable. The broker itself answers;
	// one that is unavailable or not registered is an error of ClassRetriable.
	CheckLeader(ctx context.Context, broker int32, partitions []TopicPartition) (map[TopicPartition]error, error)
}

// BrokerUnregisterer removes brokers for good from a cluster.
type BrokerUnregisterer interface {
	// UnregisterBroker deletes the registration of a broker. The controller answers. A broker that is not registered is an error of
	// ClassNotFound. The request may be sent twice, and the second one then has that error.
	//
	// Kafka checks neither that the broker is stopped nor that it has no replicas. A running broker stays out of the cluster until it
	// restarts and registers again. So the caller makes sure that the broker is fenced (Node.Fenced), and that it has no replicas.
	UnregisterBroker(ctx context.Context, id int32) error
}

// Controllers is the part of the port that the controllers of a KRaft cluster serve themselves (KIP-919), whatever the state of its
// brokers. Its client has the addresses of controllers, with the listener's own TLS and login.
//
// DescribeQuorum finds the leader among them, which alone can answer, and asks it; one that is down or hangs does not end the search. If no
// controller is the leader within the call's time, or within two seconds if none hangs, the error is of ClassRetriable, and NoLeader counts
// those that answered. DescribeNodeConfigs asks controllers by their id, including nodes that are also brokers.
//
// AlterConfigs goes to the active controller, and accepts changes of any node and of the cluster-wide defaults. Controllers check no value,
// not even with validateOnly (Kafka 4.3): they store values that no node can parse, and values that require a restart, like any other. They
// reject only a node that is not registered (ClassNotFound). So a caller that changes a controller's configuration validates it before, and
// reads it back after.
//
// Controllers register their addresses since metadata.version 3.7, without which only DescribeQuorum and AlterConfigs work. Pin holds as
// for brokers: each controller proves on the same connection to which cluster it belongs.
type Controllers interface {
	ClusterPinner
	QuorumReader
	NodeConfigReader
	ConfigWriter
}
