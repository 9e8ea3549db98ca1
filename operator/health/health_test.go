package health

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

func get(t *testing.T, p *Probes, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	p.Handlers()[path].ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

func TestAProbeFailsWithAnyOfItsChecks(t *testing.T) {
	p := &Probes{}
	if code, body := get(t, p, "/ready"); code != http.StatusOK || body != `{"status":"ok"}` {
		t.Errorf("without checks: %d %s", code, body)
	}
	p.AddReady("cache", func(context.Context) error { return nil })
	p.AddReady("kafka", func(context.Context) error { return errors.New("no broker") })
	if code, body := get(t, p, "/ready"); code != http.StatusInternalServerError ||
		body != `{"status":"not-ok","failed":{"kafka":"no broker"}}` {
		t.Errorf("with a check that fails: %d %s", code, body)
	}
	if code, _ := get(t, p, "/healthy"); code != http.StatusOK {
		t.Errorf("a check of /ready fails /healthy: %d", code)
	}
}

func TestACheckThatHangsFails(t *testing.T) {
	p := &Probes{}
	p.AddHealthy("fine", func(context.Context) error { return nil })
	hang := make(chan struct{})
	defer close(hang)
	p.AddHealthy("stuck", func(context.Context) error { <-hang; return nil })
	if code, body := get(t, p, "/healthy"); code != http.StatusInternalServerError ||
		body != `{"status":"not-ok","failed":{"stuck":"no answer in time"}}` {
		t.Errorf("%d %s", code, body)
	}
}

type neverSynced struct{}

func (neverSynced) WaitForCacheSync(ctx context.Context) bool { <-ctx.Done(); return false }

func TestReadyWaitsForTheCaches(t *testing.T) {
	p := &Probes{}
	p.AddReady("cache", Synced(neverSynced{}))
	if code, body := get(t, p, "/ready"); code != http.StatusInternalServerError ||
		body != `{"status":"not-ok","failed":{"cache":"the caches have not synced yet"}}` {
		t.Errorf("%d %s", code, body)
	}
}
