package options

import (
	"github.com/kafka-operators/kafka-operators/operator/election"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/operator/manager"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

const envCruiseControl = "STRIMZI_CRUISE_CONTROL_ENABLED"

// table returns all settings, each once, with parsers that write to d.
func table(d *draft, subcommands ...string) settings.Table {
	groups := []settings.Group{{Title: "What is watched", Settings: scopeSettings(d)}}
	groups = append(groups, d.kafka.Groups()...)
	groups = append(groups,
		settings.Group{Title: "Topics", Settings: topicSettings(d)},
		settings.Group{Title: "Ownership of topics", Settings: ownershipSettings(d)},
		settings.Group{Title: "Throughput", Settings: throughputSettings(d)},
		settings.Group{Title: "Replicas", Settings: election.Settings(&d.LeaderElection,
			name+"-`<hash>`, a hash of namespaces, labels and bootstrap addresses")},
		settings.Group{Title: "Observation", Settings: observationSettings(d)},
		settings.Group{Title: "Accepted without effect", Settings: withoutEffect(d)},
	)
	return settings.Table{
		Program: "topic-operator", Summary: "topic-operator manages the topics of a Kafka cluster through KafkaTopic objects.",
		Groups: groups, Hints: hints(), Subcommands: subcommands,
	}
}

func scopeSettings(d *draft) []settings.Setting {
	return []settings.Setting{
		{Env: "STRIMZI_NAMESPACE", Mandatory: true, Parse: settings.Into(&d.Namespaces, settings.ParseNamespaces),
			Doc: "The namespaces whose KafkaTopics are reconciled: one, a comma-separated list, or `*` for all. (Strimzi: exactly one.)"},
		{Env: "STRIMZI_RESOURCE_LABELS", DefaultDoc: "all", Parse: settings.Into(&d.Selector, settings.ParseSelector),
			Doc: "Labels that a KafkaTopic must carry, as comma-separated `key=value` pairs. All must match; other labels are ignored."},
		d.kafka.Namespace(),
	}
}

func topicSettings(d *draft) []settings.Setting {
	return []settings.Setting{
		{Env: "STRIMZI_USE_FINALIZERS", Default: "true", Boolean: true, Parse: settings.Into(&d.UseFinalizers, settings.Bool),
			Doc: "Whether KafkaTopics have a finalizer, so that a deleted one stays until its topic is deleted. Without it, a topic stays in " +
				"Kafka if " +
				"its KafkaTopic is deleted while the operator is down."},
		{Env: "STRIMZI_DELETION_DISABLED_POLICY", Default: string(DeletionDisabledRelease), Added: true,
			Parse: settings.Into(&d.DeletionDisabled, settings.Choice("policy", DeletionDisabledRelease, DeletionDisabledKeep)),
			Doc: "What to do with a deleted KafkaTopic when the brokers refuse to delete topics (`delete.topic.enable=false`): `release` removes " +
				"its finalizer with a Warning " +
				"event and leaves the topic; `keep` keeps the KafkaTopic with `Ready=False`, as Strimzi does."},
		{Env: "STRIMZI_ALTERABLE_TOPIC_CONFIG", Default: alterableAll, Parse: settings.Into(&d.Alterable, readAlterable),
			Doc: "Which topic configurations may be altered: `ALL`, `NONE`, or a comma-separated list of keys. Creation is not limited."},
		{Env: "STRIMZI_SKIP_CLUSTER_CONFIG_REVIEW", Default: "false", Boolean: true,
			Parse: settings.Into(&d.SkipClusterConfigReview, settings.Bool),
			Doc:   "Skips the review of the brokers' configuration at start, for Kafka services that do not allow it."},
		{Env: "STRIMZI_FULL_RECONCILIATION_INTERVAL_MS", Default: "120000", Parse: settings.Into(&d.ReconciliationInterval, settings.Millis(1)),
			Doc: "How often each KafkaTopic is reconciled without an event, in milliseconds. The topics are spread over the interval."},
		{Env: "STRIMZI_FEATURE_GATES", DefaultDoc: "none", Parse: settings.Into(&d.FeatureGates, parseGates),
			Doc: "Feature gates, as a comma-separated list of `+Name` or `-Name`. None exists today; an unknown one is reported in a WARN line."},
	}
}

func ownershipSettings(d *draft) []settings.Setting {
	return []settings.Setting{
		{Env: "STRIMZI_NAMESPACE_POLICY_FILE", DefaultDoc: "none", Added: true, Parse: settings.Into(&d.NamespacePolicyFile, settings.Text),
			Doc: "A YAML file that defines which namespaces may manage which topics. Reloaded when it changes. At start, the operator exits if " +
				"the " +
				"policy is invalid; later, it rejects the invalid policy and keeps the last valid one. " +
				"Unset: every namespace may manage every topic."},
		{Env: "STRIMZI_CONFLICT_POLICY", Default: string(ConflictRejectAll), Added: true,
			Parse: settings.Into(&d.ConflictPolicy, settings.Choice("policy", ConflictRejectAll, ConflictOldestWins)),
			Doc: "What to do with several KafkaTopics that claim one topic: `reject-all` gives all of them `Ready=False` and leaves the topic " +
				"alone; " +
				"`oldest-wins` lets the oldest of them proceed, as Strimzi does."},
		{Env: "STRIMZI_CLUSTER_ID_UNKNOWN_POLICY", Default: string(ClusterIDUnknownProceed), Added: true,
			Parse: settings.Into(&d.ClusterIDUnknown, settings.Choice("policy", ClusterIDUnknownProceed, ClusterIDUnknownBlock)),
			Doc: "What to do with a deleted KafkaTopic while the id of the Kafka cluster is unknown: `proceed` deletes its topic without " +
				"comparing the ids of the clusters; " +
				"`block-deletion` keeps it with `Ready=False` until the id is known."},
	}
}

func throughputSettings(d *draft) []settings.Setting {
	return []settings.Setting{
		{Env: "STRIMZI_CONCURRENCY", Default: "256", Added: true, Parse: settings.Into(&d.Concurrency, settings.Positive),
			Doc: "How many KafkaTopics are reconciled at the same time. Fewer than the batch size means smaller batches."},
		{Env: "STRIMZI_MAX_BATCH_SIZE", Default: "500", Parse: settings.Into(&d.Batch.MaxSize, settings.Positive),
			Doc: "The maximum number of topics in one Kafka request. (Strimzi's default: 100.)"},
		{Env: "STRIMZI_MAX_BATCH_LINGER_MS", Default: "0", Parse: settings.Into(&d.Batch.MaxLinger, settings.Millis(0)),
			Doc: "How long a Kafka call waits at most for other calls to batch with, in milliseconds. 0: a call is batched only if another " +
				"request is " +
				"under way, and never waits otherwise. (Strimzi's default: 100, always waited in full.)"},
	}
}

func observationSettings(d *draft) []settings.Setting {
	additional := settings.Setting{Env: "STRIMZI_ENABLE_ADDITIONAL_METRICS", Default: "false", Boolean: true,
		Parse: settings.Into(&d.AdditionalMetrics, settings.Bool),
		Doc:   "Whether to measure the duration of each kind of request to Kafka and Kubernetes."}
	return append(append(logging.Settings(&d.Log), additional), manager.Settings(&d.HTTP)...)
}

// withoutEffect returns variables that Strimzi's users set and that have no effect here. They are accepted so that a Deployment can be
// migrated unchanged, and validated only as far as Strimzi's tests require.
func withoutEffect(d *draft) []settings.Setting {
	var number int
	cruiseControl := "Belongs to Cruise Control."
	java := "Not a Java program. Use `GOMEMLIMIT`, `GOMAXPROCS` and `GODEBUG`."
	return []settings.Setting{
		{Env: envCruiseControl, Default: "false", Boolean: true, Parse: settings.Into(&d.cruiseControl, settings.Bool),
			Doc: "With `true`, the operator logs a WARN line: changing replication factors through Cruise Control is not supported yet, and a " +
				"changed " +
				"`spec.replicas` is reported in the status."},
		{Env: "STRIMZI_CRUISE_CONTROL_RACK_ENABLED", Parse: settings.Ignored, Doc: cruiseControl},
		{Env: "STRIMZI_CRUISE_CONTROL_RACK_AWARE", Parse: settings.Ignored,
			Doc: cruiseControl + " Strimzi's cluster operator sets it; this operator does not read it."},
		{Env: "STRIMZI_CRUISE_CONTROL_SSL_ENABLED", Parse: settings.Ignored, Doc: cruiseControl},
		{Env: "STRIMZI_CRUISE_CONTROL_AUTH_ENABLED", Parse: settings.Ignored, Doc: cruiseControl},
		{Env: "STRIMZI_CRUISE_CONTROL_HOSTNAME", Parse: settings.Ignored, Doc: cruiseControl},
		{Env: "STRIMZI_CRUISE_CONTROL_PORT", Parse: settings.Into(&number, settings.Positive), Doc: cruiseControl},
		{Env: "STRIMZI_CRUISE_CONTROL_CRT_FILE_PATH", Parse: settings.Ignored, Doc: cruiseControl},
		{Env: "STRIMZI_CRUISE_CONTROL_API_USER_PATH", Parse: settings.Ignored, Doc: cruiseControl},
		{Env: "STRIMZI_CRUISE_CONTROL_API_PASS_PATH", Parse: settings.Ignored, Doc: cruiseControl},
		{Env: "STRIMZI_MAX_QUEUE_SIZE", Parse: settings.Into(&number, settings.Positive),
			Doc: "The queue can't overflow: it holds each KafkaTopic at most once."},
		{Env: "STRIMZI_TOPIC_OPERATIONS_THREAD_POOL_SIZE", Parse: settings.Ignored, Doc: "There is no thread pool; see `STRIMZI_CONCURRENCY`."},
		{Env: "STRIMZI_DNS_CACHE_TTL", Parse: settings.Ignored, Doc: "Host names are resolved at each connection."},
		{Env: "STRIMZI_JAVA_OPTS", Parse: settings.Ignored, Doc: java},
		{Env: "STRIMZI_JAVA_SYSTEM_PROPERTIES", Parse: settings.Ignored, Doc: java},
		{Env: "STRIMZI_GC_LOG_ENABLED", Parse: settings.Ignored, Doc: java},
	}
}
