// Package metrics are the cluster-operator's figures: Strimzi's by their names, so that dashboards and alerts keep working, and what they
// lack.
package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kafka-operators/kafka-operators/operator/passes"
)

// kind and setKind are the values of Strimzi's kind label.
const (
	kind    = "Kafka"
	setKind = "StrimziPodSet"
)

// Kafka has the metrics of one Kafka.
type Kafka struct {
	// Paused and Ready are its state; Ready is that of its condition, and of no meaning while it is paused.
	Paused, Ready bool
	// Created is when it was created.
	Created time.Time
	// Hibernated reports that it has no nodes to be ready, as its user wants it.
	Hibernated bool
	// Nodes is how many nodes it has, and NotReady how many of these are not ready.
	Nodes, NotReady int
	// TopicOperator is whether it is to have a topic operator.
	TopicOperator bool
	// Pending is how many nodes a newer operator would make differently, and does not.
	Pending int
	// ClusterCA and ClientsCA are their certificates.
	ClusterCA, ClientsCA Certificate
	// Served is the certificate of its nodes that expires first.
	Served Certificate
	// Listeners are the certificates of their users' that nodes hold for listeners, by the listeners' names.
	Listeners map[string]Certificate
}

// Certificate is how long a certificate is valid; zero if that is unknown.
type Certificate struct {
	// Expires is when it expires, and Due when it should be renewed.
	Expires, Due time.Time
}

// Metrics holds every figure.
type Metrics struct {
	selector  string
	passes    *passes.Metrics
	writes    *prometheus.CounterVec
	conflicts *prometheus.CounterVec

	mu      sync.Mutex
	kafkas  map[types.NamespacedName]Kafka
	remotes map[string]RemoteOperator
}

var (
	perNamespace   = []string{"kind", "namespace", "selector"}
	perCertificate = []string{"kind", "namespace", "cluster", "type", "selector", "resource_namespace"}
	resources      = prometheus.NewDesc("strimzi_resources", "Number of custom resources the operator sees", perNamespace, nil)
	paused         = prometheus.NewDesc("strimzi_resources_paused",
		"Number of custom resources the operator sees but does not reconcile due to paused reconciliations", perNamespace, nil)
	expiration = prometheus.NewDesc("strimzi_certificate_expiration_timestamp_ms", "Time in milliseconds when the certificate expires",
		perCertificate, nil)
	renewal = prometheus.NewDesc("kafka_operators_certificate_renewal_timestamp_seconds",
		"When the certificate should be renewed, in seconds since 1970", perCertificate, nil)
	ready    = prometheus.NewDesc("kafka_operators_kafka_ready", "Whether the Kafka is ready", []string{"namespace", "name"}, nil)
	nodes    = prometheus.NewDesc("kafka_operators_kafka_nodes", "Number of nodes of the Kafka", []string{"namespace", "name"}, nil)
	notReady = prometheus.NewDesc("kafka_operators_kafka_nodes_not_ready", "Number of nodes of the Kafka that are not ready",
		[]string{"namespace", "name"}, nil)
	pending = prometheus.NewDesc("kafka_operators_kafka_nodes_pending",
		"Number of nodes that this version of the operator would render differently, at their next restart for another reason",
		[]string{"namespace", "name"}, nil)
	created = prometheus.NewDesc("kafka_operators_kafka_created_timestamp_seconds", "When the Kafka was created, in seconds since 1970",
		[]string{"namespace", "name"}, nil)
	topicOperator = prometheus.NewDesc("kafka_operators_kafka_topic_operator", "Whether the Kafka is to have a topic operator",
		[]string{"namespace", "name"}, nil)
)

// New creates the figures and registers them.
func New(registry prometheus.Registerer, selector string) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		selector: selector, kafkas: map[types.NamespacedName]Kafka{},
		passes: passes.New(registry, passes.Buckets(), time.Now),
		writes: counter("kafka_operators_objects_written_total", "Objects that the operator created, changed or deleted", "kind", "outcome"),
		conflicts: counter("strimzi_stretch_ownership_conflicts_total",
			"How often an object in another Kubernetes cluster turned out to belong to another owner than the stretched Kafka that needs it",
			"cluster", "kind", "reason"),
	}
	registry.MustRegister(m.writes, m.conflicts, m)
	return m
}

// Reconciled counts a pass over a Kafka in this namespace.
func (m *Metrics) Reconciled(namespace string, p passes.Pass) {
	of := passes.Of{Kind: kind, Namespace: namespace, Selector: m.selector}
	m.passes.Show(of)
	m.passes.Done(of, p)
}

// ReconciledSet counts a pass over a StrimziPodSet.
func (m *Metrics) ReconciledSet(namespace string, took time.Duration, err error) {
	m.passes.Done(passes.Of{Kind: setKind, Namespace: namespace, Selector: m.selector}, passes.Pass{Took: took, Succeeded: err == nil})
}

// Wrote counts an object that was written.
func (m *Metrics) Wrote(kind, outcome string) { m.writes.WithLabelValues(kind, outcome).Inc() }

// Conflicted counts an object in another Kubernetes cluster that is not the Kafka's.
func (m *Metrics) Conflicted(cluster, kind, reason string) {
	m.conflicts.WithLabelValues(cluster, kind, reason).Inc()
}

// Observe keeps what is known of a Kafka.
func (m *Metrics) Observe(name types.NamespacedName, k Kafka) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kafkas[name] = k
}

// Unread notes that a Kafka is not ready of which nothing could be read. Its other figures stay as they were; it returns false if there are
// none.
func (m *Metrics) Unread(name types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, known := m.kafkas[name]
	if known {
		k.Ready = false
		m.kafkas[name] = k
	}
	return known
}

// Forget drops a Kafka that is gone.
func (m *Metrics) Forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.kafkas, name)
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{resources, paused, expiration, renewal, ready, nodes, notReady, pending, created,
		topicOperator, remoteRunning, remoteSameVersion} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	all, held := map[string]int{}, map[string]int{}
	for name, k := range m.kafkas {
		all[name.Namespace]++
		held[name.Namespace] += number(k.Paused)
		if !k.Paused && !k.Hibernated { // these have no state
			gauge(ready, float64(number(k.Ready)), name.Namespace, name.Name)
		}
		if !k.Created.IsZero() { // it was read
			gauge(created, float64(k.Created.Unix()), name.Namespace, name.Name)
		}
		gauge(nodes, float64(k.Nodes), name.Namespace, name.Name)
		gauge(notReady, float64(k.NotReady), name.Namespace, name.Name)
		gauge(pending, float64(k.Pending), name.Namespace, name.Name)
		gauge(topicOperator, float64(number(k.TopicOperator)), name.Namespace, name.Name)
		certificates := map[string]Certificate{"cluster-ca": k.ClusterCA, "client-ca": k.ClientsCA, "nodes": k.Served}
		for listener, c := range k.Listeners {
			certificates["listener-"+listener] = c
		}
		for of, c := range certificates {
			if !c.Expires.IsZero() {
				gauge(expiration, float64(c.Expires.UnixMilli()), kind, name.Namespace, name.Name, of, m.selector, name.Namespace)
				gauge(renewal, float64(c.Due.Unix()), kind, name.Namespace, name.Name, of, m.selector, name.Namespace)
			}
		}
	}
	for namespace, n := range all {
		gauge(resources, float64(n), kind, namespace, m.selector)
		gauge(paused, float64(held[namespace]), kind, namespace, m.selector)
	}
	m.collectRemoteOperators(out)
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
