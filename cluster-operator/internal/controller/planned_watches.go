package controller

import (
	"context"
	"errors"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/clusters"
)

// plannedWatches wake a Kafka when an object changes that its network provider planned, of a kind that the operator itself does not make.
// A kind is watched in a Kubernetes cluster once the provider has planned one there: before that, nobody needs to serve it.
//
// They have caches of their own, of metadata alone. In the member's cache, a kind that is not served any more, or that may not be listed,
// would keep the member from being connected again after an outage: package clusters waits for all informers that once were up to date.
type plannedWatches struct {
	mu sync.Mutex
	by map[string]*plannedIn
}

// plannedIn watches in one Kubernetes cluster.
type plannedIn struct {
	// until ends with the member.
	until      context.Context
	controller controller.Controller
	cache      cache.Cache
	kinds      map[schema.GroupVersionKind]bool
	// begun is called when a kind is watched from then on: what happened between the last read of an object and that is not reported.
	begun func(context.Context)
}

// join prepares watches in a Kubernetes cluster, which end with ctx.
func (w *plannedWatches) join(ctx context.Context, c controller.Controller, m *clusters.Member, namespaces map[string]cache.Config,
	begun func(context.Context), log logr.Logger) error {
	belongs, err := labels.NewRequirement(v1.LabelCluster, selection.Exists, nil)
	if err != nil {
		return err
	}
	at := m.Cluster()
	objects, err := cache.New(at.GetConfig(), cache.Options{
		HTTPClient: at.GetHTTPClient(), Scheme: at.GetScheme(), Mapper: at.GetRESTMapper(), DefaultNamespaces: namespaces,
		DefaultLabelSelector:     labels.NewSelector().Add(*belongs),
		DefaultTransform:         cache.TransformStripManagedFields(),
		DefaultWatchErrorHandler: reportOnce(log.WithValues("cluster", m.ID())),
	})
	if err != nil {
		return err
	}
	go func() {
		if err := objects.Start(ctx); err != nil && ctx.Err() == nil {
			log.Error(err, "Stopped watching objects of the network provider", "cluster", m.ID())
		}
	}()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[string]*plannedIn{}
	}
	in := &plannedIn{until: ctx, controller: c, cache: objects, kinds: map[schema.GroupVersionKind]bool{}, begun: begun}
	w.by[m.ID()] = in
	context.AfterFunc(ctx, func() { w.leave(m.ID(), in) })
	return nil
}

// leave drops what is kept of a Kubernetes cluster that left, its cache with it, unless another one of that id has joined.
func (w *plannedWatches) leave(id string, in *plannedIn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by[id] == in {
		delete(w.by, id)
	}
}

// watch watches a kind in a Kubernetes cluster, if it is not watched there yet.
func (w *plannedWatches) watch(cluster string, kind schema.GroupVersionKind) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	in := w.by[cluster]
	if in == nil || in.kinds[kind] {
		return nil
	}
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(kind)
	objects := source.Kind[client.Object](in.cache, o, handler.EnqueueRequestsFromMapFunc(ofCluster))
	start := source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		if err := objects.Start(ctx, queue); err != nil {
			return err
		}
		go func() {
			if objects.WaitForSync(ctx) == nil {
				in.begun(ctx)
			}
		}()
		return nil
	})
	if err := in.controller.Watch(clusters.Until(in.until, start)); err != nil {
		return err
	}
	in.kinds[kind] = true
	return nil
}

// reportOnce logs why a kind can't be watched, once for each reason: informers try again indefinitely. The member's status reports broken
// connections.
func reportOnce(log logr.Logger) toolscache.WatchErrorHandlerWithContext {
	var reported sync.Map
	return func(_ context.Context, _ *toolscache.Reflector, err error) {
		var answer apierrors.APIStatus
		if !errors.As(err, &answer) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return
		}
		if _, again := reported.LoadOrStore(answer.Status().Message, true); !again {
			log.Info("Failed to watch objects of the network provider; changes to them are reverted at the next reconciliation",
				"error", err.Error())
		}
	}
}
