// Package passes provides Strimzi's metrics of reconciliations, under Strimzi's names, so that its dashboards and alerts keep working.
package passes

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Of are the values of the labels that Strimzi's metrics have.
type Of struct {
	// Kind is that of the reconciled resource, and Namespace its own, or "*" for all.
	Kind, Namespace string
	// Selector is the label selector as configured.
	Selector string
}

func (o Of) values() []string { return []string{o.Kind, o.Namespace, o.Selector} }

// Pass is one pass over a resource.
type Pass struct {
	// Took is how long it took.
	Took time.Duration
	// Periodical is whether the resource was ready before, and Succeeded whether the pass ended without a failure.
	Periodical, Succeeded bool
}

// Metrics are the metrics of all passes.
type Metrics struct {
	all, successful, failed, periodical, locked *prometheus.CounterVec

	duration *prometheus.HistogramVec
	slowest  *gauge
}

// Buckets returns the upper bounds of durations, in seconds. Strimzi's begin at 1 s; these begin at the usual duration of our passes.
func Buckets() []float64 { return []float64{.005, .01, .025, .05, .1, .25, .5, 1, 5, 10, 30, 60, 120} }

// New creates the metrics, with these buckets and this clock, and registers them.
func New(registry prometheus.Registerer, buckets []float64, now func() time.Time) *Metrics {
	labels := []string{"kind", "namespace", "selector"}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		all:        counter("strimzi_reconciliations_total", "Reconciliations of resources"),
		successful: counter("strimzi_reconciliations_successful_total", "Successful reconciliations"),
		failed:     counter("strimzi_reconciliations_failed_total", "Failed reconciliations"),
		periodical: counter("strimzi_reconciliations_periodical_total", "Periodic reconciliations of resources that were ready before"),
		locked:     counter("strimzi_reconciliations_locked_total", "Events for a resource that was being reconciled"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "strimzi_reconciliations_duration_seconds",
			Help: "Duration of a reconciliation", Buckets: buckets}, labels),
		slowest: newGauge(labels, now),
	}
	registry.MustRegister(m.all, m.successful, m.failed, m.periodical, m.locked, m.duration, m.slowest)
	return m
}

// Show creates all series of these labels, at zero: an alert on a series that does not exist never fires (Strimzi issue 9612).
func (m *Metrics) Show(of Of) {
	for _, vec := range []*prometheus.CounterVec{m.all, m.successful, m.failed, m.periodical, m.locked} {
		vec.WithLabelValues(of.values()...)
	}
	m.duration.WithLabelValues(of.values()...)
	m.slowest.show(of.values())
}

// Done counts a pass.
func (m *Metrics) Done(of Of, p Pass) {
	labels := of.values()
	m.all.WithLabelValues(labels...).Inc()
	m.duration.WithLabelValues(labels...).Observe(p.Took.Seconds())
	m.slowest.observe(p.Took, labels)
	end, other := m.successful, m.failed
	if !p.Succeeded {
		end, other = other, end
	}
	end.WithLabelValues(labels...).Inc()
	other.WithLabelValues(labels...) // rates are of series that exist
	if p.Periodical {
		m.periodical.WithLabelValues(labels...).Inc()
	}
}

// Locked counts an event for a resource that is being reconciled.
func (m *Metrics) Locked(of Of) { m.locked.WithLabelValues(of.values()...).Inc() }
