package kafka

import "context"

// The contract that holds for every method of this file, of nodes.go and of features.go:
//
//   - It returns by the context's deadline; a context without one is given the adapter's own. Cancelling abandons the
//     request: a write may or may not have happened, and the caller reads before it writes again.
//   - A result map holds exactly one entry for each distinct item asked for. An entry's error says why this item has no answer;
//     the other entries stand.
//   - The method's own error means that no item could be asked at all; the map is then nil. An implementation that splits a
//     batch into several requests puts the failure of one of them into the entries of its items. So does one whose request to
//     change something was sent and never answered.
//   - An empty batch makes no request.
//   - Errors from Kafka and from the way to Kafka are *Error values (see ClassOf).
//   - Batches may have any size: implementations split them by what one request may carry.

// ClusterReader reads which cluster answers, and which brokers it has.
type ClusterReader interface {
	// DescribeCluster returns the cluster's identity and its registered brokers: those in service and, marked, those that are fenced, if the
	// answering broker reports them (Cluster.FencedIncluded).
	DescribeCluster(ctx context.Context) (Cluster, error)
}

// TopicReader reads topics and configurations. It never creates a topic: auto-creation is disallowed in each request
// (docs/decisions/kafkas-words.md).
type TopicReader interface {
	// DescribeTopics describes topics by name. A topic that does not exist has an entry whose error is of ClassNotFound.
	//
	// The answer comes from one broker's view, which may lag behind a write that was just acknowledged.
	DescribeTopics(ctx context.Context, names []string) (map[string]TopicResult, error)
	// ListTopics describes every topic that the client may see, internal ones included.
	ListTopics(ctx context.Context) ([]Topic, error)
	// DescribeConfigs returns the effective configuration of each resource: all keys, or only those named in keys.
	// A resource that does not exist has an entry of ClassNotFound.
	DescribeConfigs(ctx context.Context, resources []ConfigResource, keys []string) (map[ConfigResource]ConfigResult, error)
}

// TopicWriter changes topics. CreateTopics and CreatePartitions never repeat a request that may have been executed; DeleteTopics and
// AlterConfigs may, because repeating them changes nothing more. Each calls the context's Gate right before every attempt (WithGate).
type TopicWriter interface {
	// CreateTopics creates topics, or with validateOnly checks whether it could. An existing topic is an entry of ClassExists, also with
	// validateOnly, and even if the request has other errors, except for more partitions than one request may carry (ClassInvalid) and
	// missing permissions (ClassForbidden). The controller answers, so that this is authoritative: it sees each creation and deletion
	// before it is acknowledged.
	CreateTopics(ctx context.Context, topics []NewTopic, validateOnly bool) (map[string]CreateResult, error)
	// DeleteTopics deletes by topic id: a topic of the same name but another id is never touched. An id that no topic
	// has is an entry of ClassNotFound; the controller answers, so that this is authoritative. A zero id is refused (ClassInvalid).
	DeleteTopics(ctx context.Context, ids []TopicID) (map[TopicID]error, error)
	// CreatePartitions raises topics to the given total number of partitions, or with validateOnly checks whether it could.
	// Kafka refuses a number that is not larger than the present one (ClassInvalid).
	CreatePartitions(ctx context.Context, topics []PartitionIncrease, validateOnly bool) (map[string]error, error)
	ConfigWriter
}

// ReassignmentReader reads the partition reassignments that are in progress.
type ReassignmentReader interface {
	// ListReassignments returns the ongoing reassignments of the named topics, or of all topics when topics is nil.
	// Partitions that are not being reassigned have no entry.
	ListReassignments(ctx context.Context, topics []string) (map[TopicPartition]Reassignment, error)
}

// QuorumReader reads the state of the KRaft metadata quorum.
type QuorumReader interface {
	// DescribeQuorum returns the quorum's leader, voters and observers (KIP-595, KIP-836).
	DescribeQuorum(ctx context.Context) (Quorum, error)
}

// ClusterPinner binds a client to one cluster, so that it never queries or changes another one, even if its connections lead elsewhere
// (because of a name, a load balancer, or an address that was reused).
type ClusterPinner interface {
	// Pin binds the client to the cluster with this id. From then on, every request goes only to brokers that have proven, on the same
	// connection, that they belong to it; a broker that does not return a cluster id is not used. DescribeCluster is exempt: it returns the
	// cluster that answers. If only brokers of another cluster answer, the error is of ClassWrongCluster, and nothing was read or changed.
	//
	// It holds for the client's life, whatever its configuration becomes. Pinning the same id again does nothing; another id, or the empty
	// one, is an error of ClassInvalid and changes nothing. Pin sends nothing. A call in flight may still end at the cluster where it
	// began.
	Pin(clusterID string) error
}

// Admin is the whole port.
type Admin interface {
	ClusterPinner
	ClusterReader
	TopicReader
	TopicWriter
	ReassignmentReader
	QuorumReader
	NodeConfigReader
	NodeTopicReader
	LogDirReader
	LeaderElector
	BrokerUnregisterer
	FeatureReader
	FeatureWriter
}
