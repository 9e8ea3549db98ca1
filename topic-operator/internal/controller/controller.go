package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// passTimeout bounds one pass. Without it, a pass that hangs would block its object forever.
const passTimeout = 2 * time.Minute

// SetupWithManager registers the reconciler. Workers are cheap, since they mostly wait for Kafka, and more of them make the batches larger.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, workers int) error {
	if workers < 1 || r.options.Interval <= 0 || r.options.Now == nil || r.options.Identity == nil {
		return fmt.Errorf("the KafkaTopic controller needs at least one worker (%d), a positive interval (%s), a clock and an identity", workers,
			r.options.Interval)
	}
	if err := indexClaims(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("index the KafkaTopics by their topics: %w", err)
	}
	if r.options.Claims == nil {
		r.options.Claims = newClaims(ctx, mgr.GetClient(), mgr.GetAPIReader(), r.options.Namespaces)
	}
	r.elected = func() bool {
		select {
		case <-mgr.Elected():
			return true
		default:
			return false
		}
	}
	// Runs once the operator leads: the metrics of a standby must not count what the leader counts.
	if err := mgr.Add(manager.RunnableFunc(func(context.Context) error { r.metrics.Lead(); return nil })); err != nil {
		return err
	}
	warm := true
	return ctrl.NewControllerManagedBy(mgr).
		Named("kafkatopic").
		For(&v1.KafkaTopic{}, builder.WithPredicates(r.watched())).
		Watches(&v1.KafkaTopic{}, r.rivals()).
		WatchesRawSource(source.Channel(r.again, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			ReconciliationTimeout:   passTimeout,
			EnableWarmup:            &warm, // a standby's cache is filled when it is elected
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry/4, 2*lastRetry),
			NewQueue:                r.newQueue,
			LogConstructor:          logOf(mgr.GetLogger()),
		}).
		Complete(r)
}

// logOf adds the object to each line once; controller-runtime's default adds it three times.
func logOf(base logr.Logger) func(*reconcile.Request) logr.Logger {
	return func(req *reconcile.Request) logr.Logger {
		if req == nil {
			return base
		}
		return base.WithValues("KafkaTopic", req.String())
	}
}

// Healthy returns an error if a pass hangs beyond its timeout. Only a restart helps then. It is a check of /healthy.
func (r *Reconciler) Healthy(ctx context.Context) error { return r.busy.Healthy(ctx) }
