package options

import (
	"time"

	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	"github.com/kafka-operators/kafka-operators/operator/election"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/operator/manager"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// Options are all settings. Parse makes them; they are valid together.
type Options struct {
	// Namespaces are the namespaces whose KafkaTopics are reconciled (STRIMZI_NAMESPACE).
	Namespaces settings.Namespaces
	// Selector are the labels that a KafkaTopic must carry; empty selects all (STRIMZI_RESOURCE_LABELS).
	Selector settings.Selector

	// Kafka describes how to reach Kafka. Its SecretNamespace is STRIMZI_CLUSTER_NAMESPACE, else the operator's own namespace, else the first
	// one watched, else default.
	Kafka credentials.Settings

	// ReconciliationInterval is how often each KafkaTopic is compared with Kafka without an event
	// (STRIMZI_FULL_RECONCILIATION_INTERVAL_MS). At least 1 ms.
	ReconciliationInterval time.Duration
	// UseFinalizers keeps a deleted KafkaTopic until its topic is deleted (STRIMZI_USE_FINALIZERS).
	UseFinalizers bool
	// DeletionDisabled defines what happens to a deleted KafkaTopic when the brokers refuse to delete topics
	// (STRIMZI_DELETION_DISABLED_POLICY; docs/decisions/deletion.md).
	DeletionDisabled DeletionDisabledPolicy
	// Alterable describes which topic configurations may be altered (STRIMZI_ALTERABLE_TOPIC_CONFIG). It does not limit creation.
	Alterable AlterableConfig
	// SkipClusterConfigReview disables the check of the brokers' configuration at the start (STRIMZI_SKIP_CLUSTER_CONFIG_REVIEW).
	SkipClusterConfigReview bool
	// FeatureGates are the gates that were switched by name (STRIMZI_FEATURE_GATES), if this version knows them. None exists
	// today, so it is empty.
	FeatureGates map[string]bool

	// NamespacePolicyFile is the path of the policy that defines which namespaces may manage which topics; empty means no policy
	// (STRIMZI_NAMESPACE_POLICY_FILE; docs/decisions/namespace-policy.md). Package policy checks whether the file exists and is valid.
	NamespacePolicyFile string
	// ConflictPolicy configures how to handle several KafkaTopics that claim one topic (STRIMZI_CONFLICT_POLICY; docs/decisions/claims.md).
	ConflictPolicy ConflictPolicy
	// ClusterIDUnknown configures how to handle a deleted KafkaTopic while the id of the Kafka cluster is unknown
	// (STRIMZI_CLUSTER_ID_UNKNOWN_POLICY; docs/decisions/deletion.md).
	ClusterIDUnknown ClusterIDUnknownPolicy

	// Batch bounds how Kafka calls are combined.
	Batch Batch
	// Concurrency is how many KafkaTopics are reconciled at the same time (STRIMZI_CONCURRENCY). At least 1.
	Concurrency int
	// LeaderElection allows several replicas, one of which works.
	LeaderElection election.Options

	// AdditionalMetrics adds timers for each kind of external request (STRIMZI_ENABLE_ADDITIONAL_METRICS).
	AdditionalMetrics bool
	// HTTP describes where probes, metrics and profiles are served.
	HTTP manager.HTTP
	// Log describes what is logged, and how.
	Log logging.Options

	// Effective lists the effective settings as NAME="value", in one line, with secrets masked.
	Effective string
}

// Batch bounds how concurrent Kafka calls are combined into one request.
type Batch struct {
	// MaxSize is how many topics one request carries at most (STRIMZI_MAX_BATCH_SIZE). At least 1.
	MaxSize int
	// MaxLinger is how long a call waits for others at most; 0 means that a single call never waits (STRIMZI_MAX_BATCH_LINGER_MS).
	MaxLinger time.Duration
}

// DeletionDisabledPolicy configures how to handle a deleted KafkaTopic when the brokers refuse to delete topics.
type DeletionDisabledPolicy string

// How to handle a KafkaTopic whose topic Kafka refuses to delete (docs/decisions/deletion.md).
const (
	// DeletionDisabledRelease releases the KafkaTopic, with a Warning event; the topic stays in Kafka.
	DeletionDisabledRelease DeletionDisabledPolicy = "release"
	// DeletionDisabledKeep keeps the KafkaTopic, with Ready=False and reason KafkaError, as Strimzi does.
	DeletionDisabledKeep DeletionDisabledPolicy = "keep"
)

// ConflictPolicy configures how to handle several KafkaTopics that claim one topic.
type ConflictPolicy string

// Who wins where several KafkaTopics claim a topic (docs/decisions/claims.md).
const (
	// ConflictRejectAll refuses all of them, with Ready=False and reason ResourceConflict; the topic is left alone.
	ConflictRejectAll ConflictPolicy = "reject-all"
	// ConflictOldestWins lets the oldest proceed, by creationTimestamp and then by name, and refuses the others, as Strimzi does.
	ConflictOldestWins ConflictPolicy = "oldest-wins"
)

// ClusterIDUnknownPolicy configures how to handle a deleted KafkaTopic while the id of the Kafka cluster is unknown.
type ClusterIDUnknownPolicy string

// How to handle deletions while the cluster's id is unknown (docs/decisions/deletion.md).
const (
	// ClusterIDUnknownProceed deletes the topic, without protection against an operator that points at another cluster
	// (docs/topic-operator/ownership.md).
	ClusterIDUnknownProceed ClusterIDUnknownPolicy = "proceed"
	// ClusterIDUnknownBlock keeps the KafkaTopic, with Ready=False and reason ClusterIdUnknown, until the id is known.
	ClusterIDUnknownBlock ClusterIDUnknownPolicy = "block-deletion"
)
