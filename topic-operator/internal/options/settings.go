package options

import (
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka/credentials"
)

// The variables that more than one place speaks of.
const (
	envNamespace        = "STRIMZI_NAMESPACE"
	envClusterNamespace = "STRIMZI_CLUSTER_NAMESPACE"
	envBootstrap        = "STRIMZI_KAFKA_BOOTSTRAP_SERVERS"
	envClientID         = "STRIMZI_CLIENT_ID"
	envProtocol         = "STRIMZI_SECURITY_PROTOCOL"
	envTrustSecret      = "STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME"
	envIdentitySecret   = "STRIMZI_TLS_SECRET_NAME"
	envKeyEntry         = "STRIMZI_TLS_KEY_NAME"
	envCertEntry        = "STRIMZI_TLS_CERT_NAME"
	envSASLEnabled      = "STRIMZI_SASL_ENABLED"
	envSASLMechanism    = "STRIMZI_SASL_MECHANISM"
	envSASLUsername     = "STRIMZI_SASL_USERNAME"
	envSASLPassword     = "STRIMZI_SASL_PASSWORD"
	envSASLSecret       = "STRIMZI_SASL_SECRET_NAME"
	envSASLCustom       = "STRIMZI_SASL_CUSTOM_CONFIG_JSON"
	envHTTPAddress      = "STRIMZI_HTTP_ADDRESS"
	envPprofAddress     = "STRIMZI_PPROF_ADDRESS"
	envLeaseName        = "STRIMZI_LEADER_ELECTION_LEASE_NAME"
	envLeaseNamespace   = "STRIMZI_LEADER_ELECTION_LEASE_NAMESPACE"
	envLeaseDuration    = "STRIMZI_LEADER_ELECTION_LEASE_DURATION_MS"
	envRenewDeadline    = "STRIMZI_LEADER_ELECTION_RENEW_DEADLINE_MS"
	envRetryPeriod      = "STRIMZI_LEADER_ELECTION_RETRY_PERIOD_MS"
	envCruiseControl    = "STRIMZI_CRUISE_CONTROL_ENABLED"
)

// envPrefix is what all settings' variables begin with.
const envPrefix = "STRIMZI_"

// setting is one line of the table.
type setting struct {
	// env is the variable's name.
	env string
	// flag is the flag's name if it does not follow from env.
	flag string
	// fallback is the text that stands in for a missing value. It goes through parse as well, so that the documented default is the real one.
	fallback string
	// shown is what documentation says instead of fallback, where the default depends on something.
	shown string
	// help says what the setting does, in whole sentences.
	help string
	// parse writes the value to its place.
	parse parser
	// mandatory settings have no default.
	mandatory bool
	// secret settings have no flag, because everybody on a machine can read command lines, and are masked.
	secret bool
	// ours marks what Strimzi's operator does not have.
	ours bool
	// emptyCounts is for settings of which the empty text is a value. Everywhere else empty is the same as not given, which is how
	// templates write a setting that they leave alone.
	emptyCounts bool
	// boolean settings' flags need no value.
	boolean bool
}

// flagName returns the flag without its dashes: STRIMZI_MAX_BATCH_SIZE is --max-batch-size.
func (s setting) flagName() string {
	if s.flag != "" {
		return s.flag
	}
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.env, envPrefix)), "_", "-")
}

// group is a part of the table, under a heading of the documentation.
type group struct {
	title    string
	settings []setting
}

// table is all settings, each once, with parsers that write to d.
func table(d *draft) []group {
	return []group{
		{"What is watched", scopeSettings(d)},
		{"Kafka", kafkaSettings(d)},
		{"Certificates", tlsSettings(d)},
		{"Login", saslSettings(d)},
		{"Topics", topicSettings(d)},
		{"Whose a topic is", ownershipSettings(d)},
		{"Throughput", throughputSettings(d)},
		{"Replicas", leaderSettings(d)},
		{"Observation", observationSettings(d)},
		{"Accepted without effect", withoutEffect()},
	}
}

func scopeSettings(d *draft) []setting {
	return []setting{
		{env: envNamespace, mandatory: true, parse: into(&d.Namespaces, parseNamespaces),
			help: "The namespaces whose KafkaTopics are reconciled: one, several with commas between, or `*` for all. (Strimzi: exactly one.)"},
		{env: "STRIMZI_RESOURCE_LABELS", shown: "all", parse: into(&d.Selector, parseSelector),
			help: "Labels that a KafkaTopic must carry, as `key=value` pairs with commas between. All must match; more labels do no harm."},
		{env: envClusterNamespace, shown: "the operator's namespace", parse: into(&d.SecretNamespace, readNamespace),
			help: "The namespace of all Secrets named below. Unset: the namespace the operator runs in, else the first one watched, else `default`."},
	}
}

