package validate

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// configured returns a change of the good cluster's configuration.
func configured(entries string) string {
	return fmt.Sprintf(`kafka: {spec: {kafka: {config: {%s}}}}`, entries)
}

func badConfig(what string) string { return "Kafka ns/c has invalid spec.kafka.config: " + what }

func TestWrongConfig(t *testing.T) {
	value := func(name, entries, message string) wrong {
		return wrong{name: name, changes: configured(entries), code: "ConfigValue", message: badConfig(message)}
	}
	expectErrors(t, []wrong{
		value("boolean", `auto.create.topics.enable: "yes"`, "auto.create.topics.enable has value 'yes' which is not a boolean"),
		value("int", `num.partitions: many`, "num.partitions has value 'many' which is not an int"),
		value("int as a fraction", `num.partitions: 1.5`, "num.partitions has value '1.5' which is not an int"),
		value("int with a unit", `log.segment.bytes: 1Gi`, "log.segment.bytes has value '1Gi' which is not an int"),
		value("int too large", `log.segment.bytes: 10737418240`, "log.segment.bytes has value '10737418240' which is not an int"),
		value("long", `log.retention.ms: 7d`, "log.retention.ms has value '7d' which is not a long"),
		value("short", `transaction.state.log.num.partitions: "fifty"`,
			"transaction.state.log.num.partitions has value 'fifty' which is not an int"),
		value("double", `log.cleaner.io.max.bytes.per.second: fast`,
			"log.cleaner.io.max.bytes.per.second has value 'fast' which is not a double"),
		value("below the range", `num.network.threads: 0`, "num.network.threads has value 0 which less than the minimum value 1"),
		value("negative", `queued.max.requests: -1`, "queued.max.requests has value -1 which less than the minimum value 1"),
		value("above the range", `log.cleaner.min.cleanable.ratio: 1.5`,
			"log.cleaner.min.cleanable.ratio has value 1.5 which greater than the maximum value 1"),
		value("enum", `compression.type: brotli`,
			"compression.type has value 'brotli' which is not one of the allowed values: [uncompressed, zstd, lz4, snappy, gzip, producer]"),
		value("enum in any case", `group.consumer.migration.policy: maybe`,
			"group.consumer.migration.policy has value 'maybe' which is not one of the allowed values (case-insensitive): [DISABLED, DOWNGRADE, "+
				"UPGRADE, BIDIRECTIONAL]"),
		value("enum of times", `log.message.timestamp.type: createtime`,
			"log.message.timestamp.type has value 'createtime' which is not one of the allowed values: [CreateTime, LogAppendTime]"),
		value("list, unknown item", `log.cleanup.policy: archive`,
			"log.cleanup.policy contains values [archive] which are not in the allowed items [compact, delete]"),
		value("list, twice", `log.cleanup.policy: [delete, delete]`, "log.cleanup.policy contains duplicate values"),
		value("list, empty value", `metric.reporters: "a,,b"`, "metric.reporters contains empty values"),
		{name: "a map", changes: configured(`num.partitions: {a: 1}`), code: "ConfigType",
			message: badConfig(`num.partitions has the value {"a":1}: only strings, numbers, booleans and lists of these have a text form`)},
		{name: "a key of two lines", changes: configured(`"num.partitions=1\nauto.create.topics.enable": 1`), code: "ConfigKey",
			message: badConfig(`"num.partitions=1\nauto.create.topics.enable" is not a key of Kafka's configuration`)},
		{name: "an empty key", changes: configured(`"": 1`), code: "ConfigKey", message: badConfig(`"" is not a key of Kafka's configuration`)},
		{name: "config.providers: our alias", changes: configured(`config.providers: "env,strimzienv"`), code: "ConfigProvider",
			reason: invalidConfiguration,
			message: "config.provider strimzienv not permitted as it reserved for Strimzi. Not permitted aliases: [strimzienv, strimzifile, " +
				"strimzidir, strimzisecrets]"},
	})
	g := NewWithT(t)
	in := input(t, "")
	in.Kafka.Spec.Kafka.Config["num.partitions"] = v1.ConfigValue{}
	g.Expect(Validate(in).Errors).To(Equal([]Problem{{Code: "ConfigType", Reason: invalidResource,
		Message: badConfig("num.partitions has the value null: null has no text form")}}))
}

