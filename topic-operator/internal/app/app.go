// Package app puts the topic-operator together: it turns options into a manager with everything in it, and runs it.
package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientevents "k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crmanager "sigs.k8s.io/controller-runtime/pkg/manager"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
	"github.com/kafka-operators/kafka-operators/operator/build"
	"github.com/kafka-operators/kafka-operators/operator/credentials"
	"github.com/kafka-operators/kafka-operators/operator/events"
	"github.com/kafka-operators/kafka-operators/operator/health"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/operator/manager"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/controller"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/executor"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/options"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/release"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

const (
	// callTimeout bounds one batch of Kafka calls; Strimzi's default.api.timeout.ms.
	callTimeout = 40 * time.Second
	// patientLinger is how long the timed check of one topic waits for those of others.
	patientLinger = 50 * time.Millisecond
	// busyLinger and busyEnough let batches grow under sustained load. Without them, a batch would hold only a handful of topics at the
	// rate at which an API server accepts changes.
	busyLinger = 200 * time.Millisecond
	busyEnough = 64
	// leavingTimeout bounds the work after the manager has ended. With the manager's 8 s it fits into the usual grace period of 30 s.
	leavingTimeout = 20 * time.Second
	// name is the operator's name in Events, Leases and the Kubernetes user agent.
	name = "strimzi-topic-operator"
)

// Run runs the operator until ctx ends. It returns an error if the operator can't start or has to stop.
func Run(ctx context.Context, config *rest.Config, o options.Options, log logr.Logger) error {
	ctrl.SetLogger(log)
	identify(&o.LeaderElection)
	mgr, probes, err := newManager(config, o, log)
	if err != nil {
		return fmt.Errorf("start the manager: %w", err)
	}
	m := metrics.New(crmetrics.Registry, metricsOptions(o))
	credentialsChanged := &notifier{}
	admin, err := connect(ctx, mgr, o, m, credentialsChanged, log)
	if err != nil {
		return err
	}
	defer admin.Close()
	reconciler, err := assemble(ctx, mgr, probes, o, m, admin, credentialsChanged, log)
	if err != nil {
		return err
	}
	log.Info("Starting the topic-operator", "namespaces", o.Namespaces.String(), "selector", o.Selector.String(),
		"kafka", o.Kafka.Bootstrap, "securityProtocol", o.Kafka.Protocol, "interval", o.ReconciliationInterval.String(), "build",
		build.Current().String())
	log.V(1).Info("All settings", "effective", o.Effective)
	leaver, err := newLeaver(mgr, o, log)
	if err != nil {
		return err
	}
	err = mgr.Start(ctx)
	if err != nil {
		err = fmt.Errorf("run the manager: %w", err)
	}
	reconciler.ReportPending(log)
	if ctx.Err() == nil {
		return err // the manager ended before the context: another replica, or the next start, continues
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leavingTimeout)
	defer cancel()
	return errors.Join(err, leaver.Leave(ctx))
}

// newLeaver returns the Leaver that releases KafkaTopics when the operator stops while their namespace or their Kafka is being deleted.
func newLeaver(mgr ctrl.Manager, o options.Options, log logr.Logger) (*release.Leaver, error) {
	c, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), HTTPClient: mgr.GetHTTPClient(),
		Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, err
	}
	l := &release.Leaver{Client: c, Namespaces: o.Namespaces.Names, Selects: o.Selector.Matches, Interval: o.ReconciliationInterval,
		Log: log.WithName("release")}
	return l, mgr.Add(l)
}

func newManager(config *rest.Config, o options.Options, log logr.Logger) (ctrl.Manager, *health.Probes, error) {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1.AddToScheme(scheme))
	return manager.New(config, manager.Options{
		Name: name, Scheme: scheme, Namespaces: o.Namespaces, HTTP: o.HTTP, Election: o.LeaderElection, Log: log,
	})
}

