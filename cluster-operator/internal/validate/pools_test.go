package validate

import "testing"

const noReplicas = "KafkaNodePools are enabled, but KafkaNodePools for Kafka cluster c either don't exist or have 0 replicas. " +
	"Please make sure at least one KafkaNodePool resource exists, is in the same namespace as the Kafka resource, has at least one replica, " +
	"and has the strimzi.io/cluster label set to the name of the Kafka resource. (KafkaNodePools with 0 replicas: broker, controller)"

func TestWrongNames(t *testing.T) {
	expectErrors(t, []wrong{
		{name: "Kafka's name with a dot", changes: `kafka: {metadata: {name: my.cluster}}`, code: "NameInvalid",
			message: "The names of Services begin with the name of Kafka ns/my.cluster: begin it with a lower-case letter, and use lower-case " +
				"letters, digits and '-' only, without dots"},
		{name: "Kafka's name with a digit first", changes: `kafka: {metadata: {name: 1st-cluster}}`, code: "NameInvalid",
			message: "The names of Services begin with the name of Kafka ns/1st-cluster: begin it with a lower-case letter, and use lower-case " +
				"letters, digits and '-' only, without dots"},
		{name: "pool's name with a dot", changes: `pools: {broker: {metadata: {name: a.b}}}`, code: "NameInvalid",
			message: "The name of KafkaNodePool ns/a.b is part of the names of hosts: use lower-case letters, digits and '-' only, without dots"},
		{name: "names too long",
			changes: `{kafka: {metadata: {name: a-cluster-of-great-importance-to-us}}, pools: {broker: {metadata: {name: ` +
				`brokers-in-the-zone-a-west}}}}`, code: "NameTooLong",
			message: "The names of the pods of KafkaNodePool brokers-in-the-zone-a-west would have 66 characters " +
				"(a-cluster-of-great-importance-to-us-brokers-in-the-zone-a-west-100), " +
				"and hosts can have 63: use a shorter name for the Kafka or the KafkaNodePool"},
		{name: "Kafka's name too long for a Service", changes: `kafka: {metadata: {name: a-cluster-of-great-importance-to-many-of-us-here}}`,
			code: "NameTooLong",
			message: "The name of the bootstrap Service would have 64 characters " +
				"(a-cluster-of-great-importance-to-many-of-us-here-kafka-bootstrap), and it can have 63: use a shorter name for the Kafka"},
		{name: "names too long for a listener's Service", changes: `{kafka: {metadata: {name: ` +
			`a-cluster-of-great-importance-to-u}, spec: {kafka: {listeners: [{name: external789, port: 9095, type: nodeport, tls: true}]}}}, ` +
			`pools: {broker: {metadata: {name: ` +
			`brokers-in-zone-a-west}}}}`, code: "NameTooLong",
			message: "The name of a broker's Service of listener external789 in KafkaNodePool brokers-in-zone-a-west would have 71 characters " +
				"(a-cluster-of-great-importance-to-u-brokers-in-zone-a-west-external789-2), and it can have 63: use a shorter name for the " +
				"Kafka, the KafkaNodePool or the listener"},
		{name: "label of ours on the Kafka", changes: `kafka: {metadata: {labels: {strimzi.io/kind: Kafka}}}`, code: "ReservedLabel",
			message: "Labels starting with strimzi.io/ are not allowed in Custom Resources, such labels should be removed. (Kafka c)"},
		{name: "label of ours on a pool", changes: `pools: {broker: {metadata: {labels: {strimzi.io/pool-name: broker}}}}`, code: "ReservedLabel",
			message: "Labels starting with strimzi.io/ are not allowed in Custom Resources, such labels should be removed. (KafkaNodePool broker)"},
	})
}

