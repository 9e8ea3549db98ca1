package validate

import (
	"testing"

	. "github.com/onsi/gomega"
)

func configMap(name string, data map[string]string) func(*Input) {
	return func(in *Input) { in.ConfigMaps = map[string]map[string]string{name: data} }
}

func TestWrongMetrics(t *testing.T) {
	exporter := `kafka: {spec: {kafka: {metricsConfig: {type: jmxPrometheusExporter, valueFrom: {configMapKeyRef: {name: m, key: k}}}}}}`
	rules := func(name, text, message string) wrong {
		return wrong{name: name, changes: exporter, facts: configMap("m", map[string]string{"k": text}), code: "MetricsYAML",
			reason: invalidConfiguration, message: "Failed to parse metrics configuration (ConfigMap m, key k: " + message + ")"}
	}
	expectErrors(t, []wrong{
		{name: "no reference", changes: `kafka: {spec: {kafka: {metricsConfig: {type: jmxPrometheusExporter, valueFrom: {}}}}}`,
			code:    "MetricsReference",
			message: "Metrics configuration is invalid: [ConfigMap reference is missing]"},
		{name: "reference without a name",
			changes: `kafka: {spec: {kafka: {metricsConfig: {type: jmxPrometheusExporter, valueFrom: {configMapKeyRef: {key: k}}}}}}`,
			code:    "MetricsReference",
			message: "Metrics configuration is invalid: [Name of the ConfigMap with metrics configuration is missing]"},
		{name: "ConfigMap absent", changes: exporter, facts: configMap("m", nil), code: "MetricsConfigMap", reason: invalidConfiguration,
			missing: true, message: "ConfigMap m does not exist"},
		{name: "key absent", changes: exporter, facts: configMap("m", map[string]string{}), code: "MetricsConfigMap",
			reason:  invalidConfiguration,
			message: "ConfigMap m does not contain specified key k"},
		{name: "not YAML", changes: exporter, facts: configMap("m", map[string]string{"k": "a: [1"}), code: "MetricsYAML",
			reason:  invalidConfiguration,
			message: "Failed to parse metrics configuration (ConfigMap m, key k: yaml: line 1: did not find expected ',' or ']')"},
		rules("an empty text", "", "it is empty: {} exposes all metrics"),
		rules("no map", "[1]", "the whole can't be: array"),
		rules("rules are no list", "rules: 5", "rules can't be: number"),
		rules("a switch is a text", `lowercaseOutputName: "true"`, "lowercaseOutputName can't be: string"),
		rules("a label is no text", "rules: [{pattern: a, name: b, labels: {x: 1}}]", "rules.labels can't be: number"),
		rules("an expression of Java that is none", `rules: [{pattern: "a("}]`, "rule 1: invalid regex a(, missing closing )"),
		rules("a name without a pattern", "rules: [{pattern: a}, {name: b}]", "rule 2: a name needs a pattern"),
		rules("help without a name", "rules: [{pattern: a, help: b}]", "rule 1: help and labels need a name"),
		rules("another JVM", `hostPort: "a:1"`, "hostPort and jmxUrl do not apply to an exporter inside Kafka: remove them"),
		{name: "allowList []", changes: `kafka: {spec: {kafka: {metricsConfig: {type: strimziMetricsReporter, values: {allowList: []}}}}}`,
			code:    "MetricsAllowList",
			message: "Metrics configuration is invalid: [Allowlist should contain at least one element]"},
		{name: "bad regex", changes: `kafka: {spec: {kafka: {metricsConfig: {type: strimziMetricsReporter, values: {allowList: ["kafka_(.*", ` +
			`"a.*"]}}}}}`, code: "MetricsAllowList",
			message: "Metrics configuration is invalid: [Invalid regex: kafka_(.*, missing closing )]"},
	})
}

func TestWrongLogging(t *testing.T) {
	external := `kafka: {spec: {kafka: {logging: {type: external, valueFrom: {configMapKeyRef: {name: m, key: k}}}}}}`
	expectErrors(t, []wrong{
		{name: "no reference", changes: `kafka: {spec: {kafka: {logging: {type: external}}}}`, code: "LoggingReference",
			message: "Logging configuration is invalid: [Config Map reference is missing]"},
		{name: "reference without a key", changes: `kafka: {spec: {kafka: {logging: {type: external, valueFrom: {configMapKeyRef: {name: m}}}}}}`,
			code:    "LoggingReference",
			message: "Logging configuration is invalid: [Name of the Config Map with logging configuration is missing]"},
		{name: "ConfigMap absent", changes: external, facts: configMap("m", nil), code: "LoggingConfigMap", missing: true,
			message: "ConfigMap m with external logging configuration does not exist or doesn't contain the configuration under the k key."},
		{name: "key absent", changes: external, facts: configMap("m", map[string]string{"other": "a"}), code: "LoggingConfigMap",
			message: "ConfigMap m with external logging configuration does not exist or doesn't contain the configuration under the k key."},
		{name: "a configuration of log4j 1", changes: external, code: "LoggingKey",
			facts: configMap("m", map[string]string{"k": "# Strimzi 0.45\nlog4j.rootLogger=INFO, CONSOLE\n"}),
			message: "Logging configuration is invalid (ConfigMap m), and nodes would not start with it: log4j.rootLogger is no key of log4j2, " +
				"which has keys such as rootLogger.level, logger.kafka.name and logger.kafka.level"},
		{name: "a logger without a name", changes: `kafka: {spec: {kafka: {logging: {type: inline, loggers: {logger.mine.level: DEBUG}}}}}`,
			code:    "LoggingKey",
			message: "Logging configuration is invalid, and nodes would not start with it: logger.mine.level needs logger.mine.name"},
	})
}

