package app

import (
	"context"
	"net/http"
	"time"

	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// probes answer /healthy and /ready beside /metrics, at Strimzi's address and in its words. Neither asks Kafka: restarting the
// operator does not bring Kafka back.
type probes struct {
	cache interface {
		WaitForCacheSync(ctx context.Context) bool
	}
}

func (p *probes) server(address string) metricsserver.Options {
	return metricsserver.Options{BindAddress: address, ExtraHandlers: map[string]http.Handler{
		"/healthy": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, true) }),
		"/ready":   http.HandlerFunc(p.ready),
	}}
}

// ready is true once the watched objects are known, also on a replica that is not the leader.
func (p *probes) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 100*time.Millisecond)
	defer cancel()
	answer(w, p.cache.WaitForCacheSync(ctx))
}

func answer(w http.ResponseWriter, ok bool) {
	w.Header().Set("Content-Type", "application/json")
	status, body := http.StatusOK, `{"status":"ok"}`
	if !ok {
		status, body = http.StatusInternalServerError, `{"status":"not-ok"}`
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // a probe that hung up needs no answer
}
