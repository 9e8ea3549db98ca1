package app

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/clusters"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/internal/metrics"
	"github.com/kafka-operators/kafka-operators/roller/internal/options"
)

// name is the roller's in Events and leases.
const name = "kafka-operators-roller"

// What the Deployment may do. Secrets with kubeconfigs are needed only where there are several Kubernetes clusters.
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups=core.strimzi.io,resources=strimzipodsets,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Run is the Deployment: it watches, and restarts what is to be restarted, until ctx ends.
func Run(ctx context.Context, config *rest.Config, o options.Options, log logr.Logger) error {
	ctrl.SetLogger(log)
	w, err := newWorld(ctx, config, o, log)
	if err != nil {
		return err
	}
	defer w.close()
	mgr, err := newManager(config, o)
	if err != nil {
		return fmt.Errorf("start the manager: %w", err)
	}
	m := metrics.New(crmetrics.Registry, o.Namespace, o.Cluster)
	announcer := &announcer{here: mgr.GetEventRecorder(name), there: w.recorder, namespace: o.Namespace}
	e := w.engine(log, m, announcer, &logger{log: log})
	wake := make(chan struct{}, 1)
	if w.fleet != nil {
		w.fleet.set.OnJoin(func(ctx context.Context, m *clusters.Member) error { return watchMember(ctx, m, wake) })
	}
	if err := watchIn(ctx, mgr.GetCache(), wake); err != nil {
		return err
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		return e.Run(ctx, wake, o.Interval, func(roller.Decision) bool { return false })
	})); err != nil {
		return err
	}
	if o.Kafka.ClearText() {
		log.Info("What the roller logs in with crosses the network in the clear; use SASL_SSL", "securityProtocol", o.Kafka.Protocol, "mechanism", o.Kafka.SASL.Mechanism)
	}
	log.Info("Starting the roller", "namespace", o.Namespace, "cluster", o.Cluster, "kafka", o.Kafka.Bootstrap, "controllers", o.Controllers,
		"maxUnavailable", o.Policy.MaxUnavailable)
	if err := mgr.Start(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the manager ended: %w", err)
	}
	return nil
}

// scope limits what is watched, in each Kubernetes cluster, to what the roller has a right to: the Kafka cluster's own objects in its namespace.
func scope(o options.Options) cache.Options {
	return cache.Options{
		DefaultNamespaces:    map[string]cache.Config{o.Namespace: {}},
		DefaultLabelSelector: ofCluster(o.Cluster),
		DefaultTransform:     cache.TransformStripManagedFields(),
	}
}

func newManager(config *rest.Config, o options.Options) (manager.Manager, error) {
	config = rest.CopyConfig(config)
	config.UserAgent, config.QPS = userAgent, -1
	shutdown := 8 * time.Second
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme: Scheme(), Cache: scope(o),
		Metrics:                       server.Options{BindAddress: o.HTTPAddress},
		LeaderElection:                o.LeaderElection,
		LeaderElectionID:              o.Cluster + "-roller-leader",
		LeaderElectionNamespace:       o.Namespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &shutdown,
	})
	if err != nil {
		return nil, err
	}
	for path, check := range map[string]healthz.Checker{"/healthy": healthz.Ping, "/ready": healthz.Ping} {
		if err := mgr.AddMetricsServerExtraHandler(path, healthz.CheckHandler{Checker: check}); err != nil {
			return nil, err
		}
	}
	return mgr, nil
}

// watchMember wakes the engine when something changes in another Kubernetes cluster.
func watchMember(ctx context.Context, m *clusters.Member, wake chan<- struct{}) error {
	if m.Home() {
		return nil // the manager's own caches see to that
	}
	return watchIn(ctx, m.Cluster().GetCache(), wake)
}

// watchIn wakes the engine when a pod, a pod set or a node's configuration changes. What it decides on is read anew.
func watchIn(ctx context.Context, in cache.Cache, wake chan<- struct{}) error {
	poke := func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	handler := toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { poke() }, UpdateFunc: func(any, any) { poke() }, DeleteFunc: func(any) { poke() },
	}
	for _, object := range []client.Object{&corev1.Pod{}, &podset.StrimziPodSet{}} {
		informer, err := in.GetInformer(ctx, object)
		if err != nil {
			return err
		}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	return nil
}
