package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/clusters"
)

// awayDelay is after how long a deletion is requeued while a Kubernetes cluster is away. When the cluster returns, the Kafka is requeued
// immediately.
const awayDelay = 30 * time.Second

// finalize deletes the objects of a deleted stretched Kafka in other Kubernetes clusters, and removes its finalizer when they are gone.
// While one of these clusters is away, the Kafka object stays, and its status has the reason.
func (r *Reconciler) finalize(ctx context.Context, kafka *v1.Kafka) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(kafka, v1.FinalizerStretch) {
		return reconcile.Result{}, nil // what belongs to it goes with it: Kubernetes' garbage collector deletes by owner
	}
	p := r.passOver(ctx, kafka)
	p.rememberTopicOperator()
	began := r.Now()
	err := p.finalize(ctx)
	if failure, is := errors.AsType[*Failure](err); is && failure.Reason == reasonFenced {
		p.log.Info("Deleting the Kafka here, but not its objects elsewhere: another central cluster manages these now")
		err = nil
	}
	if err == nil {
		return reconcile.Result{}, r.removeFinalizer(ctx, kafka)
	}
	conflict, err := p.afterConflict(client.ObjectKeyFromObject(kafka), err)
	if conflict {
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	}
	if failure, is := errors.AsType[*Failure](err); is && failure.Stalled && failure.Reason != reasonRenamed {
		failure.Message += ". " + p.withoutFinalizer()
	}
	_, retry := p.conclude(err)
	p.report(r.Now().Sub(began))
	if err := r.writeStatus(ctx, kafka, status.Of(p.status)); err != nil && !apierrors.IsConflict(err) {
		return reconcile.Result{}, err
	}
	if retry != nil && len(p.away) == 0 && p.status.Failure.Reason != reasonDeleting {
		return reconcile.Result{}, retry
	}
	return reconcile.Result{RequeueAfter: awayDelay}, nil // watches report most of what it waits for
}

// afterConflict reports whether a deletion that met a conflict is to be repeated at once; else it returns the error to report.
func (p *pass) afterConflict(name types.NamespacedName, err error) (bool, error) {
	if p.metElsewhere {
		return true, nil // that Kubernetes cluster is left out if conflicts last there
	}
	if isStale(err) {
		err = p.lastingConflictAtHome(name, err)
		return err == nil, err
	}
	p.conflicts.noneMet(name, p.Now())
	return false, err
}

// withoutFinalizer says what happens to the objects in other Kubernetes clusters if a user removes the finalizer: see sweep.
func (p *pass) withoutFinalizer() string {
	anchor := model.AnchorName(p.kafka.Name)
	remove := fmt.Sprintf("To delete the Kafka without waiting, remove the finalizer %s from it: ", v1.FinalizerStretch)
	if p.Stretching == nil {
		return fmt.Sprintf("%sits objects in other Kubernetes clusters stay until the operator is configured for these again, or you delete "+
			"ConfigMap %s there", remove, anchor)
	}
	text := fmt.Sprintf("%sits objects in another Kubernetes cluster are deleted %s after that cluster can be reached. To keep them, delete "+
		"ConfigMap %s there first, with kubectl delete --cascade=orphan", remove, 2*p.Interval, anchor)
	for _, id := range slices.Sorted(maps.Keys(p.away)) {
		if !p.Stretching.lists(id) {
			text += fmt.Sprintf(". Those in cluster '%s' stay until STRIMZI_REMOTE_KUBE_CONFIG lists it again, or you delete ConfigMap %s there. "+
				"To wait for it no longer, annotate the Kafka %s: %s", id, anchor, v1.AnnotationGivenUpClusters, id)
		}
	}
	return text
}

