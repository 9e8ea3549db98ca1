package validate

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

func TestAdvice(t *testing.T) {
	single := func(pools string) string {
		return "kafka: {spec: {kafka: {config: {default.replication.factor: 1, offsets.topic.replication.factor: 1, " +
			"transaction.state.log.replication.factor: 1, transaction.state.log.min.isr: 1}}}}\npools: " + pools
	}
	expectWarnings(t, []wrong{
		{name: "default.replication.factor", changes: `kafka: {spec: {kafka: {config: {default.replication.factor: null}}}}`,
			code: "NotReplicated", reason: "KafkaDefaultReplicationFactor",
			message: "default.replication.factor option is not configured. It defaults to 1 which does not guarantee reliability and " +
				"availability. You should configure this option in .spec.kafka.config."},
		{name: "min.insync.replicas", changes: `kafka: {spec: {kafka: {config: {min.insync.replicas: null}}}}`, code: "NotReplicated",
			reason: "KafkaMinInsyncReplicas",
			message: "min.insync.replicas option is not configured. It defaults to 1 which does not guarantee reliability and availability. You " +
				"should configure this option in .spec.kafka.config."},
		{name: "inter.broker.protocol.version", changes: `kafka: {spec: {kafka: {config: {inter.broker.protocol.version: "3.9"}}}}`,
			code: "KeyOfZooKeeper", reason: "KafkaInterBrokerProtocolVersionInKRaft",
			message: "inter.broker.protocol.version is not used in KRaft-based Kafka clusters and should be removed from the Kafka custom " +
				"resource."},
		{name: "log.message.format.version", changes: `kafka: {spec: {kafka: {config: {log.message.format.version: "3.9"}}}}`,
			code: "KeyOfZooKeeper", reason: "KafkaLogMessageFormatVersionInKRaft",
			message: "log.message.format.version is not used in KRaft-based Kafka clusters and should be removed from the Kafka custom resource."},
		{name: "one ephemeral broker", changes: single(`{broker: {spec: {replicas: 1, storage: {type: ephemeral, size: null}}}}`),
			code: "SingleEphemeral", reason: "KafkaStorage",
			message: "A Kafka cluster with a single broker node and ephemeral storage will lose topic messages after any restart or rolling " +
				"update.", pool: "broker"},
		{name: "one ephemeral controller", changes: `pools: {controller: {spec: {replicas: 1, storage: {type: ephemeral, size: null}}}}`,
			code: "SingleEphemeral", reason: "KafkaStorage",
			message: "A Kafka cluster with a single controller node and ephemeral storage will lose data after any restart or rolling update.",
			pool:    "controller"},
		{name: "two controllers", changes: `pools: {controller: {spec: {replicas: 2}}}`, code: "ControllerCount",
			reason: "KafkaKRaftControllerNodeCount",
			message: "Running KRaft controller quorum with two nodes is not advisable as both nodes will be needed to avoid downtime. It is " +
				"recommended that a minimum of three nodes are used."},
		{name: "four controllers", changes: `pools: {controller: {spec: {replicas: 4}}}`, code: "ControllerCount",
			reason:  "KafkaKRaftControllerNodeCount",
			message: "Running KRaft controller quorum with an odd number of nodes is recommended."},
		{name: "metadata version behind", changes: `kafka: {spec: {kafka: {metadataVersion: 4.2-IV1}}}`, code: "MetadataOld",
			reason:  "KafkaMetadataVersion",
			message: "Metadata version is older than the Kafka version used by the cluster, which suggests that an upgrade is incomplete."},
		{name: "metadata version of the cluster behind", changes: `kafka: {spec: {kafka: {metadataVersion: null}}}`,
			facts: running("4.2-IV1", "4.3.1"), code: "MetadataOld", reason: "KafkaMetadataVersion",
			message: "Metadata version is older than the Kafka version used by the cluster, which suggests that an upgrade is incomplete."},
		{name: "consumers that would wait", changes: `
kafka: {spec: {kafka: {config: {default.replication.factor: 2, min.insync.replicas: 1, transaction.state.log.replication.factor: 2}}}}
pools: {broker: {spec: {replicas: 2}}}`, code: "InternalTopicsWait", reason: "KafkaInternalTopicReplication",
			message: "offsets.topic.replication.factor option is not configured. It defaults to 3, and this cluster has only 2 Kafka broker(s), " +
				"so consumer groups or transactions wait forever. You should configure this option in .spec.kafka.config."},
		{name: "as many in sync as there are replicas", changes: `kafka: {spec: {kafka: {config: {min.insync.replicas: "3"}}}}`,
			code: "InSyncTooHigh", reason: "KafkaMinInsyncReplicas",
			message: "min.insync.replicas is 3, and topics have 3 replicas by default (default.replication.factor): while a broker restarts, " +
				"Kafka refuses records with acks=all. You should set it to less than the number of replicas in .spec.kafka.config."},
		{name: "heap as large as the memory", changes: `
kafka: {spec: {kafka: {jvmOptions: {-Xmx: 2g}}}}
pools: {broker: {spec: {resources: {limits: {memory: 2Gi}}}}}`, code: "HeapTooLarge", reason: "InvalidConfigurationException",
			message: "-Xmx 2g leaves nothing of the memory limit 2Gi of the nodes of KafkaNodePool broker: Kubernetes kills them when they use " +
				"the heap (OOMKilled). Make -Xmx in jvmOptions smaller, half of the limit or less, or the limit in resources larger.",
			pool: "broker"},
		{name: "misspelled key", changes: `kafka: {spec: {kafka: {config: {log.retention.hourss: 2}}}}`,
			code: "ConfigMisspelled", reason: "InvalidConfigurationException",
			message: `Configuration option "log.retention.hourss" is not one of Kafka's brokers, which ignore it: did you mean ` +
				"log.retention.hours?"},
		{name: "key of a topic", changes: `kafka: {spec: {kafka: {config: {retention.ms: 2}}}}`,
			code: "ConfigMisspelled", reason: "InvalidConfigurationException",
			message: `Configuration option "retention.ms" is not one of Kafka's brokers, which ignore it: did you mean log.retention.ms?`},
		{name: "ingress", changes: listening(`{name: a, port: 9094, type: ingress, tls: true, configuration: {bootstrap: {host: a}, ` +
			`hostTemplate: "{nodeId}.b"}}`), code: "IngressDeprecated",
			reason: "DeprecatedObjects", message: "ingress type listeners are deprecated."},
	})
}

