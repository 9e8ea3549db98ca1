package validate

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestKeysWithoutEffectAreNamed(t *testing.T) {
	const setByUs = "the operator sets it"
	field := func(changes, path, instead string) wrong {
		return wrong{name: path, changes: changes, code: "UnsupportedField", reason: "UnsupportedField",
			message: "Resource Kafka(ns/c) contains the field " + path + ", which is not supported and has no effect: " + instead}
	}
	ofPool := func(changes, path, instead string) wrong {
		return wrong{name: "pool " + path, changes: changes, code: "UnsupportedField", reason: "UnsupportedField", pool: "broker",
			message: "Resource KafkaNodePool(ns/broker) contains the field " + path + ", which is not supported and has no effect: " + instead}
	}
	kafka := func(entries string) string { return `kafka: {spec: {kafka: {` + entries + `}}}` }
	broker := func(entries string) string { return `pools: {broker: {spec: {` + entries + `}}}` }
	entity := func(container string) string {
		return `kafka: {spec: {entityOperator: {topicOperator: {}, template: {topicOperatorContainer: {` + container + `}}}}}`
	}
	listener := func(entries string) string {
		return listening(`{name: tls, port: 9093, type: internal, tls: true, ` + entries + `}`)
	}
	nodePorts := func(entries string) string {
		return listening(`{name: a, port: 9094, type: nodeport, tls: true, configuration: {` + entries + `}}`)
	}
	expectWarnings(t, []wrong{
		field(kafka(`template: {pod: {metadata: {labels: {app.kubernetes.io/name: a, team: b}}}}`),
			"spec.kafka.template.pod.metadata.labels.app.kubernetes.io/name", setByUs),
		field(kafka(`template: {bootstrapService: {metadata: {labels: {app.kubernetes.io/part-of: a}}}}`),
			"spec.kafka.template.bootstrapService.metadata.labels.app.kubernetes.io/part-of", setByUs),
		field(`kafka: {spec: {entityOperator: {template: {pod: {metadata: {labels: {app.kubernetes.io/name: a}}}}}}}`,
			"spec.entityOperator.template.pod.metadata.labels.app.kubernetes.io/name", setByUs),
		ofPool(broker(`template: {persistentVolumeClaim: {metadata: {labels: {app.kubernetes.io/instance: a}}}}`),
			"spec.template.persistentVolumeClaim.metadata.labels.app.kubernetes.io/instance", setByUs),
		field(kafka(`template: {pod: {metadata: {annotations: {kafka-operators.io/config-hash: a, team: b}}}}`),
			"spec.kafka.template.pod.metadata.annotations.kafka-operators.io/config-hash", setByUs),
		ofPool(broker(`template: {podSet: {metadata: {annotations: {kafka-operators.io/rolled-by: a}}}}`),
			"spec.template.podSet.metadata.annotations.kafka-operators.io/rolled-by", setByUs),

		field(kafka(`template: {kafkaContainer: {env: [{name: A, value: a}, {name: KAFKA_HEAP_OPTS, value: a}]}}`),
			"spec.kafka.template.kafkaContainer.env[1] (KAFKA_HEAP_OPTS)", setByUs),
		field(kafka(`jvmOptions: {javaSystemProperties: [{name: a, value: b}]}, `+
			`template: {kafkaContainer: {env: [{name: STRIMZI_JAVA_SYSTEM_PROPERTIES, value: a}]}}`),
			"spec.kafka.template.kafkaContainer.env[0] (STRIMZI_JAVA_SYSTEM_PROPERTIES)", setByUs),
		field(kafka(`rack: {topologyKey: zone}, template: {kafkaContainer: {env: [{name: KAFKA_PLACEMENT, value: a}]}}`),
			"spec.kafka.template.kafkaContainer.env[0] (KAFKA_PLACEMENT)", setByUs),
		ofPool(broker(`template: {kafkaContainer: {env: [{name: KAFKA_CLUSTER_NAME, value: a}]}}`),
			"spec.template.kafkaContainer.env[0] (KAFKA_CLUSTER_NAME)", setByUs),
		field(entity(`env: [{name: STRIMZI_NAMESPACE, value: a}, {name: STRIMZI_LOG_LEVEL, value: DEBUG}]`),
			"spec.entityOperator.template.topicOperatorContainer.env[0] (STRIMZI_NAMESPACE)", setByUs),

		field(kafka(`jvmOptions: {javaSystemProperties: [{name: a, value: b}, {name: log4j2.configurationFile, value: a}]}`),
			"spec.kafka.jvmOptions.javaSystemProperties[1] (log4j2.configurationFile)", setByUs),
		field(kafka(`jvmOptions: {javaSystemProperties: [{name: a, value: b}, {name: a, value: c}]}`),
			"spec.kafka.jvmOptions.javaSystemProperties[0] (a)", "a later entry sets it"),
		ofPool(broker(`jvmOptions: {-Xmx: 1g, -XX: {MaxRAMPercentage: "50"}}`), "spec.jvmOptions.-XX.MaxRAMPercentage",
			"-Xmx sizes the heap"),
		field(kafka(`jvmOptions: {-Xms: 1g, -XX: {InitialRAMPercentage: "50", MaxRAMPercentage: "50"}}`),
			"spec.kafka.jvmOptions.-XX.InitialRAMPercentage", "-Xms sizes the heap to begin with"),

		{name: "a pause that is none", code: "Switch", reason: "InvalidAnnotation",
			changes: `kafka: {metadata: {annotations: {strimzi.io/pause-reconciliation: "yes", kafka-operators.io/apply-updates: "False"}}}`,
			message: `The annotation strimzi.io/pause-reconciliation: "yes" of Kafka(ns/c) has no effect: it must be "true" or "false"`},
		field(kafka(`logging: {type: inline, loggers: {kafka.root.logger.level: WARN}}`),
			"spec.kafka.logging.loggers.kafka.root.logger.level",
			"Kafka uses log4j2, with keys such as rootLogger.level, logger.kafka.name and logger.kafka.level"),
		field(kafka(`logging: {type: inline, loggers: {log4j.logger.kafka: WARN, logger.kafka.level: WARN}}`),
			"spec.kafka.logging.loggers.log4j.logger.kafka",
			"Kafka uses log4j2, with keys such as rootLogger.level, logger.kafka.name and logger.kafka.level"),

		field(listener(`authentication: {type: tls, listenerConfig: {connections.max.reauth.ms: 1}}`),
			"spec.kafka.listeners[0].authentication.listenerConfig", "it is for authentication of type custom"),
		field(listener(`authentication: {type: scram-sha-512, sasl: false}`), "spec.kafka.listeners[0].authentication.sasl",
			"it is for authentication of type custom"),
		{name: "a key of listenerConfig that is the operator's", code: "ForbiddenConfig", reason: "ForbiddenConfig",
			changes: listener(`authentication: {type: custom, sasl: true, listenerConfig: {ssl.keystore.location: a, my.plugin: b}}`),
			message: `Configuration option "ssl.keystore.location" in the listenerConfig of listener tls is forbidden and will be ignored`},
		field(nodePorts(`bootstrap: {labels: {app.kubernetes.io/name: a, team: b}}`),
			"spec.kafka.listeners[0].configuration.bootstrap.labels.app.kubernetes.io/name", setByUs),
		field(nodePorts(`perBrokerLabelsTemplate: {app.kubernetes.io/component: lb, app.kubernetes.io/name: a}`),
			"spec.kafka.listeners[0].configuration.perBrokerLabelsTemplate.app.kubernetes.io/name", setByUs),
		field(nodePorts(`perBrokerLabelsTemplate: {strimzi.io/kind: a}`),
			"spec.kafka.listeners[0].configuration.perBrokerLabelsTemplate.strimzi.io/kind", setByUs),
		field(nodePorts(`brokers: [{broker: 0}, {broker: 1, labels: {strimzi.io/cluster: a}}]`),
			"spec.kafka.listeners[0].configuration.brokers[1].labels.strimzi.io/cluster", setByUs),
	})
}

