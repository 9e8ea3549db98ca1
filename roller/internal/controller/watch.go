package controller

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

const (
	// workers is how many Kafka clusters are reconciled concurrently. A hanging one occupies a worker for at most the deadline of a look,
	// and costs only memory.
	workers = 200
	// calm is the delay of a look after an event, because a starting pod changes several times a second.
	calm = 500 * time.Millisecond
	// The pauses after failed looks.
	firstPause, longestPause = time.Second, 30 * time.Second
)

// Wake delivers changes in other Kubernetes clusters to the reconciler.
type Wake struct {
	changes chan event.GenericEvent
	elected <-chan struct{}
}

// NewWake returns a Wake for the controller of this manager.
func NewWake(mgr manager.Manager) *Wake {
	return &Wake{changes: make(chan event.GenericEvent), elected: mgr.Elected()}
}

// AddTo adds the controller to a manager. A cluster given by name is reconciled even if it has no pod sets.
func (r *Reconciler) AddTo(mgr manager.Manager, wake *Wake, named types.NamespacedName) error {
	c, err := controller.New("roller", mgr, controller.Options{
		Reconciler: r, MaxConcurrentReconciles: workers,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstPause, longestPause),
	})
	if err != nil {
		return err
	}
	if err := c.Watch(source.Channel(wake.changes, soon())); err != nil {
		return err
	}
	for _, kind := range kinds() {
		if err := c.Watch(source.Kind(mgr.GetCache(), kind, soon(), relevant{})); err != nil {
			return err
		}
	}
	return c.Watch(source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		if r.Named {
			q.Add(reconcile.Request{NamespacedName: named})
		}
		if r.Connected != nil {
			go r.begin(ctx, wake.elected, q)
		}
		return nil
	}))
}

// begin enqueues the Kafka clusters that have pod sets in another Kubernetes cluster, each time it is connected, from the moment on that
// this process is elected until ctx ends. Events do not enqueue those: Follow drops them until then, and after an outage there are none of
// what did not change. One whose watch can't begin makes its reader wait, so each is read on its own.
func (r *Reconciler) begin(ctx context.Context, elected <-chan struct{}, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	select {
	case <-elected:
	case <-ctx.Done():
		return
	}
	for id := range r.Connected(ctx) {
		sources := r.Sources()
		if at := slices.IndexFunc(sources, func(s observe.Source) bool { return s.ID == id }); at >= 0 {
			go enqueue(ctx, q, sources[at])
		}
	}
}

// enqueue enqueues the Kafka clusters that have pod sets in a Kubernetes cluster.
func enqueue(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request], in observe.Source) {
	var sets core.StrimziPodSetList
	if err := in.Cache.List(ctx, &sets, client.UnsafeDisableDeepCopy); err != nil {
		logr.FromContextOrDiscard(ctx).Info("Failed to list the StrimziPodSets in a Kubernetes cluster", "cluster", in.ID, "error", err.Error())
		return
	}
	for i := range sets.Items {
		if key, has := keyOf(&sets.Items[i]); has {
			q.Add(reconcile.Request{NamespacedName: key})
		}
	}
}

// kinds returns the kinds of objects with the state of a Kafka cluster, actual or desired.
func kinds() []client.Object {
	return []client.Object{&core.StrimziPodSet{}, &corev1.Pod{}, &corev1.ConfigMap{}}
}

// Follow requeues Kafka clusters on changes in another Kubernetes cluster, until ctx ends. It does nothing while this process is not the
// leader.
func (w *Wake) Follow(ctx context.Context, in cache.Cache) error {
	tell := func(o any) {
		select {
		case <-w.elected:
		default:
			return
		}
		if gone, is := o.(toolscache.DeletedFinalStateUnknown); is {
			o = gone.Obj
		}
		object, is := o.(client.Object)
		if !is {
			return
		}
		select {
		case w.changes <- event.GenericEvent{Object: object}:
		case <-ctx.Done():
		}
	}
	update := func(before, after any) {
		a, isA := before.(client.Object)
		b, isB := after.(client.Object)
		if !isA || !isB || (relevant{}).Update(event.UpdateEvent{ObjectOld: a, ObjectNew: b}) {
			tell(after)
		}
	}
	for _, kind := range kinds() {
		informer, err := in.GetInformer(ctx, kind, cache.BlockUntilSynced(false)) // the right to watch it may be missing
		if err != nil {
			return err
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: update,
			DeleteFunc: tell}); err != nil {
			return err
		}
	}
	return nil
}

// keyOf returns the Kafka cluster of an object; false if it belongs to none.
func keyOf(o client.Object) (types.NamespacedName, bool) {
	cluster := o.GetLabels()[v1.LabelCluster]
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: cluster}, cluster != ""
}

// soon enqueues the Kafka cluster of an object after a delay, so that one look covers several events.
func soon() handler.EventHandler {
	add := func(o client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		if key, has := keyOf(o); has {
			q.AddAfter(reconcile.Request{NamespacedName: key}, calm)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(e.Object, q)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(e.ObjectNew, q)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(e.Object, q)
		},
		GenericFunc: func(_ context.Context, e event.GenericEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(e.Object, q)
		},
	}
}

// relevant filters out the roller's own writes, and status updates by the creator of the pods.
type relevant struct{}

// Create implements predicate.Predicate.
func (relevant) Create(event.CreateEvent) bool { return true }

// Delete implements predicate.Predicate.
func (relevant) Delete(event.DeleteEvent) bool { return true }

// Generic implements predicate.Predicate.
func (relevant) Generic(event.GenericEvent) bool { return true }

// Update implements predicate.Predicate.
func (relevant) Update(e event.UpdateEvent) bool {
	_, isSet := e.ObjectNew.(*core.StrimziPodSet)
	if isSet || e.ObjectNew.GetLabels()[core.LabelManagedBy] == core.ManagedByRoller {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || !sameMetadata(e.ObjectOld, e.ObjectNew)
	}
	return true
}

// sameMetadata reports whether two versions of an object have the same labels and annotations, and are both deleted or not.
func sameMetadata(a, b client.Object) bool {
	return maps.Equal(a.GetLabels(), b.GetLabels()) && maps.Equal(a.GetAnnotations(), b.GetAnnotations()) &&
		(a.GetDeletionTimestamp() == nil) == (b.GetDeletionTimestamp() == nil)
}