// finalize deletes the anchors, and what they own unless that is to be kept. It returns nil when nothing of that remains.
func (p *pass) finalize(ctx context.Context) error {
	home := &site{cluster: topology.Home, cache: p.Cache, live: p.Live, owner: model.Owner(p.kafka)}
	if err := p.readSite(ctx, home); err != nil {
		return err
	}
	p.figures = figuresOf(home.facts, p.kafka)
	name := client.ObjectKeyFromObject(p.kafka)
	var err error
	if p.pools, _, err = facts.ReadPools(ctx, p.Live, name); err != nil {
		return err
	}
	if err := p.protect(ctx); err != nil { // here alone: a user may remove the finalizer while the deletion waits for other clusters
		return err
	}
	p.pools = nil // the deletion would wait for clusters that only these name
	if err := p.readRemotes(ctx); err != nil {
		return err
	}
	// Again, and not from the cache: a volume that its pool keeps since a moment ago is lost otherwise.
	if p.pools, _, err = facts.ReadPools(ctx, p.Live, name); err != nil {
		return err
	}
	p.giveUpDeleted()
	orphan, err := p.orphan(ctx)
	if err != nil {
		return err
	}
	if orphan {
		p.Events.Normal(p.kafka, "Orphaned", "Delete", "The objects in other Kubernetes clusters are kept, as requested by --cascade=orphan")
	}
	p.input = model.Input{Kafka: p.kafka, Settings: p.Settings}
	var pending []string
	err = p.each(func(s *site) error {
		if s.cluster == topology.Home {
			return nil
		}
		left, err := p.deleteIn(ctx, s, orphan)
		if err == nil && len(left) > 0 {
			p.mu.Lock()
			pending = append(pending, fmt.Sprintf("cluster '%s' (%s)", s.cluster, described(left)))
			p.mu.Unlock()
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(pending)
	return p.unfinished(pending)
}

// unfinished is the failure of a deletion that waits for Kubernetes clusters that are away, and for objects in others that are being
// deleted; nil if it waits for nothing.
func (p *pass) unfinished(pending []string) error {
	away := slices.Sorted(maps.Keys(p.away))
	if len(away)+len(pending) == 0 {
		return nil
	}
	problem := status.Problem{Reason: reasonDeleting}
	wayOut := fmt.Sprintf("To delete the Kafka without waiting, remove the finalizer %s from it", v1.FinalizerStretch)
	if len(away) > 0 {
		problem, wayOut = p.away[away[0]].Problem, p.withoutFinalizer()
	}
	var waits []string
	for _, id := range away {
		waits = append(waits, fmt.Sprintf("for cluster '%s', where the Kafka has objects: %s", id,
			strings.TrimSuffix(p.away[id].Message, ".")))
	}
	if len(pending) > 0 {
		waits = append(waits, "until Kubernetes has deleted the objects in "+strings.Join(pending, ", "))
	}
	problem.Message = fmt.Sprintf("The deletion waits %s. %s", strings.Join(waits, ". It waits "), wayOut)
	return &Failure{Problem: problem, Err: errors.New("objects in other clusters are not deleted yet")}
}

// deleteIn deletes the anchor in a remote Kubernetes cluster, and returns what of that which it owns is not deleted yet. With orphan, that
// is kept.
func (p *pass) deleteIn(ctx context.Context, s *site, orphan bool) ([]facts.Key, error) {
	if s.anchor != nil {
		if !orphan { // no pass may have done that since the user decided: the cluster was away, or the Kafka was deleted right after
			if err := p.protectIn(ctx, s); err != nil {
				return nil, err
			}
		}
		s.applier = &apply.Applier{Client: s.live, Kafka: p.kafka.Name, UID: s.owner.UID, Owner: new(p.owner), Orphan: orphan}
		if gone, err := p.deleteAnchor(ctx, s); err != nil {
			return nil, err
		} else if !gone {
			return nil, fmt.Errorf("ConfigMap %s is not deleted yet", s.anchor.Name)
		}
	}
	if orphan {
		return nil, nil
	}
	return p.remaining(ctx, s)
}

// orphan reports whether the deletion of the Kafka is to keep what belongs to it (kubectl delete --cascade=orphan): Kubernetes' garbage
// collector has to take it off its objects in this Kubernetes cluster, or has taken it off its record.
func (p *pass) orphan(ctx context.Context) (bool, error) {
	if controllerutil.ContainsFinalizer(p.kafka, metav1.FinalizerOrphanDependents) {
		return true, nil
	}
	if p.record.Kafka != p.kafka.UID {
		return false, nil
	}
	record := &corev1.ConfigMap{} // the cache may show it as it was before
	err := p.Live.Get(ctx, client.ObjectKey{Namespace: p.kafka.Namespace, Name: model.RecordName(p.kafka.Name)}, record)
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return !apply.OwnedBy(record, p.kafka.UID), nil
}

// orphans remembers Kafka objects that are gone, or may go, and have or had something in other Kubernetes clusters.
type orphans struct {
	mu sync.Mutex
	// since is since when anchors are known whose Kafka object is gone.
	since map[types.NamespacedName]time.Time
	// stretched are the stretched Kafkas that this process has seen.
	stretched map[types.NamespacedName]bool
	// forbidden are the namespaces of Kubernetes clusters in which anchors may not be read.
	forbidden map[string]bool
}

// first returns when an orphan was first seen; now, if it was not.
func (o *orphans) first(name types.NamespacedName, now time.Time) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since == nil {
		o.since = map[types.NamespacedName]time.Time{}
	}
	if _, seen := o.since[name]; !seen {
		o.since[name] = now
	}
	return o.since[name]
}

// exists notes that there is a Kafka object.
func (o *orphans) exists(name types.NamespacedName, stretched bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.since, name)
	if stretched {
		if o.stretched == nil {
			o.stretched = map[types.NamespacedName]bool{}
		}
		o.stretched[name] = true
	}
}

// wasStretched reports whether this process has seen a stretched Kafka of this name.
func (o *orphans) wasStretched(name types.NamespacedName) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stretched[name]
}

// deny notes that anchors may not be read there, and reports whether that is new.
func (o *orphans) deny(there string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.forbidden == nil {
		o.forbidden = map[string]bool{}
	}
	known := o.forbidden[there]
	o.forbidden[there] = true
	return !known
}

// nothingSeen notes that nothing is left of a Kafka where somebody could look. Unless that was everywhere, something may be.
func (o *orphans) nothingSeen(name types.NamespacedName, everywhere bool) {
	if everywhere {
		o.forget(name)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.since, name)
}

// forget forgets a Kafka that left nothing.
func (o *orphans) forget(name types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.since, name)
	delete(o.stretched, name)
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
	if !r.orphans.wasStretched(name) {
		reading, cancel := r.watching(ctx)
		defer cancel()
		if found, err := anchor(reading, m.Reader(), name); err == nil {
			return found, nil
		}
	}
	found, err := anchor(ctx, m.APIReader(), name)
	if apierrors.IsForbidden(err) { // then this account made nothing there, and can delete nothing
		if r.orphans.deny(m.ID() + "/" + name.Namespace) {
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
		r.orphans.nothingSeen(name, r.allConnected())
		return 0, nil
	}
	if err := r.Live.Get(ctx, name, &v1.Kafka{}); err == nil {
		r.orphans.forget(name)
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
	if wait := r.orphans.first(name, r.Now()).Add(2 * r.Interval).Sub(r.Now()); wait > 0 {
		return wait, nil
	}
	c, err := m.Client()
	if err != nil {
		return 0, err
	}
	s := &site{cluster: m.ID(), live: c, owner: anchorOwner(orphan)}
	if s.facts, err = facts.Read(ctx, c, name); err != nil {
		return 0, err
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
