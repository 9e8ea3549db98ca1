package passes

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Durations are remembered for between 2 and 3 minutes, as Micrometer does for the timers of Strimzi's operators.
const (
	slowestPart  = time.Minute
	slowestParts = 3
)

// gauge is the longest recent duration per namespace and kind: strimzi_reconciliations_duration_seconds_max, which Strimzi's dashboards
// read.
type gauge struct {
	desc *prometheus.Desc
	now  func() time.Time

	mu    sync.Mutex
	parts map[string]*[slowestParts]part
	// labels are the values of the labels, by the same keys.
	labels map[string][]string
}

// part is the longest duration in one minute.
type part struct {
	minute  int64
	seconds float64
}

// newGauge returns a gauge with labels, and a clock.
func newGauge(labels []string, now func() time.Time) *gauge {
	return &gauge{
		desc: prometheus.NewDesc("strimzi_reconciliations_duration_seconds_max", "Duration of the longest reconciliation of the last "+
			"minutes", labels, nil),
		now: now, parts: map[string]*[slowestParts]part{}, labels: map[string][]string{},
	}
}

// show creates the series of these values of the labels.
func (g *gauge) show(labels []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.of(labels)
}

func (g *gauge) of(labels []string) *[slowestParts]part {
	key := strings.Join(labels, "\x00")
	if g.parts[key] == nil {
		g.parts[key], g.labels[key] = &[slowestParts]part{}, labels
	}
	return g.parts[key]
}

// observe records a duration.
func (g *gauge) observe(took time.Duration, labels []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	minute := g.minute()
	p := &g.of(labels)[minute%slowestParts]
	if p.minute != minute {
		*p = part{minute: minute}
	}
	p.seconds = max(p.seconds, took.Seconds())
}

func (g *gauge) minute() int64 { return g.now().UnixNano() / int64(slowestPart) }

// Describe implements prometheus.Collector.
func (g *gauge) Describe(descs chan<- *prometheus.Desc) { descs <- g.desc }

// Collect implements prometheus.Collector.
func (g *gauge) Collect(metrics chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	minute := g.minute()
	for key, parts := range g.parts {
		longest := 0.0
		for _, p := range parts {
			if minute-p.minute < slowestParts {
				longest = max(longest, p.seconds)
			}
		}
		metrics <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, longest, g.labels[key]...)
	}
}
