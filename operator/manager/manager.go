// Package manager creates controller-runtime managers with the defaults that all operators share.
package manager

import (
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	crmanager "sigs.k8s.io/controller-runtime/pkg/manager"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kafka-operators/kafka-operators/operator/build"
	"github.com/kafka-operators/kafka-operators/operator/election"
	"github.com/kafka-operators/kafka-operators/operator/health"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// defaultShutdownTimeout bounds how long a manager waits for its parts after SIGTERM.
const defaultShutdownTimeout = 8 * time.Second

// Options describe a manager.
type Options struct {
	// Name is the operator's name, for the user agent, the log and the build metric.
	Name string
	// Scheme contains the kinds that the manager's client and cache serve.
	Scheme *runtime.Scheme
	// Namespaces are the watched namespaces. An operator whose namespaces have no fixed names sets All.
	Namespaces settings.Namespaces
	// Cache adds to the cache's options; its DefaultNamespaces follow from Namespaces unless they are set, and managed fields are stripped
	// unless DefaultTransform is set.
	Cache cache.Options
	// HTTP describes where probes, metrics and profiles are served.
	HTTP HTTP
	// Election describes the leader election.
	Election election.Options
	// ShutdownTimeout bounds how long Start waits for its runnables after its context ended; 0 is 8 s.
	ShutdownTimeout time.Duration
	// Log gets a line if leader election is off.
	Log logr.Logger
}

// HTTP describes where an operator serves. Settings fills it.
type HTTP struct {
	// Address serves /healthy, /ready and /metrics, as host:port or :port (STRIMZI_HTTP_ADDRESS).
	Address string
	// PprofAddress serves profiles, as host:port or :port; empty is off (STRIMZI_PPROF_ADDRESS).
	PprofAddress string
}

const (
	envAddress      = "STRIMZI_HTTP_ADDRESS"
	envPprofAddress = "STRIMZI_PPROF_ADDRESS"
)

// Settings returns the settings of what is served, for a table.
func Settings(h *HTTP) []settings.Setting {
	return []settings.Setting{
		{Env: envAddress, Default: ":8080", Added: true, Parse: settings.Into(&h.Address, settings.Address),
			Doc: "Where `/healthy`, `/ready` and `/metrics` are served. (Strimzi: always port 8080.)"},
		{Env: envPprofAddress, Flag: "pprof-bind-address", DefaultDoc: "off", Added: true,
			Parse: settings.Into(&h.PprofAddress, settings.OptionalAddress),
			Doc:   "Where Go profiles are served, such as `localhost:6060`. Profiles expose the contents of the memory: do not expose the port."},
	}
}

// Complete checks the settings that depend on each other.
func (h HTTP) Complete(r *settings.Reading) {
	if h.PprofAddress != "" && h.PprofAddress == h.Address {
		r.Reject(envPprofAddress, h.PprofAddress, "the same as "+envAddress, "use another port")
	}
}

// New returns a manager, and its probes: /ready waits for the caches. The metrics are those of controller-runtime's registry, with
// kafka_operators_build_info.
func New(config *rest.Config, o Options) (ctrl.Manager, *health.Probes, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server's priority and fairness limits requests, with better knowledge
	config.UserAgent = o.Name

	if o.Cache.DefaultTransform == nil {
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
	}
	if o.Cache.DefaultNamespaces == nil {
		o.Cache.DefaultNamespaces = CacheNamespaces(o.Namespaces)
	}
	timeout := defaultShutdownTimeout
	if o.ShutdownTimeout > 0 {
		timeout = o.ShutdownTimeout
	}
	probes := &health.Probes{}
	options := crmanager.Options{
		Scheme:                  o.Scheme,
		Cache:                   o.Cache,
		Metrics:                 server.Options{BindAddress: o.HTTP.Address, ExtraHandlers: probes.Handlers()},
		PprofBindAddress:        o.HTTP.PprofAddress,
		GracefulShutdownTimeout: &timeout,
	}
	if err := elect(config, o, &options); err != nil {
		return nil, nil, err
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, nil, err
	}
	probes.AddReady("cache", health.Synced(mgr.GetCache()))
	build.Register(crmetrics.Registry, o.Name)
	return mgr, probes, nil
}

// CacheNamespaces returns the DefaultNamespaces of a cache for the objects of these namespaces; nil for all.
func CacheNamespaces(watched settings.Namespaces) map[string]cache.Config {
	if watched.All {
		return nil
	}
	scope := map[string]cache.Config{}
	for _, ns := range watched.Names {
		scope[ns] = cache.Config{}
	}
	return scope
}

// elect sets the options of the leader election.
func elect(config *rest.Config, o Options, options *crmanager.Options) error {
	e := o.Election
	if !e.Enabled {
		o.Log.Info("Leader election is off: run one replica only (STRIMZI_LEADER_ELECTION_ENABLED=true elects one of several)")
		return nil
	}
	options.LeaderElection = true
	options.LeaderElectionID = e.Name
	options.LeaderElectionNamespace = e.Namespace
	options.LeaderElectionReleaseOnCancel = true // the process ends right after
	options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = &e.LeaseDuration, &e.RenewDeadline, &e.RetryPeriod
	if e.Identity == "" {
		return nil // controller-runtime generates one
	}
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, e.Namespace, e.Name,
		resourcelock.ResourceLockConfig{Identity: e.Identity}, config, e.RenewDeadline)
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	options.LeaderElectionResourceLockInterface = lock
	return nil
}
