package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
)

// TestALabelThatIsRemovedLeavesAllObjects checks that a label of the Kafka comes to the objects that its nodes share, those with keys among
// them, and goes. What belongs to one pool never has it, and what the user supplies keeps the user's.
func TestALabelThatIsRemovedLeavesAllObjects(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t, 1)
	objects := fullKafka()
	kafka := objects[0].(*v1.Kafka)
	kafka.Labels = map[string]string{"team": "a"}
	kafka.Spec.ClientsCa = &v1.CertificateAuthority{GenerateCertificateAuthority: new(false)}
	certificate, key := suppliedCA(t, h.now)
	for name, data := range map[string]map[string][]byte{"-clients-ca": {"ca.key": key}, "-clients-ca-cert": {"ca.crt": certificate}} {
		objects = append(objects, &corev1.Secret{Data: data,
			ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: kafka.Name + name, Labels: map[string]string{"team": "a"}}})
	}
	h.runs(objects...)
	labelled := func() (kinds map[string]int) {
		kinds = map[string]int{}
		for key, o := range h.k8s.server.objects {
			if _, has := o.GetLabels()["team"]; has {
				kinds[key.Kind]++
			}
		}
		return kinds
	}
	before := labelled()
	g.Expect(before).To(HaveKey("Service"))
	for _, kind := range []string{"Pod", "StrimziPodSet", "PersistentVolumeClaim"} {
		g.Expect(before).NotTo(HaveKey(kind))
	}
	g.Expect(before["Secret"]).To(BeNumerically(">", 5))

	edited := copied(h.object(kafkaKey)).(*v1.Kafka)
	edited.Labels = nil
	h.must(h.k8s.Update(t.Context(), edited))
	h.comeUp()
	after := labelled()
	g.Expect(after).To(Equal(map[string]int{"Secret": 2}))
	for _, name := range []string{"-clients-ca", "-clients-ca-cert"} {
		g.Expect(h.object(facts.Key{Kind: "Secret", Name: kafka.Name + name}).GetLabels()).To(Equal(map[string]string{"team": "a"}))
	}
}
