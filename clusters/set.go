package clusters

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// Options configure a Set. Home is required, and Namespace if there are remote clusters; all other fields are optional.
type Options struct {
	// Home is the id of the home cluster (STRIMZI_CENTRAL_CLUSTER_ID).
	Home string
	// Namespace of the home cluster holds the Secrets with the kubeconfigs.
	Namespace string
	// Remotes are the remote clusters at the start.
	Remotes []Remote
	// RemotesFrom is the name of a ConfigMap in Namespace that lists the remote clusters. Remotes is its list at the start (see ReadRemotes),
	// and the Set follows its changes. Empty: the remote clusters do not change.
	RemotesFrom string
	// Probing describes how the members are probed.
	Probing Probing
	// Cluster are options of each remote cluster, for example its scheme and the scope of its cache. The Set sets Cache.NewInformer and
	// HTTPClient itself.
	Cluster []cluster.Option
	// Optional are kinds, such as Node, without which a member stays connected: while its credentials don't permit any more to list or watch
	// one of them in all namespaces, only reads of that kind fail.
	Optional []string
	// Log receives changes. Zero: controller-runtime's log.
	Log logr.Logger
	// Registerer is where the metrics are registered. Nil: there are none.
	Registerer prometheus.Registerer
}

// Set is the home cluster, in which the process runs, and the remote clusters that it connects to. It is a Runnable for
// controller-runtime's manager.
type Set struct {
	options     Options
	home        cluster.Cluster
	ask         identifier
	secrets     corev1client.CoreV1Interface
	metrics     *metrics
	subscribers subscribers
	registry    *registry

	mu      sync.Mutex
	remotes []Remote
	members map[string]*Member
	// ctx is the context of Start; nil before it.
	ctx   context.Context
	group sync.WaitGroup
	// homeKnown is closed when the home cluster's identity is known.
	homeKnown chan struct{}
	greeters  []Greeter
	// greetersChanged is closed and replaced when a greeter is added.
	greetersChanged chan struct{}
}

// Greeter is called when a member joins. ctx ends when the member leaves or the Set ends, and must end everything that the Greeter starts
// (see Until).
type Greeter func(ctx context.Context, m *Member) error

