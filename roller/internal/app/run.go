package app

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/clusters"
	opevents "github.com/kafka-operators/kafka-operators/operator/events"
	"github.com/kafka-operators/kafka-operators/operator/health"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	opmanager "github.com/kafka-operators/kafka-operators/operator/manager"
	"github.com/kafka-operators/kafka-operators/operator/settings"
	"github.com/kafka-operators/kafka-operators/roller/internal/controller"
	"github.com/kafka-operators/kafka-operators/roller/internal/metrics"
	"github.com/kafka-operators/kafka-operators/roller/internal/options"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// The permissions of the Deployment. Those for single names are in config/roller/rbac/kafka_clusters_role.yaml; Secrets with kubeconfigs
// are needed only with several Kubernetes clusters.
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;delete
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create
// +kubebuilder:rbac:groups=core.strimzi.io,resources=strimzipodsets,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Run runs the Deployment: it watches the nodes, and restarts those that need it, until ctx ends.
func Run(ctx context.Context, config *rest.Config, o options.Options, log logr.Logger) error {
	ctrl.SetLogger(log)
	config = configFor(config)
	w, err := newHome(config, o, log)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	served, err := w.served(ctx, config, end)
	if err != nil {
		return err
	}
	mgr, probes, err := w.newManager(config, served)
	if err != nil {
		return fmt.Errorf("start the manager: %w", err)
	}
	wake := controller.NewWake(mgr)
	if err := w.watchRemotes(ctx, mgr, wake); err != nil {
		return err
	}
	r := w.reconciler()
	passes := health.NewPasses("Kafka", max(w.longestLook(), leastLimit), time.Now)
	r.Passing = passes.Start
	probes.AddHealthy("passes", passes.Healthy)
	named := types.NamespacedName{Namespace: o.Namespace, Name: o.Cluster}
	if err := r.AddTo(mgr, wake, named); err != nil {
		return err
	}
	log.Info("Starting the roller", "namespaces", o.Namespaces.String(), "cluster", o.Cluster, "kafka", o.Kafka.Bootstrap, "controllers",
		o.Controllers,
		"maxUnavailable", o.Policy.MaxUnavailable)
	log.V(1).Info("All settings", "effective", o.Effective)
	err = mgr.Start(ctx)
	r.Close(ctx)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("run the manager: %w", err)
	}
	return nil
}

// scope limits the caches of each Kubernetes cluster to Kafka clusters, or to the named one, and to the fields that the roller reads.
func scope(o options.Options) cache.Options {
	return cache.Options{
		DefaultLabelSelector: ofClusters(o.Cluster), DefaultTransform: observe.Trim, DefaultNamespaces: opmanager.CacheNamespaces(o.Namespaces),
	}
}

// ofClusters selects the objects of a Kafka cluster, or of all of them.
func ofClusters(cluster string) labels.Selector {
	if cluster != "" {
		return labels.SelectorFromSet(labels.Set{v1.LabelCluster: cluster})
	}
	exists, err := labels.NewRequirement(v1.LabelCluster, selection.Exists, nil)
	if err != nil {
		panic(err) // the label is a constant
	}
	return labels.NewSelector().Add(*exists)
}

// recheck is how often the roller tries to read a namespace that it could not read at its start.
const recheck = 30 * time.Second

// served returns the namespaces that the roller may read now. It ends the program, which Kubernetes then starts again, once it may read
// another one: a manager's cache has its namespaces from the start.
func (w *world) served(ctx context.Context, config *rest.Config, end func()) (settings.Namespaces, error) {
	c, err := dynamic.NewForConfig(config)
	if err != nil {
		return settings.Namespaces{}, err
	}
	r := opmanager.Readability{Client: c, Timeout: w.options.Timeout, Interval: recheck, Resources: []schema.GroupVersionResource{
		core.GroupVersion.WithResource("strimzipodsets"), corev1.SchemeGroupVersion.WithResource("pods"),
		corev1.SchemeGroupVersion.WithResource("configmaps"),
	}}
	served, forbidden := r.Split(ctx, w.options.Namespaces)
	if len(forbidden) == 0 {
		return served, nil
	}
	for _, ns := range slices.Sorted(maps.Keys(forbidden)) {
		logging.Warn(w.log, "A namespace is not served until the roller has rights in it: it does not exist, or a RoleBinding is missing",
			"namespace", ns, "error", forbidden[ns])
	}
	go func() {
		if ns := r.Await(ctx, slices.Sorted(maps.Keys(forbidden))); ns != "" {
			w.log.Info("The roller may read another namespace, and ends to be started again", "namespace", ns)
			end()
		}
	}()
	return served, nil
}

// newManager returns the manager, whose cache is that of home, for these namespaces.
func (w *world) newManager(config *rest.Config, served settings.Namespaces) (manager.Manager, *health.Probes, error) {
	o := w.options
	o.Namespaces = served
	lock := o.Election
	lock.Identity = w.identity
	mgr, probes, err := opmanager.New(config, opmanager.Options{
		Name: name, Scheme: Scheme(), Namespaces: o.Namespaces, Cache: scope(o), HTTP: o.HTTP, Election: lock, Log: w.log,
	})
	if err != nil {
		return nil, nil, err
	}
	here := w.places()[0]
	here.cache, here.events = mgr.GetCache(), func() events.EventRecorder { return mgr.GetEventRecorder(name) }
	w.places = func() []place { return []place{here} }
	w.events = opevents.New(sink{w.recorder}, opevents.DefaultLimits, func() {})
	return mgr, probes, mgr.Add(w.events)
}

// watchRemotes connects to the other Kubernetes clusters, and lets changes there wake the reconciler.
func (w *world) watchRemotes(ctx context.Context, mgr manager.Manager, wake *controller.Wake) error {
	set, err := w.newSet(ctx, mgr, scope(w.options))
	if set == nil || err != nil {
		return err
	}
	set.OnJoin(func(ctx context.Context, m *clusters.Member) error {
		if m.Home() {
			return nil // the manager's own caches do that
		}
		return wake.Follow(ctx, m.Cluster().GetCache())
	})
	w.connected = func(ctx context.Context) iter.Seq[string] {
		return func(yield func(string) bool) {
			for s := range set.Subscribe(ctx) {
				if s.State == clusters.Connected && !yield(s.ID) {
					return
				}
			}
		}
	}
	return mgr.Add(set)
}

// leastLimit is the least time limit of a pass for /healthy, whose Deadline may be short: to end a roll takes some seconds as well.
const leastLimit = time.Minute

// reconciler returns the reconciler, which creates a roll for each Kafka cluster, with its metrics, Events and log.
func (w *world) reconciler() *controller.Reconciler {
	all := metrics.New(crmetrics.Registry)
	return &controller.Reconciler{
		Sources: w.sources, Connected: w.connected, Named: w.options.Cluster != "",
		Interval: w.options.Interval, Deadline: w.longestLook(),
		Record: func(place string, about runtime.Object, reason, action, note string) {
			w.events.Normal(placed{about, place}, reason, action, note)
		},
		New: func(cluster types.NamespacedName) controller.Roll {
			m := all.Of(cluster.Namespace, cluster.Name)
			r := w.newRoll(cluster, m, &announcer{events: w.events, namespace: cluster.Namespace},
				&logger{log: w.log.WithValues("namespace", cluster.Namespace, "cluster", cluster.Name)})
			r.ended = m.Forget
			return r
		},
	}
}
