package metrics

import (
	"maps"

	"github.com/prometheus/client_golang/prometheus"
)

// RemoteOperator has the metrics of the operator in a remote Kubernetes cluster.
type RemoteOperator struct {
	// Running is whether it lives.
	Running bool
	// SameVersion is whether it has the version of this program; nil if that is unknown.
	SameVersion *bool
}

var (
	remoteRunning = prometheus.NewDesc("kafka_operators_remote_operator_running",
		"1 if the operator in the remote Kubernetes cluster is running, else 0; absent if unknown", []string{"cluster"}, nil)
	remoteSameVersion = prometheus.NewDesc("kafka_operators_remote_operator_same_version",
		"1 if the operator in the remote Kubernetes cluster has the same version as this one, else 0; absent if unknown",
		[]string{"cluster"}, nil)
)

// ObserveRemoteOperators keeps what is known of the operators in remote Kubernetes clusters, by the ids of these. Others have no figures.
func (m *Metrics) ObserveRemoteOperators(known map[string]RemoteOperator) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remotes = maps.Clone(known)
}

func (m *Metrics) collectRemoteOperators(out chan<- prometheus.Metric) {
	for cluster, operator := range m.remotes {
		out <- prometheus.MustNewConstMetric(remoteRunning, prometheus.GaugeValue, float64(number(operator.Running)), cluster)
		if same := operator.SameVersion; same != nil {
			out <- prometheus.MustNewConstMetric(remoteSameVersion, prometheus.GaugeValue, float64(number(*same)), cluster)
		}
	}
}
