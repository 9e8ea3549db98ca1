package clusters

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// remoteRun connects a remote cluster and monitors it. It makes all decisions in the goroutine of run, so that its fields need no lock.
type remoteRun struct {
	*Member
	remote   Remote
	probing  Probing
	registry *registry
	assembly *assembly
	options  []cluster.Option
	secret   *secretWatch
	// home is closed when the home cluster's identity is known.
	home <-chan struct{}
	// greet announces the member to the greeters; it returns when ctx ends.
	greet func(ctx context.Context, failed func(error))

	group sync.WaitGroup
	// tried is the kubeconfig that was tried last. candidate is why it is not in use.
	tried     []byte
	candidate error
	health    Health
	pace      pace
	seen      observation
	// draining are links that are no longer in use, except for requests that are still under way.
	draining []*link
	// joining is the link with which the member joins; nil when it has joined.
	joining atomic.Pointer[link]
	// joinErr is the latest error of the greeters.
	joinErr atomic.Pointer[error]
	// lastSecret is the state of the Secret in the latest step.
	lastSecret secretState
}

func (r *remoteRun) run(ctx context.Context) {
	defer close(r.done)
	defer r.leave()
	r.group.Go(func() { r.secret.run(ctx, r.recheck) })
	ticker := time.NewTicker(r.probing.Interval)
	defer ticker.Stop()
	for due := true; ; {
		r.step(ctx, due)
		select {
		case <-r.wake:
			due = false
		case now := <-ticker.C:
			due = r.pace.due(now, r.probing.SlowAfter)
		case <-ctx.Done():
			return
		}
	}
}

// leave ends everything that run started.
func (r *remoteRun) leave() {
	r.stop()
	r.assembly.arrive(r.id)
	r.report(facts{left: true}.judge(), r.seen)
	r.unlink()
	r.group.Wait()
	r.registry.forget(r.id)
}

// step handles changes. If due is set, it also probes the link in use and retries what failed, both at the same time, so that a server that
// does not respond delays nothing else.
func (r *remoteRun) step(ctx context.Context, due bool) {
	r.lastSecret = r.secret.state()
	r.forgetDrained()
	fresh := r.takeSecret()
	if fresh {
		r.pace = pace{}
	}
	var found *link
	var attempt sync.WaitGroup
	if r.wanted() && (fresh || due && !hopeless(r.candidate)) {
		attempt.Go(func() { found, r.candidate = r.try(ctx) })
	}
	if l := r.link.Load(); l != nil && due {
		r.probe(ctx, l)
	}
	attempt.Wait()
	if ctx.Err() != nil {
		if found != nil {
			found.close()
		}
		return
	}
	if found != nil {
		r.candidate = r.adopt(ctx, found)
	}
	used := r.link.Load() != nil
	r.pace.note(time.Now(), used && r.health.Err == nil || !used && r.candidate == nil)
	r.conclude()
}

// takeSecret records a change of the Secret, and reports whether it has a kubeconfig that was not tried.
func (r *remoteRun) takeSecret() (fresh bool) {
	switch s := r.lastSecret; s.view {
	case secretMissing:
		// A user who removes the credentials wants them not to be used.
		r.tried, r.candidate = nil, nil
		r.unlink()
		r.registry.observe(r.id, "")
		r.assembly.arrive(r.id)
	case secretRead:
		fresh = r.tried == nil || !bytes.Equal(r.tried, s.kubeconfig)
		r.tried = s.kubeconfig
	case secretUnread:
	}
	return fresh
}

// wanted reports whether the Secret's kubeconfig is not the one in use.
func (r *remoteRun) wanted() bool {
	if r.tried == nil {
		return false
	}
	l := r.link.Load()
	if l != nil && bytes.Equal(l.kubeconfig, r.tried) && l.turnedForeign() == nil {
		r.candidate = nil
		return false
	}
	return true
}

