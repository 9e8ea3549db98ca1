package options

import (
	"log/slog"
	"strings"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka/credentials"
)

// Options is everything the operator is told from outside. Parse makes it; all of it is valid together.
type Options struct {
	// Namespaces are the ones whose KafkaTopics are reconciled (STRIMZI_NAMESPACE, ruling T15).
	Namespaces Namespaces
	// Selector are the labels that a KafkaTopic must carry; empty selects all (STRIMZI_RESOURCE_LABELS).
	Selector Selector

	// Bootstrap are host:port addresses of brokers (STRIMZI_KAFKA_BOOTSTRAP_SERVERS).
	Bootstrap []string
	// ClientID is what brokers log and apply quotas to (STRIMZI_CLIENT_ID).
	ClientID string
	// SecurityProtocol says whether connections are encrypted and whether the operator logs in (STRIMZI_SECURITY_PROTOCOL,
	// or derived from TLS and SASL).
	SecurityProtocol SecurityProtocol
	// TLS names the certificates. It matters only if SecurityProtocol.TLS().
	TLS TLS
	// SASL is the login. It matters only if SecurityProtocol.SASL().
	SASL SASL
	// SecretNamespace holds all Secrets that TLS and SASL name (STRIMZI_CLUSTER_NAMESPACE; else the operator's own namespace, else the
	// first one watched, else default).
	SecretNamespace string

	// ReconciliationInterval is how often each KafkaTopic is compared with Kafka without an event
	// (STRIMZI_FULL_RECONCILIATION_INTERVAL_MS). At least 1 ms.
	ReconciliationInterval time.Duration
	// UseFinalizers keeps a deleted KafkaTopic until its topic is gone (STRIMZI_USE_FINALIZERS).
	UseFinalizers bool
	// DeletionDisabled says what becomes of a deleted KafkaTopic when the brokers refuse to delete topics
	// (STRIMZI_DELETION_DISABLED_POLICY, ruling T8).
	DeletionDisabled DeletionDisabledPolicy
	// Alterable says which topic configurations may be altered (STRIMZI_ALTERABLE_TOPIC_CONFIG). It does not limit creation.
	Alterable AlterableConfig
	// SkipClusterConfigReview leaves out the look at the brokers' configuration at start (STRIMZI_SKIP_CLUSTER_CONFIG_REVIEW).
	SkipClusterConfigReview bool
	// FeatureGates are the gates that were switched by name (STRIMZI_FEATURE_GATES). None exists today, so it is empty.
	FeatureGates map[string]bool

	// NamespacePolicyFile is the path of the policy that says which namespaces may manage which topics; empty is no policy
	// (STRIMZI_NAMESPACE_POLICY_FILE, seed 001; ruling T12). Whether the file is there and legal is package policy's business.
	NamespacePolicyFile string
	// ConflictPolicy says what becomes of several KafkaTopics that claim one topic (STRIMZI_CONFLICT_POLICY, seed 001; ruling T1).
	ConflictPolicy ConflictPolicy
	// ClusterIDUnknown says what becomes of a deleted KafkaTopic while the id of the Kafka cluster could not be fetched
	// (STRIMZI_CLUSTER_ID_UNKNOWN_POLICY, seed 000; ruling T7).
	ClusterIDUnknown ClusterIDUnknownPolicy

	// Batch bounds how Kafka calls are put together.
	Batch Batch
	// Concurrency is how many KafkaTopics are reconciled at the same time (STRIMZI_CONCURRENCY). At least 1.
	Concurrency int
	// LeaderElection lets several replicas run, one of which works.
	LeaderElection LeaderElection

	// AdditionalMetrics adds timers for each kind of external request (STRIMZI_ENABLE_ADDITIONAL_METRICS).
	AdditionalMetrics bool
	// HTTPAddress serves /healthy, /ready and /metrics, as host:port or :port (STRIMZI_HTTP_ADDRESS).
	HTTPAddress string
	// PprofAddress serves profiles, as host:port or :port; empty is off (STRIMZI_PPROF_ADDRESS).
	PprofAddress string
	// Log says what is logged, and how.
	Log Log

	// settings are the texts that the values above came from, for String. Secrets are masked already.
	settings []string
}