// New creates a Set around the home cluster, which may be a manager. The caller starts the home cluster.
func New(home cluster.Cluster, o Options) (*Set, error) {
	if err := errors.Join(checkID(o.Home), checkRemotes(o.Home, o.Remotes)); err != nil {
		return nil, err
	}
	if o.Namespace == "" && len(o.Remotes) > 0 {
		return nil, errors.New("the namespace of the kubeconfigs' Secrets is unknown")
	}
	if o.Log.GetSink() == nil {
		o.Log = logf.Log.WithName("clusters")
	}
	o.Probing = o.Probing.withDefaults()
	ask, err := askWith(home.GetConfig(), home.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(home.GetConfig())
	config.QPS = -1
	secrets, err := corev1client.NewForConfigAndClient(config, home.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	metrics, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, err
	}
	return &Set{
		options: o, home: home, ask: ask, secrets: secrets, metrics: metrics, registry: newRegistry(), remotes: o.Remotes,
		members: map[string]*Member{}, homeKnown: make(chan struct{}), greetersChanged: make(chan struct{}),
	}, nil
}

// NeedLeaderElection returns false: a process that waits for leadership already connects to the members. It has no watches, because
// controllers start theirs when they lead.
func (s *Set) NeedLeaderElection() bool { return false }

// Start connects to the members, and returns when ctx has ended and all of them have stopped. Call it once.
func (s *Set) Start(ctx context.Context) error {
	s.mu.Lock()
	if s.ctx != nil {
		s.mu.Unlock()
		return errors.New("the set of clusters was started twice")
	}
	s.ctx = ctx
	s.startHome()
	s.startRemotes(s.remotes)
	s.mu.Unlock()
	if s.options.RemotesFrom != "" {
		s.group.Go(func() { s.watchRemotes(ctx) })
	}
	<-ctx.Done()
	s.mu.Lock()   // wait until members that are being started are in the group; no others are started
	s.mu.Unlock() //nolint:staticcheck // an empty critical section is what is meant
	s.group.Wait()
	return nil
}

func (s *Set) startHome() {
	m := newMember(s.ctx, s.options.Home, s.options.Log, func(_, is Status) { s.subscribers.publish(is) })
	m.home = true
	s.members[m.id] = m
	h := &homeRun{Member: m, ask: s.ask, probing: s.options.Probing, registry: s.registry, known: func() { close(s.homeKnown) }}
	s.group.Go(func() { h.run(m.life, s.home) })
	s.group.Go(func() { s.greet(m.life, m, func(error) {}) })
}

// startRemotes starts members for new remotes, after members of the same id that are leaving have ended.
func (s *Set) startRemotes(remotes []Remote) {
	ids := make([]string, len(remotes))
	for i, r := range remotes {
		ids[i] = r.ID
	}
	together := assemble(ids)
	for _, remote := range remotes {
		m := newMember(s.ctx, remote.ID, s.options.Log, func(was, is Status) {
			s.metrics.report(was, is)
			s.subscribers.publish(is)
		})
		m.watches.optional = s.options.Optional
		r := &remoteRun{
			Member: m, remote: remote, probing: s.options.Probing, registry: s.registry, assembly: together, options: s.options.Cluster,
			home:   s.homeKnown,
			secret: newSecretWatch(s.secrets.RESTClient(), s.options.Namespace, remote.Secret),
			greet:  func(ctx context.Context, failed func(error)) { s.greet(ctx, m, failed) },
		}
		earlier := s.members[remote.ID]
		s.members[remote.ID] = m
		s.group.Go(func() {
			if earlier != nil {
				<-earlier.done
			}
			s.metrics.report(m.Status(), m.Status())
			r.run(m.life)
		})
	}
}

// setRemotes replaces the remote clusters. Those that are no longer named leave, new ones join, and those with another URL, Secret or UID
// do both. It reports whether anything changed. On an error, nothing changes.
func (s *Set) setRemotes(remotes []Remote) (bool, error) {
	if err := checkRemotes(s.options.Home, remotes); err != nil {
		return false, err
	}
	if s.options.Namespace == "" && len(remotes) > 0 {
		return false, errors.New("the namespace of the kubeconfigs' Secrets is unknown")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	earlier := s.remotes
	s.remotes = slices.Clone(remotes)
	if s.ctx == nil || s.ctx.Err() != nil || slices.Equal(earlier, remotes) {
		return false, nil
	}
	for _, r := range earlier {
		if slices.Contains(remotes, r) {
			continue
		}
		s.members[r.ID].stop()
		if !slices.ContainsFunc(remotes, func(now Remote) bool { return now.ID == r.ID }) {
			s.dismiss(r.ID)
		}
	}
	s.startRemotes(slices.DeleteFunc(slices.Clone(remotes), func(r Remote) bool { return slices.Contains(earlier, r) }))
	return true, nil
}

// dismiss removes a member from the list. It remembers the member until it has ended, for a new one of the same id.
func (s *Set) dismiss(id string) {
	m := s.members[id]
	s.group.Go(func() {
		<-m.done
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.members[id] == m {
			delete(s.members, id)
		}
	})
}

// Member returns the member of that id, or an UnknownError.
func (s *Set) Member(id string) (*Member, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.members[id]
	if !ok || m.life.Err() != nil {
		return nil, &UnknownError{ID: id}
	}
	return m, nil
}

// Members returns all members, connected or not, sorted by id. Before Start there are none.
func (s *Set) Members() []*Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	members := slices.DeleteFunc(slices.Collect(maps.Values(s.members)), func(m *Member) bool { return m.life.Err() != nil })
	slices.SortFunc(members, func(a, b *Member) int { return strings.Compare(a.id, b.id) })
	return members
}

// Subscribe sends the statuses of all members, first the present ones, then each notable change: of State, Reason, Identity,
// CredentialsExpire, or of a Message, except for that of a network failure. A slow reader may miss intermediate statuses, but never the
// latest. The channel is closed when ctx ends.
func (s *Set) Subscribe(ctx context.Context) <-chan Status {
	sub := &subscriber{latest: map[string]Status{}, wake: make(chan struct{}, 1)}
	s.subscribers.add(sub)
	context.AfterFunc(ctx, func() { s.subscribers.remove(sub) })
	for _, m := range s.Members() {
		sub.putFirst(m.Status())
	}
	to := make(chan Status)
	go sub.deliver(ctx, to)
	return to
}

// OnJoin calls greet once for each member, home included, as soon as it is first connected, and for members that are already connected. It
// does not call greet again when credentials change or an outage ends: watches continue and miss nothing. If greet fails, OnJoin calls it
// again after 1 s to 30 s, and the member's status shows the error.
func (s *Set) OnJoin(greet Greeter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.greeters = append(s.greeters, greet)
	close(s.greetersChanged)
	s.greetersChanged = make(chan struct{})
}

// greet announces the member to all present and future greeters.
func (s *Set) greet(ctx context.Context, m *Member, report func(error)) {
	const first, last = time.Second, 30 * time.Second
	select {
	case <-m.joined:
	case <-ctx.Done():
	}
	told, delay := map[int]bool{}, first
	for ctx.Err() == nil {
		s.mu.Lock()
		greeters, changed := s.greeters, s.greetersChanged
		s.mu.Unlock()
		failure := greetAll(ctx, m, greeters, told)
		report(failure)
		again := make(<-chan time.Time)
		if failure != nil {
			s.options.Log.Error(failure, "Failed to set up a new Kubernetes cluster, retrying", "cluster", m.id)
			again, delay = time.After(delay), min(2*delay, last)
		} else {
			delay = first
		}
		select {
		case <-changed:
		case <-again:
		case <-ctx.Done():
		}
	}
}

func greetAll(ctx context.Context, m *Member, greeters []Greeter, told map[int]bool) error {
	var failures []error
	for i, greet := range greeters {
		if told[i] {
			continue
		}
		err := greet(ctx, m)
		told[i] = err == nil
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}
