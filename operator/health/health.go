// Package health serves /healthy and /ready, with Strimzi's paths and bodies, beside /metrics.
//
// /healthy fails if only a restart helps, such as for a loop that hangs. /ready fails while the process can't do its work yet. Neither
// depends on Kafka, because a restart of the operator does not repair Kafka.
package health

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"
)

// checkTimeout bounds all checks of one probe. The kubelet's own timeout is 1 s by default.
const checkTimeout = 500 * time.Millisecond

// Check returns why the process is not healthy or not ready, or nil.
type Check func(ctx context.Context) error

// Probes are the checks of one process. The zero value has none, and always succeeds. Checks may be added at any time.
type Probes struct {
	mu             sync.Mutex
	healthy, ready map[string]Check
}

// AddHealthy adds a check to /healthy. Each probe runs it concurrently with the others.
func (p *Probes) AddHealthy(name string, check Check) { p.add(&p.healthy, name, check) }

// AddReady adds a check to /ready.
func (p *Probes) AddReady(name string, check Check) { p.add(&p.ready, name, check) }

func (p *Probes) add(checks *map[string]Check, name string, check Check) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if *checks == nil {
		*checks = map[string]Check{}
	}
	(*checks)[name] = check
}

// Handlers returns the handlers by path, for the server that serves /metrics.
func (p *Probes) Handlers() map[string]http.Handler {
	return map[string]http.Handler{
		"/healthy": p.handler(func() map[string]Check { return p.healthy }),
		"/ready":   p.handler(func() map[string]Check { return p.ready }),
	}
}

func (p *Probes) handler(checks func() map[string]Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
		defer cancel()
		status, answer := http.StatusOK, answer{Status: "ok"}
		if failed := p.run(ctx, checks); len(failed) > 0 {
			status, answer.Status, answer.Failed = http.StatusInternalServerError, "not-ok", failed
		}
		body, _ := json.Marshal(answer) // strings only
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(body) // a probe that hung up needs no answer
	})
}

// answer is the body of a probe: Strimzi's status, and the failed checks.
type answer struct {
	Status string            `json:"status"`
	Failed map[string]string `json:"failed,omitempty"`
}

// run runs all checks, and returns the errors by name. A check that hangs fails with the context.
func (p *Probes) run(ctx context.Context, checks func() map[string]Check) map[string]string {
	type result struct {
		name string
		err  error
	}
	p.mu.Lock()
	waiting := map[string]bool{}
	results := make(chan result, len(checks()))
	for name, check := range checks() {
		waiting[name] = true
		go func() { results <- result{name, check(ctx)} }()
	}
	p.mu.Unlock()
	failed := map[string]string{}
	for len(waiting) > 0 {
		select {
		case r := <-results:
			delete(waiting, r.name)
			if r.err != nil {
				failed[r.name] = r.err.Error()
			}
		case <-ctx.Done():
			for name := range waiting {
				failed[name] = "no answer in time"
			}
			return failed
		}
	}
	return failed
}

// Synced returns a Check that fails until the caches of a manager contain the watched objects.
func Synced(cache interface {
	WaitForCacheSync(ctx context.Context) bool
},
) Check {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout/5)
		defer cancel()
		if !cache.WaitForCacheSync(ctx) {
			return errors.New("the caches have not synced yet")
		}
		return nil
	}
}