func TestWrongPools(t *testing.T) {
	expectErrors(t, []wrong{
		{name: "no pool labelled", changes: `pools: null`, code: "NoPools", reason: invalidConfiguration,
			message: "No KafkaNodePools found for Kafka cluster c: create one in namespace ns with the label strimzi.io/cluster: c, or label one " +
				"there"},
		{name: "0 replicas everywhere", changes: `pools: {broker: {spec: {replicas: 0}}, controller: {spec: {replicas: 0}}}`, code: "NoReplicas",
			message: noReplicas},
		{name: "roles []", changes: `pools: {other: {metadata: {name: other, namespace: ns}, spec: {replicas: 1, roles: [], storage: {type: ` +
			`ephemeral}}}}`, code: "NoRoles",
			message: "The Kafka cluster c is invalid: [KafkaNodePool other has no role defined in .spec.roles]"},
		{name: "no broker", changes: `pools: {broker: null}`, code: "NoBroker",
			message: "The Kafka cluster c is invalid: [At least one KafkaNodePool with the broker role and at least one replica is required when " +
				"KRaft mode is enabled]"},
		{name: "no controller", changes: `pools: {controller: {spec: {replicas: 0}}}`, code: "NoController",
			message: "The Kafka cluster c is invalid: [At least one KafkaNodePool with the controller role and at least one replica is required " +
				"when KRaft mode is enabled]"},
		{name: "disks, metadata < 3.7-IV2", changes: `
kafka: {spec: {kafka: {version: 3.9.1, metadataVersion: 3.7-IV1}}}
pools: {broker: {spec: {storage: {type: jbod, volumes: [{id: 0, type: ephemeral}, {id: 1, type: ephemeral}]}}}}`, code: "DisksNeedMetadata",
			message: "The Kafka cluster c is invalid: [Using more than one disk in a JBOD storage in KRaft mode is supported only with Apache " +
				"Kafka 3.7.0 or newer and " +
				"metadata version 3.7-IV2 or newer (in KafkaNodePool broker)]"},
	})
}

func TestWrongStorage(t *testing.T) {
	expectErrors(t, []wrong{
		{name: "jbod, no volumes", changes: `pools: {broker: {spec: {storage: {type: jbod, volumes: []}}}}`, code: "StorageEmpty",
			message: "JbodStorage needs to contain at least one volume (KafkaNodePool.spec.storage) (KafkaNodePool broker)"},
		{name: "claim without size", changes: `pools: {broker: {spec: {storage: {size: null}}}}`, code: "SizeMissing",
			message: "The size is mandatory for a persistent-claim storage (KafkaNodePool.spec.storage) (KafkaNodePool broker)"},
		{name: "claim in jbod without size",
			changes: `pools: {broker: {spec: {storage: {type: jbod, volumes: [{id: 0, type: persistent-claim}]}}}}`, code: "SizeMissing",
			message: "The size is mandatory for a persistent-claim storage (KafkaNodePool.spec.storage) (KafkaNodePool broker)"},
		{name: "jbod volume, no id", changes: `pools: {broker: {spec: {storage: {type: jbod, volumes: [{type: persistent-claim, size: 1Gi}]}}}}`,
			code:    "VolumeIDMissing",
			message: "The 'id' property is required for volumes in JBOD storage. (KafkaNodePool broker)"},
		{name: "jbod volumes of one id",
			changes: `pools: {broker: {spec: {storage: {type: jbod, volumes: [{id: 1, type: ephemeral}, {id: 1, type: ephemeral}]}}}}`,
			code:    "VolumeIDTwice",
			message: "The volume with id 1 is in the storage of KafkaNodePool broker twice: each volume needs its own id"},
		{name: "two volumes for metadata", changes: `
pools: {broker: {spec: {storage: {type: jbod, volumes: [{id: 0, type: ephemeral, kraftMetadata: shared},
  {id: 1, type: ephemeral, kraftMetadata: shared}]}}}}`, code: "MetadataShared",
			message: "2 volumes of KafkaNodePool broker have kraftMetadata: shared, but only one can have the metadata log: set it on one volume"},
		{name: "size 10GB", changes: `pools: {broker: {spec: {storage: {size: 10GB}}}}`, code: "SizeInvalid",
			message: "Invalid memory suffix: GB (size 10GB in the storage of KafkaNodePool broker)"},
		{name: "size 1.2.3", changes: `pools: {broker: {spec: {storage: {size: 1.2.3}}}}`, code: "SizeInvalid",
			message: "size 1.2.3 in the storage of KafkaNodePool broker is not a size: use a value such as 100Gi"},
		{name: "size 0", changes: `pools: {broker: {spec: {storage: {size: "0"}}}}`, code: "SizeInvalid",
			message: "size 0 in the storage of KafkaNodePool broker must be > zero"},
		{name: "negative size", changes: `pools: {broker: {spec: {storage: {size: -5Gi}}}}`, code: "SizeInvalid",
			message: "size -5Gi in the storage of KafkaNodePool broker must be > zero"},
		{name: "sizeLimit", changes: `pools: {broker: {spec: {storage: {type: ephemeral, size: null, sizeLimit: 5iB}}}}`, code: "SizeInvalid",
			message: "Invalid memory suffix: iB (sizeLimit 5iB in the storage of KafkaNodePool broker)"},
	})
}

