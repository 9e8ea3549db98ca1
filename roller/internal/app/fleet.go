package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/kafka-operators/kafka-operators/clusters"
)

// joinTimeout is how long commands that look once wait for other Kubernetes clusters.
const joinTimeout = 15 * time.Second

// newSet returns the connections to other Kubernetes clusters; nil if none are configured.
func (w *world) newSet(ctx context.Context, home cluster.Cluster, scope cache.Options) (*clusters.Set, error) {
	remotes, from := w.options.Remotes, w.options.RemotesFrom
	if from != "" {
		var err error
		if remotes, err = clusters.ReadRemotes(ctx, w.home, client.ObjectKey{Namespace: w.options.Home, Name: from}); err != nil {
			return nil, fmt.Errorf("STRIMZI_REMOTE_KUBE_CONFIG_MAP: %w", err)
		}
	}
	if len(remotes) == 0 && from == "" {
		return nil, nil // no remotes are configured
	}
	set, err := clusters.New(home, clusters.Options{
		Home: w.options.Central, Namespace: w.options.Home, Remotes: remotes, RemotesFrom: from, Log: w.log,
		Cluster: []cluster.Option{func(c *cluster.Options) { c.Scheme, c.Cache = Scheme(), scope }},
	})
	if err != nil {
		return nil, err
	}
	here := w.places()
	w.places = func() []place { return append(here[:1:1], placesOf(set)...) }
	return set, nil
}

// joinRemotes connects to the other Kubernetes clusters, with a timeout. A cluster that can't be reached counts as unknown, and is no
// error.
func (w *world) joinRemotes(ctx context.Context, config *rest.Config) error {
	home, err := cluster.New(config, func(c *cluster.Options) { c.Scheme = Scheme() })
	if err != nil {
		return err
	}
	set, err := w.newSet(ctx, home, scope(w.options))
	if set == nil || err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var both sync.WaitGroup
	for _, start := range []func(context.Context) error{home.Start, set.Start} {
		both.Go(func() {
			if err := start(ctx); err != nil {
				w.log.Error(err, "Connections to other Kubernetes clusters failed")
			}
		})
	}
	w.end = func() {
		cancel()
		both.Wait()
	}
	join(ctx, set)
	return nil
}

// join waits until each cluster is connected, or its connection has failed.
func join(ctx context.Context, set *clusters.Set) {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	changes := set.Subscribe(ctx)
	for {
		joining := false
		for _, m := range set.Members() {
			joining = joining || m.Status().State == clusters.Joining
		}
		if !joining && len(set.Members()) > 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changes:
		}
	}
}

// placesOf returns the remote clusters.
func placesOf(set *clusters.Set) []place {
	var places []place
	for _, m := range set.Members() {
		if !m.Home() {
			places = append(places, placeOf(m))
		}
	}
	return places
}

func placeOf(m *clusters.Member) place {
	return place{
		id:     m.ID(),
		reader: m.APIReader(),
		cache:  m.Reader(),
		client: func() (client.Client, error) { return m.Client() },
		logs: func() (corev1client.PodsGetter, error) {
			c := m.Cluster()
			if c == nil {
				return nil, fmt.Errorf("cluster %s is not connected: %s", m.ID(), m.Status().Message)
			}
			return corev1client.NewForConfigAndClient(c.GetConfig(), c.GetHTTPClient())
		},
		events: func() events.EventRecorder {
			if m.Status().State != clusters.Connected {
				return nil
			}
			return m.Cluster().GetEventRecorder(name)
		},
	}
}