func TestCipherSuitesForTheNodesOwnCertificates(t *testing.T) {
	const rsa, ec, tls13 = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"
	suites := func(suites, protocols string) string {
		if protocols != "" {
			protocols = ", ssl.enabled.protocols: " + protocols
		}
		return configured("ssl.cipher.suites: " + suites + protocols)
	}
	refused := func(name, changes, works string) wrong {
		return wrong{name: name, changes: changes, code: "CiphersUnusable", message: badConfig("ssl.cipher.suites has no cipher suite for the " +
			"nodes' own certificates, which have EC keys, so that nodes can't connect to each other: add " + works)}
	}
	expectErrors(t, []wrong{
		refused("RSA", suites(rsa, ""), tls13+" (TLSv1.3) or "+ec+" (TLSv1.2)"),
		refused("RSA, TLS 1.2", suites(rsa, "TLSv1.2"), ec+" (TLSv1.2)"),
		refused("suites of TLS 1.3, TLS 1.2", suites(tls13, "TLSv1.2"), ec+" (TLSv1.2)"),
		refused("suites of TLS 1.2, TLS 1.3", suites(ec, "TLSv1.3"), tls13+" (TLSv1.3)"),
	})
	for _, good := range []string{
		suites(`"`+rsa+", "+tls13+`"`, ""), suites("["+rsa+", "+ec+"]", "TLSv1.2"), suites("TLS_CHACHA20_POLY1305_SHA256", "[TLSv1.3]"),
		suites(rsa, "TLSv1.1"), suites(`""`, ""), suites(`"${strimzienv:SUITES}"`, ""), suites(tls13, `"${strimzienv:PROTOCOLS}"`),
	} {
		NewWithT(t).Expect(Validate(input(t, good)).Errors).To(BeEmpty(), good)
	}
}

func TestReplicationThatNoClusterOfThisSizeHas(t *testing.T) {
	one := func(entries string) string {
		return configured("default.replication.factor: 1, min.insync.replicas: 1, "+entries) + "\npools: {broker: {spec: {replicas: 1}}}"
	}
	var cases []wrong
	for _, key := range []string{"offsets.topic.replication.factor", "transaction.state.log.replication.factor",
		"transaction.state.log.min.isr", "default.replication.factor"} {
		cases = append(cases,
			wrong{name: key + " of 3", changes: configured(key + ": 4"), code: "ReplicationTooHigh",
				message: fmt.Sprintf("Kafka configuration option '%s' should be set to 3 or less because this cluster has only 3 Kafka broker(s).",
					key)},
			wrong{name: key + " of 1", changes: one(key + ": 3"), code: "ReplicationTooHigh",
				message: fmt.Sprintf("Kafka configuration option '%s' should be set to 1 because this cluster has only 1 Kafka broker(s).", key)},
			wrong{name: key + " no number", changes: configured(key + ": all"), code: "ReplicationNoNumber",
				message: fmt.Sprintf("Property %s should be an integer", key)},
		)
	}
	expectErrors(t, cases)
}

func TestGoodConfig(t *testing.T) {
	for name, entries := range map[string]string{
		"of a plugin":   `my.plugin.setting: anything`,
		"by a provider": `num.partitions: "${env:PARTITIONS}", offsets.topic.replication.factor: "${env:REPLICAS}"`,
		"exceptions of forbidden": `ssl.cipher.suites: TLS_AES_256_GCM_SHA384, broker.heartbeat.interval.ms: 1000, ` +
			`controller.quorum.fetch.timeout.ms: 3000`,
		"of an existing listener": `listener.name.tls-9093.max.connections: 7`,
		"numbers as text":         `num.partitions: "7", auto.create.topics.enable: "FALSE"`,
		"providers":               `config.providers: "env", config.providers.env.class: a`,
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Validate(input(t, configured(entries)))).To(Equal(Result{}))
		})
	}
}

func TestForbiddenConfig(t *testing.T) {
	var cases []wrong
	for _, key := range []string{
		"listeners", "advertised.listeners", "broker.id", "listener.security.protocol.map", "host.name", "port", "inter.broker.listener.name",
		"sasl.enabled.mechanisms",
		"ssl.keystore.location", "security.inter.broker.protocol", "password.encoder.secret", "log.dirs", "log.dir", "zookeeper.connect",
		"zookeeper.clientCnxnSocket",
		"authorizer.class.name", "super.users", "cruise.control.metrics.topic", "node.id", "process.roles", "controller.quorum.voters",
		"metadata.log.dir",
		"client.quota.callback.static.produce", "prometheus.metrics.reporter.listener", "cordoned.log.dirs", "LISTENERS",
		"listener.name.other-9093.max.connections",
		"listener.name.tls-9093.ssl.client.auth",
	} {
		cases = append(cases, wrong{name: key, changes: configured(key + ": a"), code: "ForbiddenConfig", reason: "ForbiddenConfig",
			message: fmt.Sprintf("Configuration option %q is forbidden and will be ignored", key)})
	}
	expectWarnings(t, cases)
}

func TestWrongQuotas(t *testing.T) {
	g := NewWithT(t)
	got := Validate(input(t,
		`kafka: {spec: {kafka: {quotas: {type: strimzi, minAvailableBytesPerVolume: 1, minAvailableRatioPerVolume: 0.1}, config: `+
			`{client.quota.callback.class: a}}}}`))
	g.Expect(got.Errors).To(Equal([]Problem{{Code: "QuotasExclusive", Reason: invalidResource,
		Message: "You cannot configure both `minAvailableBytesPerVolume` and `minAvailableRatioPerVolume`, they are mutually exclusive."}}))
	g.Expect(got.Warnings).To(ContainElement(Problem{Code: "QuotasTwice", Reason: "QuotasPluginConflict",
		Message: "Quotas plugin class cannot be configured in .spec.kafka.config, when .spec.kafka.quotas contains configuration of " +
			"`strimzi` plugin. The plugin from .spec.kafka.config is used: .spec.kafka.quotas has no effect"}))
}
