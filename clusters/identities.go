package clusters

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// claims record which id belongs to which cluster.
type claims struct {
	// held maps each member to the cluster that it is, or was, connected to. An entry stays until the member leaves.
	held map[string]types.UID
	// sighted maps each member to the cluster that its newest credentials lead to, accepted or not.
	sighted map[string]types.UID
}

// judge returns an error unless the id may stand for the cluster that it leads to. It is pure.
//
// If two ids lead to the same cluster, the one that holds it keeps it. If none does, none gets it: it is unknown which of them is right,
// and the wrong one would put one cluster's objects into another.
func (c claims) judge(id string, found, expected types.UID) error {
	if held, ok := c.held[id]; ok && expected == "" {
		expected = held
	}
	if expected != "" && expected != found {
		return refuse(ReasonIdentityChanged,
			"the credentials point to another cluster than before: its identity (uid of the namespace kube-system) is %s, want %s",
			found, expected)
	}
	if c.held[id] == found {
		return nil
	}
	for _, others := range []map[string]types.UID{c.held, c.sighted} {
		for _, other := range slices.Sorted(maps.Keys(others)) {
			if other != id && others[other] == found {
				return refuse(ReasonSameCluster, "the credentials point to the same cluster as those of %s (uid of the namespace kube-system: %s)",
					other, found)
			}
		}
	}
	return nil
}

// registry holds the claims of all members of a Set.
type registry struct {
	mu     sync.Mutex
	claims claims
}

func newRegistry() *registry {
	return &registry{claims: claims{held: map[string]types.UID{}, sighted: map[string]types.UID{}}}
}

// observe records the cluster that an id's newest credentials lead to; empty if it is unknown.
func (r *registry) observe(id string, found types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found == "" {
		delete(r.claims.sighted, id)
		return
	}
	r.claims.sighted[id] = found
}

// claim judges whether the id may stand for the cluster. If so, the id holds the cluster.
func (r *registry) claim(id string, found, expected types.UID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.claims.judge(id, found, expected); err != nil {
		return err
	}
	r.claims.held[id] = found
	return nil
}

// forget drops all records of an id that has left.
func (r *registry) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.claims.held, id)
	delete(r.claims.sighted, id)
}

// assembly makes members that start together wait until each has found the cluster that its credentials lead to. Otherwise, the faster one
// of two that lead to the same cluster would be connected, and after the next restart perhaps the other.
type assembly struct {
	mu      sync.Mutex
	missing map[string]bool
	done    chan struct{}
}

func assemble(ids []string) *assembly {
	a := &assembly{missing: map[string]bool{}, done: make(chan struct{})}
	for _, id := range ids {
		a.missing[id] = true
	}
	if len(ids) == 0 {
		close(a.done)
	}
	return a
}

// arrive records that the first attempt of an id has ended, or will not be made.
func (a *assembly) arrive(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.missing[id] {
		return
	}
	delete(a.missing, id)
	if len(a.missing) == 0 {
		close(a.done)
	}
}

// wait waits until all have arrived. When the timeout of one caller ends, no caller waits for the missing ones any longer.
func (a *assembly) wait(ctx context.Context, timeout time.Duration) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-a.done:
	case <-ctx.Done():
	case <-timer.C:
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.missing) > 0 {
			clear(a.missing)
			close(a.done)
		}
	}
}
