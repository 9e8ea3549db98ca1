package controller

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// conflictTimeout is how long passes end with conflicts in another Kubernetes cluster until that cluster is left out, and for how long it
// is left out then.
const conflictTimeout = 10 * time.Second

// conflicts remembers the other Kubernetes clusters whose API server rejects the writes for a Kafka, because what was read there is not
// what is there. A conflict ends the pass, which is repeated once the cache has caught up. If it does not, this must not stop the Kafka in
// all other Kubernetes clusters.
type conflicts struct {
	mu  sync.Mutex
	met map[types.NamespacedName]map[string]unresolved
}

// unresolved is the latest conflict in a Kubernetes cluster.
type unresolved struct {
	error
	// since is when the first conflict in a row was met. The cluster is left out before until.
	since, until time.Time
}

// meet notes a conflict.
func (c *conflicts) meet(kafka types.NamespacedName, cluster string, err error, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.met == nil {
		c.met = map[types.NamespacedName]map[string]unresolved{}
	}
	if c.met[kafka] == nil {
		c.met[kafka] = map[string]unresolved{}
	}
	latest := unresolved{error: err, since: now}
	if earlier, is := c.met[kafka][cluster]; is {
		latest.since = earlier.since
	}
	if now.Sub(latest.since) >= conflictTimeout {
		latest.until = now.Add(conflictTimeout)
	}
	c.met[kafka][cluster] = latest
}

// in returns the conflict because of which a Kubernetes cluster is left out.
func (c *conflicts) in(kafka types.NamespacedName, cluster string, now time.Time) (latest unresolved, leftOut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	latest = c.met[kafka][cluster]
	return latest, now.Before(latest.until)
}

// end notes that a pass met no conflict: those are over whose Kubernetes clusters were not left out.
func (c *conflicts) end(kafka types.NamespacedName, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for cluster, latest := range c.met[kafka] {
		if !now.Before(latest.until) {
			delete(c.met[kafka], cluster)
		}
	}
	if len(c.met[kafka]) == 0 {
		delete(c.met, kafka)
	}
}

// forget forgets a Kafka.
func (c *conflicts) forget(kafka types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.met, kafka)
}

// checkConflicts fails if conflicts in another Kubernetes cluster don't end, and has it tried again after a while.
func (p *pass) checkConflicts(cluster string) error {
	now := p.Now()
	latest, leftOut := p.conflicts.in(client.ObjectKeyFromObject(p.kafka), cluster, now)
	if !leftOut {
		return nil
	}
	p.requeueAfter(latest.until.Sub(now))
	return fmt.Errorf("writes keep conflicting: the operator's cache is behind, or another client keeps changing the objects: %w",
		latest.error)
}
