package clusters

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// homeRun probes the home cluster. The manager owns its connection; homeRun only tracks its health and identity.
type homeRun struct {
	*Member
	ask      identifier
	probing  Probing
	registry *registry
	known    func() // called once the identity is known
	asked    bool
	health   Health
	foreign  error
	seen     observation
}

func (h *homeRun) run(ctx context.Context, c cluster.Cluster) {
	defer close(h.done)
	h.mu.Lock()
	h.cluster = c
	h.mu.Unlock()
	ticker := time.NewTicker(h.probing.Interval)
	defer ticker.Stop()
	for {
		h.step(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			h.report(facts{left: true}.judge(), h.seen)
			return
		}
	}
}

func (h *homeRun) step(ctx context.Context) {
	probe, cancel := context.WithTimeout(ctx, h.probing.Timeout)
	defer cancel()
	uid, err := h.ask.identity(probe)
	if ctx.Err() != nil {
		return
	}
	// An operator of one namespace may lack the right to read the namespace kube-system. It does not need the identity as long as there are no
	// remote clusters, and an API server that responds so is healthy.
	if reason, refused := classify(err); refused && reason == ReasonCredentialsRefused && h.seen.identity == "" {
		err = nil
	}
	now := time.Now()
	if err == nil {
		h.seen.last = now
		h.identified(uid)
	}
	if h.asked {
		h.health = h.probing.Hysteresis.Next(h.health, now, err)
	} else {
		h.asked, h.health = true, Health{Up: err == nil, Since: now, Err: err}
	}
	f := facts{secret: secretRead, linked: true, health: h.health, successes: h.probing.Hysteresis.Successes, foreign: h.foreign}
	h.report(f.judge(), h.seen)
}

func (h *homeRun) identified(uid types.UID) {
	if uid == "" {
		return
	}
	if h.foreign = h.registry.claim(h.id, uid, ""); h.foreign == nil && h.seen.identity == "" {
		h.seen.identity = uid
		h.known()
	}
}
