package clusters

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// Member is one Kubernetes cluster of a Set. The Member, its caches and its watches stay the same when its credentials change, and when its
// API server is unreachable for a while. A cluster that leaves and joins again is another Member.
type Member struct {
	id   string
	home bool
	log  logr.Logger
	tell func(was, is Status)

	mu      sync.Mutex
	status  Status
	cluster cluster.Cluster
	// period lasts while the member is connected, and is nil otherwise; end ends it.
	period context.Context
	end    context.CancelCauseFunc

	// watches are those that fill the cache; the home cluster has none here.
	watches *watches
	// waits are those of reads from the cache.
	waits waits
	// link sends the requests; nil rejects them all. The home cluster does not use it.
	link atomic.Pointer[link]
	// wake makes the member probe before its time.
	wake chan struct{}
	// life is canceled when the member leaves, or when the Set ends.
	life context.Context
	stop context.CancelFunc
	// joined is closed on the first connection, done when all goroutines of the member have returned.
	joined, done chan struct{}
}

func newMember(ctx context.Context, id string, log logr.Logger, tell func(was, is Status)) *Member {
	m := &Member{
		id: id, log: log.WithValues("cluster", id), tell: tell,
		wake: make(chan struct{}, 1), joined: make(chan struct{}), done: make(chan struct{}),
		waits:  waits{timeout: watchTimeout},
		status: Status{ID: id, State: Joining, Since: time.Now(), Reason: ReasonStarting, Message: facts{}.judge().message},
	}
	m.watches = newWatches(m.recheck)
	m.life, m.stop = context.WithCancel(ctx)
	return m
}

// ID returns the name by which objects refer to the cluster.
func (m *Member) ID() string { return m.id }

// Home reports whether this is the cluster in which the process runs.
func (m *Member) Home() bool { return m.home }

// Status returns the status of the connection.
func (m *Member) Status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.status
}

// Cluster returns the cluster's cache, for watches and indexes, and its other parts without the guard of Reader and Client: their reads may
// be outdated. It is nil until the member is first connected, so it is not nil in OnJoin and later. Its config has no credentials: its
// Transport adds them, and the address, to each request, and must be used unchanged.
func (m *Member) Cluster() cluster.Cluster {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cluster
}

// Reader returns a reader of the cluster's cache. A read fails with an UnreachableError if the member is not connected, or if the
// connection is lost during the read. It never returns objects from a cache that is not in sync, or not in sync again. The first read of a
// kind in a namespace waits up to 15 s until its watch begins; the next ones fail at once if it has not begun by then. If the rights were
// lost in one of several namespaces, reads of that one fail; those of all namespaces do not, and may return its outdated objects, unless
// the kind is in Options.Optional.
func (m *Member) Reader() client.Reader { return guardedReader{m, lateReader{m, false}} }

// APIReader returns a reader of the API server, for objects that must be up to date. Its reads fail as those of Reader do.
func (m *Member) APIReader() client.Reader { return guardedReader{m, lateReader{m, true}} }

// Client returns a client that reads as Reader does, but waits for a watch as long as its context, and writes to the API server. After a
// write that failed with an UnreachableError, it is unknown whether the write happened. Until the first connection, Client fails with the
// member's UnreachableError.
func (m *Member) Client() (client.Client, error) {
	c := m.Cluster()
	if c == nil {
		return nil, m.unreachable()
	}
	return guardedClient{c.GetClient(), m}, nil
}

// lateReader looks up the member's reader for each read: there is none before the first connection.
type lateReader struct {
	m    *Member
	live bool
}

func (r lateReader) reader() (client.Reader, error) {
	c := r.m.Cluster()
	switch {
	case c == nil:
		return nil, r.m.unreachable()
	case r.live:
		return c.GetAPIReader(), nil
	}
	return c.GetCache(), nil
}

// Get reads one object.
func (r lateReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return r.read(ctx, o, key.Namespace, func(ctx context.Context, from client.Reader) error { return from.Get(ctx, key, o, opts...) })
}

// List reads many objects.
func (r lateReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	in := (&client.ListOptions{}).ApplyOptions(opts).Namespace
	return r.read(ctx, list, in, func(ctx context.Context, from client.Reader) error { return from.List(ctx, list, opts...) })
}

// read reads an object or a list in a namespace.
func (r lateReader) read(ctx context.Context, what runtime.Object, in string, do func(context.Context, client.Reader) error) error {
	from, err := r.reader()
	switch {
	case err != nil:
		return err
	case r.live:
		return do(ctx, from)
	}
	where := "all namespaces"
	if in != "" {
		where = "namespace " + in
	}
	return r.m.waits.read(ctx, simple(what)+" in "+where, func(ctx context.Context) error { return do(ctx, from) })
}

func (m *Member) unreachable() error { return &UnreachableError{Status: m.Status()} }

// connected implements guard.
func (m *Member) connected() (context.Context, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.period == nil {
		return nil, &UnreachableError{Status: m.status}
	}
	return m.period, nil
}

// recheck makes the member probe immediately, after a possible change.
func (m *Member) recheck() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// roundTrip sends a request over the link in use, after it verified that the link leads to the right cluster. It is the transport of all of
// the member's clients.
func (m *Member) roundTrip(r *http.Request) (*http.Response, error) {
	l := m.link.Load()
	err := m.unreachable()
	if l != nil {
		if err = l.verify(r.Context()); err == nil {
			return l.RoundTrip(r)
		}
		m.recheck()
		err = &UnreachableError{Status: m.Status(), Err: err}
	}
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return nil, err
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip sends a request.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// report applies a verdict and notifies the subscribers.
func (m *Member) report(v verdict, seen observation) {
	m.mu.Lock()
	was := m.status
	is := Status{
		ID: m.id, State: v.state, Since: was.Since, Reason: v.reason, Message: v.message,
		Identity: seen.identity, LastSeen: seen.last, CredentialsExpire: seen.access.Expires, Warnings: seen.access.Warnings,
		Secret: seen.secret,
	}
	if is.State != was.State {
		is.Since = time.Now()
	}
	m.status = is
	switch connected := is.State == Connected; {
	case connected && m.period == nil:
		m.period, m.end = context.WithCancelCause(context.WithoutCancel(m.life))
		m.markJoined()
	case !connected && m.period != nil:
		m.end(&UnreachableError{Status: is})
		m.period = nil
	}
	m.mu.Unlock()
	if !notable(was, is) {
		return
	}
	m.log.Info("Connection to a Kubernetes cluster changed", "state", is.State, "reason", is.Reason, "message", is.Message,
		"identity", is.Identity)
	m.tell(was, is)
}

func (m *Member) markJoined() {
	select {
	case <-m.joined:
	default:
		close(m.joined)
	}
}

// observation is the last known state of a cluster.
type observation struct {
	identity types.UID
	last     time.Time
	access   Access
	secret   string
}

// notable reports whether subscribers need the change. Another message of the same network failure is not notable: it has another port each
// time.
func notable(was, is Status) bool {
	if was.State != is.State || was.Reason != is.Reason || was.Identity != is.Identity || !was.CredentialsExpire.Equal(is.CredentialsExpire) {
		return true
	}
	return was.Message != is.Message && is.Reason != ReasonNoAnswer
}
