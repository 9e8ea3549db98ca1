package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
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
	conflict := isStale(err)
	repeat, err := p.afterConflict(err)
	if repeat {
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	}
	if !conflict {
		r.conflicts.noneMet(client.ObjectKeyFromObject(kafka), r.Now())
	}
	if failure, is := errors.AsType[*Failure](err); is && failure.Stalled && failure.Reason != reasonRenamed {
		failure.Message += ". " + p.withoutFinalizer()
	}
	_, retry := p.conclude(err)
	p.count(r.Now().Sub(began))
	p.tell(kafka.Status)
	if err := r.writeStatus(ctx, kafka, status.Of(p.status)); err != nil && !apierrors.IsConflict(err) {
		return reconcile.Result{}, err
	}
	if retry != nil && len(p.away) == 0 && p.status.Failure.Reason != reasonDeleting {
		return reconcile.Result{}, retry
	}
	return reconcile.Result{RequeueAfter: awayDelay}, nil // watches report most of what it waits for
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
	if err := p.checkDeleted(ctx); err != nil {
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

// checkDeleted checks that the Kafka still is the one that is being deleted. The cache may show an earlier one, whose objects in other
// Kubernetes clusters are those of the next by now.
func (p *pass) checkDeleted(ctx context.Context) error {
	live := &v1.Kafka{}
	name := client.ObjectKeyFromObject(p.kafka)
	if err := p.Live.Get(ctx, name, live); client.IgnoreNotFound(err) != nil {
		return err
	}
	if live.UID != p.kafka.UID {
		return fmt.Errorf("read Kafka %s: %w", name, errBehind)
	}
	return nil
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
