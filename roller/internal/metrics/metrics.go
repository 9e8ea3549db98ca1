// Package metrics counts what the roller does, and shows what it waits for. All series are there from the first scrape on.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
)

// Metrics implements engine.Reporter and engine.FailureReporter.
type Metrics struct {
	inProgress  prometheus.Gauge
	phase       *prometheus.GaugeVec
	nodes       *prometheus.GaugeVec
	blocked     *prometheus.GaugeVec
	restarts    *prometheus.CounterVec
	forced      prometheus.Counter
	reconfigure *prometheus.CounterVec
	catchUp     *prometheus.GaugeVec
	looks       *prometheus.CounterVec
}

var (
	phases = []roller.Phase{roller.PhaseDone, roller.PhaseRolling, roller.PhaseWaiting, roller.PhaseBlocked, roller.PhaseFailed}
	needs  = []roller.Need{roller.NeedNothing, roller.NeedReconfiguration, roller.NeedRestart}
	rules  = []roller.Rule{
		roller.RuleUnknown, roller.RuleRecovery, roller.RuleOwner, roller.RuleHold, roller.RulePaused, roller.RuleWindow, roller.RulePatience, roller.RuleHalt, roller.RuleOrder,
		roller.RuleUnderWay, roller.RuleLimit, roller.RuleRack, roller.RuleLeaders, roller.RuleBatch, roller.RuleSettle, roller.RuleQuorum, roller.RuleAvailability,
		roller.RuleRisk, roller.RuleConfig,
	}
	results = []string{"done", "not_done", "refused", "unclear"}
)

// New registers the metrics of one Kafka cluster.
func New(registry prometheus.Registerer, namespace, cluster string) *Metrics {
	labels := prometheus.Labels{"namespace": namespace, "cluster": cluster}
	gauge := func(name, help string, names ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "strimzi_roller_" + name, Help: help, ConstLabels: labels}, names)
	}
	counter := func(name, help string, names ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "strimzi_roller_" + name, Help: help, ConstLabels: labels}, names)
	}
	m := &Metrics{
		inProgress:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "strimzi_roller_nodes_under_way", Help: "Nodes that were restarted and are not back", ConstLabels: labels}),
		phase:       gauge("phase", "1 for the phase of the roll, 0 for the others", "phase"),
		nodes:       gauge("nodes", "Nodes by what they need", "need"),
		blocked:     gauge("blocked_nodes", "Nodes that need something and do not get it, by what keeps them; a node may be kept by several rules", "rule"),
		restarts:    counter("restarts_total", "Restarts by what came of them", "result"),
		forced:      prometheus.NewCounter(prometheus.CounterOpts{Name: "strimzi_roller_forced_restarts_total", Help: "Restarts before which a check could not be made, or was not needed", ConstLabels: labels}),
		reconfigure: counter("reconfigurations_total", "Configurations changed without a restart, by what came of them", "result"),
		catchUp:     gauge("replicas_to_catch_up", "Replicas of a restarted node that are not in sync yet", "node"),
		looks:       counter("looks_total", "Looks at the cluster: decided, or failed, when nothing could be decided or what was decided could not be stored", "result"),
	}
	registry.MustRegister(m.inProgress, m.phase, m.nodes, m.blocked, m.restarts, m.forced, m.reconfigure, m.catchUp, m.looks)
	for _, p := range phases {
		m.phase.WithLabelValues(string(p))
	}
	for _, n := range needs {
		m.nodes.WithLabelValues(string(n))
	}
	for _, r := range rules {
		m.blocked.WithLabelValues(string(r))
	}
	for _, r := range results {
		m.restarts.WithLabelValues(r)
		m.reconfigure.WithLabelValues(r)
	}
	m.looks.WithLabelValues("decided")
	m.looks.WithLabelValues("failed")
	return m
}

// Failed implements engine.FailureReporter.
func (m *Metrics) Failed(error) { m.looks.WithLabelValues("failed").Inc() }

// Looked implements engine.Reporter.
func (m *Metrics) Looked(_ *roller.Snapshot, d roller.Decision, outcomes []actuate.Outcome) {
	m.looks.WithLabelValues("decided").Inc()
	for _, p := range phases {
		m.phase.WithLabelValues(string(p)).Set(0)
	}
	m.phase.WithLabelValues(string(d.Phase)).Set(1)
	needed, kept := map[roller.Need]int{}, map[roller.Rule]int{}
	m.catchUp.Reset()
	for _, a := range d.Nodes {
		needed[a.Need]++
		for _, b := range a.Blocks {
			kept[b.Rule]++
		}
		if r, underWay := d.Progress.Restarts[a.Node]; underWay {
			m.catchUp.WithLabelValues(a.Name).Set(float64(r.Left))
		}
	}
	for _, n := range needs {
		m.nodes.WithLabelValues(string(n)).Set(float64(needed[n]))
	}
	for _, r := range rules {
		m.blocked.WithLabelValues(string(r)).Set(float64(kept[r]))
	}
	m.inProgress.Set(float64(len(d.Progress.Restarts)))
	for _, o := range outcomes {
		counter := m.restarts
		if o.Action.Kind == roller.ActionReconfigure {
			counter = m.reconfigure
		}
		counter.WithLabelValues(results[o.Result]).Inc()
		if o.Action.Forced != "" && o.Result == actuate.Done {
			m.forced.Inc()
		}
	}
}
