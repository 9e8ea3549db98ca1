// Package controller runs the roller as a controller: it rolls each Kafka cluster, identified by its namespace and name, independent of the
// others.
package controller

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// Roll is the roll of one Kafka cluster. Only one goroutine at a time uses it.
type Roll interface {
	// Look executes one step.
	Look(ctx context.Context) (roller.Decision, error)
	// Close releases the resources of the roll.
	Close(ctx context.Context)
}

// exclusive is a roll that is used by one goroutine at a time.
type exclusive struct {
	Roll
	turn chan struct{} // a mutex, as a channel, so that a caller can stop waiting
}

// take waits until no other goroutine uses the roll; it returns false if ctx ends first.
func (e exclusive) take(ctx context.Context) bool {
	select {
	case e.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (e exclusive) look(ctx context.Context) (roller.Decision, error) {
	if !e.take(ctx) {
		return roller.Decision{}, context.Cause(ctx)
	}
	defer func() { <-e.turn }()
	return e.Look(ctx)
}

// Reconciler rolls the Kafka clusters of the StrimziPodSets that it sees. Its requests name Kafka clusters.
type Reconciler struct {
	// Sources returns the connected Kubernetes clusters; the reconciler reads their caches.
	Sources func() []observe.Source
	// Connected, if set, yields the id of another Kubernetes cluster each time it is connected, at first of those that are, until ctx ends.
	Connected func(ctx context.Context) iter.Seq[string]
	// New starts the roll of a Kafka cluster.
	New func(cluster types.NamespacedName) Roll
	// Named means that the settings name the Kafka cluster, so that its sets need no annotation (docs/decisions/who-rolls.md).
	Named bool
	// Interval is how often to observe a cluster without pending work, Deadline how long one observation may take.
	Interval, Deadline time.Duration
	// Record records an Event about an object of the Kubernetes cluster with that id.
	Record func(place string, about runtime.Object, reason, action, note string)
	// Passing, if set, records that a pass over a cluster begins, and returns what records its end.
	Passing func(cluster types.NamespacedName) (end func())

	mu    sync.Mutex
	rolls map[types.NamespacedName]exclusive
	// skipped are the findings of the Kafka clusters that are skipped.
	skipped map[types.NamespacedName]finding
	// places are the Kubernetes clusters in which a cluster had nodes when they could be read.
	places map[types.NamespacedName]map[string]bool
	// sets are the uids of the sets of a cluster, by Kubernetes cluster.
	sets map[types.NamespacedName]map[string][]types.UID
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if r.Passing != nil {
		defer r.Passing(request.NamespacedName)()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.Deadline, errors.New("the observation took too long"))
	defer cancel()
	key := request.NamespacedName
	found, err := r.find(ctx, key)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case found.gone && !r.Named:
		r.end(ctx, key, finding{gone: true})
		return reconcile.Result{}, nil
	case found.why != "":
		if r.end(ctx, key, found) {
			r.announce(ctx, key, found)
		}
		return reconcile.Result{}, nil
	}
	if r.replaced(key, found.sets) {
		r.end(ctx, key, finding{})
	}
	d, err := r.roll(key).look(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: cmp.Or(d.Again, r.Interval)}, nil
}

// finding is the result of reading the pod sets of a Kafka cluster.
type finding struct {
	// gone means that no set has nodes, in any Kubernetes cluster that can be read, nor had in any other.
	gone bool
	// places are the Kubernetes clusters in which sets have nodes, or had when they could be read.
	places map[string]bool
	// why the cluster is skipped, because of the set in the Kubernetes cluster place; empty if it is not.
	why   string
	set   *core.StrimziPodSet
	place string
	// refusals are the reasons to skip it, by Kubernetes cluster.
	refusals map[string]string
	// sets are the uids of all sets, by Kubernetes cluster; those that were read before if it can't be read.
	sets map[string][]types.UID
}

// refuse adds a reason to skip the cluster.
func (f *finding) refuse(place string, set *core.StrimziPodSet, why string) {
	if why == "" {
		return
	}
	if f.refusals == nil {
		f.refusals = map[string]string{}
		f.why, f.set, f.place = why, set, place
	}
	f.refusals[place] = why
}

// addPlace adds a Kubernetes cluster in which sets have nodes.
func (f *finding) addPlace(place string) {
	if f.places == nil {
		f.places = map[string]bool{}
	}
	f.gone, f.places[place] = false, true
}

// find reads the sets in all caches. Sets in an unreadable Kubernetes cluster are unknown: if there are others, their nodes are still
// observed, and the roller restarts no node of an unknown set. A set that excluded the Kafka cluster before does so until it can be read
// again.
func (r *Reconciler) find(ctx context.Context, key types.NamespacedName) (finding, error) {
	found := finding{gone: true, sets: map[string][]types.UID{}}
	before, had := r.before(key)
	known := r.known(key)
	for _, source := range r.Sources() {
		var sets core.StrimziPodSetList
		err := source.Cache.List(ctx, &sets, client.InNamespace(key.Namespace), client.MatchingLabels{v1.LabelCluster: key.Name},
			client.UnsafeDisableDeepCopy)
		switch {
		case err != nil && source.ID == "":
			return finding{}, err
		case err != nil:
			// Of most names with the label there is nothing: a KafkaConnect has it, too.
			if had[source.ID] {
				found.addPlace(source.ID)
			}
			found.sets[source.ID] = known[source.ID]
			found.refuse(source.ID, nil, before.refusals[source.ID])
			continue
		}
		for i := range sets.Items {
			found.sets[source.ID] = append(found.sets[source.ID], sets.Items[i].UID)
			if nodes, err := observe.DesiredNodes(&sets.Items[i]); err != nil || len(nodes) > 0 {
				found.addPlace(source.ID)
			}
		}
		set, why := observe.ExcludedBy(sets.Items, r.Named)
		found.refuse(source.ID, set, why)
	}
	r.remember(key, found.places)
	return found, nil
}

// known returns the uids of the sets that a cluster had before.
func (r *Reconciler) known(key types.NamespacedName) map[string][]types.UID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sets[key]
}

