package metrics

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"
)

// strimzis are the metrics of Strimzi's Topic Operator, with their types.
var strimzis = map[string]dto.MetricType{
	"strimzi_reconciliations_total":                dto.MetricType_COUNTER,
	"strimzi_reconciliations_successful_total":     dto.MetricType_COUNTER,
	"strimzi_reconciliations_failed_total":         dto.MetricType_COUNTER,
	"strimzi_reconciliations_locked_total":         dto.MetricType_COUNTER,
	"strimzi_reconciliations_periodical_total":     dto.MetricType_COUNTER,
	"strimzi_reconciliations_duration_seconds":     dto.MetricType_HISTOGRAM,
	"strimzi_reconciliations_duration_seconds_max": dto.MetricType_GAUGE,
	"strimzi_reconciliations_max_queue_size":       dto.MetricType_GAUGE,
	"strimzi_reconciliations_max_batch_size":       dto.MetricType_GAUGE,
	"strimzi_resources":                            dto.MetricType_GAUGE,
	"strimzi_resources_paused":                     dto.MetricType_GAUGE,
}

// timers are Strimzi's additional metrics.
var timers = []string{"add_finalizer", "remove_finalizer", "update_status", "create_topics", "describe_topics", "describe_configs",
	"alter_configs",
	"create_partitions", "list_reassignments", "delete_topics"}

func gather(t *testing.T, o Options) (*Metrics, *prometheus.Registry, map[string]*dto.MetricFamily) {
	registry := prometheus.NewPedanticRegistry()
	m := New(registry, o)
	return m, registry, families(t, registry)
}

func families(t *testing.T, registry *prometheus.Registry) map[string]*dto.MetricFamily {
	t.Helper()
	gathered, err := registry.Gather()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	byName := map[string]*dto.MetricFamily{}
	for _, f := range gathered {
		byName[f.GetName()] = f
	}
	return byName
}

func labelsOf(m *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, l := range m.GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	return labels
}

// Strimzi issue 9612: an alert on a metric that does not exist yet never fires.
func TestStrimzisFiguresAreThereFromTheStartWithTheirLabels(t *testing.T) {
	for _, c := range []struct {
		namespaces []string
		split      []string
	}{{nil, []string{"*"}}, {[]string{"one"}, []string{"one"}}, {[]string{"one", "two"}, []string{"one", "two"}}} {
		t.Run(fmt.Sprint(c.namespaces), func(t *testing.T) {
			g := NewWithT(t)
			_, _, got := gather(t, Options{Namespaces: c.namespaces, Selector: "app=x"})
			for name, kind := range strimzis {
				g.Expect(got).To(HaveKey(name))
				g.Expect(got[name].GetType()).To(Equal(kind), name)
				var shown []string
				for _, m := range got[name].GetMetric() {
					g.Expect(labelsOf(m)).To(And(HaveLen(3), HaveKeyWithValue("kind", "KafkaTopic"), HaveKeyWithValue("selector", "app=x")))
					shown = append(shown, labelsOf(m)["namespace"])
				}
				if strings.Contains(name, "_max_") {
					g.Expect(shown).To(HaveLen(1))
					continue
				}
				g.Expect(shown).To(ConsistOf(c.split), name)
			}
		})
	}
}

func TestTheDurationsOfPasses(t *testing.T) {
	g := NewWithT(t)
	_, _, got := gather(t, Options{})
	var bounds []float64
	for _, b := range got["strimzi_reconciliations_duration_seconds"].GetMetric()[0].GetHistogram().GetBucket() {
		bounds = append(bounds, b.GetUpperBound())
	}
	g.Expect(bounds).To(Equal([]float64{.005, .01, .025, .05, .1, .25, .5, 1, 5, 10, 30, 60, 120, 300}))
}

