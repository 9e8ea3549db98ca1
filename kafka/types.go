package kafka

import (
	"encoding/base64"
	"fmt"
	"slices"
)

// TopicID is a topic's unique id (KIP-516). Unlike a name it is never reused. The zero value means "no id".
type TopicID [16]byte

// String returns Kafka's own text form: URL-safe base64 without padding, 22 characters.
func (id TopicID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// IsZero reports whether there is no id.
func (id TopicID) IsZero() bool { return id == TopicID{} }

// ParseTopicID parses the text form of String.
func ParseTopicID(s string) (TopicID, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != len(TopicID{}) {
		return TopicID{}, fmt.Errorf("%q is not a topic id: want 22 characters of URL-safe base64", s)
	}
	return TopicID(b), nil
}

// Cluster is a Kafka cluster as one of its brokers describes it.
type Cluster struct {
	// ID is the cluster's id, generated when its storage was formatted.
	ID string
	// Brokers are the registered brokers, sorted by id; they include fenced ones only if FencedIncluded is true.
	Brokers []Node
	// FencedIncluded reports whether the broker that answered lists fenced brokers (KIP-1073, Kafka 4.0). If not, a broker that is not
	// listed may still be registered.
	FencedIncluded bool
}

// Node is a broker's or controller's address.
type Node struct {
	ID   int32
	Host string
	Port int32
	// Rack is empty if none is configured.
	Rack string
	// Fenced is true for a registered broker that is not in service, because it is down, or has not caught up with the metadata since its
	// start.
	Fenced bool
}

// Topic is a topic as the brokers see it.
type Topic struct {
	Name     string
	ID       TopicID
	Internal bool
	// Partitions are sorted by their index.
	Partitions []Partition
}

// Partition is the placement and health of one partition.
type Partition struct {
	Index int32
	// Leader is -1 if there is none.
	Leader      int32
	LeaderEpoch int32
	// Replicas contain, during a reassignment, the old and the new replicas.
	Replicas []int32
	ISR      []int32
	Offline  []int32
}

// TopicResult is the answer for one topic; Topic is valid only if Err is nil.
type TopicResult struct {
	Topic Topic
	Err   error
}

// ResourceType is the type of a resource that has a configuration.
type ResourceType int8

// The resource types of the port, with Kafka's own codes.
const (
	ResourceTopic  ResourceType = 2
	ResourceBroker ResourceType = 4
)

// ConfigResource identifies a resource with a configuration: a topic by name, or a broker or controller by its node's id. The broker with
// the empty name means the dynamic defaults of the whole cluster.
type ConfigResource struct {
	Type ResourceType
	Name string
}

// TopicResource returns the resource of a topic.
func TopicResource(name string) ConfigResource { return ConfigResource{ResourceTopic, name} }

// BrokerResource returns the resource of one node: a broker or a controller.
func BrokerResource(id int32) ConfigResource {
	return ConfigResource{ResourceBroker, fmt.Sprint(id)}
}

// ConfigSource describes where the effective value of a key comes from (KIP-226).
type ConfigSource int8

// The sources, with Kafka's own codes.
const (
	SourceUnknown              ConfigSource = 0
	SourceTopic                ConfigSource = 1
	SourceDynamicBroker        ConfigSource = 2
	SourceDynamicBrokerDefault ConfigSource = 3
	SourceStaticBroker         ConfigSource = 4
	SourceDefault              ConfigSource = 5
)

// ClusterResource returns the resource of the dynamic defaults of all nodes of the cluster.
func ClusterResource() ConfigResource { return ConfigResource{ResourceBroker, ""} }

// ConfigEntry is the effective value of one key.
type ConfigEntry struct {
	// Value is empty for a sensitive key, and for one without a value.
	Value  string
	Source ConfigSource
	// ReadOnly is true for a key that cannot be changed while the node runs.
	ReadOnly  bool
	Sensitive bool
	// Synonyms are all values of the key, the effective one first and then those that it overrides, in order. Only DescribeNodeConfigs returns
	// them: they make a response several times as large.
	Synonyms []ConfigSynonym
}

// ConfigSynonym is one of the values of a key that was set in several places.
type ConfigSynonym struct {
	// Key is the key under which the value was given: the value of log.retention.ms may come from log.retention.hours.
	Key    string
	Value  string
	Source ConfigSource
}

// ConfigResult is the answer for one resource; Entries, by key, is valid only if Err is nil.
type ConfigResult struct {
	Entries map[string]ConfigEntry
	Err     error
}

// NewTopic describes a topic to create.
type NewTopic struct {
	Name string
	// Partitions and ReplicationFactor: -1 selects the broker's default.
	Partitions        int32
	ReplicationFactor int16
	// Assignments, if not nil, places the replicas of each partition; Partitions and ReplicationFactor must then be -1.
	Assignments map[int32][]int32
	// Configs are the topic's own settings. A nil value is Kafka's null, which Kafka rejects.
	Configs map[string]*string
}

// CreateResult is the answer for one topic to create; the other fields are valid only if Err is nil. ID is zero after a validation.
type CreateResult struct {
	ID                TopicID
	Partitions        int32
	ReplicationFactor int16
	Err               error
}

// PartitionIncrease is a request for more partitions.
type PartitionIncrease struct {
	Topic string
	// Total is the new number of partitions.
	Total int32
}

// ConfigChange describes a change of single keys of one resource. A key may be in Set or in Delete, not in both.
type ConfigChange struct {
	Resource ConfigResource
	Set      map[string]string
	// Delete resets keys to their inherited value.
	Delete []string
}

// TopicPartition identifies one partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// Reassignment is an ongoing move of one partition's replicas.
type Reassignment struct {
	// Replicas are all current replicas, including Adding and Removing.
	Replicas, Adding, Removing []int32
}

// Target returns the replicas that remain when the reassignment is complete.
func (r Reassignment) Target() []int32 {
	var target []int32
	for _, id := range r.Replicas {
		if !slices.Contains(r.Removing, id) {
			target = append(target, id)
		}
	}
	return target
}

// Quorum is the KRaft metadata quorum, as its leader describes it. Leader is negative if no leader is known (docs/decisions/quorum.md).
type Quorum struct {
	Leader        int32
	LeaderEpoch   int32
	HighWatermark int64
	// Voters and Observers are sorted by id. Brokers are observers, and so are controllers that are not voters yet.
	Voters    []Replica
	Observers []Replica
	// Nodes are the addresses of voters, sorted by id; empty before Kafka 3.9.
	Nodes []QuorumNode
}

// QuorumNode contains the addresses at which a voter of the quorum listens for the other controllers.
type QuorumNode struct {
	ID        int32
	Listeners []Listener
}

// Listener is one address of a node.
type Listener struct {
	// Name is the listener's name in the node's configuration, such as CONTROLLER.
	Name string
	Host string
	Port int32
}

// Replica is a voter or observer of the quorum.
type Replica struct {
	ID int32
	// DirectoryID is the id of the metadata log's directory (KIP-853), zero in a static quorum.
	DirectoryID TopicID
	// LogEndOffset is negative if the leader does not have it yet.
	LogEndOffset int64
	// LastFetch and LastCaughtUp are in milliseconds since the epoch, by the leader's clock; negative means unknown (docs/decisions/quorum.md,
	// and all of them before Kafka 3.3). For the leader itself they are the time of the answer.
	LastFetch, LastCaughtUp int64
}
