// Package app puts the cluster-operator together: it turns options into a manager with everything in it, and runs it.
package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/controller"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/heartbeat"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/misplaced"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/options"
	"github.com/kafka-operators/kafka-operators/clusters"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
	"github.com/kafka-operators/kafka-operators/operator/build"
	"github.com/kafka-operators/kafka-operators/operator/events"
	"github.com/kafka-operators/kafka-operators/operator/health"
	"github.com/kafka-operators/kafka-operators/operator/manager"
)

// name is the operator's in Events, leases and the Kubernetes user agent.
const name = "strimzi-cluster-operator"

// Run runs the operator until ctx ends. It returns an error if the operator could not start, or had to stop by itself.
func Run(ctx context.Context, config *rest.Config, o options.Options, log logr.Logger) error {
	ctrl.SetLogger(log)
	if err := awaitKinds(ctx, config, o, log); ctx.Err() != nil {
		return nil // the process was asked to stop
	} else if err != nil {
		return fmt.Errorf("wait for the watched kinds: %w", err)
	}
	scheme := Scheme()
	mgr, probes, err := manager.New(config, manager.Options{
		Name: name, Scheme: scheme, Namespaces: o.Namespaces, HTTP: o.HTTP, Election: o.Election, Log: log,
		Cache: controller.CacheOptions(o.PodSetsOnly),
	})
	if err != nil {
		return fmt.Errorf("start the manager: %w", err)
	}
	if err := assemble(ctx, mgr, probes, o); err != nil {
		return err
	}
	log.Info("Starting the cluster-operator", "namespaces", o.Namespaces.String(), "selector", o.Selector.String(), "versions", o.Images,
		"interval", o.Interval.String(), "build", build.Current().String())
	log.V(1).Info("All settings", "effective", o.Effective)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the manager: %w", err)
	}
	return nil
}

// Scheme knows all kinds that the operator reads and writes.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1.AddToScheme(scheme))
	utilruntime.Must(core.AddToScheme(scheme))
	return scheme
}

// assemble puts the controllers into the manager.
func assemble(ctx context.Context, mgr ctrl.Manager, probes *health.Probes, o options.Options) error {
	live, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), HTTPClient: mgr.GetHTTPClient(),
		Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return err
	}
	recorder := events.New(mgr.GetEventRecorder(name), events.DefaultLimits, func() {})
	if err := mgr.Add(recorder); err != nil {
		return err
	}
	figures := metrics.New(crmetrics.Registry, o.Selector.String())
	if err := addPodSets(ctx, mgr, live, recorder, figures, watched(probes, "StrimziPodSet", time.Now), o); err != nil {
		return err
	}
	agent := &heartbeat.Agent{Client: live, Namespace: o.OperatorNamespace, Identity: identity(), Version: build.Current().Source()}
	if err := mgr.Add(agent); err != nil {
		return err
	}
	if o.PodSetsOnly {
		return mgr.Add(&misplaced.Sweeper{Client: live, Namespaces: o.Namespaces})
	}
	stretching, set, err := newStretching(ctx, mgr, live, recorder, o)
	if err != nil {
		return err
	}
	r, err := newReconciler(ctx, mgr, live, o)
	if err != nil {
		return err
	}
	r.Events, r.Metrics, r.Passes, r.Stretching = recorder, figures, watched(probes, "Kafka", time.Now), stretching
	return addKafkas(ctx, mgr, r, set, o)
}

// newReconciler creates the reconciler of Kafkas, without what it shares with the other controller.
func newReconciler(ctx context.Context, mgr ctrl.Manager, live client.Client, o options.Options) (*controller.Reconciler, error) {
	// The leader alone makes keys, and does all that follows.
	keys := newSpare()
	if err := mgr.Add(keys); err != nil {
		return nil, err
	}
	exporter, err := exporterImage(ctx, live, o, model.ExporterFile)
	if err != nil {
		return nil, err
	}
	return &controller.Reconciler{
		Cache: mgr.GetCache(), Live: live,
		Kafka: &controller.Clients{Connect: func(c kafka.Config) (controller.Admin, error) { return saramakafka.New(c) }, Now: time.Now,
			After: time.After},
		Selects: o.Selector.Matches,
		Settings: model.Settings{
			KafkaImages: o.Images, TopicOperatorImage: o.TopicOperatorImage, ExporterImage: exporter, ImagePullPolicy: o.PullPolicy,
			ImagePullSecrets: references(o.PullSecrets),
			RollerAccount:    o.RollerAccount, DNSDomain: o.DNSDomain, NetworkPolicies: o.NetworkPolicies, DisruptionBudgets: o.DisruptionBudgets,
			Restricted:        o.Restricted,
			OperatorNamespace: o.OperatorNamespace, OperatorNamespaceLabels: o.OperatorLabels, ExcludedLabels: o.ExcludedLabels,
		},
		DefaultVersion: o.DefaultVersion(), OperatorVersion: build.Current().Source(), PKCS12: o.PKCS12,
		Interval: o.Interval, AddressTimeout: o.OperationTimeout,
		NewKey: keys.NewKey, Now: time.Now, Rand: rand.Reader,
	}, nil
}

// addKafkas puts the controller of Kafkas into the manager, with its watches; set are the other Kubernetes clusters, nil without any.
func addKafkas(ctx context.Context, mgr ctrl.Manager, r *controller.Reconciler, set *clusters.Set, o options.Options) error {
	c, err := r.SetupWithManager(mgr, o.Concurrency)
	if err != nil {
		return err
	}
	if err := r.WatchReferences(ctx, mgr, c, manager.CacheNamespaces(o.Namespaces)); err != nil || set == nil {
		return err
	}
	if err := mgr.Add(set); err != nil {
		return err
	}
	return r.WatchClusters(mgr, c, set, manager.CacheNamespaces(o.Namespaces))
}

// longestPass stands for the time limit of a pass, which has none: /healthy fails after twice as long. A pass that the restart interrupts
// is repeated.
const longestPass = 30 * time.Minute

// watched returns the passes over objects of a kind, and lets /healthy fail while one of them hangs.
func watched(probes *health.Probes, kind string, now func() time.Time) *health.Passes {
	passes := health.NewPasses(kind, longestPass, now)
	probes.AddHealthy("passes of "+kind, passes.Healthy)
	return passes
}

// identity is the pod's name, which is its host name.
func identity() string {
	host, err := os.Hostname()
	if err != nil {
		return name
	}
	return host
}

func references(names []string) []corev1.LocalObjectReference {
	var list []corev1.LocalObjectReference
	for _, n := range names {
		list = append(list, corev1.LocalObjectReference{Name: n})
	}
	return list
}
