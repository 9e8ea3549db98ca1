package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
)

// Events of pools, pods and generated objects request passes as well, whatever the labels of their Kafka are.
func TestAKafkaThatIsNotSelectedIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	registry := prometheus.NewRegistry()
	w.r.Metrics = metrics.New(registry, "a=b")
	w.r.Selects = func(labels map[string]string) bool { return labels["a"] == "b" }
	watched := func() (n int) {
		families, err := registry.Gather()
		w.Expect(err).NotTo(HaveOccurred())
		for _, f := range families {
			if f.GetName() == "strimzi_resources" {
				n = len(f.GetMetric())
			}
		}
		return n
	}
	k, pool := newKafka(), nodePool("pool", 3, v1.RoleBroker, v1.RoleController)
	w.create(k, pool)
	before := w.versions()
	w.reconcile()
	w.Expect(w.versions()).To(Equal(before))

	w.get(k, "my-cluster")
	k.Labels = map[string]string{"a": "b"}
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	w.reconcile()
	w.Expect(w.pods("pool")).To(HaveLen(3))
	w.Expect(watched()).To(Equal(1))

	w.get(k, "my-cluster")
	k.Labels = nil
	k.Spec.Kafka.JvmOptions = &v1.JvmOptions{Xmx: "1g"}
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	before = w.versions()
	w.reconcile()
	w.Expect(w.versions()).To(Equal(before))
	w.Expect(watched()).To(BeZero())
}