func TestRacksInVariablesThatNothingSets(t *testing.T) {
	const rack = `rack: {type: environment-variable, envVarName: RACK}`
	const env = `template: {kafkaContainer: {env: [{name: RACK, value: a}]}}`
	const other = `template: {kafkaContainer: {env: [{name: OTHER, value: a}]}}`
	unset := func(name, changes string) wrong {
		return wrong{name: name, changes: changes, code: "RackUnset", reason: invalidConfiguration, pool: "broker",
			message: "The rack of brokers is in the environment variable RACK (.spec.kafka.rack.envVarName), which no template.kafkaContainer.env " +
				"sets for KafkaNodePool broker: unless the image sets it, all of its brokers have the same rack"}
	}
	expectWarnings(t, []wrong{
		unset("nowhere", `kafka: {spec: {kafka: {`+rack+`}}}`),
		unset("not in the pool's template, which counts", `{kafka: {spec: {kafka: {`+rack+`, `+env+`}}}, pools: {broker: {spec: {`+other+`}}}}`),
	})
	for _, good := range []string{
		`kafka: {spec: {kafka: {` + rack + `, ` + env + `}}}`, `{kafka: {spec: {kafka: {` + rack + `}}}, pools: {broker: {spec: {` + env + `}}}}`,
	} {
		NewWithT(t).Expect(Validate(input(t, good))).To(Equal(Result{}), good)
	}
}

func TestMaintenanceWindows(t *testing.T) {
	expectWarnings(t, []wrong{
		{name: "cron of Unix", changes: `kafka: {spec: {maintenanceTimeWindows: ["* * 0-1 ? * SUN,MON *", "0 1 * * *"]}}`,
			code: "MaintenanceWindow", reason: invalidConfiguration,
			message: "The provided maintenance time windows list contains 0 1 * * * which is not a valid cron expression " +
				`("0 1 * * *" has 5 fields: a Quartz cron expression has 6 or 7 (seconds minutes hours day-of-month month day-of-week [year]))`},
	})
}