// connect creates the Kafka client and keeps its credentials up to date. It sends no request: the operator starts while Kafka is
// unavailable, and waits for it.
func connect(ctx context.Context, mgr ctrl.Manager, o options.Options, m *metrics.Metrics, changed *notifier,
	log logr.Logger) (*saramakafka.Admin, error) {
	clientset, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	var admin *saramakafka.Admin
	watcher := credentials.NewWatcher(clientset, o.Kafka, func(c kafka.Config) error {
		c.ObserveRequest = m.Requested
		if err := admin.Reconfigure(c); err != nil {
			return err
		}
		changed.notify()
		return nil
	}, logging.Slog(log.WithName("credentials")))
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

// assemble puts the parts into the manager, and returns the reconciler.
func assemble(ctx context.Context, mgr ctrl.Manager, probes *health.Probes, o options.Options, m *metrics.Metrics, admin kafka.Admin,
	credentialsChanged *notifier, log logr.Logger) (*controller.Reconciler, error) {
	recorder := events.New(eventSink(ctx, mgr, o, log), events.DefaultLimits, m.EventDropped)
	if err := mgr.Add(recorder); err != nil {
		return nil, err
	}
	var reconciler *controller.Reconciler
	again := func(which func(*v1.KafkaTopic) bool) { go requeue(ctx, reconciler, which, log) }
	armed := &protection{metrics: m}
	guard := newGuard(admin, o, m, armed.clusterKnown, again, log)
	credentialsChanged.set(func() {
		guard.Look()
		again(controller.Unready) // Kafka may answer now
	})
	fields, err := newSchema(mgr, armed, again, log)
	if err != nil {
		return nil, err
	}
	namespaces, err := newPolicy(o, m, again, log)
	if err != nil {
		return nil, err
	}
	exec := executor.New(ctx, admin, m, executor.Options{MaxBatch: o.Batch.MaxSize, Linger: o.Batch.MaxLinger, PatientLinger: patientLinger,
		BusyLinger: busyLinger, BusyEnough: busyEnough, CallTimeout: callTimeout})
	reconciler = controller.NewReconciler(mgr.GetClient(), exec, recorder, m, controller.Options{
		Selects:                  o.Selector.Matches,
		Rules:                    topic.Rules{Alterable: o.Alterable.Allows},
		Ownership:                ownershipRules(o),
		Violation:                violation(namespaces),
		Identity:                 guard,
		Schema:                   fields,
		Leads:                    leads(ctx, mgr.GetAPIReader(), o.LeaderElection),
		Namespaces:               o.Namespaces.Names,
		Interval:                 o.ReconciliationInterval,
		UseFinalizers:            o.UseFinalizers,
		KeepWhenDeletionDisabled: o.DeletionDisabled == options.DeletionDisabledKeep,
		Now:                      time.Now,
	})
	probes.AddHealthy("passes", reconciler.Healthy)
	if err := reconciler.SetupWithManager(ctx, mgr, o.Concurrency); err != nil {
		return nil, err
	}
	for _, runnable := range []crmanager.Runnable{guard, namespaces, fields} {
		if err := mgr.Add(runnable); err != nil {
			return nil, err
		}
	}
	if o.SkipClusterConfigReview {
		return reconciler, nil
	}
	return reconciler, mgr.Add(&review{admin: admin, log: log.WithName("review")})
}

func eventSink(ctx context.Context, mgr ctrl.Manager, o options.Options, log logr.Logger) clientevents.EventRecorder {
	if events.Denied(ctx, mgr.GetConfig(), o.Namespaces.Names) {
		log.Info("Kubernetes Events are disabled: the operator is not allowed to create them (events.k8s.io, create)")
		return events.Discard
	}
	return mgr.GetEventRecorder(name)
}

func metricsOptions(o options.Options) metrics.Options {
	refusals := []string{v1.ReasonClusterMismatch, v1.ReasonTopicIDMismatch, v1.ReasonNotReadyForDeletion, v1.ReasonResourceConflict,
		v1.ReasonPolicyViolation, v1.ReasonClusterIDUnknown, v1.ReasonNotSelected}
	return metrics.Options{
		Namespaces: o.Namespaces.Names,
		Selector:   o.Selector.String(),
		Additional: o.AdditionalMetrics,
		Operations: []string{
			executor.OperationDescribeTopics, executor.OperationDescribeConfigs, executor.OperationCreateTopics, executor.OperationAlterConfigs,
			executor.OperationCreatePartitions, executor.OperationListReassignments, executor.OperationDeleteTopics,
		},
		Requests: []string{"Metadata", "DescribeCluster", "DescribeConfigs", "CreateTopics", "IncrementalAlterConfigs", "CreatePartitions",
			"ListPartitionReassignments", "DeleteTopics"},
		Reasons:  append([]string{v1.ReasonKafkaError, v1.ReasonNotSupported, v1.ReasonInternalError, "Retry"}, refusals...),
		Refusals: refusals,
	}
}
