// Package app puts the topic-operator together: it turns options into a manager with everything in it, and runs it.
package app

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/controller"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/credentials"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/executor"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/notify"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/options"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

const (
	// callTimeout bounds one batch of Kafka calls; Strimzi's default.api.timeout.ms.
	callTimeout = 40 * time.Second
	// patientLinger is how long the timed check of one topic waits for those of others.
	patientLinger = 50 * time.Millisecond
	// busyLinger and busyEnough let batches grow under sustained load: at the rate at which an API server takes changes, a batch would
	// else hold a handful of topics.
	busyLinger = 200 * time.Millisecond
	busyEnough = 64
	// shutdownTimeout is how long the operator waits for passes to end after SIGTERM. They are abandoned at once, so this is a bound, not a wait.
	shutdownTimeout = 8 * time.Second
	// name is the operator's in Events, leases and the Kubernetes user agent.
	name = "strimzi-topic-operator"
)

// Run runs the operator until ctx ends. It returns an error if the operator could not start, or had to stop by itself.
func Run(ctx context.Context, config *rest.Config, o options.Options, log logr.Logger) error {
	ctrl.SetLogger(log)
	mgr, err := newManager(config, o)
	if err != nil {
		return fmt.Errorf("start the manager: %w", err)
	}
	m := metrics.New(crmetrics.Registry, metricsOptions(o))
	admin, err := connect(ctx, mgr, o, m, log)
	if err != nil {
		return err
	}
	defer admin.Close()
	if err := assemble(ctx, mgr, o, m, admin, log); err != nil {
		return err
	}
	log.Info("Starting the topic-operator", "namespaces", o.Namespaces.String(), "selector", o.Selector.String(),
		"kafka", o.Bootstrap, "securityProtocol", o.SecurityProtocol, "interval", o.ReconciliationInterval.String())
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("the manager ended: %w", err)
	}
	return nil
}

func newManager(config *rest.Config, o options.Options) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1.AddToScheme(scheme))

	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server's priority and fairness decides, and it knows better
	config.UserAgent = name

	cacheOptions := cache.Options{DefaultTransform: cache.TransformStripManagedFields()}
	if !o.Namespaces.All {
		cacheOptions.DefaultNamespaces = map[string]cache.Config{}
		for _, ns := range o.Namespaces.Names {
			cacheOptions.DefaultNamespaces[ns] = cache.Config{}
		}
	}
	probes := &probes{}
	timeout := shutdownTimeout
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme:                        scheme,
		Cache:                         cacheOptions,
		Metrics:                       probes.server(o.HTTPAddress),
		PprofBindAddress:              o.PprofAddress,
		LeaderElection:                o.LeaderElection.Enabled,
		LeaderElectionID:              o.LeaderElection.Name,
		LeaderElectionNamespace:       o.LeaderElection.Namespace,
		LeaderElectionReleaseOnCancel: true, // the process ends right after
		LeaseDuration:                 &o.LeaderElection.LeaseDuration,
		RenewDeadline:                 &o.LeaderElection.RenewDeadline,
		RetryPeriod:                   &o.LeaderElection.RetryPeriod,
		GracefulShutdownTimeout:       &timeout,
	})
	if err != nil {
		return nil, err
	}
	probes.cache = mgr.GetCache()
	return mgr, nil
}

// connect makes the Kafka client, and keeps its credentials up to date. It does not ask Kafka anything: the operator starts, and waits,
// while Kafka is away.
func connect(ctx context.Context, mgr manager.Manager, o options.Options, m *metrics.Metrics, log logr.Logger) (*saramakafka.Admin, error) {
	clientset, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	var admin *saramakafka.Admin
	slogger := logging.Slog(log.WithName("credentials"))
	watcher := credentials.NewWatcher(clientset, o, func(c kafka.Config) {
		c.ObserveRequest = m.Requested
		if err := admin.Reconfigure(c); err != nil {
			slogger.Error("The changed Secrets for Kafka can't be used; the last good ones stay in force", "error", err)
		}
	}, slogger)
	c, err := watcher.Load(ctx)
	if err != nil {
		return nil, err
	}
	c.ObserveRequest = m.Requested
	if admin, err = saramakafka.New(c); err != nil {
		return nil, err
	}
	return admin, mgr.Add(watcher)
}

// assemble puts the parts into the manager.
func assemble(ctx context.Context, mgr manager.Manager, o options.Options, m *metrics.Metrics, admin kafka.Admin, log logr.Logger) error {
	recorder := notify.New(mgr.GetEventRecorder(name), notify.DefaultLimits, m.EventDropped)
	if err := mgr.Add(recorder); err != nil {
		return err
	}
	var reconciler *controller.Reconciler
	again := func(which func(*v1.KafkaTopic) bool) { go lookAgain(ctx, reconciler, which, log) }
	guard := newGuard(admin, o, m, again, log)
	namespaces, err := newPolicy(o, m, again, log)
	if err != nil {
		return err
	}
	exec := executor.New(ctx, admin, m, executor.Options{MaxBatch: o.Batch.MaxSize, Linger: o.Batch.MaxLinger, PatientLinger: patientLinger,
		BusyLinger: busyLinger, BusyEnough: busyEnough, CallTimeout: callTimeout})
	reconciler = controller.NewReconciler(mgr.GetClient(), exec, recorder, m, controller.Options{
		Selects:                  o.Selector.Matches,
		Rules:                    topic.Rules{Alterable: o.Alterable.Allows},
		Ownership:                ownershipRules(o),
		Violation:                violation(namespaces),
		Identity:                 guard,
		Namespaces:               o.Namespaces.Names,
		Interval:                 o.ReconciliationInterval,
		UseFinalizers:            o.UseFinalizers,
		KeepWhenDeletionDisabled: o.DeletionDisabled == options.DeletionDisabledKeep,
		Now:                      time.Now,
	})
	if err := reconciler.SetupWithManager(ctx, mgr, o.Concurrency); err != nil {
		return err
	}
	for _, runnable := range []manager.Runnable{guard, namespaces} {
		if err := mgr.Add(runnable); err != nil {
			return err
		}
	}
	if o.SkipClusterConfigReview {
		return nil
	}
	return mgr.Add(&review{admin: admin, log: log.WithName("review")})
}

func metricsOptions(o options.Options) metrics.Options {
	refusals := []string{v1.ReasonClusterMismatch, v1.ReasonTopicIDMismatch, v1.ReasonNotReadyForDeletion, v1.ReasonResourceConflict, v1.ReasonPolicyViolation, v1.ReasonClusterIDUnknown}
	return metrics.Options{
		Namespaces: o.Namespaces.Names,
		Selector:   o.Selector.String(),
		Additional: o.AdditionalMetrics,
		Operations: []string{
			executor.OperationDescribeTopics, executor.OperationDescribeConfigs, executor.OperationCreateTopics, executor.OperationAlterConfigs,
			executor.OperationCreatePartitions, executor.OperationListReassignments, executor.OperationDeleteTopics,
		},
		Requests: []string{"Metadata", "DescribeCluster", "DescribeConfigs", "CreateTopics", "IncrementalAlterConfigs", "CreatePartitions", "ListPartitionReassignments", "DeleteTopics"},
		Reasons:  append([]string{v1.ReasonKafkaError, v1.ReasonNotSupported, v1.ReasonInternalError, "Retry"}, refusals...),
		Refusals: refusals,
	}
}
