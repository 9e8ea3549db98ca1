package app

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/discovery"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/controller"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/heartbeat"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/options"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/providers"
	"github.com/kafka-operators/kafka-operators/clusters"
	"github.com/kafka-operators/kafka-operators/operator/build"
	"github.com/kafka-operators/kafka-operators/operator/events"
	"github.com/kafka-operators/kafka-operators/operator/manager"
)

// discoveryAge is how old it may be what an API server serves.
const discoveryAge = time.Minute

// newStretching connects to the other Kubernetes clusters and opens the network provider; nil if the operator is not configured for
// stretched Kafkas.
func newStretching(ctx context.Context, mgr ctrl.Manager, live client.Client, recorder *events.Recorder, o options.Options) (
	*controller.Stretching, *clusters.Set, error) {
	if !o.Stretch.Configured() {
		return nil, nil, nil
	}
	provider, err := openProvider(ctx, live, o)
	if err != nil {
		return nil, nil, err
	}
	if err := followSettings(mgr, provider, recorder, o); err != nil {
		return nil, nil, err
	}
	set, err := connect(ctx, mgr, live, o)
	if err != nil {
		return nil, nil, err
	}
	served := &discovered{}
	return &controller.Stretching{
		Central: o.Stretch.Central, Namespace: o.OperatorNamespace, Provider: provider, ProviderName: provider.Name(), APIVersions: served.of,
		Members: func() []controller.Member {
			var members []controller.Member
			for _, m := range set.Members() {
				members = append(members, m)
			}
			return members
		},
	}, set, nil
}

// openProvider opens the network provider with its settings.
func openProvider(ctx context.Context, live client.Client, o options.Options) (*providers.Current, error) {
	settings := map[string]string{}
	if name := o.Stretch.Settings; name != "" {
		c := &corev1.ConfigMap{}
		if err := live.Get(ctx, client.ObjectKey{Namespace: o.OperatorNamespace, Name: name}, c); err != nil {
			return nil, fmt.Errorf("STRIMZI_STRETCH_NETWORK_CONFIG_MAP: get ConfigMap %s/%s: %w", o.OperatorNamespace, name, err)
		}
		settings = c.Data
	}
	provider, err := providers.Follow(ctx, providers.Options{
		Name: o.Stretch.Provider, Path: o.Stretch.Path, Settings: settings, Operator: build.Current().Version, Stderr: os.Stderr,
	})
	if err != nil {
		return nil, fmt.Errorf("STRIMZI_STRETCH_PLUGIN_CLASS_NAME: %w", err)
	}
	context.AfterFunc(ctx, provider.Close)
	return provider, nil
}

// connect returns the connections to the other Kubernetes clusters.
func connect(ctx context.Context, mgr ctrl.Manager, live client.Client, o options.Options) (*clusters.Set, error) {
	remotes := o.Stretch.Remotes
	if name := o.Stretch.RemotesFrom; name != "" {
		var err error
		if remotes, err = clusters.ReadRemotes(ctx, live, client.ObjectKey{Namespace: o.OperatorNamespace, Name: name}); err != nil {
			return nil, fmt.Errorf("STRIMZI_REMOTE_KUBE_CONFIG_MAP: %w", err)
		}
	}
	set, err := clusters.New(mgr, clusters.Options{
		Home: o.Stretch.Central, Namespace: o.OperatorNamespace, Remotes: remotes, RemotesFrom: o.Stretch.RemotesFrom,
		Registerer: crmetrics.Registry,
		Log:        mgr.GetLogger().WithName("clusters"),
		Cluster:    []cluster.Option{func(c *cluster.Options) { c.Scheme, c.Cache = mgr.GetScheme(), remoteCache(o) }},
		Optional:   []string{"Node"}, // of which only addresses depend
	})
	if err != nil {
		return nil, fmt.Errorf("STRIMZI_REMOTE_KUBE_CONFIG: %w", err)
	}
	return set, nil
}

// everywhere runs on each replica: one that leads later must not begin with earlier settings.
type everywhere func(context.Context) error

// Start implements manager.Runnable.
func (f everywhere) Start(ctx context.Context) error { return f(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everywhere) NeedLeaderElection() bool { return false }

// followSettings has the manager make the network provider anew when its settings change. The next pass over each Kafka uses them.
func followSettings(mgr ctrl.Manager, provider *providers.Current, recorder *events.Recorder, o options.Options) error {
	name := client.ObjectKey{Namespace: o.OperatorNamespace, Name: o.Stretch.Settings}
	if name.Name == "" {
		return nil
	}
	core, err := corev1client.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	log := mgr.GetLogger().WithName("network").WithValues("configMap", name.String())
	return mgr.Add(everywhere(func(ctx context.Context) error {
		clusters.FollowConfigMap(ctx, core, name, func(c *corev1.ConfigMap) {
			switch changed, err := provider.Set(ctx, c.Data); {
			case err != nil:
				log.Error(err, "The settings of the network provider are wrong; the earlier ones stay in use")
				recorder.Warning(c, "NetworkSettingsRefused", "Configure", "The earlier settings stay in use: "+err.Error())
			case changed:
				log.Info("The settings of the network provider changed")
			}
		}, func(err error) {
			log.Error(err, "Failed to read the settings of the network provider; the earlier ones stay in use")
		})
		return nil
	}))
}

// remoteCache is the scope of the caches of other Kubernetes clusters: that of the home cluster's, and the heartbeat of the operator there.
// They keep managed fields, which prove whose an object is.
func remoteCache(o options.Options) cache.Options {
	c := controller.CacheOptions(false)
	c.DefaultNamespaces = manager.CacheNamespaces(o.Namespaces)
	c.ByObject[&coordinationv1.Lease{}] = cache.ByObject{Namespaces: map[string]cache.Config{
		o.OperatorNamespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", heartbeat.LeaseName)},
	}}
	return c
}

// discovered remembers what API servers serve.
type discovered struct {
	mu  sync.Mutex
	all map[string]serving
}

type serving struct {
	versions []string
	at       time.Time
}

// of returns the groups and versions that the API server of a Kubernetes cluster serves, nil if it does not say.
func (d *discovered) of(_ context.Context, m controller.Member) []string {
	d.mu.Lock()
	known := d.all[m.ID()]
	d.mu.Unlock()
	if time.Since(known.at) < discoveryAge {
		return known.versions
	}
	member, ok := m.(*clusters.Member)
	if !ok || member.Cluster() == nil || member.Status().State != clusters.Connected {
		return known.versions
	}
	client, err := discovery.NewDiscoveryClientForConfigAndClient(member.Cluster().GetConfig(), member.Cluster().GetHTTPClient())
	if err != nil {
		return known.versions
	}
	groups, err := client.ServerGroups()
	if err != nil {
		return known.versions
	}
	known = serving{versions: metav1.ExtractGroupVersions(groups), at: time.Now()}
	slices.Sort(known.versions)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[string]serving{}
	}
	d.all[m.ID()] = known
	return known.versions
}