func TestDeprecatedFields(t *testing.T) {
	field := func(changes, name, path, instead string) wrong {
		return wrong{name: path, changes: changes, code: "DeprecatedField", reason: "DeprecatedFields",
			message: "In resource Kafka(ns/c) in API version kafka.strimzi.io/v1 the " + name + " property at path " + path +
				" has been deprecated " + instead + "."}
	}
	expectWarnings(t, []wrong{
		field(`kafka: {spec: {zookeeper: {replicas: 3}}}`, "zookeeper", "spec.zookeeper", "and is ignored"),
		field(`kafka: {spec: {jmxTrans: {}}}`, "jmxTrans", "spec.jmxTrans", "and is ignored"),
		field(`kafka: {spec: {kafka: {replicas: 3}}}`, "replicas", "spec.kafka.replicas",
			"and is ignored: KafkaNodePools say how many nodes there are"),
		field(`kafka: {spec: {kafka: {storage: {type: ephemeral}}}}`, "storage", "spec.kafka.storage",
			"and is ignored: KafkaNodePools say what storage nodes have"),
		field(`kafka: {spec: {kafka: {resources: {requests: {memory: 1Gi}}}}}`, "resources", "spec.kafka.resources",
			"and should now be configured in the KafkaNodePools"),
		field(`kafka: {spec: {kafka: {template: {statefulset: {}}}}}`, "statefulset", "spec.kafka.template.statefulset", "and is ignored"),
		field(`kafka: {spec: {entityOperator: {tlsSidecar: {}}}}`, "tlsSidecar", "spec.entityOperator.tlsSidecar", "and is ignored"),
		field(`kafka: {spec: {entityOperator: {topicOperator: {reconciliationIntervalSeconds: 90}}}}`, "reconciliationIntervalSeconds",
			"spec.entityOperator.topicOperator.reconciliationIntervalSeconds", "and should now be configured as reconciliationIntervalMs"),
		{name: "overrides", changes: `pools: {broker: {spec: {storage: {overrides: [{broker: 0, class: a}]}}}}`, code: "DeprecatedField",
			reason: "DeprecatedFields",
			message: "In resource KafkaNodePool(ns/broker) in API version kafka.strimzi.io/v1 the overrides property at path spec.storage has " +
				"been deprecated " +
				"and should now be configured by one KafkaNodePool for each storage class.", pool: "broker"},
	})
}