// replaced reports whether none of the sets exists any more that a cluster had when it was last looked at: a Kafka that is made again under
// the same name is another one, to which the clients of the old one, bound to its id, do not talk.
func (r *Reconciler) replaced(key types.NamespacedName, now map[string][]types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.sets[key]
	_, rolling := r.rolls[key]
	if r.sets == nil {
		r.sets = map[types.NamespacedName]map[string][]types.UID{}
	}
	r.sets[key] = now
	sets := 0
	for place, uids := range now {
		sets += len(uids)
		if slices.ContainsFunc(uids, func(id types.UID) bool { return slices.Contains(before[place], id) }) {
			return false
		}
	}
	for _, uids := range before {
		sets += len(uids)
	}
	return rolling && sets > 0
}

// roll returns the roll of this cluster.
func (r *Reconciler) roll(key types.NamespacedName) exclusive {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rolls == nil {
		r.rolls, r.skipped = map[types.NamespacedName]exclusive{}, map[types.NamespacedName]finding{}
	}
	delete(r.skipped, key)
	if _, there := r.rolls[key]; !there {
		r.rolls[key] = exclusive{r.New(key), make(chan struct{}, 1)}
	}
	return r.rolls[key]
}

// before returns why a cluster was skipped before, and the Kubernetes clusters in which it had nodes.
func (r *Reconciler) before(key types.NamespacedName) (finding, map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.skipped[key], r.places[key]
}

// remember remembers the Kubernetes clusters in which a cluster has nodes.
func (r *Reconciler) remember(key types.NamespacedName, places map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.places, key)
	if len(places) == 0 {
		return
	}
	if r.places == nil {
		r.places = map[types.NamespacedName]map[string]bool{}
	}
	r.places[key] = places
}

// end ends the roll of a cluster, if there is one, and records why. It reports whether the reason is new.
func (r *Reconciler) end(ctx context.Context, key types.NamespacedName, found finding) bool {
	r.mu.Lock()
	roll, rolling := r.rolls[key]
	delete(r.rolls, key)
	if found.gone || found.why != "" {
		delete(r.sets, key)
	}
	news := found.why != r.skipped[key].why
	delete(r.skipped, key)
	if found.why != "" {
		if r.skipped == nil {
			r.skipped = map[types.NamespacedName]finding{}
		}
		r.skipped[key] = found
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
	if f.set == nil {
		return // it was read before, and the place of its Event can't be reached now
	}
	set := f.set.DeepCopy()
	set.APIVersion, set.Kind = core.GroupVersion.String(), "StrimziPodSet"
	r.Record(f.place, set, "LeftAlone", "Roll", "The roller skips Kafka cluster "+key.Name+": "+f.why)
}

// lastLooks is how long Close waits for looks after it has cancelled their contexts.
const lastLooks = 3 * time.Second

// Close ends all rolls. It may be called while looks run, because a manager that loses its Lease does not wait for them. A roll whose look
// does not end is left as it is, for a process that exits: the Lease of its Kafka cluster expires.
func (r *Reconciler) Close(ctx context.Context) {
	r.mu.Lock()
	rolls := r.rolls
	r.rolls = nil
	r.mu.Unlock()
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLooks)
	defer cancel()
	var all sync.WaitGroup
	for _, roll := range rolls {
		all.Go(func() {
			if roll.take(patient) {
				roll.Close(ctx)
			}
		})
	}
	all.Wait()
}
