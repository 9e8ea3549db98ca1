package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// resourceGauges counts the resources as the watch shows them: asking the cache at each scrape would copy all of them.
type resourceGauges struct {
	all, paused *prometheus.GaugeVec

	mu    sync.Mutex
	known map[types.NamespacedName]bool // value: paused
}

func newResourceGauges(o Options) *resourceGauges {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"kind", "namespace", "selector"})
	}
	r := &resourceGauges{
		all:    gauge("strimzi_resources", "Resources in the watched namespaces, selected or not"),
		paused: gauge("strimzi_resources_paused", "Resources whose reconciliation is paused"),
		known:  map[types.NamespacedName]bool{},
	}
	for _, ns := range newNamespaces(o.Namespaces).labels() {
		r.all.WithLabelValues(kind, ns, o.Selector).Set(0)
		r.paused.WithLabelValues(kind, ns, o.Selector).Set(0)
	}
	return r
}

// ResourceSeen records that a resource exists, and whether it is paused.
func (m *Metrics) ResourceSeen(key types.NamespacedName, paused bool) {
	r := m.resources
	r.mu.Lock()
	defer r.mu.Unlock()
	labels := []string{kind, m.namespaces.label(key.Namespace), m.selector}
	was, known := r.known[key]
	if !known {
		r.all.WithLabelValues(labels...).Inc()
	}
	switch {
	case paused && !was:
		r.paused.WithLabelValues(labels...).Inc()
	case !paused && was:
		r.paused.WithLabelValues(labels...).Dec()
	}
	r.known[key] = paused
}

// ResourceGone records that a resource does not exist any more.
func (m *Metrics) ResourceGone(key types.NamespacedName) {
	r := m.resources
	r.mu.Lock()
	defer r.mu.Unlock()
	was, known := r.known[key]
	if !known {
		return
	}
	labels := []string{kind, m.namespaces.label(key.Namespace), m.selector}
	r.all.WithLabelValues(labels...).Dec()
	if was {
		r.paused.WithLabelValues(labels...).Dec()
	}
	delete(r.known, key)
	m.clear(key)
}
