// Package metrics counts the roller's actions, and shows what it waits for. All series of a Kafka cluster exist from the first scrape after
// it was found.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
)

const prefix = "strimzi_roller_"

// Metrics are the metrics of all Kafka clusters.
type Metrics struct {
	clusters    prometheus.Gauge
	inProgress  *prometheus.GaugeVec
	phase       *prometheus.GaugeVec
	nodes       *prometheus.GaugeVec
	blocked     *prometheus.GaugeVec
	restarts    *prometheus.CounterVec
	forced      *prometheus.CounterVec
	reconfigure *prometheus.CounterVec
	elections   *prometheus.CounterVec
	catchUp     *prometheus.GaugeVec
	looks       *prometheus.CounterVec
}

// Cluster contains the metrics of one Kafka cluster. It implements engine.Reporter and engine.FailureReporter.
type Cluster struct {
	own prometheus.Labels
	all *Metrics
	m   *Metrics // with the labels of the cluster
}

var (
	phases = []roller.Phase{roller.PhaseDone, roller.PhaseRolling, roller.PhaseWaiting, roller.PhaseBlocked, roller.PhaseFailed,
		roller.PhaseUnknown}
	needs = []roller.Need{roller.NeedNothing, roller.NeedReconfiguration, roller.NeedRestart}
	rules = []roller.Rule{
		roller.RuleUnknown, roller.RuleRecovery, roller.RuleOwner, roller.RuleHold, roller.RulePaused, roller.RuleWindow, roller.RulePatience,
		roller.RuleHalt, roller.RuleOrder,
		roller.RuleUnderWay, roller.RuleLimit, roller.RuleRack, roller.RuleLeaders, roller.RuleBatch, roller.RuleSettle, roller.RuleQuorum,
		roller.RuleAvailability, roller.RuleClusterLoss,
		roller.RuleRisk, roller.RuleConfig, roller.RuleDenied,
	}
	results = []string{"done", "not_done", "refused", "too_late", "unclear"} // by actuate.Result
)

// New registers the metrics.
func New(registry prometheus.Registerer) *Metrics {
	own := []string{"namespace", "cluster"}
	gauge := func(name, help string, names ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, append(own[:2:2], names...))
	}
	counter := func(name, help string, names ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, append(own[:2:2], names...))
	}
	m := &Metrics{
		clusters: prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + "clusters",
			Help: "Number of Kafka clusters that this replica rolls; 0 if it is not the leader"}),
		inProgress: gauge("nodes_under_way", "Number of nodes that were restarted and are not back yet"),
		phase:      gauge("phase", "1 for the current phase of the roll, 0 for the others", "phase"),
		nodes:      gauge("nodes", "Number of nodes by what they need", "need"),
		blocked: gauge("blocked_nodes",
			"Number of blocked nodes, by the rule that blocks them; several rules may block a node", "rule"),
		restarts:    counter("restarts_total", "Restarts by result", "result"),
		forced:      counter("forced_restarts_total", "Restarts without all checks, because a check was impossible or unnecessary"),
		reconfigure: counter("reconfigurations_total", "Changes of configurations without a restart, by result", "result"),
		elections: counter("elections_total",
			"Elections of a restarted broker as the leader of the partitions that prefer it, by result", "result"),
		catchUp: gauge("replicas_to_catch_up", "Number of replicas of a restarted node that are not in sync yet", "node"),
		looks: counter("looks_total",
			"Observations of the cluster: decided, or failed if the roller could not decide or not store its decision", "result"),
	}
	registry.MustRegister(m.clusters, m.inProgress, m.phase, m.nodes, m.blocked, m.restarts, m.forced, m.reconfigure, m.elections, m.catchUp,
		m.looks)
	return m
}

// Of returns the metrics of a Kafka cluster, which are exposed from now on.
func (m *Metrics) Of(namespace, cluster string) *Cluster {
	c := &Cluster{own: prometheus.Labels{"namespace": namespace, "cluster": cluster}, all: m}
	c.m = &Metrics{
		inProgress: m.inProgress.MustCurryWith(c.own), phase: m.phase.MustCurryWith(c.own), nodes: m.nodes.MustCurryWith(c.own),
		blocked:  m.blocked.MustCurryWith(c.own),
		restarts: m.restarts.MustCurryWith(c.own), forced: m.forced.MustCurryWith(c.own), reconfigure: m.reconfigure.MustCurryWith(c.own),
		elections: m.elections.MustCurryWith(c.own),
		catchUp:   m.catchUp.MustCurryWith(c.own), looks: m.looks.MustCurryWith(c.own),
	}
	m.clusters.Inc()
	for _, p := range phases {
		c.m.phase.WithLabelValues(string(p))
	}
	for _, n := range needs {
		c.m.nodes.WithLabelValues(string(n))
	}
	for _, r := range rules {
		c.m.blocked.WithLabelValues(string(r))
	}
	for _, r := range results {
		c.m.restarts.WithLabelValues(r)
		c.m.reconfigure.WithLabelValues(r)
		c.m.elections.WithLabelValues(r)
	}
	c.m.forced.WithLabelValues()
	c.m.inProgress.WithLabelValues()
	c.m.looks.WithLabelValues("decided")
	c.m.looks.WithLabelValues("failed")
	return c
}

// Forget removes the metrics of the Kafka cluster.
func (c *Cluster) Forget() {
	c.all.clusters.Dec()
	for _, v := range []interface {
		DeletePartialMatch(prometheus.Labels) int
	}{
		c.all.inProgress, c.all.phase, c.all.nodes, c.all.blocked, c.all.restarts, c.all.forced, c.all.reconfigure,
		c.all.elections, c.all.catchUp, c.all.looks,
	} {
		v.DeletePartialMatch(c.own)
	}
}

// Failed implements engine.FailureReporter.
func (c *Cluster) Failed(error) { c.m.looks.WithLabelValues("failed").Inc() }

// ReportLook implements engine.Reporter.
func (c *Cluster) ReportLook(_ *roller.Snapshot, d roller.Decision, outcomes []actuate.Outcome) {
	m := c.m
	m.looks.WithLabelValues("decided").Inc()
	for _, p := range phases {
		m.phase.WithLabelValues(string(p)).Set(0)
	}
	m.phase.WithLabelValues(string(d.Phase)).Set(1)
	needed, kept := map[roller.Need]int{}, map[roller.Rule]int{}
	c.all.catchUp.DeletePartialMatch(c.own)
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
	m.inProgress.WithLabelValues().Set(float64(len(d.Progress.Restarts)))
	for _, o := range outcomes {
		counter := m.restarts
		switch o.Action.Kind {
		case roller.ActionReconfigure:
			counter = m.reconfigure
		case roller.ActionElectLeaders:
			counter = m.elections
		}
		counter.WithLabelValues(results[o.Result]).Inc()
		if o.Action.Forced != "" && o.Result == actuate.Done {
			m.forced.WithLabelValues().Inc()
		}
	}
}
