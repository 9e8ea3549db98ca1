package metrics

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kafka-operators/kafka-operators/operator/passes"
)

func TestFigures(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := New(registry, "a=b")
	one, two := types.NamespacedName{Namespace: "ns", Name: "one"}, types.NamespacedName{Namespace: "ns", Name: "two"}
	m.Reconciled("ns", passes.Pass{Took: time.Second, Periodical: true, Succeeded: true})
	m.Reconciled("ns", passes.Pass{Took: 2 * time.Second})
	m.ReconciledSet("ns", time.Second, nil)
	m.ReconciledSet("ns", time.Second, errors.New("failed"))
	m.Observe(one, Kafka{Ready: true, Created: time.Unix(7, 0), Nodes: 3, TopicOperator: true,
		ClusterCA: Certificate{time.Unix(1, 0), time.Unix(-5, 0)},
		Served:    Certificate{time.Unix(3, 0), time.Unix(2, 0)},
		Listeners: map[string]Certificate{"tls": {Expires: time.Unix(2, 0), Due: time.Unix(1, 0)}, "new": {}}})
	m.Observe(two, Kafka{Paused: true, Nodes: 5, NotReady: 2, Pending: 1})
	const renewal = "kafka_operators_certificate_renewal_timestamp_seconds"
	want := `
# HELP kafka_operators_certificate_renewal_timestamp_seconds When the certificate should be renewed, in seconds since 1970
# TYPE kafka_operators_certificate_renewal_timestamp_seconds gauge
` + renewal + `{cluster="one",kind="Kafka",namespace="ns",resource_namespace="ns",selector="a=b",type="cluster-ca"} -5
` + renewal + `{cluster="one",kind="Kafka",namespace="ns",resource_namespace="ns",selector="a=b",type="listener-tls"} 1
` + renewal + `{cluster="one",kind="Kafka",namespace="ns",resource_namespace="ns",selector="a=b",type="nodes"} 2
# HELP kafka_operators_kafka_created_timestamp_seconds When the Kafka was created, in seconds since 1970
# TYPE kafka_operators_kafka_created_timestamp_seconds gauge
kafka_operators_kafka_created_timestamp_seconds{name="one",namespace="ns"} 7
# HELP kafka_operators_kafka_ready Whether the Kafka is ready
# TYPE kafka_operators_kafka_ready gauge
kafka_operators_kafka_ready{name="one",namespace="ns"} 1
# HELP kafka_operators_kafka_nodes_not_ready Number of nodes of the Kafka that are not ready
# TYPE kafka_operators_kafka_nodes_not_ready gauge
kafka_operators_kafka_nodes_not_ready{name="one",namespace="ns"} 0
kafka_operators_kafka_nodes_not_ready{name="two",namespace="ns"} 2
# HELP kafka_operators_kafka_topic_operator Whether the Kafka is to have a topic operator
# TYPE kafka_operators_kafka_topic_operator gauge
kafka_operators_kafka_topic_operator{name="one",namespace="ns"} 1
kafka_operators_kafka_topic_operator{name="two",namespace="ns"} 0
# HELP strimzi_certificate_expiration_timestamp_ms Time in milliseconds when the certificate expires
# TYPE strimzi_certificate_expiration_timestamp_ms gauge
strimzi_certificate_expiration_timestamp_ms{cluster="one",kind="Kafka",namespace="ns",resource_namespace="ns",selector="a=b",type="cluster-ca"} 1000
strimzi_certificate_expiration_timestamp_ms{cluster="one",kind="Kafka",namespace="ns",resource_namespace="ns",selector="a=b",type="listener-tls"} 2000
strimzi_certificate_expiration_timestamp_ms{cluster="one",kind="Kafka",namespace="ns",resource_namespace="ns",selector="a=b",type="nodes"} 3000
# HELP strimzi_reconciliations_failed_total Failed reconciliations
# TYPE strimzi_reconciliations_failed_total counter
strimzi_reconciliations_failed_total{kind="Kafka",namespace="ns",selector="a=b"} 1
strimzi_reconciliations_failed_total{kind="StrimziPodSet",namespace="ns",selector="a=b"} 1
# HELP strimzi_reconciliations_total Reconciliations of resources
# TYPE strimzi_reconciliations_total counter
strimzi_reconciliations_total{kind="Kafka",namespace="ns",selector="a=b"} 2
strimzi_reconciliations_total{kind="StrimziPodSet",namespace="ns",selector="a=b"} 2
# HELP strimzi_reconciliations_duration_seconds_max Duration of the longest reconciliation of the last minutes
# TYPE strimzi_reconciliations_duration_seconds_max gauge
strimzi_reconciliations_duration_seconds_max{kind="Kafka",namespace="ns",selector="a=b"} 2
strimzi_reconciliations_duration_seconds_max{kind="StrimziPodSet",namespace="ns",selector="a=b"} 1
# HELP strimzi_reconciliations_locked_total Events for a resource that was being reconciled
# TYPE strimzi_reconciliations_locked_total counter
strimzi_reconciliations_locked_total{kind="Kafka",namespace="ns",selector="a=b"} 0
# HELP strimzi_reconciliations_periodical_total Periodic reconciliations of resources that were ready before
# TYPE strimzi_reconciliations_periodical_total counter
strimzi_reconciliations_periodical_total{kind="Kafka",namespace="ns",selector="a=b"} 1
# HELP strimzi_resources Number of custom resources the operator sees
# TYPE strimzi_resources gauge
strimzi_resources{kind="Kafka",namespace="ns",selector="a=b"} 2
# HELP strimzi_resources_paused Number of custom resources the operator sees but does not reconcile due to paused reconciliations
# TYPE strimzi_resources_paused gauge
strimzi_resources_paused{kind="Kafka",namespace="ns",selector="a=b"} 1
`
	g := NewWithT(t)
	g.Expect(testutil.GatherAndCompare(registry, strings.NewReader(want), "kafka_operators_kafka_nodes_not_ready",
		"kafka_operators_kafka_created_timestamp_seconds", "kafka_operators_kafka_ready", "kafka_operators_kafka_topic_operator",
		"strimzi_certificate_expiration_timestamp_ms", "kafka_operators_certificate_renewal_timestamp_seconds",
		"strimzi_reconciliations_total", "strimzi_reconciliations_failed_total", "strimzi_reconciliations_duration_seconds_max",
		"strimzi_reconciliations_locked_total", "strimzi_reconciliations_periodical_total",
		"strimzi_resources", "strimzi_resources_paused")).To(Succeed())
	m.Forget(two)
	g.Expect(testutil.CollectAndCount(m, "strimzi_resources_paused")).To(Equal(1))
}