func kafkaSettings(d *draft) []setting {
	return []setting{
		{env: envBootstrap, mandatory: true, parse: into(&d.Bootstrap, readBootstrap),
			help: "Addresses of one or more brokers, as `host:port` with commas between."},
		{env: envClientID, shown: "strimzi-topic-operator-`<uuid>`", parse: into(&d.ClientID, readText),
			help: "The client id, which brokers log and apply quotas to. Unset: a new one at each start."},
		{env: envProtocol, shown: "derived", parse: into(&d.SecurityProtocol, credentials.ParseProtocol),
			help: "`PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`. Unset: encrypted if one of the two certificate Secrets is named, with login if " +
				"`STRIMZI_SASL_ENABLED` is true. `SSL` without a Secret trusts the system's authorities. A contradiction to the other settings stops the start."},
	}
}

func tlsSettings(d *draft) []setting {
	return []setting{
		{env: envTrustSecret, shown: "none", parse: into(&d.TLS.TrustSecret, readName),
			help: "A Secret, all `.crt` entries of which (PEM) are authorities that may sign the brokers' certificates. Followed while running."},
		{env: envIdentitySecret, shown: "none", parse: into(&d.TLS.IdentitySecret, readName),
			help: "A Secret with the operator's own key and certificate (PEM), for mTLS. Followed while running."},
		{env: envKeyEntry, shown: "tls.key", parse: into(&d.TLS.KeyEntry, readText),
			help: "The entry with the key. The default is ours and holds only if `STRIMZI_TLS_CERT_NAME` is unset too."},
		{env: envCertEntry, shown: "tls.crt", parse: into(&d.TLS.CertEntry, readText),
			help: "The entry with the certificate and its chain. The default is ours and holds only if `STRIMZI_TLS_KEY_NAME` is unset too."},
		{env: "STRIMZI_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM", fallback: "HTTPS", emptyCounts: true,
			parse: into(&d.TLS.SkipHostnameVerification, credentials.ParseEndpointAlgorithm),
			help:  "`HTTPS` compares the brokers' certificates with their host names. Set to the empty string it does not; the chain is verified nevertheless."},
	}
}

func saslSettings(d *draft) []setting {
	return []setting{
		{env: envSASLEnabled, fallback: "false", boolean: true, parse: into(&d.saslEnabled, readBool),
			help: "Whether the operator logs in."},
		{env: envSASLMechanism, shown: "none", parse: into(&d.mechanism, readText),
			help: "`plain`, `scram-sha-256` or `scram-sha-512`. For OAUTHBEARER use `STRIMZI_SASL_CUSTOM_CONFIG_JSON`."},
		{env: envSASLUsername, shown: "none", parse: into(&d.SASL.Username, readText), help: "The user's name."},
		{env: envSASLPassword, shown: "none", secret: true, parse: into(&d.SASL.Password, readSecret),
			help: "The user's password. It is read at start only: prefer `STRIMZI_SASL_SECRET_NAME`."},
		{env: envSASLSecret, shown: "none", ours: true, parse: into(&d.SASL.Secret, readName),
			help: "A Secret with the entries `username` and `password`, or `client-id` and `client-secret` for OAUTHBEARER. Followed while running. " +
				"The Secret of a KafkaUser, which has no `username`, works together with `STRIMZI_SASL_USERNAME`."},
		{env: envSASLCustom, shown: "none", secret: true, parse: into(&d.customJSON, readSecret),
			help: "Kafka client properties as a JSON object, all keys beginning with `sasl.`; see below. It replaces mechanism, user and password above."},
	}
}

