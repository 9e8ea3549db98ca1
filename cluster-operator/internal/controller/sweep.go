package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/clusters"
)

// leftovers remembers Kafka objects that are gone, or may go, and have or had something in other Kubernetes clusters.
type leftovers struct {
	mu sync.Mutex
	// since is since when anchors are known whose Kafka object is gone.
	since map[types.NamespacedName]time.Time
	// stretched are the stretched Kafkas that this process has seen.
	stretched map[types.NamespacedName]bool
	// forbidden are the namespaces of Kubernetes clusters in which anchors may not be read.
	forbidden map[string]bool
}

// seenSince returns when an orphan was first seen; now, if it was not.
func (l *leftovers) seenSince(name types.NamespacedName, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since == nil {
		l.since = map[types.NamespacedName]time.Time{}
	}
	if _, seen := l.since[name]; !seen {
		l.since[name] = now
	}
	return l.since[name]
}

// noteExists notes that there is a Kafka object.
func (l *leftovers) noteExists(name types.NamespacedName, stretched bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.since, name)
	if stretched {
		if l.stretched == nil {
			l.stretched = map[types.NamespacedName]bool{}
		}
		l.stretched[name] = true
	}
}

// wasStretched reports whether this process has seen a stretched Kafka of this name.
func (l *leftovers) wasStretched(name types.NamespacedName) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stretched[name]
}

// noteForbidden notes that anchors may not be read there, and reports whether that is new.
func (l *leftovers) noteForbidden(there string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.forbidden == nil {
		l.forbidden = map[string]bool{}
	}
	known := l.forbidden[there]
	l.forbidden[there] = true
	return !known
}

// noteNothingLeft notes that nothing is left of a Kafka where somebody could look. Unless that was everywhere, something may be.
func (l *leftovers) noteNothingLeft(name types.NamespacedName, everywhere bool) {
	if everywhere {
		l.forget(name)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.since, name)
}

// forget forgets a Kafka that left nothing.
func (l *leftovers) forget(name types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.since, name)
	delete(l.stretched, name)
}

// orphanedAnchor returns the anchor that a deleted Kafka of this name has in another Kubernetes cluster; nil if there is none, it
// belongs to another Kafka, or it does not show whose it is.
func (r *Reconciler) orphanedAnchor(ctx context.Context, m Member, name types.NamespacedName) (*corev1.ConfigMap, error) {
	if m.Status().State != clusters.Connected {
		return nil, nil // when it returns, it wakes the Kafkas whose anchors are there
	}
	orphan, err := r.lookForAnchor(ctx, m, name)
	if err != nil || orphan == nil || orphan.DeletionTimestamp != nil || ownership.Restored(orphan, "ConfigMap") {
		return nil, err
	}
	holder, err := ownership.ParseHolder(orphan.Data[anchorHolder])
	if err != nil || holder.Central != r.Stretching.Central || holder.Cluster != r.Stretching.home().Status().Identity ||
		!holds(orphan, holder) {
		return nil, nil // it belongs to another Kafka, or shows nothing
	}
	return orphan, nil
}

// lookForAnchor reads the anchor that a Kafka which is gone may have left. The cache is enough for most names, which never were a stretched
// Kafka's: those of a KafkaConnect, for example. It does not hold an anchor without the Kafka's label, so the API server is asked, too,
// about a Kafka that this process has seen.
func (r *Reconciler) lookForAnchor(ctx context.Context, m Member, name types.NamespacedName) (*corev1.ConfigMap, error) {
	if !r.leftovers.wasStretched(name) {
		reading, cancel := r.watching(ctx)
		defer cancel()
		if found, err := anchor(reading, m.Reader(), name); err == nil {
			return found, nil
		}
	}
	found, err := anchor(ctx, m.APIReader(), name)
	if apierrors.IsForbidden(err) { // then this account made nothing there, and can delete nothing
		if r.leftovers.noteForbidden(m.ID() + "/" + name.Namespace) {
			log.FromContext(ctx).Info("Not looking for what deleted Kafkas left in a namespace: the operator's account may not read it",
				"cluster", m.ID(), "namespace", name.Namespace, "error", err.Error())
		}
		return nil, nil
	}
	return found, err
}

