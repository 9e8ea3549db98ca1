package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// Both operators give most objects of a Kafka the same names, and the Kafka as their owner.
func TestAKafkaOfStrimzisOperatorIsLeftAlone(t *testing.T) {
	for name, pause := range map[string]bool{"running": false, "paused": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			kafka := newKafka()
			if pause {
				kafka.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "true"}
			}
			w.create(kafka, nodePool("pool", 3, v1.RoleBroker, v1.RoleController))
			theirs := func(name string, owner client.Object, kind string) metav1.ObjectMeta {
				return metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelCluster: "my-cluster", core.LabelKind: core.KindKafka,
					core.LabelManagedBy: core.ManagedByStrimzi, core.LabelPoolName: "pool"},
					OwnerReferences: []metav1.OwnerReference{{APIVersion: v1.GroupVersion.String(), Kind: kind, Name: owner.GetName(),
						UID: owner.GetUID()}}}
			}
			w.create(
				&corev1.Service{ObjectMeta: theirs("my-cluster-kafka-bootstrap", kafka, "Kafka"), Spec: corev1.ServiceSpec{
					Selector: map[string]string{"strimzi.io/broker-role": "true"}, Ports: []corev1.ServicePort{{Name: "tcp-tls", Port: 9093}}}},
				&corev1.Secret{ObjectMeta: theirs("my-cluster-cluster-ca", kafka, "Kafka")},
				&core.StrimziPodSet{ObjectMeta: theirs("my-cluster-pool", w.pool("pool"), "KafkaNodePool"), Spec: &core.StrimziPodSetSpec{
					Selector: metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelCluster: "my-cluster"}}, Pods: []runtime.RawExtension{}}},
			)
			before := w.versions()
			w.reconcile()
			w.reconcile()
			w.Expect(w.versions()).To(Equal(before))
			w.Expect(w.events).To(HaveEach(HavePrefix("ManagedByStrimzi: Strimzi's cluster operator created StrimziPodSet "+w.namespace+
				"/my-cluster-pool")), "%q", w.events)
			w.Expect(w.events).NotTo(BeEmpty())
		})
	}
}

func TestALabelOnOurOwnStrimziPodSetStopsNothing(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 3, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	set := w.set("pool")
	set.Labels[core.LabelManagedBy] = core.ManagedByStrimzi
	w.Expect(w.k8s.Update(t.Context(), set)).To(Succeed())
	w.reconcile()
	w.Expect(w.set("pool").Labels).To(HaveKeyWithValue(core.LabelManagedBy, core.ManagedByClusterOperator))
}