// try makes a link from the Secret's kubeconfig, and finds the cluster that it leads to.
func (r *remoteRun) try(ctx context.Context) (*link, error) {
	defer r.assembly.arrive(r.id)
	if len(r.tried) == 0 {
		return nil, refuse(ReasonKubeconfigInvalid, "the Secret %s has no key %s", r.lastSecret.name, KubeconfigKey)
	}
	access, err := ReadKubeconfig(r.tried, r.remote.URL)
	if err != nil {
		return nil, err
	}
	l, err := newLink(access, r.probing.Timeout)
	if err != nil {
		return nil, err
	}
	l.kubeconfig = r.tried
	uid, err := l.identify(ctx)
	if err == nil {
		l.expect(uid)
		r.registry.observe(r.id, uid)
		r.assembly.arrive(r.id)
		err = r.claim(ctx, uid)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// claim waits for the members that start at the same time and for the home cluster, and then checks whether the cluster may be used.
func (r *remoteRun) claim(ctx context.Context, uid types.UID) error {
	r.assembly.wait(ctx, r.probing.Bound())
	select {
	case <-r.home:
	default:
		return fmt.Errorf("the identity of the home cluster is unknown: the right to get its namespace %s is required", IdentityNamespace)
	}
	return r.registry.claim(r.id, uid, r.remote.UID)
}

// probe probes the server of the link in use.
func (r *remoteRun) probe(ctx context.Context, l *link) {
	err := l.probe(ctx)
	now := time.Now()
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		r.seen.last = now
	}
	r.health = r.probing.Hysteresis.Next(r.health, now, err)
}

// adopt starts to use a new link. Requests that are under way on the earlier link may end there. After a while, adopt ends those that
// remain, such as watches; these resume on the new link at the same version.
func (r *remoteRun) adopt(ctx context.Context, l *link) error {
	if r.Cluster() == nil {
		if err := r.join(ctx, l); err != nil {
			l.close()
			return err
		}
	}
	now := time.Now()
	r.health = Health{Up: true, Since: now}
	r.seen = observation{identity: l.expected, last: now, access: l.access}
	if old := r.link.Swap(l); old != nil {
		r.draining = append(r.draining, old)
		time.AfterFunc(r.probing.Timeout, old.close)
	}
	return nil
}

// join creates the cluster's clients and caches, and announces the member as soon as it is connected.
func (r *remoteRun) join(ctx context.Context, l *link) error {
	config := &rest.Config{
		Host:      l.server.Scheme + "://" + l.server.Host, // for messages: the link in use has the actual one
		Transport: roundTripper(r.transport),
		QPS:       -1, // the API server limits its clients itself
	}
	// A cache with options for single kinds requests these from the server while it is created. The link is not in use yet, but leads to the
	// right server.
	r.joining.Store(l)
	defer r.joining.Store(nil)
	options := append(slices.Clone(r.options), func(o *cluster.Options) {
		o.Cache.NewInformer = r.watches.newInformer
		o.NewCache = func(config *rest.Config, options cache.Options) (cache.Cache, error) {
			c, err := cache.New(config, options)
			return watchedCache{c, r.watches}, err
		}
		o.HTTPClient = &http.Client{Transport: config.Transport}
	})
	c, err := cluster.New(config, options...)
	if err != nil {
		return fmt.Errorf("create the clients of cluster %s: %w", r.id, err)
	}
	r.group.Go(func() {
		if err := c.Start(ctx); err != nil && ctx.Err() == nil {
			r.log.Error(err, "Caches of a Kubernetes cluster stopped")
		}
	})
	if !c.GetCache().WaitForCacheSync(ctx) {
		return ctx.Err()
	}
	r.mu.Lock()
	r.cluster = c
	r.mu.Unlock()
	r.group.Go(func() {
		r.greet(ctx, func(err error) {
			r.joinErr.Store(&err)
			r.recheck()
		})
	})
	return nil
}

// transport sends the requests of the member's clients.
func (r *remoteRun) transport(request *http.Request) (*http.Response, error) {
	r.watches.note(request)
	l := r.joining.Load()
	if l == nil {
		return r.roundTrip(request)
	}
	// Discovery has no deadline, and everything else waits for it.
	ctx, cancel := context.WithTimeout(request.Context(), r.probing.Bound())
	context.AfterFunc(ctx, cancel)
	return l.RoundTrip(request.WithContext(ctx))
}

// forgetDrained forgets the links that ended.
func (r *remoteRun) forgetDrained() {
	r.draining = slices.DeleteFunc(r.draining, func(l *link) bool { return l.dialer.ended() })
}

// unlink stops the use of the credentials at once.
func (r *remoteRun) unlink() {
	if l := r.link.Swap(nil); l != nil {
		l.close()
	}
	for _, l := range r.draining {
		l.close()
	}
	r.draining = nil
}

// conclude reports the present state. It opens the gate before the verdict, because the verdict may wait for watches, and closes it after
// the verdict, so that nothing is read from caches without watches.
func (r *remoteRun) conclude() {
	l := r.link.Load()
	f := facts{
		secret: r.lastSecret.view, secretErr: r.lastSecret.err, secretName: r.lastSecret.name,
		candidate: r.candidate, linked: l != nil, health: r.health, successes: r.probing.Hysteresis.Successes,
	}
	if err := r.joinErr.Load(); err != nil {
		f.joinErr = *err
	}
	if l != nil {
		f.foreign = l.turnedForeign()
	}
	pass := l != nil && f.foreign == nil && r.health.Up
	if pass {
		r.watches.pass(true, l.drop)
		f.pending, f.unserved, f.forbidden = r.watches.pending(), r.watches.unserved(), r.watches.forbidden()
	}
	seen := r.seen
	seen.secret = r.lastSecret.name
	r.report(f.judge(), seen)
	if !pass {
		r.watches.pass(false, func() {
			if l != nil {
				l.drop()
			}
		})
	}
}

// secretState is the observed state of a Secret.
type secretState struct {
	view secretView
	name string
	// err is why the Secret could not be read, with secretUnread.
	err error
	// kubeconfig is set with secretRead: never nil, perhaps empty.
	kubeconfig []byte
}

func kubeconfigOf(secret *corev1.Secret) []byte {
	return append([]byte{}, secret.Data[KubeconfigKey]...)
}
