// Package metrics contains the topic-operator's metrics: those of Strimzi under their names, so that dashboards and alerts keep working,
// and additional ones.
package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kafka-operators/kafka-operators/operator/passes"
)

// kind is the value of Strimzi's kind label.
const kind = "KafkaTopic"

// Metrics contains all metrics. All of them exist from the first scrape on, at zero (Strimzi issue 9612).
type Metrics struct {
	namespaces namespaces
	selector   string

	passes   *passes.Metrics
	maxQueue *peak
	maxBatch *peak

	resources *resourceGauges
	ownership *ownershipFigures

	errors        *prometheus.CounterVec
	drift         *prometheus.CounterVec
	batchSize     *prometheus.HistogramVec
	requests      *prometheus.HistogramVec
	requestErrors *prometheus.CounterVec
	eventsDropped prometheus.Counter

	timers map[string]prometheus.Observer
}

// Options define the labels of the metrics.
type Options struct {
	// Namespaces are the watched namespaces; empty means all, and all metrics then have the label namespace="*".
	Namespaces []string
	// Selector is the label selector as configured.
	Selector string
	// Additional adds Strimzi's timers of single operations (STRIMZI_ENABLE_ADDITIONAL_METRICS).
	Additional bool
	// Operations, Requests, Reasons and Refusals are the label values that exist from the start: operations, Kafka requests, reasons of
	// failures, and reasons not to touch a topic.
	Operations, Requests, Reasons, Refusals []string
	// Now returns the current time; nil uses the clock.
	Now func() time.Time
}

// Timers of Strimzi that do not belong to a Kafka operation.
const (
	TimerAddFinalizer    = "add_finalizer"
	TimerRemoveFinalizer = "remove_finalizer"
	TimerUpdateStatus    = "update_status"
)

var (
	reconcileBuckets = append(passes.Buckets(), 300) // a pass may wait long for Kafka
	operationBuckets = []float64{.01, .02, .05, .1, .5, 1, 5}
	requestBuckets   = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	batchBuckets     = []float64{1, 2, 5, 10, 25, 50, 100, 250, 500, 1000}
)

// New creates the metrics and registers them.
func New(registry prometheus.Registerer, o Options) *Metrics {
	common := []string{"kind", "namespace", "selector"}
	if o.Now == nil {
		o.Now = time.Now
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		namespaces: newNamespaces(o.Namespaces),
		selector:   o.Selector,
		passes:     passes.New(registry, reconcileBuckets, o.Now),
		resources:  newResourceGauges(o),
		ownership:  newOwnershipFigures(o),
		errors: counter("strimzi_reconciliation_errors_total",
			"Failed reconciliations, by the reason of the condition Ready=False; Retry is a temporary failure", append(common, "reason")...),
		drift: counter("strimzi_drift_reverted_total", "Topics that were changed or deleted outside of Kubernetes and restored by the operator",
			common...),
		batchSize: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "strimzi_batch_size", Help: "Number of topics in a batch",
			Buckets: batchBuckets}, []string{"operation"}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "strimzi_kafka_request_duration_seconds",
			Help: "Duration of a request to Kafka", Buckets: requestBuckets}, []string{"request"}),
		requestErrors: counter("strimzi_kafka_request_errors_total", "Requests to Kafka that no broker answered", "request"),
		eventsDropped: prometheus.NewCounter(prometheus.CounterOpts{Name: "strimzi_kubernetes_events_dropped_total",
			Help: "Kubernetes Events dropped because the queue was full"}),
		timers: map[string]prometheus.Observer{},
	}
	m.maxQueue = newPeak("strimzi_reconciliations_max_queue_size",
		"Highest number of objects that waited for a worker at the same time", o)
	m.maxBatch = newPeak("strimzi_reconciliations_max_batch_size", "Number of topics in the largest batch so far", o)
	registry.MustRegister(m.maxQueue.gauge, m.maxBatch.gauge,
		m.resources.all, m.resources.paused, m.errors, m.drift, m.batchSize, m.requests, m.requestErrors, m.eventsDropped)
	registry.MustRegister(m.ownership.collectors()...)
	m.registerTimers(registry, o)
	m.showFromTheStart(o)
	return m
}

