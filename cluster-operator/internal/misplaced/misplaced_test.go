package misplaced

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// here returns the state of a remote Kubernetes cluster with nodes of the Kafka ns/my-cluster.
func here() stretched {
	s := stretched{}
	s.add([]corev1.ConfigMap{anchorOf("ns", "my-cluster")})
	return s
}

func anchorOf(namespace, kafka string) corev1.ConfigMap {
	return corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: model.AnchorName(kafka),
			Labels: map[string]string{"strimzi.io/component-type": model.ComponentAnchor}},
		Data: map[string]string{model.AnchorKafka: kafka, model.AnchorCentral: "central"},
	}
}

// object returns an object that was created two minutes ago in the namespace ns, unless metadata says otherwise.
func object(t *testing.T, kind, metadata, rest string) *unstructured.Unstructured {
	t.Helper()
	text := fmt.Sprintf("{kind: %s, metadata: {%s}, %s}", kind, metadata, rest)
	o := &unstructured.Unstructured{}
	g := NewWithT(t)
	document, err := yaml.YAMLToJSON([]byte(text))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal(document, &o.Object)).To(Succeed())
	o.SetAPIVersion("kafka.strimzi.io/v1")
	if o.GetNamespace() == "" {
		o.SetNamespace("ns")
	}
	if created := o.GetCreationTimestamp(); created.IsZero() {
		o.SetCreationTimestamp(metav1.NewTime(now.Add(-2 * time.Minute)))
	}
	o.SetGeneration(3)
	return o
}

func TestWhichObjectsBelongToAStretchedKafka(t *testing.T) {
	for _, tc := range []struct {
		name, kind, metadata, spec string
		belongs                    bool
	}{
		{"the Kafka itself", "Kafka", `name: my-cluster`, ``, true},
		{"another Kafka", "Kafka", `name: other`, ``, false},
		{"a Kafka of this name in another namespace", "Kafka", `name: my-cluster, namespace: other`, ``, false},
		{"a pool", "KafkaNodePool", `name: p, labels: {strimzi.io/cluster: my-cluster}`, ``, true},
		{"a pool of another Kafka", "KafkaNodePool", `name: p, labels: {strimzi.io/cluster: other}`, ``, false},
		{"a pool without a label", "KafkaNodePool", `name: my-cluster`, ``, false},
		{"a KafkaConnect", "KafkaConnect", `name: c`, `bootstrapServers: "my-cluster-kafka-bootstrap:9093"`, true},
		{"no port", "KafkaConnect", `name: c`, `bootstrapServers: my-cluster-kafka-bootstrap`, true},
		{"one of several addresses", "KafkaConnect", `name: c`, `bootstrapServers: "a:1, my-cluster-kafka-bootstrap:9093"`, true},
		{"with a namespace, from another one", "KafkaBridge", `name: b, namespace: other`,
			`bootstrapServers: "my-cluster-kafka-bootstrap.ns:9092"`, true},
		{"in full", "KafkaBridge", `name: b, namespace: other`,
			`bootstrapServers: "my-cluster-kafka-bootstrap.ns.svc.cluster.local:9092"`, true},
		{"of another namespace", "KafkaBridge", `name: b`, `bootstrapServers: "my-cluster-kafka-bootstrap.other.svc:9092"`, false},
		{"another Kafka's whose name ends alike", "KafkaConnect", `name: c`, `bootstrapServers: "not-my-cluster-kafka-bootstrap:9093"`, false},
		{"an address elsewhere", "KafkaConnect", `name: c`, `bootstrapServers: "kafka.example.com:9093"`, false},
		{"MirrorMaker's target", "KafkaMirrorMaker2", `name: m`, `target: {bootstrapServers: "my-cluster-kafka-bootstrap:9093"}`, true},
		{"MirrorMaker's source", "KafkaMirrorMaker2", `name: m`,
			`target: {bootstrapServers: "b:1"}, mirrors: [{source: {bootstrapServers: "my-cluster-kafka-bootstrap:9093"}}]`, true},
		{"MirrorMaker as v1beta2 wrote it", "KafkaMirrorMaker2", `name: m`,
			`clusters: [{alias: a, bootstrapServers: "b:1"}, {alias: b, bootstrapServers: "my-cluster-kafka-bootstrap:9093"}]`, true},
		{"no spec", "KafkaConnect", `name: c`, ``, false},
		{"a spec of another shape", "KafkaConnect", `name: c`, `bootstrapServers: [my-cluster-kafka-bootstrap]`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			kafka, belongs := here().kafkaOf(object(t, tc.kind, tc.metadata, "spec: {"+tc.spec+"}"))
			g.Expect(belongs).To(Equal(tc.belongs))
			if belongs {
				g.Expect(kafka).To(Equal(types.NamespacedName{Namespace: "ns", Name: "my-cluster"}))
			}
		})
	}
}

