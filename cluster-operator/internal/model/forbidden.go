package model

import (
	"slices"
	"strings"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// forbiddenPrefixes are the prefixes of keys that the operator sets. Source: Strimzi's KafkaClusterSpec.FORBIDDEN_PREFIXES.
var forbiddenPrefixes = []string{
	"listeners", "advertised.", "broker.", "listener.", "host.name", "port", "inter.broker.listener.name", "sasl.", "ssl.", "security.",
	"password.",
	"log.dir", "zookeeper.connect", "zookeeper.set.acl", "zookeeper.ssl", "zookeeper.clientCnxnSocket", "zookeeper.metadata.migration.enable",
	"authorizer.", "super.user", "cruise.control.metrics.topic", "cruise.control.metrics.reporter.bootstrap.servers", "node.id",
	"process.roles",
	"controller.", "metadata.log.dir", "client.quota.callback.static.kafka.admin.", "client.quota.callback.static.produce",
	"client.quota.callback.static.fetch", "client.quota.callback.static.storage.per.volume.limit.min.available.",
	"client.quota.callback.static.excluded.principal.name.list", "prometheus.metrics.reporter.", "cordoned.log.dirs",
}

// forbiddenExceptions are keys with such a prefix that users may set. Source: Strimzi's KafkaClusterSpec.FORBIDDEN_PREFIX_EXCEPTIONS.
var forbiddenExceptions = []string{
	"zookeeper.connection.timeout.ms", "sasl.server.max.receive.size", "ssl.cipher.suites", "ssl.protocol", "ssl.enabled.protocols",
	"ssl.secure.random.implementation", "cruise.control.metrics.topic.num.partitions", "cruise.control.metrics.topic.replication.factor",
	"cruise.control.metrics.topic.retention.ms", "cruise.control.metrics.topic.auto.create.retries",
	"cruise.control.metrics.topic.auto.create.timeout.ms",
	"cruise.control.metrics.topic.min.insync.replicas", "broker.session.timeout.ms", "broker.heartbeat.interval.ms",
	"controller.socket.timeout.ms",
	"controller.quorum.election.backoff.max.ms", "controller.quorum.election.timeout.ms", "controller.quorum.fetch.timeout.ms",
}

// forbiddenExceptionsOfListeners are what users may set of a listener, behind its prefix. Source: Strimzi's KafkaConfiguration.
var forbiddenExceptionsOfListeners = []string{"connections.max.reauth.ms", "max.connections", "max.connection.creation.rate"}

// Forbidden reports whether a key of spec.kafka.config is ignored because the operator decides it. The listeners are those of the Kafka
// object.
func Forbidden(key string, listeners []v1.Listener) bool {
	key = strings.ToLower(strings.TrimSpace(key))
	decided := slices.ContainsFunc(forbiddenPrefixes, func(prefix string) bool { return strings.HasPrefix(key, strings.ToLower(prefix)) })
	if !decided || slices.Contains(forbiddenExceptions, key) {
		return false
	}
	return !slices.ContainsFunc(listeners, func(l v1.Listener) bool {
		setting, ofListener := strings.CutPrefix(key, "listener.name."+strings.ToLower(ListenerID(l))+".")
		return ofListener && slices.Contains(forbiddenExceptionsOfListeners, setting)
	})
}

// ForbiddenOfListener reports whether a key of a listener's listenerConfig is ignored because the operator decides it. Source: Strimzi.
func ForbiddenOfListener(key string) bool { return strings.HasPrefix(key, "ssl.keystore.") }
