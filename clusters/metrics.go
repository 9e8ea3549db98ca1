package clusters

import "github.com/prometheus/client_golang/prometheus"

// metrics are the metrics of a Set. A nil *metrics records nothing.
type metrics struct {
	connected *prometheus.GaugeVec
	changes   *prometheus.CounterVec
	expires   *prometheus.GaugeVec
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	if registerer == nil {
		return nil, nil
	}
	m := &metrics{
		connected: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "strimzi_remote_cluster_connected", Help: "1 if the remote Kubernetes cluster is connected, else 0",
		}, []string{"cluster"}),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "strimzi_remote_cluster_connection_changes_total",
			Help: "How often the remote Kubernetes cluster was connected or disconnected",
		}, []string{"cluster"}),
		expires: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "strimzi_remote_cluster_credentials_expire_timestamp_seconds",
			Help: "When the credentials for the remote Kubernetes cluster expire, in seconds since 1970; absent if unknown",
		}, []string{"cluster"}),
	}
	for _, c := range []prometheus.Collector{m.connected, m.changes, m.expires} {
		if err := registerer.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) report(was, is Status) {
	switch {
	case m == nil:
		return
	case is.State == Left:
		m.connected.DeleteLabelValues(is.ID)
		m.changes.DeleteLabelValues(is.ID)
		m.expires.DeleteLabelValues(is.ID)
		return
	case (was.State == Connected) != (is.State == Connected):
		m.changes.WithLabelValues(is.ID).Inc()
	}
	if is.CredentialsExpire.IsZero() {
		m.expires.DeleteLabelValues(is.ID)
	} else {
		m.expires.WithLabelValues(is.ID).Set(float64(is.CredentialsExpire.Unix()))
	}
	connected := 0.0
	if is.State == Connected {
		connected = 1
	}
	m.connected.WithLabelValues(is.ID).Set(connected)
	m.changes.WithLabelValues(is.ID) // there from the start, at 0
}