func TestWrongAccess(t *testing.T) {
	authorization := func(name, yaml string, code Code, reason, message string) wrong {
		return wrong{name: name, changes: `kafka: {spec: {kafka: {authorization: ` + yaml + `}}}`, code: code, reason: reason, message: message}
	}
	const removed = ", which v1 does not define and this operator does not support: use type custom, with an authorizerClass from the " +
		"image or a volume"
	issuer := func(name, spec, field string) wrong {
		return wrong{name: name, changes: `kafka: {spec: {` + spec + `}}`, code: "IssuerUnsupported", reason: "UnsupportedField",
			message: field + " is not supported, only certificates that the operator issues: remove it. To issue them with a CA of your own, set " +
				"generateCertificateAuthority: false and provide its Secrets; for clients alone, set configuration.brokerCertChainAndKey of listeners"}
	}
	NewWithT(t).Expect(Validate(input(t, `kafka: {spec: {clusterCa: {type: strimzi}, clientsCa: {type: strimzi.io}}}`))).To(Equal(Result{}))
	expectErrors(t, []wrong{
		issuer("cert-manager", `clusterCa: {type: cert-manager.io, certManager: {issuerRef: {name: a, kind: Issuer}}}`,
			".spec.clusterCa.type: cert-manager.io"),
		issuer("an issuer without a type", `clientsCa: {certManager: {issuerRef: {name: a, kind: Issuer}}}`, ".spec.clientsCa.certManager"),
		authorization("opa", `{type: opa, url: "http://opa"}`, "AuthorizationRemoved", "UnsupportedField",
			"authorization is of type opa"+removed),
		authorization("keycloak", `{type: keycloak, clientId: a}`, "AuthorizationRemoved", "UnsupportedField",
			"authorization is of type keycloak"+removed),
		authorization("custom without a class", `{type: custom}`, "AuthorizerMissing", "",
			"authorization of type custom needs an authorizerClass"),
		authorization("two super users in one", `{type: simple, superUsers: ["CN=a;User:CN=b"]}`, "SuperUser", "",
			`"CN=a;User:CN=b" is not a super user: list one principal in each item of superUsers, such as CN=admin`),
		authorization("two lines in one super user", `{type: simple, superUsers: ['CN=a\nsuper.users=CN=b']}`, "SuperUser", "",
			`"CN=a\\nsuper.users=CN=b" is not a super user, because no name has a control character or a semicolon: write each backslash `+
				`of a name twice in superUsers`),
		authorization("an empty super user", `{type: simple, superUsers: [""]}`, "SuperUser", "",
			`"" is not a super user: list one principal in each item of superUsers, such as CN=admin`),
		{name: "renewal as long as the validity", changes: `kafka: {spec: {clusterCa: {validityDays: 30}}}`, code: "RenewalTooLong",
			message: ".spec.clusterCa.renewalDays is 30 and validityDays is 30: a certificate would be due for renewal when it is issued. Use " +
				"fewer renewalDays"},
		{name: "a validity of more than 292 years", changes: `kafka: {spec: {clientsCa: {validityDays: 200000}}}`, code: "ValidityTooLong",
			message: ".spec.clientsCa.validityDays is 200000: a certificate is valid for 106751 days at most"},
		{name: "renewal longer than the validity", changes: `kafka: {spec: {clientsCa: {renewalDays: 400}}}`, code: "RenewalTooLong",
			message: ".spec.clientsCa.renewalDays is 400 and validityDays is 365: a certificate would be due for renewal when it is issued. " +
				"Use fewer renewalDays"},
	})
	in := input(t, `kafka: {spec: {clusterCa: {generateCertificateAuthority: false, renewalDays: 400}}}`)
	NewWithT(t).Expect(Validate(in).Errors).To(BeEmpty(), "what the operator does not renew is not judged")
}

func TestMetricsAreSupportedByOneExporter(t *testing.T) {
	for _, c := range []struct{ name, metrics, warning string }{
		{"jmxPrometheusExporter", `{type: jmxPrometheusExporter, valueFrom: {configMapKeyRef: {name: m, key: k}}}`, ""},
		{"strimziMetricsReporter", `{type: strimziMetricsReporter}`, "Resource Kafka(ns/c) contains the field spec.kafka.metricsConfig, which " +
			"is not supported and has no effect: use type jmxPrometheusExporter"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := input(t, `kafka: {spec: {kafka: {metricsConfig: `+c.metrics+`, template: {initContainer: {}}}}}`)
			in.Exporter = true
			in.ConfigMaps = map[string]map[string]string{"m": {"k": `rules: [{pattern: "a(?=b)", name: $1}]`}}
			g, got := NewWithT(t), Validate(in)
			g.Expect(got.Errors).To(BeEmpty())
			if c.warning == "" {
				g.Expect(got.Warnings).To(BeEmpty())
			} else {
				g.Expect(got.Warnings).To(ContainElement(HaveField("Message", c.warning)))
			}
		})
	}
}

func TestSuperUsersWithAPrefix(t *testing.T) {
	expectWarnings(t, []wrong{{name: "a super user with a prefix",
		changes: `kafka: {spec: {kafka: {authorization: {type: simple, superUsers: [CN=a, "User:b"]}}}}`, code: "SuperUserWithPrefix",
		reason:  "SuperUserWithPrefix",
		message: `The super user "User:b" is the principal User:User:b, which is probably nobody: leave User: out`}})
}
