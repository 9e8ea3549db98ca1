package health

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Passes contains the passes of a reconciler that are running. A nil *Passes contains none.
type Passes struct {
	kind  string
	limit time.Duration
	now   func() time.Time

	mu      sync.Mutex
	running map[types.NamespacedName]time.Time // value: start of the pass
}

// NewPasses returns the passes over objects of a kind, none of which may take longer than limit.
func NewPasses(kind string, limit time.Duration, now func() time.Time) *Passes {
	return &Passes{kind: kind, limit: limit, now: now, running: map[types.NamespacedName]time.Time{}}
}

// Start records that a pass over an object starts; the caller calls end when it ends.
func (p *Passes) Start(key types.NamespacedName) (end func()) {
	if p == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[key] = p.now()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.running, key)
	}
}

// Running reports whether a pass over the object is running.
func (p *Passes) Running(key types.NamespacedName) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.running[key]
	return ok
}

// Healthy is a Check of /healthy. It fails if a pass has been running for more than twice its limit: it hangs, and only a restart helps.
func (p *Passes) Healthy(context.Context) error {
	key, since := p.oldest()
	if since.IsZero() {
		return nil
	}
	if took := p.now().Sub(since); took > 2*p.limit {
		return fmt.Errorf("the reconciliation of %s %s has been running for %s, and must not take longer than %s", p.kind, key,
			took.Round(time.Second), p.limit)
	}
	return nil
}

// oldest returns the pass that has been running longest, and since when; the zero time if none runs.
func (p *Passes) oldest() (oldest types.NamespacedName, since time.Time) {
	if p == nil {
		return oldest, since
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, began := range p.running {
		if since.IsZero() || began.Before(since) {
			oldest, since = key, began
		}
	}
	return oldest, since
}