func TestWrongResources(t *testing.T) {
	expectErrors(t, []wrong{
		{name: "cpu request 0", changes: `pools: {broker: {spec: {resources: {requests: {cpu: 0}}}}}`, code: "ResourcesInvalid",
			message: "[KafkaNodePool.spec.resources cpu request must be > zero]"},
		{name: "memory limit negative", changes: `pools: {broker: {spec: {resources: {limits: {memory: -1Gi}}}}}`, code: "ResourcesInvalid",
			message: "[KafkaNodePool.spec.resources memory limit must be > zero]"},
		{name: "cpu request above its limit", changes: `pools: {broker: {spec: {resources: {requests: {cpu: 2}, limits: {cpu: 1500m}}}}}`,
			code:    "ResourcesInvalid",
			message: "[KafkaNodePool.spec.resources cpu request must be <= limit]"},
		{name: "several", changes: `pools: {broker: {spec: {resources: {requests: {cpu: 0, memory: 2Gi}, limits: {memory: 1Gi}}}}}`,
			code:    "ResourcesInvalid",
			message: "[KafkaNodePool.spec.resources cpu request must be > zero, KafkaNodePool.spec.resources memory request must be <= limit]"},
		{name: "of the topic operator", changes: `kafka: {spec: {entityOperator: {topicOperator: {resources: {requests: {memory: 0}}}}}}`,
			code:    "ResourcesInvalid",
			message: "[.spec.entityOperator.topicOperator.resources memory request must be > zero]"},
	})
}

func TestWrongTopicOperators(t *testing.T) {
	expectErrors(t, []wrong{
		{name: "no time between reconciliations", code: "IntervalInvalid",
			changes: `kafka: {spec: {entityOperator: {topicOperator: {reconciliationIntervalMs: 0}}}}`,
			message: ".spec.entityOperator.topicOperator.reconciliationIntervalMs is 0: it must be from 1 to 9223372036854"},
		{name: "more time than there is", code: "IntervalInvalid",
			changes: `kafka: {spec: {entityOperator: {topicOperator: {reconciliationIntervalMs: 9223372036855}}}}`,
			message: ".spec.entityOperator.topicOperator.reconciliationIntervalMs is 9223372036855: it must be from 1 to 9223372036854"},
		{name: "more seconds than there are", code: "IntervalInvalid",
			changes: `kafka: {spec: {entityOperator: {topicOperator: {reconciliationIntervalSeconds: 9223372037}}}}`,
			message: ".spec.entityOperator.topicOperator.reconciliationIntervalSeconds is 9223372037: it must be from 1 to 9223372036"},
	})
}