func TestTheDurationsOfPasses(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	m := New(registry, "")
	m.Reconciled("ns", passes.Pass{Took: time.Second})
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	var bounds []float64
	for _, f := range families {
		if f.GetName() == "strimzi_reconciliations_duration_seconds" {
			for _, b := range f.GetMetric()[0].GetHistogram().GetBucket() {
				bounds = append(bounds, b.GetUpperBound())
			}
		}
	}
	g.Expect(bounds).To(Equal([]float64{.005, .01, .025, .05, .1, .25, .5, 1, 5, 10, 30, 60, 120}))
}

// A read that failed says nothing of what a Kafka has, which alerts depend on for a while.
func TestAKafkaThatCannotBeReadKeepsItsFigures(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewRegistry()
	m := New(registry, "")
	name := types.NamespacedName{Namespace: "ns", Name: "one"}
	g.Expect(m.Unread(name)).To(BeFalse(), "there are none")
	m.Observe(name, Kafka{Ready: true, Created: time.Unix(7, 0), Nodes: 3, TopicOperator: true})
	g.Expect(m.Unread(name)).To(BeTrue())
	g.Expect(m.kafkas[name]).To(Equal(Kafka{Created: time.Unix(7, 0), Nodes: 3, TopicOperator: true}))
}

// Alerts about readiness are silent.
func TestAHibernatedKafkaHasNoState(t *testing.T) {
	g := NewWithT(t)
	m := New(prometheus.NewPedanticRegistry(), "")
	kafka := types.NamespacedName{Namespace: "ns", Name: "kafka"}
	m.Observe(kafka, Kafka{})
	g.Expect(testutil.CollectAndCount(m, "kafka_operators_kafka_ready")).To(Equal(1))
	m.Observe(kafka, Kafka{Hibernated: true})
	g.Expect(testutil.CollectAndCount(m, "kafka_operators_kafka_ready")).To(BeZero())
}
