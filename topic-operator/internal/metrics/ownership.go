package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// blockers are the reasons that block a deletion; with the others the deletion continues, and the topic stays.
var blockers = []string{v1.ReasonClusterMismatch, v1.ReasonTopicIDMismatch, v1.ReasonNotReadyForDeletion, v1.ReasonClusterIDUnknown,
	v1.ReasonNotSelected}

// ownershipFigures count the objects that do not provably own their topics. Alerts use the gauges, because they decrease again when a user
// has fixed the problem; the counters show what appeared and disappeared between two scrapes.
type ownershipFigures struct {
	refusals, blocked *prometheus.CounterVec
	refused, blocking *prometheus.GaugeVec

	armed, changed, rejected prometheus.Gauge

	// present contains the refused objects only. The resources' mutex guards it, so that no object is refused after its deletion.
	present map[types.NamespacedName]refusal
}

// refusal is the current reason for which an object is refused, and whether it blocks the deletion.
type refusal struct {
	reason string
	blocks bool
}

func newOwnershipFigures(o Options) *ownershipFigures {
	labels := []string{"kind", "namespace", "selector", "reason"}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	flag := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help,
			ConstLabels: prometheus.Labels{"kind": kind, "namespace": newNamespaces(o.Namespaces).only(), "selector": o.Selector}})
	}
	f := &ownershipFigures{
		refusals: counter("strimzi_ownership_refusals_total",
			"Reconciliations that left a topic alone because it does not provably belong to the resource, by reason"),
		refused: gauge("strimzi_ownership_refused",
			"Resources whose topic is currently left alone because it does not provably belong to them, by reason"),
		blocked: counter("strimzi_deletions_blocked_total",
			"Reconciliations that blocked a deletion because the topic does not provably belong to the resource, by reason"),
		blocking: gauge("strimzi_deletions_blocked",
			"Resources whose deletion is currently blocked because the topic does not provably belong to them, by reason"),
		armed: flag("strimzi_cluster_id_protection_armed",
			"1 if the id of the Kafka cluster is known and KafkaTopics can store it, so that those of other clusters are recognized; otherwise 0"),
		changed: flag("strimzi_kafka_cluster_changed", "1 while Kafka answers with another cluster id than at the start; otherwise 0"),
		rejected: flag("strimzi_namespace_policy_rejected",
			"1 while the latest namespace policy is rejected and an older one is in force; otherwise 0"),
		present: map[types.NamespacedName]refusal{},
	}
	for _, ns := range newNamespaces(o.Namespaces).labels() {
		for _, reason := range o.Refusals {
			f.refusals.WithLabelValues(kind, ns, o.Selector, reason)
			f.refused.WithLabelValues(kind, ns, o.Selector, reason)
			if slices.Contains(blockers, reason) {
				f.blocked.WithLabelValues(kind, ns, o.Selector, reason)
				f.blocking.WithLabelValues(kind, ns, o.Selector, reason)
			}
		}
	}
	return f
}

func (f *ownershipFigures) collectors() []prometheus.Collector {
	return []prometheus.Collector{f.refusals, f.refused, f.blocked, f.blocking, f.armed, f.changed, f.rejected}
}

// Refused records a pass that left the topic alone because the resource does not provably own it. The resource counts as refused for this
// reason until Refused with another one, Allowed or ResourceGone. Deleting means that the resource is being deleted.
func (m *Metrics) Refused(key types.NamespacedName, reason string, deleting bool) {
	now := refusal{reason: reason, blocks: deleting && slices.Contains(blockers, reason)}
	labels := m.refusalLabels(key, reason)
	m.ownership.refusals.WithLabelValues(labels...).Inc()
	if now.blocks {
		m.ownership.blocked.WithLabelValues(labels...).Inc()
	}
	m.resources.mu.Lock()
	defer m.resources.mu.Unlock()
	if _, known := m.resources.known[key]; !known {
		return // deleted during the pass: nothing would ever clear it
	}
	if was, refused := m.ownership.present[key]; refused {
		if was == now {
			return
		}
		m.show(key, was, -1)
	}
	m.ownership.present[key] = now
	m.show(key, now, 1)
}

// Allowed records a pass that may touch the topic.
func (m *Metrics) Allowed(key types.NamespacedName) {
	m.resources.mu.Lock()
	defer m.resources.mu.Unlock()
	m.clear(key)
}

// clear removes the refusal of a resource. The caller holds the resources' mutex.
func (m *Metrics) clear(key types.NamespacedName) {
	was, refused := m.ownership.present[key]
	if !refused {
		return
	}
	delete(m.ownership.present, key)
	m.show(key, was, -1)
}

// show adds a refusal to the gauges, or removes it.
func (m *Metrics) show(key types.NamespacedName, r refusal, by float64) {
	labels := m.refusalLabels(key, r.reason)
	m.ownership.refused.WithLabelValues(labels...).Add(by)
	if r.blocks {
		m.ownership.blocking.WithLabelValues(labels...).Add(by)
	}
}

func (m *Metrics) refusalLabels(key types.NamespacedName, reason string) []string {
	return []string{kind, m.namespaces.label(key.Namespace), m.selector, reason}
}

// ProtectionArmed records whether the id of the Kafka cluster is known.
func (m *Metrics) ProtectionArmed(armed bool) { set(m.ownership.armed, armed) }

// ClusterChanged records whether Kafka answers with another cluster id than at the start.
func (m *Metrics) ClusterChanged(changed bool) { set(m.ownership.changed, changed) }

// PolicyRejected records whether the newest namespace policy can't be used, so that an older one is in force.
func (m *Metrics) PolicyRejected(rejected bool) { set(m.ownership.rejected, rejected) }

func set(gauge prometheus.Gauge, on bool) {
	value := 0.0
	if on {
		value = 1
	}
	gauge.Set(value)
}
