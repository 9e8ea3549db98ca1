package controller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// What a Kafka refers to often comes after it, without the Kafka's label: in Strimzi's kafka-metrics.yaml, or from cert-manager.
func TestWhatAKafkaRefersToMayComeAfterIt(t *testing.T) {
	w := newWorld(t)
	w.watching()
	kafka := newKafka()
	at := corev1.ConfigMapKeySelector{Key: "rules.yml"}
	at.Name = "kafka-metrics"
	kafka.Spec.Kafka.MetricsConfig = &v1.MetricsConfig{Type: v1.MetricsJMXPrometheusExporter,
		ValueFrom: &v1.ExternalConfigurationReference{ConfigMapKeyRef: &at}}
	kafka.Spec.Kafka.Listeners[1].Configuration = &v1.ListenerConfiguration{
		BrokerCertChainAndKey: &v1.CertAndKeySecret{SecretName: "own", Certificate: "tls.crt", Key: "tls.key"}}
	w.create(nodePool("pool", 1, v1.RoleBroker, v1.RoleController), kafka)
	conditions := func() []v1.Condition {
		k := &v1.Kafka{}
		w.get(k, "my-cluster")
		return k.Status.Conditions
	}
	missing := func(what string) {
		w.Eventually(conditions).Should(And(ContainElement(And(HaveField("Type", "Ready"), HaveField("Status", "False"),
			HaveField("Message", ContainSubstring(what)))), Not(ContainElement(HaveField("Type", "Stalled")))))
	}
	missing("ConfigMap kafka-metrics does not exist")
	rules := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kafka-metrics"}, Data: map[string]string{
		"rules.yml": "lowercaseOutputName: true"}}
	w.create(rules)
	w.Eventually(conditions).ShouldNot(ContainElement(HaveField("Message", ContainSubstring("ConfigMap kafka-metrics"))))
	missing("Secret own with custom TLS certificate does not exist.")
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "own"}, Data: newHistory(t, 1).ownCertificate(time.Now(), years)})
	w.Eventually(func() error {
		return w.k8s.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-pool"}, &core.StrimziPodSet{})
	}).Should(Succeed())

	shown := func() string {
		config := &corev1.ConfigMap{}
		w.get(config, "my-cluster-pool-0")
		return config.Data["metrics-config.json"]
	}
	w.Expect(shown()).To(ContainSubstring(`"lowercaseOutputName":true`))
	rules.Data["rules.yml"] = "lowercaseOutputName: false"
	w.Expect(w.k8s.Update(t.Context(), rules)).To(Succeed())
	w.Eventually(shown).Should(ContainSubstring(`"lowercaseOutputName":false`))
}