func TestWrongListenerConfig(t *testing.T) {
	listener := func(entries string) string {
		return listening(`{name: tls, port: 9093, type: internal, tls: true, authentication: {type: custom, listenerConfig: {` + entries + `}}}`)
	}
	expectErrors(t, []wrong{
		{name: "a key of two lines", changes: listener(`"a=1\nsuper.users": User:a`), code: "ListenerConfigKey",
			message: `Listener configuration is not valid: ["a=1\nsuper.users" in the listenerConfig of listener tls is not a key of Kafka's ` +
				`configuration]`},
		{name: "a map", changes: listener(`ssl.client.auth: {a: 1}`), code: "ListenerConfigType",
			message: `Listener configuration is not valid: [ssl.client.auth in the listenerConfig of listener tls has the value {"a":1}: only ` +
				`strings, numbers, booleans and lists of these have a text form]`},
	})
}

// TestKeysThatHaveAnEffect checks that the validation does not report a key unless it is known to have no effect.
func TestKeysThatHaveAnEffect(t *testing.T) {
	for name, changes := range map[string]string{
		"an option of Java that nobody knows": `kafka: {spec: {kafka: {jvmOptions: {-XX: {NoSuchOption: "7", MaxRAMPercentage: "50"}}}}}`,
		"what is done as asked": `{kafka: {metadata: {annotations: {strimzi.io/in-place-resizing: "false", ` +
			`strimzi.io/in-place-resizing-wait-for-deferred: "false"}}, spec: {entityOperator: {topicOperator: {}, ` +
			`template: {deployment: {deploymentStrategy: Recreate}}}}}}`,
		"a percentage beside a pool's heap": `
kafka: {spec: {kafka: {jvmOptions: {-XX: {MaxRAMPercentage: "50"}}}}}
pools: {broker: {spec: {jvmOptions: {-Xmx: 1g}}}}`,
		"variables that the operator does not set here": `kafka: {spec: {kafka: {template: {kafkaContainer: {env: [
  {name: STRIMZI_JAVA_SYSTEM_PROPERTIES, value: -Da=b}, {name: KAFKA_JMX_EXPORTER_ENABLED, value: "false"},
  {name: KAFKA_OPTS, value: -Dx=y}]}}}}}`,
		"loggers": `kafka: {spec: {kafka: {logging: {type: inline, loggers: {rootLogger.level: WARN, logger.a.name: org.a, logger.a.level: DEBUG,
  appender.console.layout.pattern: "%m%n"}}}}}`,
		"keys of a listener's plugin": listening(`{name: tls, port: 9093, type: internal, tls: true, authentication: {type: custom, sasl: true,
  listenerConfig: {oauthbearer.sasl.jaas.config: a, ssl.truststore.location: b}}}`),
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Validate(input(t, changes))).To(Equal(Result{}))
		})
	}
}

