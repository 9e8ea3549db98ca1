package validate

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestWhatOnlyStrimzisImagesHave(t *testing.T) {
	class := func(changes, class, path string) wrong {
		return wrong{name: path, changes: changes, code: "ClassOfStrimzi", reason: "UnsupportedField",
			message: "Resource Kafka(ns/c) names the class " + class + " in the field " + path + ": Strimzi's images have it, and Apache Kafka's " +
				"do not, with which nodes would not start. Use an image that has it (.spec.kafka.image), or mount its jars and add them to " +
				"CLASSPATH in template.kafkaContainer.env"}
	}
	listener := func(entries string) string {
		return listening(`{name: tls, port: 9093, type: internal, tls: true, authentication: {type: custom, sasl: true, listenerConfig: {` +
			entries + `}}}`)
	}
	layout := func(changes, path string) wrong {
		return wrong{name: path, changes: changes, code: "LayoutOfStrimzi", reason: "UnsupportedField",
			message: "Resource Kafka(ns/c) names the layout JsonTemplateLayout in the field " + path + ": Strimzi's images have it, and Apache " +
				"Kafka's do not, with which nodes log nothing. Use JsonLayout or PatternLayout, or an image that has it (.spec.kafka.image), or " +
				"mount the jar of log4j-layout-template-json and add it to CLASSPATH in template.kafkaContainer.env"}
	}
	inline := func(loggers string) string {
		return `kafka: {spec: {kafka: {logging: {type: inline, loggers: {` + loggers + `}}}}}`
	}
	external := layout(`kafka: {spec: {kafka: {logging: {type: external, valueFrom: {configMapKeyRef: {name: m, key: k}}}}}}`,
		"spec.kafka.logging.valueFrom (ConfigMap m)")
	external.facts = func(in *Input) {
		in.ConfigMaps = map[string]map[string]string{"m": {"k": "a=b\nappender.console.type=Console\n" +
			" appender.console.layout.type : JsonTemplateLayout\r\nc=d"}}
	}
	const reporter = "com.linkedin.kafka.cruisecontrol.metricsreporter.CruiseControlMetricsReporter"
	const quotas = "io.strimzi.kafka.quotas.StaticQuotaCallback"
	const handler = "io.strimzi.kafka.oauth.server.JaasServerOauthValidatorCallbackHandler"
	expectWarnings(t, []wrong{
		class(configured(`client.quota.callback.class: `+quotas), quotas, "spec.kafka.config.client.quota.callback.class"),
		class(configured(`metric.reporters: "com.example.A, io.strimzi.B"`), "io.strimzi.B", "spec.kafka.config.metric.reporters"),
		class(configured(`metric.reporters: `+reporter), reporter, "spec.kafka.config.metric.reporters"),
		layout(inline(`appender.console.layout.type: JsonTemplateLayout, appender.console.layout.eventTemplateUri: "classpath:EcsLayout.json"`),
			"spec.kafka.logging.loggers.appender.console.layout.type"),
		external,
		class(`kafka: {spec: {kafka: {authorization: {type: custom, authorizerClass: io.strimzi.A}}}}`, "io.strimzi.A",
			"spec.kafka.authorization.authorizerClass"),
		class(listener(`sasl.server.callback.handler.class: `+handler), handler,
			"spec.kafka.listeners[0].authentication.listenerConfig.sasl.server.callback.handler.class"),
	})
	for name, more := range map[string]string{
		"an image": `kafka: {spec: {kafka: {image: own, config: {a.class: io.strimzi.A}}}}`,
		"classes": `kafka: {spec: {kafka: {config: {a.class: io.strimzi.A}, ` +
			`template: {kafkaContainer: {env: [{name: CLASSPATH, value: /mnt/a}]}}}}}`,
		"classes of a pool": `{kafka: {spec: {kafka: {config: {a.class: io.strimzi.A}}}}, ` +
			`pools: {broker: {spec: {template: {kafkaContainer: {env: [{name: CLASSPATH, value: a}]}}}}}}`,
		"an image with a layout": `kafka: {spec: {kafka: {image: own, ` +
			`logging: {type: inline, loggers: {appender.console.layout.type: JsonTemplateLayout}}}}}`,
		"another layout": inline(`appender.console.layout.type: JsonLayout, appender.console.layout.pattern: JsonTemplateLayout`),
		"Kafka's own":    configured(`a.class: org.apache.kafka.A, b: by io.strimzi.A`),
	} {
		NewWithT(t).Expect(Validate(input(t, more))).To(Equal(Result{}), name)
	}

	const advice = " refers to a Secret by ${strimzisecrets:...}, for which nodes have neither the provider nor the rights: give them the " +
		"key as an environment variable (template.kafkaContainer.env with valueFrom.secretKeyRef) and refer to it by ${strimzienv:<name>}"
	expectErrors(t, []wrong{
		{name: "a Secret", changes: configured(`my.password: "${strimzisecrets:ns/s:key}"`), code: "StrimziSecrets",
			message: badConfig("spec.kafka.config.my.password" + advice)},
		{name: "a Secret of a listener", changes: listener(`oauthbearer.sasl.jaas.config: "a=\"${strimzisecrets:ns/s:key}\""`),
			code:    "StrimziSecrets",
			message: badListener("spec.kafka.listeners[0].authentication.listenerConfig.oauthbearer.sasl.jaas.config" + advice)},
	})
}
