package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/clusters"
)

// WatchClusters watches what Kafkas have in other Kubernetes clusters, for as long as each is configured, and in all of them what their
// network provider planned, in these namespaces. A cluster that is lost, or returns, wakes all stretched Kafkas, and those that left
// something there. The metrics show which operators live there.
func (r *Reconciler) WatchClusters(mgr ctrl.Manager, c controller.Controller, set *clusters.Set, namespaces map[string]cache.Config) error {
	set.OnJoin(func(ctx context.Context, m *clusters.Member) error {
		if m.Home() {
			return nil // the manager's own watches see to that
		}
		objects := m.Cluster().GetCache()
		enqueue := handler.EnqueueRequestsFromMapFunc(ofCluster)
		for _, kind := range facts.Kinds() {
			if err := c.Watch(clusters.Until(ctx, source.Kind(objects, kind, enqueue))); err != nil {
				return err
			}
		}
		return c.Watch(clusters.Until(ctx, source.Kind[client.Object](objects, &corev1.Pod{}, enqueue, placed())))
	})
	changes := make(chan event.GenericEvent)
	if err := c.Watch(source.Channel(changes, &handler.EnqueueRequestForObject{})); err != nil {
		return err
	}
	wake := func(ctx context.Context) {
		if err := r.wakeStretched(ctx, changes); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to list stretched Kafkas")
		}
		r.wakeLeft(ctx, changes)
	}
	set.OnJoin(func(ctx context.Context, m *clusters.Member) error {
		return r.plannedWatches.join(ctx, c, m, namespaces, wake, mgr.GetLogger())
	})
	if err := mgr.Add(manager.RunnableFunc(r.watchRemoteOperators)); err != nil {
		return err
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		for range set.Subscribe(ctx) {
			wake(ctx)
		}
		return nil
	}))
}

// wakeStretched has all stretched Kafkas reconciled, and those that may wait for a Kubernetes cluster without being stretched.
func (r *Reconciler) wakeStretched(ctx context.Context, changes chan<- event.GenericEvent) error {
	var kafkas v1.KafkaList
	if err := r.Cache.List(ctx, &kafkas); err != nil {
		return err
	}
	for i := range kafkas.Items {
		if (&pass{kafka: &kafkas.Items[i]}).stretched() || !wasReady(&kafkas.Items[i]) {
			requeue(ctx, changes, &kafkas.Items[i])
		}
	}
	return nil
}

// requeue has a Kafka reconciled, unless the operator stops.
func requeue(ctx context.Context, changes chan<- event.GenericEvent, kafka *v1.Kafka) {
	select {
	case <-ctx.Done():
	case changes <- event.GenericEvent{Object: kafka}:
	}
}

// wakeLeft has the Kafkas reconciled whose anchors are in the Kubernetes clusters that are connected: one that was deleted is swept there.
func (r *Reconciler) wakeLeft(ctx context.Context, changes chan<- event.GenericEvent) {
	reading, cancel := r.watching(ctx)
	defer cancel()
	anchors := askRemotes(r, func(m Member) (list corev1.ConfigMapList, err error) {
		if m.Status().State != clusters.Connected {
			return list, nil // its return is told again
		}
		return list, m.Reader().List(reading, &list, client.MatchingLabels{core.LabelComponentType: model.ComponentAnchor})
	})
	for _, in := range anchors {
		if in.err != nil {
			ctrl.LoggerFrom(ctx).Error(in.err, "Failed to list what deleted Kafkas left", "cluster", in.member.ID())
		}
		for i := range in.value.Items {
			for _, request := range ofCluster(ctx, &in.value.Items[i]) {
				requeue(ctx, changes, &v1.Kafka{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name}})
			}
		}
	}
}