func TestAdditionalTimersAreThereWhenTheyAreEnabled(t *testing.T) {
	g := NewWithT(t)
	o := Options{Operations: timers[3:]}
	m, _, got := gather(t, o)
	for _, timer := range timers {
		g.Expect(got).NotTo(HaveKey("strimzi_" + timer + "_duration_seconds"))
		m.Timed(timer, time.Second) // is not counted
	}
	o.Additional = true
	m, registry, got := gather(t, o)
	for _, timer := range timers {
		g.Expect(got).To(HaveKey("strimzi_" + timer + "_duration_seconds"))
		m.Timed(timer, time.Second)
	}
	for _, timer := range timers {
		g.Expect(families(t, registry)["strimzi_"+timer+"_duration_seconds"].GetMetric()[0].GetHistogram().GetSampleCount()).To(BeEquivalentTo(1))
	}
}

// The checks of promtool: names, units, help texts.
func TestTheFiguresAreNamedAsPrometheusWants(t *testing.T) {
	g := NewWithT(t)
	m, registry, _ := gather(t, Options{Additional: true, Operations: timers[3:], Requests: []string{"Metadata"},
		Reasons: []string{"KafkaError"}, Refusals: refusals})
	m.Requested("Metadata", time.Second, errors.New("no"))
	m.BatchSent("describe_topics", 3)
	for name, f := range families(t, registry) {
		g.Expect(strings.HasSuffix(name, "_total")).To(Equal(f.GetType() == dto.MetricType_COUNTER), name)
		g.Expect(f.GetHelp()).NotTo(BeEmpty())
		g.Expect(name).To(MatchRegexp(`^strimzi(_[a-z]+)+$`))
	}
	problems, err := testutil.GatherAndLint(registry)
	g.Expect(err).NotTo(HaveOccurred())
	// Strimzi's own names violate some of the checks, and can't change.
	problems = slices.DeleteFunc(problems, func(p promlint.Problem) bool { _, old := strimzis[p.Metric]; return old })
	g.Expect(problems).To(BeEmpty())
}

