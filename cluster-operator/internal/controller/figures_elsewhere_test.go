package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
)

// While a Kubernetes cluster is away, nobody knows whether its nodes run: alerts have to see them.
func TestNodesOfALostKubernetesClusterCountAsNotReady(t *testing.T) {
	w := newStretchedWorld(t)
	registry := prometheus.NewRegistry()
	w.r.Metrics = metrics.New(registry, "")
	counts := func() []float64 {
		return []float64{gaugeIn(registry, "kafka_operators_kafka_nodes"), gaugeIn(registry, "kafka_operators_kafka_nodes_not_ready")}
	}
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController), poolIn("east", "b", 2, v1.RoleBroker))
	w.settle()
	w.Expect(counts()).To(Equal([]float64{3, 0}))
	w.members["east"].lost = true
	w.pass()
	w.Expect(counts()).To(Equal([]float64{3, 2}))
	w.members["east"].lost = false
	w.pass()
	w.Expect(counts()).To(Equal([]float64{3, 0}))
}