// String lists the effective settings as NAME=value, one line, with secrets masked.
func (o Options) String() string { return strings.Join(o.settings, " ") }

// GoString is String: what %#v prints must not hold secrets either.
func (o Options) GoString() string { return o.String() }

// The settings of connections are those of every program of this project.
type (
	// SecurityProtocol is how connections to Kafka are protected.
	SecurityProtocol = credentials.SecurityProtocol
	// TLS names the Secrets with certificates, all in Options.SecretNamespace.
	TLS = credentials.TLS
	// SASL is a login.
	SASL = credentials.SASL
	// OAuth is how a token is fetched.
	OAuth = credentials.OAuth
	// Masked is a secret text that prints as asterisks.
	Masked = credentials.Masked
)

// Kafka says how to reach Kafka.
func (o Options) Kafka() credentials.Settings {
	return credentials.Settings{
		Bootstrap: o.Bootstrap, ClientID: o.ClientID, Protocol: o.SecurityProtocol, TLS: o.TLS, SASL: o.SASL, SecretNamespace: o.SecretNamespace,
	}
}

// Batch bounds how concurrent Kafka calls are put together into one request.
type Batch struct {
	// MaxSize is how many topics one request carries at most (STRIMZI_MAX_BATCH_SIZE). At least 1.
	MaxSize int
	// MaxLinger is how long a call waits for company at most; 0 means that a lone call never waits (STRIMZI_MAX_BATCH_LINGER_MS).
	MaxLinger time.Duration
}

// LeaderElection is the lease over which replicas agree which of them works (STRIMZI_LEADER_ELECTION_*).
type LeaderElection struct {
	// Enabled is false for an operator that must be the only replica.
	Enabled bool
	// Name and Namespace are the Lease's. The default name ends in a hash of namespaces and selector, so that operators for different
	// KafkaTopics never wait for each other, and operators for the same KafkaTopics do.
	Name, Namespace string
	// LeaseDuration > RenewDeadline > 1.2 * RetryPeriod, as client-go demands.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// Log says what is logged, and how.
type Log struct {
	// Level is the least level that is logged (STRIMZI_LOG_LEVEL). Through logr, V(n) has level -n: DEBUG shows up to V(4), TRACE up to V(8).
	Level slog.Level
	// JSON selects one JSON object per line instead of text (STRIMZI_LOG_FORMAT).
	JSON bool
}

// DeletionDisabledPolicy says what becomes of a deleted KafkaTopic when the brokers refuse to delete topics.
type DeletionDisabledPolicy string

// The policies of ruling T8.
const (
	// DeletionDisabledRelease lets the KafkaTopic go, with a Warning event; the topic stays in Kafka.
	DeletionDisabledRelease DeletionDisabledPolicy = "release"
	// DeletionDisabledKeep keeps the KafkaTopic, with Ready=False and reason KafkaError, as Strimzi does.
	DeletionDisabledKeep DeletionDisabledPolicy = "keep"
)

// ConflictPolicy says what becomes of several KafkaTopics that claim one topic.
type ConflictPolicy string

// The policies of ruling T1.
const (
	// ConflictRejectAll refuses all of them, with Ready=False and reason ResourceConflict; the topic is left alone (seed 001).
	ConflictRejectAll ConflictPolicy = "reject-all"
	// ConflictOldestWins lets the oldest proceed, by creationTimestamp and then by name, and refuses the others, as Strimzi does.
	ConflictOldestWins ConflictPolicy = "oldest-wins"
)

// ClusterIDUnknownPolicy says what becomes of a deleted KafkaTopic while the id of the Kafka cluster could not be fetched.
type ClusterIDUnknownPolicy string

// The policies of ruling T7.
const (
	// ClusterIDUnknownProceed deletes the topic, unprotected against having been pointed at another cluster (seed 000).
	ClusterIDUnknownProceed ClusterIDUnknownPolicy = "proceed"
	// ClusterIDUnknownBlock keeps the KafkaTopic, with Ready=False and reason ClusterIdUnknown, until the id is known.
	ClusterIDUnknownBlock ClusterIDUnknownPolicy = "block-deletion"
)

// SecretNames returns the names of the Secrets that the options refer to, sorted, each once. They are all in SecretNamespace.
func (o Options) SecretNames() []string { return o.Kafka().SecretNames() }
