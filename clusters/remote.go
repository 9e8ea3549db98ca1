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
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// remoteRun brings a remote cluster in, and keeps watch over it. All decisions are made in the one goroutine of run, so that nothing here
// needs a lock.
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

	watches *watches
	group   sync.WaitGroup
	// tried is the kubeconfig that was tried last, and candidate why it is not in use.
	tried     []byte
	candidate error
	health    Health
	seen      sighting
	// draining are links that are no longer in use, but that requests under way may still end on.
	draining []*link
	// joining is the link that the member joins by, until that is done.
	joining atomic.Pointer[link]
	// joinErr is set by those who are greeted.
	joinErr atomic.Pointer[error]
	// lastSecret is what was known about the Secret in the latest step.
	lastSecret secretState
}

func (r *remoteRun) run(ctx context.Context) {
	defer close(r.done)
	defer r.leave()
	r.watches = newWatches(r.recheck)
	r.group.Go(func() { r.secret.run(ctx, r.recheck) })
	ticker := time.NewTicker(r.probing.Interval)
	defer ticker.Stop()
	for due := true; ; {
		r.step(ctx, due)
		select {
		case <-r.wake:
			due = false
		case <-ticker.C:
			due = true
		case <-ctx.Done():
			return
		}
	}
}

// leave ends all that was begun.
func (r *remoteRun) leave() {
	r.stop()
	r.assembly.arrive(r.id)
	r.report(facts{left: true}.judge(), r.seen)
	r.unlink()
	r.group.Wait()
	r.registry.forget(r.id)
}

// step looks at what has changed. If it is due, it also probes the link in use and tries again what has failed; both at the same time, so
// that a server that is silent delays nothing else.
func (r *remoteRun) step(ctx context.Context, due bool) {
	r.lastSecret = r.secret.state()
	fresh := r.takeSecret()
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
	r.conclude()
}

// takeSecret notes a change of the Secret, and reports whether there is a kubeconfig that has not been tried.
func (r *remoteRun) takeSecret() (fresh bool) {
	switch s := r.lastSecret; s.view {
	case secretMissing:
		// Whoever takes the credentials away means it.
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

// try makes a link of the Secret's kubeconfig, and finds out where it leads to.
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

// claim waits for those who start at the same time, and for the home cluster, and then asks whether the cluster may be taken into use.
func (r *remoteRun) claim(ctx context.Context, uid types.UID) error {
	r.assembly.wait(ctx, r.probing.Bound())
	select {
	case <-r.home:
	default:
		return fmt.Errorf("the identity of the home cluster is unknown: the right to get its namespace %s is required", IdentityNamespace)
	}
	return r.registry.claim(r.id, uid, r.remote.UID)
}

// probe asks the server behind the link in use.
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

// adopt takes a new link into use. What was under way on the earlier one may end there; what is still under way after a while, as watches
// are, is broken off then, and taken up again on the new one where it was.
func (r *remoteRun) adopt(ctx context.Context, l *link) error {
	if r.Cluster() == nil {
		if err := r.join(ctx, l); err != nil {
			l.close()
			return err
		}
	}
	now := time.Now()
	r.health = Health{Up: true, Since: now}
	r.seen = sighting{identity: l.expected, last: now, access: l.access}
	if old := r.link.Swap(l); old != nil {
		r.draining = append(r.draining, old)
		time.AfterFunc(r.probing.Timeout, old.close)
	}
	return nil
}

// join makes the cluster's clients and caches, and announces the member as soon as it is connected.
func (r *remoteRun) join(ctx context.Context, l *link) error {
	config := &rest.Config{
		Host:      l.server.Scheme + "://" + l.server.Host, // for messages: the link in use knows the true one
		Transport: roundTripper(r.transport),
		QPS:       -1, // the API server has its own means to keep clients in check
	}
	// A cache with options for single kinds asks the server about these while it is made. The link is not in use yet, but known to be the
	// right one.
	r.joining.Store(l)
	defer r.joining.Store(nil)
	options := append(slices.Clone(r.options), func(o *cluster.Options) {
		o.Cache.NewInformer = r.watches.newInformer
		o.HTTPClient = &http.Client{Transport: config.Transport}
	})
	c, err := cluster.New(config, options...)
	if err != nil {
		return fmt.Errorf("create the clients of cluster %s: %w", r.id, err)
	}
	r.group.Go(func() {
		if err := c.Start(ctx); err != nil && ctx.Err() == nil {
			r.log.Error(err, "the caches of a Kubernetes cluster stopped")
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
	l := r.joining.Load()
	if l == nil {
		return r.roundTrip(request)
	}
	// Discovery knows no deadline of its own, and everything else waits for it.
	ctx, cancel := context.WithTimeout(request.Context(), r.probing.Bound())
	context.AfterFunc(ctx, cancel)
	return l.RoundTrip(request.WithContext(ctx))
}

// unlink takes the credentials out of use at once.
func (r *remoteRun) unlink() {
	if l := r.link.Swap(nil); l != nil {
		l.close()
	}
	for _, l := range r.draining {
		l.close()
	}
	r.draining = nil
}

// conclude judges what is known now. The gate opens before the verdict, because that may wait for watches; it closes after it, so that
// nobody believes in caches that nothing feeds.
func (r *remoteRun) conclude() {
	l := r.link.Load()
	f := facts{
		secret: r.lastSecret.view, secretErr: r.lastSecret.err, secretName: r.lastSecret.name,
		candidate: r.candidate, linked: l != nil, health: r.health,
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
		f.pending = r.watches.pending()
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
	// err is why it could not be read, with secretUnread.
	err error
	// kubeconfig, with secretRead; never nil, perhaps empty.
	kubeconfig []byte
}

func kubeconfigOf(secret *corev1.Secret) []byte {
	return append([]byte{}, secret.Data[KubeconfigKey]...)
}
