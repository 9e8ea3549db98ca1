package controller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// TestALostClientsCAHoldsUpNothingElse loses the key of the clients CA. Changes are made, objects are healed and certificates of nodes are
// renewed all the same. The status tells of the key, which no pass makes anew.
func TestALostClientsCAHoldsUpNothingElse(t *testing.T) {
	w := newReadyWorld(t, "pool", 1)
	const pod = "my-cluster-pool-0"
	secret := func(name string) *corev1.Secret {
		s := &corev1.Secret{}
		w.get(s, name)
		return s
	}
	trusted, key := secret("my-cluster-trustbundle"), secret("my-cluster-clients-ca")
	before := w.pods("pool")[pod]
	w.Expect(w.k8s.Delete(t.Context(), key)).To(Succeed())
	w.Expect(w.k8s.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: w.named(pod)})).To(Succeed())
	w.edit(func(k *v1.Kafka) {
		k.Spec.Kafka.JvmOptions = &v1.JvmOptions{Xmx: "1g"}
		k.Spec.EntityOperator = &v1.EntityOperatorSpec{TopicOperator: &v1.EntityTopicOperatorSpec{}}
	})
	lost := And(HaveField("Status", "False"), HaveField("Reason", "CAKeyLost"),
		HaveField("Message", ContainSubstring("Clients CA: Secret "+w.namespace+"/my-cluster-clients-ca is missing")))
	w.reconcile()
	w.Expect(w.ready()).To(lost)
	w.get(&corev1.ConfigMap{}, pod)
	w.get(&appsv1.Deployment{}, "my-cluster-entity-operator")
	changed := w.pods("pool")[pod]
	w.Expect(changed.Spec.Containers[0].Env).To(ContainElement(And(HaveField("Name", "KAFKA_HEAP_OPTS"),
		HaveField("Value", ContainSubstring("-Xmx1g")))))
	w.Expect(changed.Annotations).To(HaveKeyWithValue(core.AnnotationServerCertHash, before.Annotations[core.AnnotationServerCertHash]))

	renewed := func() {
		t.Helper()
		was := w.pods("pool")[pod].Annotations[core.AnnotationServerCertHash]
		w.now = w.now.Add(364 * 24 * time.Hour)
		w.reconcile()
		w.Expect(w.pods("pool")[pod].Annotations[core.AnnotationServerCertHash]).NotTo(Equal(was))
		w.Expect(certificate(w.WithT, secret(pod)).NotAfter).To(BeTemporally(">", w.now))
	}
	renewed()
	w.Expect(w.ready()).To(lost)
	w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "1.0.0" })
	renewed()
	w.Expect(w.ready()).To(HaveField("Reason", v1.ReasonUnsupportedKafkaVersion))
	w.Expect(w.conditions()).To(ContainElement(And(HaveField("Type", "Warning"), HaveField("Reason", "CAKeyLost"))))
	w.Expect(secret("my-cluster-trustbundle").Data).To(HaveKeyWithValue("clients-ca.crt", trusted.Data["clients-ca.crt"]))

	key.ResourceVersion, key.UID = "", ""
	w.Expect(w.k8s.Create(t.Context(), key)).To(Succeed())
	w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "" })
	w.reconcile()
	w.Expect(w.ready()).NotTo(HaveField("Reason", "CAKeyLost"))
}
