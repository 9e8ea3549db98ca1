package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/metrics"
)

// A random history found this. While the operator makes the topic of a new object, somebody restores the status of an older object of that name, which
// stood for another topic. So nothing in Kubernetes claims the topic that was made, and another object takes it over.
func TestATopicThatWasMadeIsNotDeletedForAStatusThatTellsOfAnother(t *testing.T) {
	w := newModel(modelConfig{finalizers: true}, metrics.New(prometheus.NewRegistry(), metrics.Options{}), nil)
	p := w.operators[1].process
	create := func(key types.NamespacedName) {
		kt := &v1.KafkaTopic{Spec: &v1.KafkaTopicSpec{TopicName: new("x")}}
		kt.Namespace, kt.Name, kt.Labels = key.Namespace, key.Name, map[string]string{modelLabel: "B"}
		w.server.create(kt)
	}
	look := func(key types.NamespacedName, s modelStep) {
		for p.deliver() {
		}
		p.pass(key, s)
	}
	first, second := modelKeys[1], modelKeys[2]
	w.saved = map[types.NamespacedName]v1.KafkaTopicStatus{first: {TopicName: "y", TopicID: "bm8gc3VjaCB0b3BpYyBpZA", ClusterID: modelClusterIDs[1]}}

	create(first)
	const statusCall = 6 // after the object, the other claimants, the topic, the finalizer and the creation
	look(first, modelStep{at: statusCall, inner: []modelStep{{do: "restore", key: 1}}})
	create(second)
	look(second, modelStep{})
	w.server.delete(first)
	look(first, modelStep{})

	g := NewWithT(t)
	g.Expect(w.violation).To(BeEmpty())
	g.Expect(w.server.objects[second].Status.TopicID).NotTo(BeEmpty())
	g.Expect(w.topicOf(1, "x")).NotTo(BeNil())
}
