package model

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// ManagedBy is the value of app.kubernetes.io/managed-by on all that is made here. It is not Strimzi's, so that each operator knows its
// own.
const ManagedBy = core.ManagedByClusterOperator

// The labels that Kubernetes recommends and that the operator sets on all objects, beside core.LabelManagedBy.
const (
	labelApp      = "app.kubernetes.io/name"
	labelInstance = "app.kubernetes.io/instance"
	labelPartOf   = "app.kubernetes.io/part-of"
)

// The values of strimzi.io/component-type.
const (
	componentKafka          = core.ComponentKafka
	componentEntityOperator = "entity-operator"
)

// labels returns the labels of an object that belongs to a component, with those of the user's object that are copied.
func (c *cluster) labels(component, componentType string, from metav1.Object) map[string]string {
	labels := map[string]string{}
	if from != nil {
		for key, value := range from.GetLabels() {
			if c.Settings.ExcludedLabels == nil || !c.Settings.ExcludedLabels(key) {
				labels[key] = value
			}
		}
	}
	maps.Copy(labels, map[string]string{
		core.LabelKind:          core.KindKafka,
		v1.LabelCluster:         c.Kafka.Name,
		core.LabelName:          c.name(component),
		core.LabelComponentType: componentType,
		labelApp:                componentType,
		labelInstance:           labelValue(c.Kafka.Name),
		labelPartOf:             labelValue("strimzi-" + c.Kafka.Name),
		core.LabelManagedBy:     ManagedBy,
	})
	return labels
}

// kafkaLabels are the labels of what belongs to the nodes as a whole.
func (c *cluster) kafkaLabels() map[string]string {
	return c.labels("kafka", componentKafka, c.Kafka)
}

// poolLabels are the labels of what belongs to one pool, such as pods. As in Strimzi, the Kafka's are not among them: a new label of the
// Kafka would restart all nodes.
func (c *cluster) poolLabels(pool string) map[string]string {
	var from metav1.Object
	if p := c.Pools[pool]; p != nil {
		from = p
	}
	labels := c.labels("kafka", componentKafka, from)
	labels[core.LabelPoolName] = pool
	return labels
}

// kafkaSelector selects all nodes' pods.
func (c *cluster) kafkaSelector() map[string]string {
	return map[string]string{core.LabelKind: core.KindKafka, v1.LabelCluster: c.Kafka.Name, core.LabelName: c.name("kafka")}
}

// labelValue shortens text to what a label can hold.
func labelValue(text string) string {
	if len(text) > 63 {
		text = text[:63]
	}
	return strings.TrimRight(text, ".-_")
}

// meta returns the metadata of an object that the Kafka object owns, with what the user's template adds.
func (c *cluster) meta(name string, labels map[string]string, template *v1.ResourceTemplate) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: c.Kafka.Namespace, Name: name, Labels: labels, OwnerReferences: []metav1.OwnerReference{c.Owner}}
	applyTemplate(&m, template)
	return m
}

// applyTemplate adds the labels and annotations of a template; labels that select objects can't be replaced.
func applyTemplate(m *metav1.ObjectMeta, template *v1.ResourceTemplate) {
	if template == nil || template.Metadata == nil {
		return
	}
	addMetadata(m, template.Metadata.Labels, template.Metadata.Annotations, OwnLabel)
}

// addMetadata adds a user's labels, but for those that are the operator's own, and annotations.
func addMetadata(m *metav1.ObjectMeta, labels, annotations map[string]string, own func(key string) bool) {
	for key, value := range labels {
		if !own(key) {
			m.Labels = with(m.Labels, key, value)
		}
	}
	for key, value := range annotations {
		m.Annotations = with(m.Annotations, key, value)
	}
}

// with returns a map with one more entry.
func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// Owner returns the reference by which objects in its Kubernetes cluster belong to a Kafka: the garbage collector deletes them with it.
func Owner(kafka *v1.Kafka) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: v1.GroupVersion.String(), Kind: core.KindKafka, Name: kafka.Name, UID: kafka.UID}
}

// SecretLabels returns the labels of the Secrets of a Kafka, without those that describe their contents.
func SecretLabels(in Input) map[string]string { return (&cluster{in}).kafkaLabels() }

// CopiedLabels returns the keys of those of SecretLabels that are copied from the Kafka.
func CopiedLabels(in Input) []string {
	c := &cluster{in}
	labels := c.kafkaLabels()
	for own := range c.labels("kafka", componentKafka, nil) {
		delete(labels, own)
	}
	return slices.Sorted(maps.Keys(labels))
}

// ClusterCACertMetadata returns the labels and annotations of the user's for the Secret with the certificates of the cluster CA.
func ClusterCACertMetadata(kafka *v1.Kafka) (labels, annotations map[string]string) {
	if t := kafka.Spec.Kafka.Template; t != nil {
		m := metav1.ObjectMeta{}
		applyTemplate(&m, t.ClusterCaCert)
		labels, annotations = m.Labels, m.Annotations
	}
	return labels, annotations
}
