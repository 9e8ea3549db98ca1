package validate

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

// What Kubernetes says of labels and of names.
const (
	noLabel = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
		"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
		"'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
	noName = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
		"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)

func TestWrongTemplates(t *testing.T) {
	pod := func(volumes string) string {
		return fmt.Sprintf(`pools: {broker: {spec: {template: {pod: {volumes: [%s]}}}}}`, volumes)
	}
	mount := func(volumes, mounts string) string {
		return fmt.Sprintf(`pools: {broker: {spec: {template: {pod: {volumes: [%s]}, kafkaContainer: {volumeMounts: [%s]}}}}}`, volumes, mounts)
	}
	entity := func(volumes, mounts string) string {
		return fmt.Sprintf(`kafka: {spec: {entityOperator: {topicOperator: {}, template: {pod: {volumes: [%s]},
  topicOperatorContainer: {volumeMounts: [%s]}}}}}`, volumes, mounts)
	}
	const pattern = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
	reservedNames := func(names string) string {
		return "Duplicate volume names found in additional volumes: [" + names + "] (KafkaNodePool broker). Volumes of the operator's have " +
			"these names: use others in the volumes and volumeMounts of the template"
	}
	reserved := func(name, changes, keys, of string) wrong {
		return wrong{name: name, changes: changes, code: "TemplateReserved",
			message: fmt.Sprintf("User provided labels or annotations includes a Strimzi annotation: [%s] (template of %s)", keys, of)}
	}
	expectErrors(t, []wrong{
		reserved("label of ours on pods", `kafka: {spec: {kafka: {template: {pod: {metadata: {labels: {strimzi.io/name: a, team: b}}}}}}}`,
			"strimzi.io/name", "Kafka c"),
		reserved("annotation of ours on a Service",
			`kafka: {spec: {kafka: {template: {bootstrapService: {metadata: {annotations: {strimzi.io/discovery: a}}}}}}}`,
			"strimzi.io/discovery", "Kafka c"),
		reserved("label of ours on a Deployment",
			`kafka: {spec: {entityOperator: {template: {deployment: {metadata: {labels: {strimzi.io/kind: a}}}}}}}`, "strimzi.io/kind", "Kafka c"),
		reserved("label of ours in a pool",
			`pools: {broker: {spec: {template: {podSet: {metadata: {labels: {strimzi.io/a: b}, annotations: {strimzi.io/c: d}}}}}}}`,
			"strimzi.io/a, strimzi.io/c", "KafkaNodePool broker"),
		{name: "label that is none", changes: `kafka: {spec: {kafka: {template: {persistentVolumeClaim: {metadata: {labels: {a: "a b"}}}}}}}`,
			code: "TemplateMetadata", message: "Kubernetes would refuse the metadata in the template of Kafka c: " +
				`spec.kafka.template.persistentVolumeClaim.metadata.labels[a]: Invalid value: "a b": ` + noLabel},
		{name: "key of an annotation that is none", code: "TemplateMetadata",
			changes: `pools: {broker: {spec: {template: {podSet: {metadata: {annotations: {"a b": c}}}}}}}`,
			message: "Kubernetes would refuse the metadata in the template of KafkaNodePool broker: " +
				`spec.template.podSet.metadata.annotations: Invalid value: "a b": ` + noName},
		{name: "volume name", changes: pod(`{name: My_Volume, emptyDir: {}}`), code: "VolumeName",
			message: "Volume names [My_Volume] are invalid and do not match the pattern " + pattern + " (KafkaNodePool broker)"},
		{name: "volume without a name", changes: pod(`{emptyDir: {}}`), code: "VolumeName",
			message: "Volume names [] are invalid and do not match the pattern " + pattern + " (KafkaNodePool broker)"},
		{name: "volume name twice", changes: pod(`{name: a, emptyDir: {}}, {name: a, emptyDir: {}}`), code: "VolumeNameTwice",
			message: "Duplicate volume names found in additional volumes: [a] (KafkaNodePool broker)"},
		{name: "volume names taken", changes: pod(`{name: certificates, emptyDir: {}}, {name: placement, emptyDir: {}}`),
			code: "VolumeNameReserved", message: reservedNames("certificates, placement")},
		{name: "volume name of data", changes: pod(`{name: data-3, emptyDir: {}}`), code: "VolumeNameReserved",
			message: reservedNames("data-3")},
		{name: "volume name of Strimzi's own", changes: pod(`{name: strimzi-tmp, emptyDir: {}}`), code: "VolumeNameReserved",
			message: reservedNames("strimzi-tmp")},
		{name: "volume without a source", changes: pod(`{name: a}`), code: "VolumeSource",
			message: "Volume a in the template of KafkaNodePool broker has no source: give it one"},
		{name: "volume with two sources", changes: pod(`{name: a, emptyDir: {}, secret: {secretName: s}}`), code: "VolumeSource",
			message: "Volume a in the template of KafkaNodePool broker has 2 sources: give it one"},
		{name: "templated volume without a source", changes: `pools: {broker: {spec: {template: {pod: {templatedVolumes: [{name: a}]}}}}}`,
			code:    "VolumeSource",
			message: "Volume a in the template of KafkaNodePool broker has no source: give it one"},
		{name: "mount outside /mnt", changes: mount(`{name: a, emptyDir: {}}`, `{name: a, mountPath: /opt/kafka}`), code: "MountPath",
			message: "Forbidden path found in additional volumes. Should start with /mnt (/opt/kafka of volume a, KafkaNodePool broker)"},
		{name: "mount out of /mnt", changes: mount(`{name: a, emptyDir: {}}`, `{name: a, mountPath: /mnt/../etc}`), code: "MountPath",
			message: "Forbidden path found in additional volumes. Should start with /mnt (/mnt/../etc of volume a, KafkaNodePool broker)"},
		{name: "mount beside /mnt", changes: mount(`{name: a, emptyDir: {}}`, `{name: a, mountPath: /mnt2}`), code: "MountPath",
			message: "Forbidden path found in additional volumes. Should start with /mnt (/mnt2 of volume a, KafkaNodePool broker)"},
		{name: "the topic operator mounts nothing", code: "MountOfNothing",
			changes: entity(`{name: a, emptyDir: {}}`, `{name: a, mountPath: /mnt/a}, {name: b, mountPath: /mnt/b}`),
			message: "The topic operator container of the entity operator mounts a volume b, which is not in the volumes of the pod's template"},
		{name: "the topic operator mounts outside /mnt", changes: entity(`{name: a, emptyDir: {}}`, `{name: a, mountPath: /etc}`),
			code:    "MountPath",
			message: "Forbidden path found in additional volumes. Should start with /mnt (/etc of volume a, the entity operator)"},
		{name: "volume name of the topic operator", changes: entity(`{name: A, emptyDir: {}}`, ``), code: "VolumeName",
			message: "Volume names [A] are invalid and do not match the pattern " + pattern + " (the entity operator)"},
		{name: "volume name of the topic operator twice", changes: entity(`{name: a, emptyDir: {}}, {name: a, emptyDir: {}}`, ``),
			code: "VolumeNameTwice", message: "Duplicate volume names found in additional volumes: [a] (the entity operator)"},
		{name: "volume of the topic operator without a source", changes: entity(`{name: a}`, ``), code: "VolumeSource",
			message: "Volume a in the template of the entity operator has no source: give it one"},
		{name: "mount of nothing", changes: mount(`{name: a, emptyDir: {}}`, `{name: b, mountPath: /mnt/b}`), code: "MountOfNothing",
			message: "The Kafka container of KafkaNodePool broker mounts a volume b, which is not in the volumes of the pod's template"},
		{name: "the init container mounts nothing", code: "MountOfNothing",
			facts: func(in *Input) {
				in.Exporter, in.ConfigMaps = true, map[string]map[string]string{"m": {"k": "{}"}}
			},
			changes: `kafka: {spec: {kafka: {metricsConfig: {type: jmxPrometheusExporter, valueFrom: {configMapKeyRef: {name: m, key: k}}},
  template: {pod: {volumes: [{name: a, emptyDir: {}}]}}}}}
pools: {broker: {spec: {template: {initContainer: {volumeMounts: [{name: a, mountPath: /mnt/a}, {name: b, mountPath: /mnt/b}]}}}}}`,
			message: "The init container of KafkaNodePool broker mounts a volume b, which is not in the volumes of the pod's template"},
		{name: "a pool's template without the volumes that the Kafka object's container mounts", changes: `
kafka: {spec: {kafka: {template: {pod: {volumes: [{name: a, emptyDir: {}}]},
  kafkaContainer: {volumeMounts: [{name: a, mountPath: /mnt/a}]}}}}}
pools: {broker: {spec: {template: {pod: {priorityClassName: high}}}}}`, code: "MountOfNothing",
			message: "The Kafka container of KafkaNodePool broker mounts a volume a, which is not in the volumes of the pod's template: " +
				"template.pod of the pool replaces that of the Kafka as a whole"},
	})
}

func TestGoodTemplates(t *testing.T) {
	got := Validate(input(t, `
kafka: {spec: {kafka: {template: {pod: {metadata: {labels: {team: a}, annotations: {app.kubernetes.io/name: a}},
  volumes: [{name: a, emptyDir: {}}, {name: tmp, emptyDir: {}},
  {name: token, projected: {sources: [{serviceAccountToken: {path: token, audience: vault}}]}}],
  templatedVolumes: [{name: b, secret: {secretName: "s-{nodeId}"}}]},
  kafkaContainer: {volumeMounts: [{name: a, mountPath: /mnt/a}, {name: b, mountPath: /mnt}]}}},
  entityOperator: {topicOperator: {}, template: {pod: {volumes: [{name: data, emptyDir: {}}]},
  topicOperatorContainer: {volumeMounts: [{name: data, mountPath: /mnt/a}]}}}}}`))
	NewWithT(t).Expect(got).To(Equal(Result{}))
}
