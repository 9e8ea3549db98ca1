package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// resourceGauges counts the resources that the watch delivers, since a list from the cache at each scrape would copy all of them. The
// gauges stay at zero on a standby, so that a sum over the replicas counts each resource once.
type resourceGauges struct {
	all, paused *prometheus.GaugeVec

	mu     sync.Mutex
	known  map[types.NamespacedName]bool // value: paused
	counts map[string]*resourceCount     // by the label namespace
	leads  bool
}

type resourceCount struct{ all, paused int }

func newResourceGauges(o Options) *resourceGauges {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"kind", "namespace", "selector"})
	}
	r := &resourceGauges{
		all:    gauge("strimzi_resources", "Resources in the watched namespaces, selected or not"),
		paused: gauge("strimzi_resources_paused", "Resources whose reconciliation is paused"),
		known:  map[types.NamespacedName]bool{},
		counts: map[string]*resourceCount{},
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
	label := m.namespaces.label(key.Namespace)
	c := r.counts[label]
	if c == nil {
		c = &resourceCount{}
		r.counts[label] = c
	}
	was, known := r.known[key]
	if !known {
		c.all++
	}
	c.paused += number(paused) - number(was)
	r.known[key] = paused
	m.showCount(label, c)
}

// Lead makes the gauges show the counted resources. Until then the process is a standby.
func (m *Metrics) Lead() {
	r := m.resources
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leads = true
	for label, c := range r.counts {
		m.showCount(label, c)
	}
}

// showCount sets the gauges of one namespace. The caller holds the lock.
func (m *Metrics) showCount(label string, c *resourceCount) {
	if r := m.resources; r.leads {
		r.all.WithLabelValues(kind, label, m.selector).Set(float64(c.all))
		r.paused.WithLabelValues(kind, label, m.selector).Set(float64(c.paused))
	}
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
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
	label := m.namespaces.label(key.Namespace)
	c := r.counts[label]
	c.all--
	c.paused -= number(was)
	delete(r.known, key)
	m.showCount(label, c)
	m.clear(key)
}
