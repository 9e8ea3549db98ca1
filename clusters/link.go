package clusters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// IdentityNamespace is the namespace whose uid is the identity of a cluster. Every cluster has it, it cannot be deleted, and its uid is
// unique. Credentials need the right to get this namespace.
const IdentityNamespace = metav1.NamespaceSystem

// identifier identifies a cluster. A single request shows whether the API server and its store respond, whether they accept the
// credentials, and whether it is the expected cluster.
type identifier interface {
	identity(ctx context.Context) (types.UID, error)
}

// namespaces implements identifier with a client.
type namespaces struct {
	client corev1client.NamespaceInterface
}

func (n namespaces) identity(ctx context.Context) (types.UID, error) {
	ns, err := n.client.Get(ctx, IdentityNamespace, metav1.GetOptions{})
	switch {
	case apierrors.IsUnauthorized(err):
		return "", refuse(ReasonCredentialsRefused, "the API server rejects the credentials: %v", err)
	case apierrors.IsForbidden(err):
		return "", refuse(ReasonCredentialsRefused, "the credentials need the right to get the namespace %s, which identifies the cluster: %v",
			IdentityNamespace, err)
	case err != nil:
		return "", err
	case ns.UID == "":
		return "", errors.New("the server is not a Kubernetes API server: its namespace kube-system has no uid")
	}
	return ns.UID, nil
}

func askWith(config *rest.Config, client *http.Client) (identifier, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // probes do not queue
	c, err := corev1client.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return namespaces{c.Namespaces()}, nil
}

// link is one way to reach a cluster: an address, credentials, and the connections that were opened with them. It sends all requests to its
// own address. Unlike client-go's transports, it is not in a cache of the process, so that closing it releases everything.
type link struct {
	// kubeconfig is the kubeconfig of the link.
	kubeconfig []byte
	access     Access
	server     *url.URL
	dialer     *dialer
	base       *http.Transport
	chain      http.RoundTripper
	ask        identifier
	// timeout is that of a request for the identity.
	timeout time.Duration
	// expected is the identity that the server must have for other requests; set once, when the link is taken into use.
	expected types.UID
	// known is the dialer's generation for which the identity is known, plus 1.
	known atomic.Uint64
	// foreign is set permanently when the server turns out to be another cluster's.
	mu      sync.Mutex
	foreign error
	// asking is the request for the identity that is under way; nil if there is none.
	asking *question
}

// question is one request to the server for all waiting callers. Otherwise, a server that does not respond would delay each of them in
// turn.
type question struct {
	// answered is closed when err is known.
	answered chan struct{}
	err      error
}

func newLink(access Access, timeout time.Duration) (*link, error) {
	server, err := url.Parse(access.Config.Host)
	if err != nil {
		return nil, refuse(ReasonKubeconfigInvalid, "the kubeconfig's server: %v", err)
	}
	tls, err := rest.TLSConfigFor(access.Config)
	if err != nil {
		return nil, refuse(ReasonKubeconfigInvalid, "the kubeconfig's certificates or key: %v", err)
	}
	d := newDialer()
	proxy := http.ProxyFromEnvironment
	if access.Config.Proxy != nil {
		proxy = access.Config.Proxy
	}
	base := utilnet.SetTransportDefaults(&http.Transport{
		Proxy: proxy, DialContext: d.DialContext, TLSClientConfig: tls, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 25, IdleConnTimeout: 90 * time.Second, DisableCompression: access.Config.DisableCompression,
	})
	chain, err := rest.HTTPWrappersForConfig(access.Config, base)
	if err != nil {
		return nil, refuse(ReasonKubeconfigInvalid, "the kubeconfig's credentials: %v", err)
	}
	l := &link{access: access, server: server, dialer: d, base: base, chain: chain, timeout: timeout}
	if l.ask, err = askWith(&rest.Config{Host: server.Scheme + "://" + server.Host}, &http.Client{Transport: l}); err != nil {
		return nil, err
	}
	return l, nil
}

// RoundTrip sends the request to the link's server.
func (l *link) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = ""
	r.URL.Scheme, r.URL.Host = l.server.Scheme, l.server.Host
	if prefix := strings.TrimSuffix(l.server.Path, "/"); prefix != "" {
		r.URL.Path = prefix + r.URL.Path
		if r.URL.RawPath != "" {
			r.URL.RawPath = strings.TrimSuffix(l.server.EscapedPath(), "/") + r.URL.RawPath
		}
	}
	return l.chain.RoundTrip(r)
}

// identify requests the server's identity. If the server does not respond in time, identify closes all connections to it: a connection
// without responses would otherwise stay in use until the operating system gives it up, a quarter of an hour later.
func (l *link) identify(caller context.Context) (types.UID, error) {
	ctx, cancel := context.WithTimeoutCause(caller, l.timeout, fmt.Errorf("no answer within %s", l.timeout))
	defer cancel()
	uid, err := l.ask.identity(ctx)
	if err != nil && !answered(err) && ctx.Err() == nil {
		// The connection broke, or was closed and the transport did not notice yet. A new one may work.
		l.drop()
		uid, err = l.ask.identity(ctx)
	}
	if err != nil && !answered(err) && caller.Err() == nil {
		l.drop()
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%s: %w", l.server.Host, cause)
		}
	}
	return uid, err
}

// answered reports whether an error is a response of an API server.
func answered(err error) bool {
	if _, ok := errors.AsType[*refusal](err); ok {
		return true
	}
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// expect sets the identity that the server must have from now on. The caller has just found it to have that identity.
func (l *link) expect(uid types.UID) {
	l.expected = uid
	l.known.Store(l.dialer.generation() + 1)
}

// probe requests the server's identity, and compares it with the expected one.
func (l *link) probe(ctx context.Context) error {
	l.mu.Lock()
	q := l.asking
	if q == nil {
		q = &question{answered: make(chan struct{})}
		l.asking = q
		go func() {
			q.err = l.compare(context.WithoutCancel(ctx)) // other callers may wait for it; l.timeout bounds it, not ctx
			l.mu.Lock()
			l.asking = nil
			l.mu.Unlock()
			close(q.answered)
		}()
	}
	l.mu.Unlock()
	select {
	case <-q.answered:
		return q.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// compare requests the server's identity and returns an error unless it is the expected one.
func (l *link) compare(ctx context.Context) error {
	uid, err := l.identify(ctx)
	if err != nil {
		return err
	}
	if uid != l.expected {
		err := refuse(ReasonIdentityChanged, "another cluster answers at %s: its identity (uid of the namespace %s) is %s, want %s",
			l.server.Host, IdentityNamespace, uid, l.expected)
		l.mu.Lock()
		l.foreign = err
		l.mu.Unlock()
		l.dialer.close()
		return err
	}
	l.known.Store(l.dialer.generation() + 1)
	return nil
}

// verify makes sure that the connections lead to the right cluster. It sends a request only after a connection was opened or closed.
func (l *link) verify(ctx context.Context) error {
	if err := l.turnedForeign(); err != nil {
		return err
	}
	// A request that was already under way may have used the earlier connections; the next one does not.
	for range 2 {
		if l.known.Load() == l.dialer.generation()+1 {
			return nil
		}
		if err := l.probe(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (l *link) turnedForeign() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.foreign
}

// drop closes the open connections. The next request opens a new one.
func (l *link) drop() {
	l.base.CloseIdleConnections() // the transport would try to use them
	l.dialer.drop()
}

// close ends all requests over the link.
func (l *link) close() {
	l.dialer.close()
	l.base.CloseIdleConnections()
}
