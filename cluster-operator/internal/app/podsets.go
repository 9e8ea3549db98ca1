package app

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/options"
	"github.com/kafka-operators/kafka-operators/cluster-operator/podset"
	"github.com/kafka-operators/kafka-operators/operator/events"
	"github.com/kafka-operators/kafka-operators/operator/health"
)

// addPodSets adds the controller that makes pods from StrimziPodSets.
func addPodSets(ctx context.Context, mgr ctrl.Manager, live client.Client, recorder *events.Recorder, figures *metrics.Metrics,
	running *health.Passes, o options.Options) error {
	r := &podset.Reconciler{Client: mgr.GetClient(), Live: live, Recorder: recorder, Now: time.Now, Passed: figures.ReconciledSet,
		Passes: running}
	return r.SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: o.Concurrency})
}
