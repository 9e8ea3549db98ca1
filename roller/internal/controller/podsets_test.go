package controller_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// outdated creates a StrimziPodSet whose pods have another revision than the pod of node 0.
func outdated(t *testing.T, namespace, cluster string, pods ...string) {
	t.Helper()
	g := NewWithT(t)
	set := setOf(t, namespace, cluster)
	set.Spec.Pods = nil
	for _, pod := range pods {
		raw := strings.NewReplacer("NAME", cluster+"-kafka-0", "NODE", `"name":"`+cluster+`-kafka-0","labels":{"strimzi.io/broker-role":"true"},`+
			`"annotations":{"strimzi.io/revision":"new"}`).Replace(pod)
		set.Spec.Pods = append(set.Spec.Pods, runtime.RawExtension{Raw: []byte(raw)})
	}
	g.Expect(k8s.Create(t.Context(), set)).To(Succeed(), "the API server accepts it")
	live := node(namespace, cluster+"-kafka-0", cluster)
	live.Annotations = map[string]string{core.AnnotationRevision: "old"}
	live.OwnerReferences = []metav1.OwnerReference{{APIVersion: "core.strimzi.io/v1", Kind: "StrimziPodSet", Name: set.Name, UID: set.UID,
		Controller: new(true)}}
	g.Expect(k8s.Create(t.Context(), live)).To(Succeed())
	live.Status.Phase = corev1.PodRunning
	live.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	g.Expect(k8s.Status().Update(t.Context(), live)).To(Succeed())
}

// planned returns what keeps the nodes of a Kafka cluster of one broker from restarts, and the planned restarts.
func planned(t *testing.T, namespace, cluster string) (says string, restarts []roller.Batch) {
	t.Helper()
	place := observe.ReadPlace(t.Context(), "", k8s, namespace, cluster)
	seen := observe.Seen{At: time.Now(), Lasting: time.Minute, Places: []observe.Place{place},
		Kafka: observe.KafkaFacts{
			Topics: roller.Known[[]roller.Topic](nil), Quorum: roller.Known(roller.Quorum{Leader: 5}),
			Brokers: roller.Known(map[roller.NodeID]kafka.Node{0: {ID: 0}}),
			Nodes:   map[roller.NodeID]observe.NodeAnswer{0: {Answers: true}},
		}}
	s := observe.Assemble(seen)
	for _, n := range s.Nodes {
		says += n.Instance.Why() + n.Foreign
	}
	return says, roller.NewPlan(&s, roller.Progress{}, roller.DefaultPolicy()).Batches
}

// The API server accepts these: it has no schema for the pods of a StrimziPodSet. Only its own Kafka cluster waits.
func TestWrongPodSets(t *testing.T) {
	needServer(t)
	const unlisted = "no StrimziPodSet lists its pod, so nothing would recreate it"
	for name, c := range map[string]struct {
		pods []string
		want string
	}{
		"labels that are a number": {[]string{`{"metadata":{NODE}}`, `{"metadata":{"labels":5}}`},
			"bad-kafka: spec.pods[1] is not a Pod: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels"},
		"metadata that is a text": {[]string{`{"metadata":"NAME"}`},
			"bad-kafka: spec.pods[0] is not a Pod: json: cannot unmarshal string into Go struct field PartialObjectMetadata.metadata"},
		"a kind that is a number": {[]string{`{"kind":5,"metadata":{NODE}}`},
			"bad-kafka: spec.pods[0] is not a Pod: json: cannot unmarshal number"},
		"a date that is none": {[]string{`{"metadata":{NODE,"creationTimestamp":"now"}}`},
			`bad-kafka: spec.pods[0] is not a Pod: parsing time "now"`},
		"no metadata":                     {[]string{`{}`}, unlisted},
		"no name":                         {[]string{`{"metadata":{"labels":{"strimzi.io/broker-role":"true"}}}`}, unlisted},
		"no roles":                        {[]string{`{"metadata":{"name":"NAME"}}`}, unlisted},
		"a role that is no boolean":       {[]string{`{"metadata":{"name":"NAME","labels":{"strimzi.io/broker-role":"yes"}}}`}, unlisted},
		"a name without the id of a node": {[]string{`{"metadata":{"name":"bad-kafka-x","labels":{"strimzi.io/broker-role":"true"}}}`}, unlisted},
		"an id that is too large": {[]string{`{"metadata":{"name":"bad-kafka-99999999999","labels":{"strimzi.io/broker-role":"true"}}}`},
			unlisted},
		"the same node twice, and then no pod": {[]string{`{"metadata":{NODE}}`, `{"metadata":{NODE}}`, `{"metadata":[]}`},
			"bad-kafka: spec.pods[2] is not a Pod: json: cannot unmarshal array"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "wrong-"}}
			g.Expect(k8s.Create(t.Context(), ns)).To(Succeed())
			outdated(t, ns.Name, "bad", c.pods...)
			outdated(t, ns.Name, "good", `{"metadata":{NODE}}`)
			says, restarts := planned(t, ns.Name, "bad")
			g.Expect(says).To(ContainSubstring(c.want))
			g.Expect(restarts).To(BeEmpty())
			says, restarts = planned(t, ns.Name, "good")
			g.Expect(says).To(BeEmpty())
			g.Expect(restarts).To(ConsistOf(HaveField("Nodes", []roller.NodeID{0})), "the other Kafka cluster is rolled")
		})
	}
}