func TestAPassIsCountedOnceAndByItsEnd(t *testing.T) {
	g := NewWithT(t)
	m, registry, _ := gather(t, Options{Namespaces: []string{"one", "two"}, Reasons: []string{"KafkaError"}})
	m.Reconciled(Pass{Namespace: "one", Took: time.Second})
	m.Reconciled(Pass{Namespace: "one", Periodical: true, Took: time.Second})
	m.Reconciled(Pass{Namespace: "two", Reason: "KafkaError"})
	m.Reconciled(Pass{Namespace: "two", Reason: "Unforeseen"})
	g.Expect(testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP strimzi_reconciliation_errors_total Failed reconciliations, by the reason of the condition Ready=False; Retry is a temporary failure
# TYPE strimzi_reconciliation_errors_total counter
strimzi_reconciliation_errors_total{kind="KafkaTopic",namespace="one",reason="KafkaError",selector=""} 0
strimzi_reconciliation_errors_total{kind="KafkaTopic",namespace="two",reason="KafkaError",selector=""} 1
strimzi_reconciliation_errors_total{kind="KafkaTopic",namespace="two",reason="Unforeseen",selector=""} 1
# HELP strimzi_reconciliations_failed_total Failed reconciliations
# TYPE strimzi_reconciliations_failed_total counter
strimzi_reconciliations_failed_total{kind="KafkaTopic",namespace="one",selector=""} 0
strimzi_reconciliations_failed_total{kind="KafkaTopic",namespace="two",selector=""} 2
# HELP strimzi_reconciliations_periodical_total Periodic reconciliations of resources that were ready before
# TYPE strimzi_reconciliations_periodical_total counter
strimzi_reconciliations_periodical_total{kind="KafkaTopic",namespace="one",selector=""} 1
strimzi_reconciliations_periodical_total{kind="KafkaTopic",namespace="two",selector=""} 0
# HELP strimzi_reconciliations_successful_total Successful reconciliations
# TYPE strimzi_reconciliations_successful_total counter
strimzi_reconciliations_successful_total{kind="KafkaTopic",namespace="one",selector=""} 2
strimzi_reconciliations_successful_total{kind="KafkaTopic",namespace="two",selector=""} 0
# HELP strimzi_reconciliations_total Reconciliations of resources
# TYPE strimzi_reconciliations_total counter
strimzi_reconciliations_total{kind="KafkaTopic",namespace="one",selector=""} 2
strimzi_reconciliations_total{kind="KafkaTopic",namespace="two",selector=""} 2
`), "strimzi_reconciliation_errors_total", "strimzi_reconciliations_failed_total", "strimzi_reconciliations_periodical_total",
		"strimzi_reconciliations_successful_total", "strimzi_reconciliations_total")).To(Succeed())
}

// Strimzi: eventHandlerMetrics.
func TestResourcesAreCounted(t *testing.T) {
	g := NewWithT(t)
	m, registry, _ := gather(t, Options{})
	key := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }
	check := func(all, paused float64) {
		t.Helper()
		got := families(t, registry)
		g.Expect(got["strimzi_resources"].GetMetric()[0].GetGauge().GetValue()).To(Equal(all))
		g.Expect(got["strimzi_resources_paused"].GetMetric()[0].GetGauge().GetValue()).To(Equal(paused))
	}
	m.ResourceGone(key("a"))
	check(0, 0)
	m.ResourceSeen(key("on a standby"), true)
	check(0, 0)
	m.Lead()
	check(1, 1)
	m.ResourceGone(key("on a standby"))
	check(0, 0)
	m.ResourceSeen(key("a"), false)
	m.ResourceSeen(key("a"), false)
	m.ResourceSeen(key("b"), true)
	check(2, 1)
	m.ResourceSeen(key("a"), true)
	check(2, 2)
	m.ResourceSeen(key("b"), false)
	check(2, 1)
	m.ResourceGone(key("a"))
	m.ResourceGone(key("a"))
	check(1, 0)
	m.ResourceGone(key("b"))
	check(0, 0)
}

func TestPeaksOnlyRise(t *testing.T) {
	g := NewWithT(t)
	m, registry, _ := gather(t, Options{})
	m.Lead()
	var wg sync.WaitGroup
	for n := range 50 {
		wg.Go(func() {
			m.QueueLength(n)
			m.BatchSent("describe_topics", 2*n)
			m.ResourceSeen(types.NamespacedName{Name: fmt.Sprint(n)}, n%2 == 0)
		})
	}
	wg.Wait()
	m.QueueLength(0)
	m.BatchSent("describe_topics", 1)
	got := families(t, registry)
	g.Expect(got["strimzi_reconciliations_max_queue_size"].GetMetric()[0].GetGauge().GetValue()).To(BeEquivalentTo(49))
	g.Expect(got["strimzi_reconciliations_max_batch_size"].GetMetric()[0].GetGauge().GetValue()).To(BeEquivalentTo(98))
	g.Expect(got["strimzi_resources"].GetMetric()[0].GetGauge().GetValue()).To(BeEquivalentTo(50))
}

func TestARegistryTakesTheFiguresOnce(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewRegistry()
	New(registry, Options{})
	g.Expect(func() { New(registry, Options{}) }).To(Panic())
}

func TestTheSlowestPassIsForgottenAfterAWhile(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1_000_000, 0)
	registry := prometheus.NewPedanticRegistry()
	m := New(registry, Options{Namespaces: []string{"a", "b"}, Selector: "x=y", Now: func() time.Time { return now }})
	value := func(namespace string) float64 {
		for _, series := range families(t, registry)["strimzi_reconciliations_duration_seconds_max"].GetMetric() {
			if labels := labelsOf(series); labels["namespace"] == namespace && labels["kind"] == "KafkaTopic" && labels["selector"] == "x=y" {
				return series.GetGauge().GetValue()
			}
		}
		return -1
	}
	g.Expect(value("a")).To(BeZero(), "it is there from the start")
	m.Reconciled(Pass{Namespace: "a", Took: 5 * time.Second})
	m.Reconciled(Pass{Namespace: "a", Took: 2 * time.Second})
	g.Expect([]float64{value("a"), value("b")}).To(Equal([]float64{5, 0}))
	now = now.Add(90 * time.Second)
	m.Reconciled(Pass{Namespace: "a", Took: 3 * time.Second})
	g.Expect(value("a")).To(Equal(5.0))
	now = now.Add(91 * time.Second)
	g.Expect(value("a")).To(Equal(3.0), "the longer one is more than three minutes old")
	now = now.Add(time.Hour)
	g.Expect(value("a")).To(BeZero())
}