func topicSettings(d *draft) []setting {
	return []setting{
		{env: "STRIMZI_USE_FINALIZERS", fallback: "true", boolean: true, parse: into(&d.UseFinalizers, readBool),
			help: "Whether a deleted KafkaTopic stays until its topic is gone. Without, topics whose KafkaTopic is deleted while the operator is down stay in Kafka."},
		{env: "STRIMZI_DELETION_DISABLED_POLICY", fallback: string(DeletionDisabledRelease), ours: true, parse: into(&d.DeletionDisabled, readChoice(DeletionDisabledRelease, DeletionDisabledKeep)),
			help: "What becomes of a deleted KafkaTopic when the brokers refuse to delete topics (`delete.topic.enable=false`): `release` lets it go with a Warning " +
				"event and leaves the topic; `keep` keeps it with `Ready=False`, as Strimzi does."},
		{env: "STRIMZI_ALTERABLE_TOPIC_CONFIG", fallback: alterableAll, parse: into(&d.Alterable, readAlterable),
			help: "Which topic configurations may be altered: `ALL`, `NONE`, or keys with commas between. Creation is not limited."},
		{env: "STRIMZI_SKIP_CLUSTER_CONFIG_REVIEW", fallback: "false", boolean: true, parse: into(&d.SkipClusterConfigReview, readBool),
			help: "Leaves out the look at the brokers' configuration at start, for Kafka services that do not allow it."},
		{env: "STRIMZI_FULL_RECONCILIATION_INTERVAL_MS", fallback: "120000", parse: into(&d.ReconciliationInterval, readMillis(1)),
			help: "How often each KafkaTopic is compared with Kafka without an event, in milliseconds. The topics are spread over the interval."},
		{env: "STRIMZI_FEATURE_GATES", shown: "none", parse: into(&d.FeatureGates, parseGates),
			help: "Feature gates, as `+Name` or `-Name` with commas between. None exists today, and an unknown one stops the start."},
	}
}

func ownershipSettings(d *draft) []setting {
	return []setting{
		{env: "STRIMZI_NAMESPACE_POLICY_FILE", shown: "none", ours: true, parse: into(&d.NamespacePolicyFile, readText),
			help: "A YAML file that says which namespaces may manage which topics. Followed while running. An illegal one stops the start, and is not taken over later. " +
				"Unset: every namespace may manage every topic."},
		{env: "STRIMZI_CONFLICT_POLICY", fallback: string(ConflictRejectAll), ours: true,
			parse: into(&d.ConflictPolicy, readChoice(ConflictRejectAll, ConflictOldestWins)),
			help: "What becomes of several KafkaTopics that claim one topic: `reject-all` gives all of them `Ready=False` and leaves the topic alone; " +
				"`oldest-wins` lets the oldest of them proceed, as Strimzi does."},
		{env: "STRIMZI_CLUSTER_ID_UNKNOWN_POLICY", fallback: string(ClusterIDUnknownProceed), ours: true,
			parse: into(&d.ClusterIDUnknown, readChoice(ClusterIDUnknownProceed, ClusterIDUnknownBlock)),
			help: "What becomes of a deleted KafkaTopic while the Kafka cluster's id could not be fetched: `proceed` deletes its topic without comparing the ids of the clusters; " +
				"`block-deletion` keeps it with `Ready=False` until the id is known."},
	}
}

func throughputSettings(d *draft) []setting {
	return []setting{
		{env: "STRIMZI_CONCURRENCY", fallback: "256", ours: true, parse: into(&d.Concurrency, readPositive),
			help: "How many KafkaTopics are reconciled at the same time. Fewer than the batch size means smaller batches."},
		{env: "STRIMZI_MAX_BATCH_SIZE", fallback: "500", parse: into(&d.Batch.MaxSize, readPositive),
			help: "How many topics go into one Kafka request at most. (Strimzi's default: 100.)"},
		{env: "STRIMZI_MAX_BATCH_LINGER_MS", fallback: "0", parse: into(&d.Batch.MaxLinger, readMillis(0)),
			help: "How long a Kafka call waits for company at most, in milliseconds. 0: a lone call never waits, and calls gather only while a request is " +
				"under way. (Strimzi's default: 100, waited in full.)"},
	}
}

func leaderSettings(d *draft) []setting {
	return []setting{
		{env: "STRIMZI_LEADER_ELECTION_ENABLED", flag: "leader-elect", fallback: "true", ours: true, boolean: true,
			parse: into(&d.LeaderElection.Enabled, readBool),
			help:  "Whether replicas agree on one that works. Without, run exactly one replica with strategy Recreate."},
		{env: envLeaseName, shown: "strimzi-topic-operator-`<hash>`", ours: true, parse: into(&d.LeaderElection.Name, readName),
			help: "The Lease's name. The default's hash is that of namespaces and labels: operators for the same KafkaTopics share the Lease, others do not."},
		{env: envLeaseNamespace, shown: "the operator's namespace", ours: true, parse: into(&d.LeaderElection.Namespace, readNamespace),
			help: "The Lease's namespace. Unset: the namespace the operator runs in, else the first one watched, else `default`."},
		{env: envLeaseDuration, fallback: "15000", ours: true, parse: into(&d.LeaderElection.LeaseDuration, readMillis(1)),
			help: "How long other replicas wait for a leader that went silent, in milliseconds."},
		{env: envRenewDeadline, fallback: "10000", ours: true, parse: into(&d.LeaderElection.RenewDeadline, readMillis(1)),
			help: "How long a leader tries to renew the lease before it stops, in milliseconds. Less than the lease's duration."},
		{env: envRetryPeriod, fallback: "2000", ours: true, parse: into(&d.LeaderElection.RetryPeriod, readMillis(1)),
			help: "How long replicas wait between tries, in milliseconds. Less than the renew deadline divided by 1.2."},
	}
}