func TestUnsupportedFields(t *testing.T) {
	const kafka, pool = "Kafka(ns/c)", "KafkaNodePool(ns/broker)"
	field := func(changes, resource, path, instead string) wrong {
		w := wrong{name: path, changes: changes, code: "UnsupportedField", reason: "UnsupportedField",
			message: "Resource " + resource + " contains the field " + path + ", which is not supported and has no effect: " + instead}
		if resource == pool {
			w.pool = "broker"
		}
		return w
	}
	entity := func(template string) string { return `kafka: {spec: {entityOperator: {template: {` + template + `}}}}` }
	expectWarnings(t, []wrong{
		field(`kafka: {spec: {cruiseControl: {}}}`, kafka, "spec.cruiseControl", "the operator does not run Cruise Control"),
		field(`kafka: {spec: {kafkaExporter: {groupRegex: ".*"}}}`, kafka, "spec.kafkaExporter", "the operator does not run Kafka Exporter"),
		field(`kafka: {spec: {kafka: {tieredStorage: {type: custom}}}}`, kafka, "spec.kafka.tieredStorage",
			"configure remote.log.* in .spec.kafka.config, and put the classes into the image or a volume"),
		field(`kafka: {spec: {kafka: {jmxOptions: {}}}}`, kafka, "spec.kafka.jmxOptions", "JMX is not opened"),
		field(`kafka: {spec: {kafka: {metricsConfig: {type: strimziMetricsReporter}}}}`, kafka, "spec.kafka.metricsConfig",
			"use type jmxPrometheusExporter; for now, the operator has no image with the JMX exporter, see STRIMZI_JMX_EXPORTER_IMAGE"),
		field(`kafka: {spec: {kafka: {quotas: {type: kafka}}}}`, kafka, "spec.kafka.quotas", "set quotas with Kafka's own tools"),
		field(`kafka: {spec: {kafka: {brokerRackInitImage: a}}}`, kafka, "spec.kafka.brokerRackInitImage", "the operator looks up the racks"),
		field(`kafka: {spec: {kafka: {template: {initContainer: {}}}}}`, kafka, "spec.kafka.template.initContainer",
			"nodes have an init container only for metricsConfig of type jmxPrometheusExporter"),
		field(`kafka: {spec: {kafka: {template: {externalBootstrapRoute: {}}}}}`, kafka, "spec.kafka.template.externalBootstrapRoute",
			"the operator creates no Routes"),
		field(`kafka: {spec: {kafka: {template: {perPodRoute: {}}}}}`, kafka, "spec.kafka.template.perPodRoute", "the operator creates no "+
			"Routes"),
		field(`kafka: {spec: {kafka: {template: {jmxSecret: {}}}}}`, kafka, "spec.kafka.template.jmxSecret", "JMX is not opened"),
		field(`kafka: {spec: {kafka: {template: {clusterRoleBinding: {}}}}}`, kafka, "spec.kafka.template.clusterRoleBinding",
			"nodes need no cluster-wide rights"),
		field(`kafka: {spec: {clusterCa: {generateCertificateAuthority: false}, kafka: {template: {clusterCaCert: {}}}}}`, kafka,
			"spec.kafka.template.clusterCaCert", "the Secret is your own"),
		field(`kafka: {spec: {kafka: {authorization: {type: simple, supportsAdminApi: true}}}}`, kafka,
			"spec.kafka.authorization.supportsAdminApi", "the operator does not manage ACLs"),
		field(entity(`deployment: {deploymentStrategy: RollingUpdate}`), kafka, "spec.entityOperator.template.deployment.deploymentStrategy",
			"the old pod of the topic operator always ends before a new one starts"),
		field(entity(`pod: {tmpDirSizeLimit: 1Mi}`), kafka, "spec.entityOperator.template.pod.tmpDirSizeLimit",
			"the topic operator has no such volume"),
		field(entity(`pod: {templatedVolumes: [{name: a, secret: {secretName: a}}]}`), kafka,
			"spec.entityOperator.template.pod.templatedVolumes", "use .spec.entityOperator.template.pod.volumes"),
		field(entity(`userOperatorContainer: {}`), kafka, "spec.entityOperator.template.userOperatorContainer", "the operator does not run "+
			"a user operator"),
		field(entity(`userOperatorRoleBinding: {}`), kafka, "spec.entityOperator.template.userOperatorRoleBinding", "the operator does not "+
			"run a user operator"),
		field(entity(`tlsSidecarContainer: {}`), kafka, "spec.entityOperator.template.tlsSidecarContainer", "there is no sidecar"),
		field(`kafka: {metadata: {annotations: {strimzi.io/in-place-resizing: "true"}}}`, kafka,
			"metadata.annotations.strimzi.io/in-place-resizing", "changed resources restart nodes"),
		field(`kafka: {metadata: {annotations: {strimzi.io/in-place-resizing-wait-for-deferred: "true"}}}`, kafka,
			"metadata.annotations.strimzi.io/in-place-resizing-wait-for-deferred", "changed resources restart nodes"),
		field(`kafka: {spec: {entityOperator: {userOperator: {}}}}`, kafka, "spec.entityOperator.userOperator", "the operator does not run "+
			"a user operator"),
		field(`kafka: {spec: {entityOperator: {topicOperator: {logging: {type: inline}}}}}`, kafka, "spec.entityOperator.topicOperator.logging",
			"set STRIMZI_LOG_LEVEL in .spec.entityOperator.template.topicOperatorContainer.env"),
		field(`kafka: {spec: {entityOperator: {topicOperator: {jvmOptions: {}}}}}`, kafka, "spec.entityOperator.topicOperator.jvmOptions",
			"the topic operator is not written in Java"),
		field(`kafka: {metadata: {annotations: {strimzi.io/internal-cluster-security: "{}"}}}`, kafka,
			"metadata.annotations.strimzi.io/internal-cluster-security", "nodes always use TLS among themselves"),
		field(listening(`{name: a, port: 9092, type: internal, tls: true, authentication: {type: custom, sasl: true, secrets: [{secretName: s, `+
			`key: k}]}}`), kafka,
			"spec.kafka.listeners[0].authentication.secrets", "mount the Secrets with template.pod.volumes and "+
				"template.kafkaContainer.volumeMounts"),
		field(`pools: {broker: {spec: {template: {initContainer: {}}}}}`, pool, "spec.template.initContainer",
			"nodes have an init container only for metricsConfig of type jmxPrometheusExporter"),
		field(`pools: {broker: {spec: {template: {perPodRoute: {}}}}}`, pool, "spec.template.perPodRoute", "the operator creates no Routes"),
	})
}

func TestAWatchedNamespaceNeedsRights(t *testing.T) {
	expectWarnings(t, []wrong{{name: "another namespace", code: "WatchedNamespace", reason: "UnsupportedField",
		changes: `kafka: {spec: {entityOperator: {topicOperator: {watchedNamespace: topics}}}}`,
		message: "The topic operator of Kafka(ns/c) has no rights in the namespace topics, which it should watch: create a Role like " +
			"c-entity-operator there, and a RoleBinding of it to the ServiceAccount c-entity-operator of namespace ns"}})
}

