package metrics_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
	"github.com/kafka-operators/kafka-operators/roller/internal/metrics"
)

var _ engine.FailureReporter = &metrics.Cluster{}

// series returns all samples by name and labels, without the labels of the Kafka cluster.
func series(g *WithT, registry *prometheus.Registry) map[string]float64 {
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	all := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "strimzi_roller_clusters" {
			continue // it has no labels of a cluster
		}
		for _, m := range f.GetMetric() {
			name, cluster := f.GetName(), 0
			for _, l := range m.GetLabel() {
				switch l.GetName() + "=" + l.GetValue() {
				case "namespace=kafka", "cluster=my-cluster":
					cluster++
				default:
					name += " " + l.GetValue()
				}
			}
			g.Expect(cluster).To(Equal(2), "%s tells which Kafka cluster it is about", name)
			all[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return all
}

// constants returns all values of a type's constants, read from the source file, so that no later addition is missed.
func constants(g *WithT, file, of string) []string {
	source, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	var values []string
	for _, match := range regexp.MustCompile(`(?m)^\t`+of+`\w+ +`+of+` += "(\w+)"`).FindAllSubmatch(source, -1) {
		values = append(values, string(match[1]))
	}
	g.Expect(len(values)).To(BeNumerically(">", 4), "the constants of %s are in %s", of, file)
	return values
}

// A series that appears with its first event shows no increase, so no alert would fire.
func TestAllSeriesAreThereFromTheFirstScrape(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	m := metrics.New(registry).Of("kafka", "my-cluster")
	before := series(g, registry)
	for name, value := range before {
		g.Expect(value).To(BeZero(), name)
	}
	problems, err := testutil.GatherAndLint(registry)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(problems).To(BeEmpty())

	var nodes []roller.Assessment
	for i, rule := range constants(g, "../../assess.go", "Rule") {
		nodes = append(nodes, roller.Assessment{Node: roller.NodeID(i), Need: roller.NeedRestart,
			Blocks: []roller.Block{{Rule: roller.Rule(rule)}}})
	}
	nodes = append(nodes, roller.Assessment{Node: 99, Need: roller.NeedReconfiguration},
		roller.Assessment{Node: 100, Need: roller.NeedNothing})
	var outcomes []actuate.Outcome
	for _, result := range []actuate.Result{actuate.Done, actuate.NotDone, actuate.Refused, actuate.TooLate, actuate.Unclear} {
		for _, kind := range []roller.ActionKind{roller.ActionRestart, roller.ActionReconfigure} {
			outcomes = append(outcomes, actuate.Outcome{Action: roller.Action{Kind: kind, Forced: "it is stuck"}, Result: result})
		}
	}
	for _, phase := range constants(g, "../../step.go", "Phase") {
		m.ReportLook(nil, roller.Decision{Phase: roller.Phase(phase), Nodes: nodes}, outcomes)
	}
	m.Failed(errors.New("away"))
	for name := range series(g, registry) {
		g.Expect(before).To(HaveKey(name))
	}
}

func TestWhatTheFiguresTell(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	m := metrics.New(registry).Of("kafka", "my-cluster")
	m.ReportLook(nil, roller.Decision{
		Phase: roller.PhaseRolling,
		Nodes: []roller.Assessment{
			{Node: 1, Name: "pod-1", Need: roller.NeedNothing},
			{Node: 2, Name: "pod-2", Need: roller.NeedRestart, Blocks: []roller.Block{{Rule: roller.RuleAvailability}, {Rule: roller.RuleLimit}}},
			{Node: 3, Name: "pod-3", Need: roller.NeedRestart, Blocks: []roller.Block{{Rule: roller.RuleLimit}}},
		},
		Progress: roller.Progress{Restarts: map[roller.NodeID]roller.Restart{1: {Left: 7}}},
	}, []actuate.Outcome{{Action: roller.Action{Kind: roller.ActionRestart, Node: 1, Forced: "it is stuck"}}})
	m.Failed(errors.New("away"))
	shown := func() map[string]float64 {
		not0 := map[string]float64{}
		for name, value := range series(g, registry) {
			if value != 0 {
				not0[strings.TrimPrefix(name, "strimzi_roller_")] = value
			}
		}
		return not0
	}
	g.Expect(shown()).To(Equal(map[string]float64{
		"phase Rolling": 1, "nodes Nothing": 1, "nodes Restart": 2, "blocked_nodes Availability": 1, "blocked_nodes Limit": 2,
		"nodes_under_way":            1,
		"replicas_to_catch_up pod-1": 7, "restarts_total done": 1, "forced_restarts_total": 1, "looks_total decided": 1, "looks_total failed": 1,
	}))
	m.ReportLook(nil, roller.Decision{Phase: roller.PhaseDone,
		Nodes: []roller.Assessment{{Node: 1, Name: "pod-1", Need: roller.NeedNothing}}}, nil)
	g.Expect(shown()).To(Equal(map[string]float64{
		"phase Done": 1, "nodes Nothing": 1, "restarts_total done": 1, "forced_restarts_total": 1, "looks_total decided": 2,
		"looks_total failed": 1,
	}), "what is over is not shown any more")
}

// The metrics of a deleted Kafka cluster are removed, and those of others stay.
func TestAClusterThatIsGone(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	all := metrics.New(registry)
	mine := all.Of("kafka", "my-cluster")
	want := series(g, registry)
	other := all.Of("kafka", "other")
	other.ReportLook(nil, roller.Decision{
		Phase: roller.PhaseRolling, Progress: roller.Progress{Restarts: map[roller.NodeID]roller.Restart{1: {}}},
		Nodes: []roller.Assessment{{Node: 1}}}, nil)
	mine.ReportLook(nil, roller.Decision{Phase: roller.PhaseDone}, nil)
	other.Forget()
	got := series(g, registry)
	g.Expect(got).To(HaveLen(len(want)))
	g.Expect(got["strimzi_roller_phase Done"]).To(Equal(1.0))
}
