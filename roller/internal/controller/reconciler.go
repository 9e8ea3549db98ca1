// Package controller is the roller as a controller: it rolls each Kafka cluster, known by its namespace and name, apart from all others.
package controller

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// Roll is the roll of one Kafka cluster. It is used by one goroutine at a time.
type Roll interface {
	// Look makes one step.
	Look(ctx context.Context) (roller.Decision, error)
	// Close gives back what the roll holds.
	Close(ctx context.Context)
}

// Reconciler rolls the Kafka clusters of the StrimziPodSets that it sees. Its requests name Kafka clusters.
type Reconciler struct {
	// Sources returns the Kubernetes clusters of the moment; their caches are read.
	Sources func() []observe.Source
	// New begins the roll of a Kafka cluster.
	New func(cluster types.NamespacedName) Roll
	// Named: the Kafka cluster was named to the roller, so that its sets need not be annotated (docs/decisions/who-rolls.md).
	Named bool
	// Interval is how often to observe a cluster without pending work, Deadline how long one observation may take.
	Interval, Deadline time.Duration
	// Events makes Events in the Kubernetes cluster of that id; nil: it can't be reached.
	Events func(place string) events.EventRecorder

	mu    sync.Mutex
	rolls map[types.NamespacedName]Roll
	alone map[types.NamespacedName]string // why a cluster is left alone
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Deadline, errors.New("the observation took too long"))
	defer cancel()
	key := request.NamespacedName
	found, err := r.find(ctx, key)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case found.gone && !r.Named:
		r.end(ctx, key, "")
		return reconcile.Result{}, nil
	case found.why != "":
		if r.end(ctx, key, found.why) {
			r.announce(ctx, key, found)
		}
		return reconcile.Result{}, nil
	}
	d, err := r.roll(key).Look(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: cmp.Or(d.Again, r.Interval)}, nil
}

// finding is the result of reading the pod sets of a Kafka cluster.
type finding struct {
	// gone: no set has nodes, in any Kubernetes cluster.
	gone bool
	// why the cluster is left alone; empty: it is not. That is due to the set in the Kubernetes cluster place.
	why   string
	set   *podset.StrimziPodSet
	place string
}

// find reads the sets in all caches. Sets in an unreadable Kubernetes cluster are unknown: if there are others, their nodes are still
// observed, and the roller restarts no node of an unknown set.
func (r *Reconciler) find(ctx context.Context, key types.NamespacedName) (finding, error) {
	found := finding{gone: true}
	for _, source := range r.Sources() {
		var sets podset.StrimziPodSetList
		err := source.Cache.List(ctx, &sets, client.InNamespace(key.Namespace), client.MatchingLabels{v1.LabelCluster: key.Name},
			client.UnsafeDisableDeepCopy)
		switch {
		case err != nil && source.ID == "":
			return finding{}, err
		case err != nil:
			found.gone = false
			continue
		}
		for i := range sets.Items {
			nodes, err := observe.DesiredNodes(&sets.Items[i])
			found.gone = found.gone && err == nil && len(nodes) == 0
		}
		if set, why := observe.LeftAlone(sets.Items, r.Named); why != "" && found.why == "" {
			found.why, found.set, found.place = why, set, source.ID
		}
	}
	return found, nil
}

// roll is the one of this cluster.
func (r *Reconciler) roll(key types.NamespacedName) Roll {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rolls == nil {
		r.rolls, r.alone = map[types.NamespacedName]Roll{}, map[types.NamespacedName]string{}
	}
	delete(r.alone, key)
	if _, there := r.rolls[key]; !there {
		r.rolls[key] = r.New(key)
	}
	return r.rolls[key]
}

// end ends the roll of a cluster, if there is one, and notes why. It reports whether that is news.
func (r *Reconciler) end(ctx context.Context, key types.NamespacedName, why string) bool {
	r.mu.Lock()
	roll, rolling := r.rolls[key]
	delete(r.rolls, key)
	news := why != r.alone[key]
	delete(r.alone, key)
	if why != "" {
		if r.alone == nil {
			r.alone = map[types.NamespacedName]string{}
		}
		r.alone[key] = why
	}
	r.mu.Unlock()
	if rolling {
		roll.Close(ctx)
	}
	return news
}

// announce reports once why a cluster is skipped.
func (r *Reconciler) announce(ctx context.Context, key types.NamespacedName, f finding) {
	logr.FromContextOrDiscard(ctx).Info("Skipping the Kafka cluster", "namespace", key.Namespace, "cluster", key.Name, "why", f.why)
	if recorder := r.Events(f.place); recorder != nil {
		set := f.set.DeepCopy()
		set.APIVersion, set.Kind = podset.GroupVersion.String(), "StrimziPodSet"
		recorder.Eventf(set, nil, corev1.EventTypeNormal, "LeftAlone", "Roll", "%s", "The roller skips Kafka cluster "+key.Name+": "+f.why)
	}
}

// Close ends all rolls.
func (r *Reconciler) Close(ctx context.Context) {
	r.mu.Lock()
	rolls := r.rolls
	r.rolls = nil
	r.mu.Unlock()
	var all sync.WaitGroup
	for _, roll := range rolls {
		all.Go(func() { roll.Close(ctx) })
	}
	all.Wait()
}
