package controller

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/operator/passes"
)

// conflictTimeout is how long passes end with conflicts until they count as failures. Another Kubernetes cluster is left out then, for as
// long.
const conflictTimeout = 10 * time.Second

// conflicts remembers the Kubernetes clusters whose API server rejects the writes for a Kafka, because what was read there is not what is
// there. A conflict ends the pass, which is repeated once the cache has caught up. If it does not, this must not stop the Kafka in all
// other Kubernetes clusters, and the passes must not be repeated at this rate without anybody knowing.
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

// meet notes a conflict, and reports whether conflicts last.
func (c *conflicts) meet(kafka types.NamespacedName, cluster string, err error, now time.Time) (last bool) {
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
	last = now.Sub(latest.since) >= conflictTimeout
	if last && cluster != topology.Home { // which is not left out
		latest.until = now.Add(conflictTimeout)
	}
	c.met[kafka][cluster] = latest
	return last
}

// in returns the conflict because of which a Kubernetes cluster is left out.
func (c *conflicts) in(kafka types.NamespacedName, cluster string, now time.Time) (latest unresolved, leftOut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	latest = c.met[kafka][cluster]
	return latest, now.Before(latest.until)
}

// noneMet notes that a pass met no conflict: those are over whose Kubernetes clusters were not left out.
func (c *conflicts) noneMet(kafka types.NamespacedName, now time.Time) {
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
	return lastingConflict(latest.error)
}

func lastingConflict(err error) error {
	return fmt.Errorf("writes keep conflicting: the operator's cache is behind, or another client keeps changing the objects: %w", err)
}

// lastingConflictAtHome returns the error of conflicts at home that don't end; nil if the pass is to be repeated at once.
func (r *Reconciler) lastingConflictAtHome(kafka types.NamespacedName, err error) error {
	if r.conflicts.meet(kafka, topology.Home, err, r.Now()) {
		return lastingConflict(err)
	}
	return nil
}

// afterConflict reports whether a pass that met a conflict is to be repeated at once; else it returns the error to report.
func (p *pass) afterConflict(err error) (repeat bool, report error) {
	if !isStale(err) {
		return false, err
	}
	if p.metElsewhere {
		return true, nil // that Kubernetes cluster is left out if conflicts last there
	}
	err = p.lastingConflictAtHome(client.ObjectKeyFromObject(p.kafka), err) // nil if the cache is just behind: nothing is wrong
	return err == nil, err
}

// requeueStale has a pass repeated for which the cache was behind: at once, and with back-off if that lasts.
func (r *Reconciler) requeueStale(kafka types.NamespacedName, err error) (reconcile.Result, error) {
	if err := r.lastingConflictAtHome(kafka, err); err != nil {
		r.Metrics.Reconciled(kafka.Namespace, passes.Pass{})
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: conflictDelay}, nil
}