func (m *Metrics) registerTimers(registry prometheus.Registerer, o Options) {
	if !o.Additional {
		return
	}
	for _, name := range append([]string{TimerAddFinalizer, TimerRemoveFinalizer, TimerUpdateStatus}, o.Operations...) {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "strimzi_" + name + "_duration_seconds",
			Help: "Duration of the call", Buckets: operationBuckets,
			ConstLabels: prometheus.Labels{"kind": kind, "namespace": m.namespaces.only(), "selector": m.selector}})
		registry.MustRegister(h)
		m.timers[name] = h
	}
}

func (m *Metrics) showFromTheStart(o Options) {
	for _, ns := range m.namespaces.labels() {
		m.passes.Show(passes.Of{Kind: kind, Namespace: ns, Selector: m.selector})
		m.drift.WithLabelValues(kind, ns, m.selector)
		for _, reason := range o.Reasons {
			m.errors.WithLabelValues(kind, ns, m.selector, reason)
		}
	}
	for _, operation := range o.Operations {
		m.batchSize.WithLabelValues(operation)
	}
	for _, request := range o.Requests {
		m.requests.WithLabelValues(request)
		m.requestErrors.WithLabelValues(request)
	}
}

// Pass is one pass over a resource.
type Pass struct {
	Namespace string
	// Periodical means that the resource was ready before.
	Periodical bool
	// Reason is empty for a pass that succeeded.
	Reason string
	Took   time.Duration
}

// Reconciled counts a pass.
func (m *Metrics) Reconciled(p Pass) {
	m.passes.Done(m.of(p.Namespace), passes.Pass{Took: p.Took, Periodical: p.Periodical, Succeeded: p.Reason == ""})
	if p.Reason != "" {
		m.errors.WithLabelValues(kind, m.namespaces.label(p.Namespace), m.selector, p.Reason).Inc()
	}
}

func (m *Metrics) of(namespace string) passes.Of {
	return passes.Of{Kind: kind, Namespace: m.namespaces.label(namespace), Selector: m.selector}
}

// DriftReverted counts a topic whose drift was reverted.
func (m *Metrics) DriftReverted(namespace string) {
	m.drift.WithLabelValues(kind, m.namespaces.label(namespace), m.selector).Inc()
}

// Locked counts an event for a resource that is being reconciled.
func (m *Metrics) Locked(namespace string) {
	m.passes.Locked(m.of(namespace))
}

// QueueLength records how many objects wait for a worker. The queue calls it for each object that arrives.
func (m *Metrics) QueueLength(n int) { m.maxQueue.see(n) }

// BatchSent implements executor.Observer.
func (m *Metrics) BatchSent(operation string, size int) {
	m.batchSize.WithLabelValues(operation).Observe(float64(size))
	m.maxBatch.see(size)
}

// BatchDone implements executor.Observer.
func (m *Metrics) BatchDone(operation string, took time.Duration) { m.Timed(operation, took) }

// Timed records how long one call took, if additional metrics are enabled.
func (m *Metrics) Timed(timer string, took time.Duration) {
	if h, ok := m.timers[timer]; ok {
		h.Observe(took.Seconds())
	}
}

// Requested records one request to a Kafka broker.
func (m *Metrics) Requested(request string, took time.Duration, err error) {
	m.requests.WithLabelValues(request).Observe(took.Seconds())
	if err != nil {
		m.requestErrors.WithLabelValues(request).Inc()
	}
}

// EventDropped counts a Kubernetes Event that was not written.
func (m *Metrics) EventDropped() { m.eventsDropped.Inc() }

// peak is a gauge that only rises.
type peak struct {
	gauge prometheus.Gauge
	mu    sync.Mutex
	most  int
}

func newPeak(name, help string, o Options) *peak {
	return &peak{gauge: prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help,
		ConstLabels: prometheus.Labels{"kind": kind, "namespace": newNamespaces(o.Namespaces).only(), "selector": o.Selector}})}
}

func (p *peak) see(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > p.most {
		p.most = n
		p.gauge.Set(float64(n))
	}
}

// namespaces bounds the label's values: the watched ones by name, or "*" for all.
type namespaces []string

func newNamespaces(watched []string) namespaces { return watched }

func (n namespaces) label(namespace string) string {
	if len(n) == 0 {
		return "*"
	}
	return namespace
}

func (n namespaces) labels() []string {
	if len(n) == 0 {
		return []string{"*"}
	}
	return n
}

// only returns the label of a metric that is not split by namespace.
func (n namespaces) only() string {
	if len(n) == 1 {
		return n[0]
	}
	return "*"
}