func TestConfigMapsThatMakeNoKafkaStretched(t *testing.T) {
	for name, change := range map[string]func(*corev1.ConfigMap){
		"of another name":    func(c *corev1.ConfigMap) { c.Name = "anything" },
		"without a Kafka":    func(c *corev1.ConfigMap) { delete(c.Data, model.AnchorKafka) },
		"without a central":  func(c *corev1.ConfigMap) { delete(c.Data, model.AnchorCentral) },
		"that are going":     func(c *corev1.ConfigMap) { c.DeletionTimestamp = new(metav1.NewTime(now)) },
		"that hold no entry": func(c *corev1.ConfigMap) { c.Data = nil },
	} {
		t.Run(name, func(t *testing.T) {
			c := anchorOf("ns", "my-cluster")
			change(&c)
			s := stretched{}
			s.add([]corev1.ConfigMap{c})
			NewWithT(t).Expect(s).To(BeEmpty())
		})
	}
}

// ours is a condition that this operator wrote an hour ago.
const ours = `{type: Ready, status: "False", reason: RemoteClusterNotSupported, lastTransitionTime: "2026-11-23T11:00:00Z",
	message: "Kafka ns/my-cluster is stretched over several Kubernetes clusters, and no operator reconciles a Kafka in this one: ` +
	`create it in the central cluster 'central'"}`

func TestWhoIsTold(t *testing.T) {
	const name = `name: my-cluster`
	for _, tc := range []struct {
		name, metadata, status string
		changed                bool
		// reasons are the reasons of the conditions afterwards.
		reasons []string
	}{
		{"nobody looks after it", name, ``, true, []string{Reason}},
		{"somebody may begin to", name + `, creationTimestamp: "2026-11-23T11:59:30Z"`, ``, false, nil},
		{"another operator looks after it", name, `conditions: [{type: Ready, reason: Creating}]`, false, []string{"Creating"}},
		{"another operator took it over", name, `conditions: [{type: Warning, reason: A}, ` + ours + `]`, false, []string{"A", Reason}},
		{"its user was told", name, `observedGeneration: 3, conditions: [` + ours + `]`, false, []string{Reason}},
		{"it changed since", name, `observedGeneration: 2, conditions: [` + ours + `]`, true, []string{Reason}},
		{"its Kafka is not here any more", `name: other`, `observedGeneration: 3, conditions: [` + ours + `]`, true, nil},
		{"it has nothing to do with it", `name: other`, ``, false, nil},
		{"conditions of another shape", name, `conditions: [a]`, false, []string{""}},
		{"no list of conditions", name, `conditions: a`, false, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			o := object(t, "Kafka", tc.metadata, "status: {"+tc.status+"}")
			before := o.DeepCopy()
			g.Expect(here().judge(o, now)).To(Equal(tc.changed))
			if !tc.changed {
				g.Expect(o).To(Equal(before))
			}
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			var reasons []string
			for _, c := range conditions {
				fields, _ := c.(map[string]any)
				reason, _ := fields["reason"].(string)
				reasons = append(reasons, reason)
			}
			g.Expect(reasons).To(Equal(tc.reasons))
			g.Expect(here().judge(o, now)).To(BeFalse(), "twice")
		})
	}
}
