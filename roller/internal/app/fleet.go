package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/kafka-operators/kafka-operators/clusters"
	"github.com/kafka-operators/kafka-operators/roller/internal/options"
)

// joinTimeout is how long those who look once wait for other Kubernetes clusters.
const joinTimeout = 15 * time.Second

// fleet is the connections to other Kubernetes clusters with nodes of the same Kafka cluster.
type fleet struct {
	set *clusters.Set
	// end ends them, and waits until they have ended.
	end func()
}

// newFleet connects to the remote clusters of the options, and waits a while for them; nil if there are none. One that can't be reached is unknown, and
// no error.
func newFleet(ctx context.Context, config *rest.Config, o options.Options, log logr.Logger) (*fleet, error) {
	remotes, err := clusters.ParseRemotes(o.Remotes)
	if err != nil {
		return nil, fmt.Errorf("--remote-kube-config: %w", err)
	}
	if len(remotes) == 0 {
		return nil, nil //nolint:nilnil // there is nothing, and nothing is wrong
	}
	home, err := cluster.New(config, func(c *cluster.Options) { c.Scheme = Scheme() })
	if err != nil {
		return nil, err
	}
	set, err := clusters.New(home, clusters.Options{
		Home: o.Central, Namespace: o.Namespace, Remotes: remotes, Log: log,
		Cluster: []cluster.Option{func(c *cluster.Options) { c.Scheme, c.Cache = Scheme(), scope(o) }},
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var both sync.WaitGroup
	for _, start := range []func(context.Context) error{home.Start, set.Start} {
		both.Go(func() {
			if err := start(ctx); err != nil {
				log.Error(err, "The connections to other Kubernetes clusters ended")
			}
		})
	}
	f := &fleet{set: set, end: func() {
		cancel()
		both.Wait()
	}}
	f.join(ctx)
	return f, nil
}

// join waits until each cluster is connected or known not to be.
func (f *fleet) join(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	changes := f.set.Subscribe(ctx)
	for {
		joining := false
		for _, m := range f.set.Members() {
			joining = joining || m.Status().State == clusters.Joining
		}
		if !joining && len(f.set.Members()) > 1 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changes:
		}
	}
}

// recorder makes Events in a remote cluster; nil while that is not connected.
func (f *fleet) recorder(id string) events.EventRecorder {
	m, err := f.set.Member(id)
	if err != nil || m.Status().State != clusters.Connected {
		return nil
	}
	return m.Cluster().GetEventRecorder(name)
}

// places are the remote clusters.
func (f *fleet) places() []place {
	var places []place
	for _, m := range f.set.Members() {
		if m.Home() {
			continue
		}
		places = append(places, place{
			id:     m.ID(),
			reader: m.APIReader(),
			client: func() (client.Client, error) { return m.Client() },
			logs: func() (kubernetes.Interface, error) {
				c := m.Cluster()
				if c == nil {
					return nil, fmt.Errorf("cluster %s is not connected: %s", m.ID(), m.Status().Message)
				}
				return kubernetes.NewForConfig(c.GetConfig())
			},
		})
	}
	return places
}

// recorder makes Events in the Kubernetes cluster of that id; nil while it can't be reached.
func (w *world) recorder(id string) events.EventRecorder {
	if w.fleet == nil {
		return nil
	}
	return w.fleet.recorder(id)
}
