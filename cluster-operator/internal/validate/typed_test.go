package validate

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestFieldsOfOtherTypesAreNamed(t *testing.T) {
	at := func(changes, path, properties string) wrong {
		return wrong{name: path + " " + properties, changes: changes, code: "UnknownFields", reason: "UnknownFields",
			message: "Resource Kafka(ns/c) contains object at path " + path + " with " + properties}
	}
	kafka := func(entries, path, properties string) wrong {
		return at(`kafka: {spec: {kafka: {`+entries+`}}}`, "spec.kafka."+path, properties)
	}
	storage := func(entries, path, properties string) wrong {
		w := at(`pools: {broker: {spec: {storage: {`+entries+`}}}}`, path, properties)
		w.message, w.pool = "Resource KafkaNodePool(ns/broker) contains object at path "+path+" with "+properties, "broker"
		return w
	}
	const volume = `{type: persistent-claim, id: 0, size: 1Gi}`
	expectWarnings(t, []wrong{
		storage(`type: jbod, volumes: [`+volume+`]`, "spec.storage", "an unknown property: size"), // the good cluster's
		storage(`type: jbod, size: null, class: a, deleteClaim: true, id: 1, selector: {a: b}, sizeLimit: 1Gi, kraftMetadata: shared, `+
			`volumeAttributesClass: a, volumes: [`+volume+`]`, "spec.storage",
			"unknown properties: class, deleteClaim, id, kraftMetadata, selector, sizeLimit, volumeAttributesClass"),
		storage(`type: jbod, size: null, volumes: [`+volume+`, {type: ephemeral, id: 1, size: 1Gi}]`, "spec.storage.volumes[1]",
			"an unknown property: size"),
		storage(`type: ephemeral, id: 1, sizeLimit: 1Gi, kraftMetadata: shared, class: a, selector: {a: b}, deleteClaim: false`, "spec.storage",
			"unknown properties: class, deleteClaim, selector, size"),
		storage(`sizeLimit: 1Gi, id: 1, class: a, selector: {a: b}, deleteClaim: true, kraftMetadata: shared, volumes: [`+volume+`]`,
			"spec.storage", "unknown properties: sizeLimit, volumes"),

		kafka(`authorization: {type: simple, authorizerClass: a}`, "authorization", "an unknown property: authorizerClass"),
		kafka(`authorization: {type: simple, url: "http://opa", allowOnError: false, delegateToKafkaAcls: true}`, "authorization",
			"unknown properties: url, allowOnError, delegateToKafkaAcls"),
		at(listening(`{name: tls, port: 9093, type: internal, tls: true}, {name: a, port: 9094, type: internal, tls: true, `+
			`authentication: {type: custom, sasl: true, validIssuerUri: x, checkAudience: false, tlsTrustedCertificates: [{secretName: a}]}}`),
			"spec.kafka.listeners[1].authentication", "unknown properties: checkAudience, tlsTrustedCertificates, validIssuerUri"),
		at(listening(`{name: tls, port: 9093, type: internal, tls: true, authentication: {type: tls, maxSecondsWithoutReauthentication: 5}}`),
			"spec.kafka.listeners[0].authentication", "an unknown property: maxSecondsWithoutReauthentication"),
		kafka(`logging: {type: inline, loggers: {rootLogger.level: WARN}, valueFrom: {configMapKeyRef: {name: a, key: b}}}`, "logging",
			"an unknown property: valueFrom"),
		kafka(`logging: {type: external, loggers: {log4j.a: WARN}, valueFrom: {configMapKeyRef: {name: a, key: b}}}`, "logging",
			"an unknown property: loggers"),
		kafka(`rack: {topologyKey: zone, envVarName: A}`, "rack", "an unknown property: envVarName"),
		kafka(`rack: {type: topology-label, topologyKey: zone, envVarName: A}`, "rack", "an unknown property: envVarName"),
		kafka(`rack: {type: environment-variable, topologyKey: zone, envVarName: A}, `+
			`template: {kafkaContainer: {env: [{name: A, value: a}]}}`, "rack", "an unknown property: topologyKey"),
	})

	in := input(t, `kafka: {spec: {kafka: {metricsConfig: {type: jmxPrometheusExporter, values: {allowList: [a]}, `+
		`valueFrom: {configMapKeyRef: {name: a, key: b}}}}}}`)
	in.Exporter = true
	NewWithT(t).Expect(Validate(in)).To(Equal(Result{Warnings: []Problem{{Code: "UnknownFields", Reason: "UnknownFields",
		Message: "Resource Kafka(ns/c) contains object at path spec.kafka.metricsConfig with an unknown property: values"}}}))
}
