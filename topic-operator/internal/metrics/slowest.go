package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Slowest passes are remembered for between 2 and 3 minutes, as Micrometer does for the timers of Strimzi's operators.
const (
	slowestPart  = time.Minute
	slowestParts = 3
)

// slowest is the longest duration of late, per namespace, as a gauge: strimzi_reconciliations_duration_seconds_max, which Strimzi's
// dashboards read.
type slowest struct {
	desc *prometheus.Desc
	now  func() time.Time

	mu    sync.Mutex
	parts map[string]*[slowestParts]part
	// labels are the values of the labels, by namespace.
	labels map[string][]string
}

// part is the longest duration in one minute.
type part struct {
	minute  int64
	seconds float64
}

func newSlowest(labels []string, now func() time.Time) *slowest {
	return &slowest{
		desc: prometheus.NewDesc("strimzi_reconciliations_duration_seconds_max", "The longest pass of the last minutes", labels, nil),
		now:  now, parts: map[string]*[slowestParts]part{}, labels: map[string][]string{},
	}
}

// show makes the series of a namespace exist.
func (s *slowest) show(labels ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(labels)
}

func (s *slowest) of(labels []string) *[slowestParts]part {
	ns := labels[1]
	if s.parts[ns] == nil {
		s.parts[ns], s.labels[ns] = &[slowestParts]part{}, labels
	}
	return s.parts[ns]
}

// observe records a duration.
func (s *slowest) observe(took time.Duration, labels ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	minute := s.minute()
	p := &s.of(labels)[minute%slowestParts]
	if p.minute != minute {
		*p = part{minute: minute}
	}
	p.seconds = max(p.seconds, took.Seconds())
}

func (s *slowest) minute() int64 { return s.now().UnixNano() / int64(slowestPart) }

// Describe implements prometheus.Collector.
func (s *slowest) Describe(descs chan<- *prometheus.Desc) { descs <- s.desc }

// Collect implements prometheus.Collector.
func (s *slowest) Collect(metrics chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	minute := s.minute()
	for ns, parts := range s.parts {
		longest := 0.0
		for _, p := range parts {
			if minute-p.minute < slowestParts {
				longest = max(longest, p.seconds)
			}
		}
		metrics <- prometheus.MustNewConstMetric(s.desc, prometheus.GaugeValue, longest, s.labels[ns]...)
	}
}