func observationSettings(d *draft) []setting {
	return []setting{
		{env: "STRIMZI_LOG_LEVEL", fallback: "INFO", parse: into(&d.Log.Level, readLevel),
			help: "The least level that is logged: `OFF`, `ERROR`, `WARN`, `INFO`, `DEBUG` or `TRACE`."},
		{env: "STRIMZI_LOG_FORMAT", fallback: "text", ours: true, parse: into(&d.Log.JSON, readJSONFormat),
			help: "`text`, or `json` for one object per line."},
		{env: "STRIMZI_ENABLE_ADDITIONAL_METRICS", fallback: "false", boolean: true, parse: into(&d.AdditionalMetrics, readBool),
			help: "Whether each kind of request to Kafka and Kubernetes has a timer of its own."},
		{env: envHTTPAddress, fallback: ":8080", ours: true, parse: into(&d.HTTPAddress, readAddress),
			help: "Where `/healthy`, `/ready` and `/metrics` are served. (Strimzi: always port 8080.)"},
		{env: envPprofAddress, flag: "pprof-bind-address", shown: "off", ours: true, parse: into(&d.PprofAddress, readOptionalAddress),
			help: "Where Go profiles are served, such as `localhost:6060`. Profiles show what is in memory: do not open the port to others."},
	}
}

// withoutEffect are variables that Strimzi's users set and that mean nothing here. They are accepted so that a Deployment can be taken
// over unchanged, and checked no more than Strimzi's tests demand.
func withoutEffect() []setting {
	var enabled bool
	var number int
	cruiseControl := "Belongs to Cruise Control."
	java := "There is no Java here. Use `GOMEMLIMIT`, `GOMAXPROCS` and `GODEBUG`."
	return []setting{
		{env: envCruiseControl, fallback: "false", boolean: true, parse: into(&enabled, readCruiseControl),
			help: "`true` stops the start: changing replication factors through Cruise Control is not supported yet."},
		{env: "STRIMZI_CRUISE_CONTROL_RACK_ENABLED", parse: ignored, help: cruiseControl},
		{env: "STRIMZI_CRUISE_CONTROL_RACK_AWARE", parse: ignored, help: cruiseControl + " Strimzi's cluster operator sets it, and nothing reads it."},
		{env: "STRIMZI_CRUISE_CONTROL_SSL_ENABLED", parse: ignored, help: cruiseControl},
		{env: "STRIMZI_CRUISE_CONTROL_AUTH_ENABLED", parse: ignored, help: cruiseControl},
		{env: "STRIMZI_CRUISE_CONTROL_HOSTNAME", parse: ignored, help: cruiseControl},
		{env: "STRIMZI_CRUISE_CONTROL_PORT", parse: into(&number, readPositive), help: cruiseControl},
		{env: "STRIMZI_CRUISE_CONTROL_CRT_FILE_PATH", parse: ignored, help: cruiseControl},
		{env: "STRIMZI_CRUISE_CONTROL_API_USER_PATH", parse: ignored, help: cruiseControl},
		{env: "STRIMZI_CRUISE_CONTROL_API_PASS_PATH", parse: ignored, help: cruiseControl},
		{env: "STRIMZI_MAX_QUEUE_SIZE", parse: into(&number, readPositive),
			help: "Nothing overflows: the queue holds each KafkaTopic at most once, and the operator does not stop when there are many."},
		{env: "STRIMZI_TOPIC_OPERATIONS_THREAD_POOL_SIZE", parse: ignored, help: "There is no thread pool; see `STRIMZI_CONCURRENCY`."},
		{env: "STRIMZI_DNS_CACHE_TTL", parse: ignored, help: "Names are looked up at each connection."},
		{env: "STRIMZI_JAVA_OPTS", parse: ignored, help: java},
		{env: "STRIMZI_JAVA_SYSTEM_PROPERTIES", parse: ignored, help: java},
		{env: "STRIMZI_GC_LOG_ENABLED", parse: ignored, help: java},
	}
}