func TestStrimzisImageRunsNoTopicOperator(t *testing.T) {
	image := func(name string) string {
		return `kafka: {spec: {entityOperator: {topicOperator: {image: "` + name + `"}}}}`
	}
	var cases []wrong
	for _, name := range []string{"quay.io/strimzi/operator:0.51.0", "localhost:5000/mirror/strimzi/operator", "strimzi/operator@sha256:0a",
		"localhost:5000/strimzi/operator:1@sha256:0a"} {
		cases = append(cases, wrong{name: name, code: "TopicOperatorImage", reason: "UnsupportedField", changes: image(name),
			message: "Resource Kafka(ns/c) names Strimzi's image " + name + " in the field spec.entityOperator.topicOperator.image: the topic " +
				"operator does not start with it. Remove the field, or name an image of this topic operator"})
	}
	expectWarnings(t, cases)
	for _, name := range []string{"mirror/strimzi-operator:1", "strimzi/operator/topic:1", "topic-operator"} {
		NewWithT(t).Expect(Validate(input(t, image(name)))).To(Equal(Result{}), name)
	}
}

func TestUnknownFields(t *testing.T) {
	g := NewWithT(t)
	raw := []byte(`{"metadata":{"namespace":"ns","name":"c"},"spec":{"broker":1,
		"kafka":{"kafkaVersion":"4.3.1","listener":[],"listeners":[{"name":"a","tcpPort":1}]},
		"cruiseControl":{"anything":1}}}`)
	problems, err := UnknownFields[v1.KafkaSpec]("Kafka", raw)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(problems).To(Equal([]Problem{
		{Code: "UnknownFields", Reason: "UnknownFields",
			Message: "Resource Kafka(ns/c) contains object at path spec with an unknown property: broker"},
		{Code: "UnknownFields", Reason: "UnknownFields",
			Message: "Resource Kafka(ns/c) contains object at path spec.kafka with unknown properties: kafkaVersion, listener"},
		{Code: "UnknownFields", Reason: "UnknownFields",
			Message: "Resource Kafka(ns/c) contains object at path spec.kafka.listeners[0] with an unknown property: tcpPort"},
	}))
	_, err = UnknownFields[v1.KafkaSpec]("Kafka", []byte(`{"spec":7}`))
	g.Expect(err).To(MatchError(ContainSubstring("Kafka: ")))
	problems, err = UnknownFields[v1.KafkaNodePoolSpec]("KafkaNodePool", []byte(`{"metadata":{"name":"a"},"spec":{"replicas":1}}`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(problems).To(BeEmpty())
	raw = []byte(`{"metadata":{"namespace":"ns","name":"a"},"spec":{"replica":1}}`)
	problems, err = UnknownFields[v1.KafkaNodePoolSpec]("KafkaNodePool", raw)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(problems).To(Equal([]Problem{{Code: "UnknownFields", Reason: "UnknownFields", Pool: "a",
		Message: "Resource KafkaNodePool(ns/a) contains object at path spec with an unknown property: replica"}}))
}

// TestTheResultDependsOnTheInputAlone checks that the same input gives the same result, regardless of the order of maps and pools.
func TestTheResultDependsOnTheInputAlone(t *testing.T) {
	g := NewWithT(t)
	const everything = `
kafka: {spec: {clusterCa: {validityDays: 1}, clientsCa: {validityDays: 1},
  kafka: {config: {listeners: a, log.dirs: a, num.partitions: a, log.segment.bytes: a}}}}
pools: {broker: {spec: {storage: {size: 1GB}}}, controller: {spec: {storage: {size: 1GB}}}}`
	want := Validate(input(t, everything))
	g.Expect(len(want.Errors)).To(BeNumerically(">=", 4))
	for range 20 {
		g.Expect(Validate(input(t, everything))).To(Equal(want))
	}
}

// TestTheInputIsNotChanged checks that the validation does not change its input, which belongs to a cache.
func TestTheInputIsNotChanged(t *testing.T) {
	g := NewWithT(t)
	in := input(t, "")
	in.Pools = append(in.Pools, &v1.KafkaNodePool{})
	before, err := json.Marshal([]any{in.Kafka, in.Pools})
	g.Expect(err).NotTo(HaveOccurred())
	Validate(in)
	g.Expect(json.Marshal([]any{in.Kafka, in.Pools})).To(MatchJSON(before))
}