// sweep deletes what a Kafka left in other Kubernetes clusters whose object was deleted without its finalizer. Only what names this very
// Kubernetes cluster as its holder is this operator's to delete. It waits for two intervals: an object that was restored from a backup
// takes its nodes over again. A Kubernetes cluster that fails holds up no other.
func (r *Reconciler) sweep(ctx context.Context, name types.NamespacedName) (next time.Duration, err error) {
	if r.Stretching == nil || r.Stretching.home() == nil {
		return 0, nil
	}
	left := askRemotes(r, func(m Member) (*corev1.ConfigMap, error) { return r.orphanedAnchor(ctx, m, name) })
	left = slices.DeleteFunc(left, func(a answer[*corev1.ConfigMap]) bool { return a.value == nil && a.err == nil })
	if len(left) == 0 {
		r.leftovers.noteNothingLeft(name, r.allConnected())
		return 0, nil
	}
	if err := r.Live.Get(ctx, name, &v1.Kafka{}); err == nil {
		r.leftovers.forget(name)
		return 0, nil // it exists but this operator does not watch it
	} else if !apierrors.IsNotFound(err) {
		return 0, err
	}
	if keep, err := r.orphaned(ctx, name); err != nil || keep {
		return 0, err
	}
	waits := make([]time.Duration, len(left))
	r.atOnce(len(left), func(i int) {
		if left[i].err == nil {
			waits[i], left[i].err = r.sweepIn(ctx, left[i].member, name, left[i].value)
		}
	})
	var errs []error
	for i, in := range left {
		if in.err != nil {
			errs = append(errs, fmt.Errorf("sweep cluster '%s': %w", in.member.ID(), in.err))
		}
		if next == 0 || waits[i] > 0 && waits[i] < next {
			next = waits[i]
		}
	}
	return next, errors.Join(errs...)
}

// allConnected reports whether all other Kubernetes clusters can be read.
func (r *Reconciler) allConnected() bool {
	return !slices.ContainsFunc(r.Stretching.Members(), func(m Member) bool { return m.Status().State != clusters.Connected })
}

// orphaned reports whether the deletion of a Kafka was to keep its objects: Kubernetes' garbage collector took it off its record instead of
// deleting that.
func (r *Reconciler) orphaned(ctx context.Context, name types.NamespacedName) (bool, error) {
	record := &corev1.ConfigMap{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: name.Namespace, Name: model.RecordName(name.Name)}, record)
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if record.Data[recordKey] == "" || slices.ContainsFunc(record.OwnerReferences,
		func(owner metav1.OwnerReference) bool { return owner.Kind == "Kafka" }) {
		return false, nil
	}
	log.FromContext(ctx).Info("Keeping what a deleted Kafka has in other Kubernetes clusters: its deletion was to keep its objects",
		"configMap", record.Name)
	return true, nil
}

// sweepIn deletes an anchor that a deleted Kafka left in a Kubernetes cluster, or returns after how long. Volumes that its user wants to
// keep stay: no pass may have seen to that before the Kafka was gone.
func (r *Reconciler) sweepIn(ctx context.Context, m Member, name types.NamespacedName, orphan *corev1.ConfigMap) (time.Duration, error) {
	if wait := r.leftovers.seenSince(name, r.Now()).Add(2 * r.Interval).Sub(r.Now()); wait > 0 {
		return wait, nil
	}
	c, err := m.Client()
	if err != nil {
		return 0, err
	}
	s := &site{cluster: m.ID(), live: c, owner: anchorOwner(orphan), facts: facts.Cluster{Objects: map[facts.Key]client.Object{}}}
	var claims corev1.PersistentVolumeClaimList // what else it has is not kept
	of := client.MatchingLabels{v1.LabelCluster: name.Name}
	if err := m.APIReader().List(ctx, &claims, client.InNamespace(name.Namespace), of); err != nil {
		return 0, err
	}
	for i := range claims.Items {
		s.facts.Objects[facts.Key{Kind: "PersistentVolumeClaim", Name: claims.Items[i].Name}] = &claims.Items[i]
	}
	p := &pass{Reconciler: r, log: log.FromContext(ctx),
		kafka: &v1.Kafka{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}}
	if p.pools, _, err = facts.ReadPools(ctx, r.Live, name); err != nil {
		return 0, err
	}
	if err := p.protectIn(ctx, s); err != nil {
		return 0, err
	}
	p.log.Info("Deleting the objects of a deleted Kafka", "cluster", m.ID(), "configMap", orphan.Name)
	err = c.Delete(ctx, orphan, client.Preconditions{UID: &orphan.UID, ResourceVersion: &orphan.ResourceVersion},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	return 0, client.IgnoreNotFound(err)
}