func TestHeapsWithWhichJavaDoesNotStart(t *testing.T) {
	const advice = ", and Java does not start with that: make -Xmx larger or -Xms smaller"
	expectErrors(t, []wrong{
		{name: "of the Kafka", changes: `kafka: {spec: {kafka: {jvmOptions: {-Xms: 4g, -Xmx: 2048M}}}}`, code: "HeapTooSmall",
			message: "-Xms 4g is more than -Xmx 2048M in spec.kafka.jvmOptions" + advice},
		{name: "of a pool", changes: `pools: {broker: {spec: {jvmOptions: {-Xms: "2147483649", -Xmx: 2G}}}}`, code: "HeapTooSmall",
			message: "-Xms 2147483649 is more than -Xmx 2G in spec.jvmOptions of KafkaNodePool broker" + advice},
	})
	for _, good := range []string{
		`kafka: {spec: {kafka: {jvmOptions: {-Xms: 2048m, -Xmx: 2g}}}}`, `kafka: {spec: {kafka: {jvmOptions: {-Xms: 4g}}}}`,
		`{kafka: {spec: {kafka: {jvmOptions: {-Xms: 4g, -Xmx: 2g}}}}, ` +
			`pools: {broker: {spec: {jvmOptions: {}}}, controller: {spec: {jvmOptions: {}}}}}`,
	} {
		NewWithT(t).Expect(Validate(input(t, good))).To(Equal(Result{}), good)
	}
}
