package controller

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// watched passes the events that require a reconciliation. It filters out the operator's own writes, which change nothing that it depends
// on. It also counts objects, because it sees every event.
func (r *Reconciler) watched() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			r.seen(e.Object)
			r.countLocked(e.Object)
			return true
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			r.seen(e.ObjectNew)
			useFinalizers := r.options.UseFinalizers && !r.memory.refuses(e.ObjectNew.GetUID())
			asked := asksForPass(e.ObjectOld, e.ObjectNew, useFinalizers)
			if asked {
				r.countLocked(e.ObjectNew)
			}
			return asked
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			key := client.ObjectKeyFromObject(e.Object)
			r.metrics.ResourceGone(key)
			if r.vanish.ends(key, e.Object.GetUID()) {
				return true // the new object keeps the topic
			}
			if kt, ok := e.Object.(*v1.KafkaTopic); ok && r.takesTopicAlong(e, kt) && r.elected() && r.ownsTopicOf(kt) {
				r.vanish.put(key, kt)
			} else if ok && e.DeleteStateUnknown && !r.options.UseFinalizers && r.elected() && r.ownsTopicOf(kt) {
				r.reportMissed(kt)
			}
			return true
		},
		GenericFunc: func(event.GenericEvent) bool { return true },
	}
}

func (r *Reconciler) seen(o client.Object) {
	if kt, ok := o.(*v1.KafkaTopic); ok {
		r.metrics.ResourceSeen(client.ObjectKeyFromObject(kt), kt.IsPaused())
	}
}

// countLocked counts an event that has to wait for a running pass over its object.
func (r *Reconciler) countLocked(o client.Object) {
	if key := client.ObjectKeyFromObject(o); r.busy.Running(key) {
		r.metrics.Locked(key.Namespace)
	}
}

// asksForPass reports whether a change requires a pass. The generation counts changes of the specification, and the start of a deletion.
func asksForPass(before, after client.Object, useFinalizers bool) bool {
	switch {
	case before.GetUID() != after.GetUID(),
		before.GetGeneration() != after.GetGeneration(),
		before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero(),
		!maps.Equal(before.GetLabels(), after.GetLabels()),
		!maps.Equal(before.GetAnnotations(), after.GetAnnotations()):
		return true
	}
	kb, okBefore := before.(*v1.KafkaTopic)
	ka, okAfter := after.(*v1.KafkaTopic)
	if !okBefore || !okAfter {
		return true
	}
	// Another client removed the finalizer, or added one although the operator works without.
	return ownership.HasFinalizer(kb) != ownership.HasFinalizer(ka) && ownership.HasFinalizer(ka) != useFinalizers
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// rivals requeues the other claimants of a topic when a claimant is created, deleted or changes its claim, so that refused ones recover at
// once and not at the timer (docs/decisions/claims.md).
func (r *Reconciler) rivals() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { r.askRivals(ctx, e.Object, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { r.askRivals(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, okBefore := e.ObjectOld.(*v1.KafkaTopic)
			after, okAfter := e.ObjectNew.(*v1.KafkaTopic)
			if !okBefore || !okAfter || r.claimOf(before) == r.claimOf(after) {
				return
			}
			r.askRivals(ctx, before, q)
			r.askRivals(ctx, after, q)
		},
	}
}

// claimAs contains the fields that make a KafkaTopic a rival of another one.
type claimAs struct {
	topic, clusterID                     string
	selected, managed, holding, released bool
}

func (r *Reconciler) claimOf(kt *v1.KafkaTopic) claimAs {
	return claimAs{topic: ownership.ClaimedName(kt), clusterID: kt.Status.ClusterID, selected: r.options.Selects(kt.Labels),
		managed: kt.IsManaged(), holding: kt.Status.TopicID != "", released: r.released(kt)}
}

func (r *Reconciler) askRivals(ctx context.Context, o client.Object, q queue) {
	kt, ok := o.(*v1.KafkaTopic)
	if !ok {
		return
	}
	claimants, err := r.options.Claims.Of(ctx, ownership.ClaimedName(kt))
	if err != nil {
		log.FromContext(ctx).Error(err, "Failed to requeue the rivals of a KafkaTopic; they are reconciled at the next interval", "KafkaTopic",
			client.ObjectKeyFromObject(kt))
		return
	}
	for i := range claimants {
		if key := client.ObjectKeyFromObject(&claimants[i]); key != client.ObjectKeyFromObject(kt) {
			q.Add(reconcile.Request{NamespacedName: key})
		}
	}
}

// Unready selects the KafkaTopics that are not Ready: they may be once Kafka accepts the operator's login.
func Unready(kt *v1.KafkaTopic) bool { return !topic.IsReady(kt) }

// Requeue requeues each watched KafkaTopic that f selects, for a reason outside of the objects, such as a new namespace policy or a Kafka
// cluster that is back. It returns when all are queued, or ctx ends.
func (r *Reconciler) Requeue(ctx context.Context, f func(*v1.KafkaTopic) bool) error {
	var list v1.KafkaTopicList
	if err := r.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the KafkaTopics to requeue: %w", err)
	}
	for i := range list.Items {
		if !f(&list.Items[i]) {
			continue
		}
		select {
		case r.again <- event.GenericEvent{Object: &list.Items[i]}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
