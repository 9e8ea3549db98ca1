package clusters

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

func TestAClusterJoinsAndLeaves(t *testing.T) {
	kubeconfig, _ := user(t, east)
	metrics := prometheus.NewRegistry()
	w := newWorld(t, func(o *Options) { o.Registerer = metrics })
	changes := w.set.Subscribe(t.Context())
	w.becomes("home", Connected, "", "")
	w.Expect(w.status("home").Identity).To(Equal(uidOf(t, w.home)))
	w.put("before")
	f := w.joined(kubeconfig, "")
	w.receive(changes, Connected)

	m := w.member("east")
	status := m.Status()
	w.Expect(status.Identity).To(Equal(uidOf(t, w.east)))
	w.Expect(status.LastSeen).To(BeTemporally("~", time.Now(), 30*time.Second))
	w.Expect(status.CredentialsExpire).To(BeTemporally(">", time.Now()), "a client certificate says when it ends")
	w.Expect(w.set.Members()).To(HaveExactElements(m, w.member("home")))
	w.Expect(w.read(t.Context(), m)).To(Equal([]string{"before"}))
	c, err := m.Client()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.far, Name: "written"}})).To(Succeed())
	w.Eventually(f.has(&f.added)).Should(ContainElements("before", "written"))
	w.Expect(m.APIReader().Get(t.Context(), client.ObjectKey{Namespace: w.far, Name: "written"}, &corev1.ConfigMap{})).To(Succeed())
	w.Expect(testutil.GatherAndCount(metrics)).To(Equal(3))
	w.Expect(testutil.ToFloat64(w.set.metrics.expires.WithLabelValues("east"))).To(Equal(float64(status.CredentialsExpire.Unix())))
	w.Expect(testutil.ToFloat64(w.set.metrics.connected.WithLabelValues("east"))).To(Equal(1.0))
	w.Expect(testutil.ToFloat64(w.set.metrics.changes.WithLabelValues("east"))).To(Equal(1.0))

	w.remotes()
	_, err = w.set.Member("east")
	w.Expect(err).To(BeAssignableToTypeOf(&UnknownError{}))
	w.Eventually(m.Status).Should(is(Left, ReasonLeft, ""))
	w.Eventually(f.left.get).Should(Equal(1))
	_, err = w.read(t.Context(), m)
	w.Expect(err).To(MatchError(IsUnreachable, "unreachable"), "whoever still holds the member does not get an empty list")
	w.Expect(IsUnreachable(c.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.far,
		Name: "written"}}))).To(BeTrue())
	w.Expect(w.east.Get(t.Context(), client.ObjectKey{Namespace: w.far, Name: "written"}, &corev1.ConfigMap{})).To(Succeed())
	w.Eventually(m.done).Should(BeClosed())
	w.Expect(testutil.GatherAndCount(metrics)).To(BeZero())
	w.receive(changes, Left)

	w.remotes(Remote{ID: "east", Secret: "east"})
	w.becomes("east", Connected, "", "")
	w.Expect(w.member("east")).NotTo(BeIdenticalTo(m))
	w.Eventually(f.greeted.get).Should(Equal(2))
	w.stop()
	w.Expect(f.left.get()).To(Equal(2))
}

func TestCredentialsAreSwappedUnderAWatchThatMissesNothing(t *testing.T) {
	first, revokeFirst := user(t, east)
	second, revokeSecond := user(t, east)
	third, _ := user(t, east)
	w := newWorld(t)
	f := w.joined(first, "")
	w.put("start")
	w.Eventually(f.has(&f.added)).Should(Equal([]string{"start"}))
	m := w.member("east")
	since := m.Status().Since

	done, writing := make(chan int), make(chan struct{})
	go func() { // another client writes all the time
		n := 0
		defer func() { done <- n }()
		for ; ; n++ {
			select {
			case <-writing:
				return
			default:
			}
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.far, Name: fmt.Sprint("n", n)}}
			if w.east.Create(t.Context(), cm) != nil || w.east.Delete(t.Context(), cm) != nil {
				return
			}
		}
	}()
	current := first
	for _, next := range []struct {
		kubeconfig []byte
		revoke     func()
	}{{second, revokeFirst}, {third, revokeSecond}} {
		was := m.link.Load()
		w.secret("east", next.kubeconfig)
		w.Eventually(m.link.Load).ShouldNot(BeIdenticalTo(was))
		w.Expect(m.link.Load().kubeconfig).To(And(Equal(next.kubeconfig), Not(Equal(current))))
		current = next.kubeconfig
		seen := len(f.has(&f.gone)())
		w.Eventually(func() int { return len(f.has(&f.gone)()) }).Should(BeNumerically(">", seen+20))
		w.Eventually(func() int { return open(was.dialer) }).Should(BeZero(), "the earlier connections end")
		next.revoke() // a watch that had just begun would be refused, and the informer would list instead: it would miss some objects
		seen = len(f.has(&f.gone)())
		w.Eventually(func() int { return len(f.has(&f.gone)()) }).Should(BeNumerically(">", seen+20))
	}
	close(writing)
	n := <-done
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint("n", i))
	}
	w.Eventually(f.has(&f.added)).Should(Equal(append([]string{"start"}, all...)), "each one, once, in its order")
	w.Eventually(f.has(&f.gone)).Should(Equal(all))
	w.Expect(m.Status()).To(is(Connected, "", ""))
	w.Expect(m.Status().Since).To(Equal(since), "it was connected all the time")
	w.Expect(f.greeted.get()).To(Equal(1))
	w.Expect(f.left.get()).To(BeZero())
}

func open(d *dialer) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.open)
}

func TestABrokenKubeconfigLeavesTheEarlierOneInUse(t *testing.T) {
	good, _ := user(t, east)
	elsewhere, _ := user(t, home)
	powerless, revoke := user(t, east)
	revoke()
	w := newWorld(t)
	f := w.joined(good, "")
	for i, c := range []struct {
		kubeconfig []byte
		reason     Reason
		message    string
	}{
		{[]byte("{"), ReasonKubeconfigInvalid, "the previous credentials stay in use: the kubeconfig is not valid YAML"},
		{[]byte{}, ReasonKubeconfigInvalid, "has no key kubeconfig"},
		{written(t, func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Exec = &clientcmdapi.ExecConfig{Command: "/bin/true", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: "Never"}
		}), ReasonKubeconfigUnsafe, `runs the command "/bin/true"`},
		{written(t, func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "https://127.0.0.1:1" }), ReasonNoAnswer,
			"connection refused"},
		{powerless, ReasonCredentialsRefused, "need the right to get the namespace kube-system"},
		{elsewhere, ReasonIdentityChanged, "point to another cluster than before"},
	} {
		w.secret("east", c.kubeconfig)
		w.becomes("east", Connected, c.reason, c.message)
		name := fmt.Sprint("after-", i)
		w.put(name)
		w.Eventually(f.has(&f.added)).Should(ContainElement(name), "the watch goes on")
	}
	w.secret("east", good)
	w.becomes("east", Connected, "", "")
	w.Expect(f.greeted.get()).To(Equal(1))
}

func TestABrokenKubeconfigIsRefusedFromTheStart(t *testing.T) {
	good, _ := user(t, east)
	w := newWorld(t)
	w.secret("bad", written(t, func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.TokenFile = "/etc/passwd" }))
	w.remotes(Remote{ID: "bad", Secret: "bad"}, Remote{ID: "none", Secret: "none"})
	w.becomes("bad", Refused, ReasonKubeconfigUnsafe, `reads the file "/etc/passwd"`)
	w.becomes("none", Unreachable, ReasonSecretMissing, w.ns+"/none")
	_, err := w.read(t.Context(), w.member("none"))
	w.Expect(err).To(MatchError(IsUnreachable, "unreachable"))
	_, err = w.member("bad").Client()
	w.Expect(err).To(MatchError(ContainSubstring("cluster bad is not connected (Refused, KubeconfigUnsafe)")))
	w.secret("bad", good)
	w.becomes("bad", Connected, "", "")
}

func TestADeletedSecretMakesTheClusterUnreachable(t *testing.T) {
	kubeconfig, _ := user(t, east)
	w := newWorld(t)
	w.put("kept")
	w.put("dropped")
	f := w.joined(kubeconfig, "")
	m := w.member("east")
	w.Eventually(f.has(&f.added)).Should(ConsistOf("kept", "dropped"))
	w.secret("east", nil)
	w.becomes("east", Unreachable, ReasonSecretMissing, "does not exist")
	_, err := w.read(t.Context(), m)
	w.Expect(err).To(MatchError(IsUnreachable, "unreachable"))
	w.drop("dropped")
	w.put("new")
	w.Consistently(f.has(&f.gone)).Should(BeEmpty(), "nothing goes on with the credentials that were taken away")

	w.secret("east", kubeconfig)
	w.becomes("east", Connected, "", "")
	w.Expect(w.read(t.Context(), m)).To(Equal([]string{"kept", "new"}), "from the first read on")
	w.Eventually(f.has(&f.gone)).Should(Equal([]string{"dropped"}), "what was missed is made up for")
	w.Eventually(f.has(&f.added)).Should(ConsistOf("kept", "dropped", "new"))
	w.Expect(f.greeted.get()).To(Equal(1))
}

func TestTwoIDsForOneClusterAreRefused(t *testing.T) {
	a, _ := user(t, east)
	b, _ := user(t, east)
	h, _ := user(t, home)
	w := newWorld(t)
	w.secret("a", a)
	w.secret("b", b)
	w.secret("h", h)
	both := []Remote{{ID: "a", Secret: "a"}, {ID: "b", Secret: "b"}, {ID: "h", Secret: "h"}}
	w.remotes(both...)
	w.becomes("h", Refused, ReasonSameCluster, "as those of home")
	w.becomes("a", Refused, ReasonSameCluster, "as those of b")
	w.becomes("b", Refused, ReasonSameCluster, "as those of a")
	w.remotes(both[0])
	w.becomes("a", Connected, "", "")
	w.remotes(both...)
	w.becomes("b", Refused, ReasonSameCluster, "as those of a")
	w.Expect(w.status("a")).To(is(Connected, "", ""), "the one that was there stays")
}

func TestAClusterThatIsNotTheExpectedOneIsRefused(t *testing.T) {
	kubeconfig, _ := user(t, east)
	w := newWorld(t)
	w.secret("east", kubeconfig)
	w.remotes(Remote{ID: "east", Secret: "east", UID: "another"})
	w.becomes("east", Refused, ReasonIdentityChanged, "want another")
	w.remotes(Remote{ID: "east", Secret: "east", UID: uidOf(t, w.east)})
	w.becomes("east", Connected, "", "")
}

// newFront starts a server in front of both control planes. It forwards requests to one of them, with all rights.
func newFront(t *testing.T) (kubeconfig []byte, towards *atomic.Pointer[rest.Config]) {
	t.Helper()
	needServers(t)
	towards = &atomic.Pointer[rest.Config]{}
	towards.Store(east.Config)
	proxies := map[*rest.Config]http.Handler{}
	for _, config := range []*rest.Config{home.Config, east.Config} {
		transport, err := rest.TransportFor(config)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		target, err := url.Parse(config.Host)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		proxies[config] = &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(target)
				r.Out.URL.Path = r.In.URL.Path[len("/k8s/c"):]
				r.Out.Header.Del("Authorization")
			},
			Transport: transport, FlushInterval: -1,
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		}
	}
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		proxies[towards.Load()].ServeHTTP(w, r)
	}))
	front.EnableHTTP2 = true
	front.Config.ErrorLog = log.New(io.Discard, "", 0) // the test closes connections on purpose
	front.StartTLS()
	t.Cleanup(func() { front.CloseClientConnections(); front.Close() })
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
	return written(t, func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
		c.Server, c.CertificateAuthorityData = front.URL+"/k8s/c", ca
	}), towards
}

func TestAClusterThatTurnsIntoAnotherIsNotTouched(t *testing.T) {
	kubeconfig, towards := newFront(t)
	w := newWorld(t)
	w.put("mine")
	f := w.joined(kubeconfig, "")
	m := w.member("east")
	w.Expect(w.read(t.Context(), m)).To(Equal([]string{"mine"}), "a server's path is kept")
	w.Eventually(f.has(&f.added)).Should(Equal([]string{"mine"}))

	towards.Store(home.Config)
	w.becomes("east", Refused, ReasonIdentityChanged, string(uidOf(t, w.home)))
	_, err := w.read(t.Context(), m)
	w.Expect(err).To(MatchError(IsUnreachable, "unreachable"))
	w.Consistently(f.has(&f.gone)).Should(BeEmpty(), "what the other cluster lacks is not gone from this one")

	towards.Store(east.Config)
	w.becomes("east", Connected, "", "")
	w.Expect(w.read(t.Context(), m)).To(Equal([]string{"mine"}))
	w.put("more")
	w.Eventually(f.has(&f.added)).Should(Equal([]string{"mine", "more"}))
	w.Expect(f.has(&f.gone)()).To(BeEmpty())
}

func TestAReplacedConnectionIsIdentifiedBeforeItsUse(t *testing.T) {
	kubeconfig, towards := newFront(t)
	w := newWorld(t, func(o *Options) { o.Probing = Probing{Interval: time.Hour, Timeout: 10 * time.Second} }) // no probe in between
	w.joined(kubeconfig, "")
	m := w.member("east")
	c, err := m.Client()
	w.Expect(err).NotTo(HaveOccurred())
	towards.Store(home.Config)
	m.link.Load().drop() // as when a server stops
	err = c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "stray"}})
	w.Expect(err).To(MatchError(IsUnreachable, "unreachable"))
	w.Expect(w.home.Get(t.Context(), client.ObjectKey{Namespace: w.ns, Name: "stray"}, &corev1.ConfigMap{})).NotTo(Succeed(),
		"the write has not reached the wrong cluster")
	w.becomes("east", Refused, ReasonIdentityChanged, "another cluster answers")
}

func TestCredentialsThatAreRevokedAreToldFromAServerThatIsAway(t *testing.T) {
	kubeconfig, revoke := user(t, east)
	w := newWorld(t)
	w.joined(kubeconfig, "")
	revoke()
	w.becomes("east", Refused, ReasonCredentialsRefused, "forbidden")
	_, err := w.read(t.Context(), w.member("east"))
	w.Expect(err).To(MatchError(IsUnreachable, "unreachable"))
}

// A server that does not work is asked at each fifth interval after a while, and at once when the credentials change.
func TestAClusterThatHasBeenAwayForLongIsTriedLessOften(t *testing.T) {
	const interval = 200 * time.Millisecond
	var tried atomic.Pointer[[]time.Time]
	tried.Store(&[]time.Time{})
	broken := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		times := *tried.Load()
		if len(times) == 0 || time.Since(times[len(times)-1]) > interval/2 { // a try may be several requests
			tried.Store(new(append(slices.Clone(times), time.Now())))
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(broken.Close)
	kubeconfig := func(token string) []byte {
		return []byte(`{clusters: [{name: c, cluster: {server: "` + broken.URL + `", insecure-skip-tls-verify: true}}],
			users: [{name: u, user: {token: ` + token + `}}], contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}`)
	}
	w := newWorld(t, func(o *Options) { o.Probing = Probing{Interval: interval, SlowAfter: 1} })
	w.secret("east", kubeconfig("one"))
	w.remotes(Remote{ID: "east", Secret: "east"})
	w.Eventually(func() int { return len(*tried.Load()) }).Should(BeNumerically(">=", 3))
	w.becomes("east", Unreachable, ReasonNoAnswer, "")
	times := *tried.Load()
	for i := range times[1:] {
		w.Expect(times[i+1].Sub(times[i])).To(BeNumerically(">", 3*interval))
	}
}

func TestAControllerServesTheOthersWhileOneClusterIsAway(t *testing.T) {
	kubeconfig, _ := user(t, east)
	w := newWorld(t)
	manager, err := ctrl.NewManager(home.Config, manager.Options{Metrics: metricsserver.Options{BindAddress: "0"},
		GracefulShutdownTimeout: new(time.Duration)})
	w.Expect(err).NotTo(HaveOccurred())
	type request struct {
		cluster string
		client.ObjectKey
	}
	seen := make(chan request, 1000)
	c, err := controller.NewTypedUnmanaged("test", controller.TypedOptions[request]{
		CacheSyncTimeout: 2 * time.Second, SkipNameValidation: new(true),
		Reconciler: reconcile.TypedFunc[request](func(_ context.Context, r request) (reconcile.Result, error) {
			seen <- r
			return reconcile.Result{}, nil
		}),
	})
	w.Expect(err).NotTo(HaveOccurred())
	set, err := New(manager, Options{Home: "home", Namespace: w.ns, Probing: quick,
		Remotes: []Remote{{ID: "east", Secret: "east"}, {ID: "away", Secret: "away"}}})
	w.Expect(err).NotTo(HaveOccurred())
	set.OnJoin(func(ctx context.Context, m *Member) error {
		return c.Watch(Until(ctx, source.TypedKind(m.Cluster().GetCache(), &corev1.ConfigMap{},
			handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, o *corev1.ConfigMap) []request {
				return []request{{m.ID(), client.ObjectKeyFromObject(o)}}
			}))))
	})
	w.Expect(manager.Add(set)).To(Succeed())
	w.Expect(manager.Add(c)).To(Succeed())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	next := func(expected request) {
		w.t.Helper()
		for r := (request{}); r != expected; {
			w.Eventually(seen).Should(Receive(&r))
		}
	}

	w.Expect(w.home.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "a"}})).To(Succeed())
	next(request{"home", client.ObjectKey{Namespace: w.ns, Name: "a"}})
	w.secret("east", kubeconfig)
	w.put("b")
	next(request{"east", client.ObjectKey{Namespace: w.far, Name: "b"}})

	m, err := set.Member("east")
	w.Expect(err).NotTo(HaveOccurred())
	_, err = set.setRemotes(nil)
	w.Expect(err).NotTo(HaveOccurred())
	w.Eventually(m.done).Should(BeClosed())
	w.put("c")
	w.Expect(w.home.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "d"}})).To(Succeed())
	for r := (request{}); r != (request{"home", client.ObjectKey{Namespace: w.ns, Name: "d"}}); {
		w.Eventually(seen).Should(Receive(&r))
		w.Expect(r).NotTo(Equal(request{"east", client.ObjectKey{Namespace: w.far, Name: "c"}}), "the watch has ended with the member")
	}
	cancel()
	w.Eventually(ended).Should(Receive(BeNil()))
}

func TestAClusterThatLacksAKindJoinsOnceItServesIt(t *testing.T) {
	kubeconfig, _ := user(t, east)
	kind := &unstructured.Unstructured{}
	kind.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Export"})
	w := newWorld(t, func(o *Options) {
		o.Cluster = []cluster.Option{func(c *cluster.Options) { c.Cache.ByObject = map[client.Object]cache.ByObject{kind: {}} }}
	})
	w.secret("east", kubeconfig)
	w.remotes(Remote{ID: "east", Secret: "east"})
	w.becomes("east", Refused, ReasonKindMissing, "no matches for")
	kinds := envtest.CRDInstallOptions{Paths: []string{"testdata/exports.yaml"}, ErrorIfPathMissing: true, MaxTime: time.Minute,
		PollInterval: 50 * time.Millisecond}
	_, err := envtest.InstallCRDs(east.Config, kinds)
	w.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { w.Expect(envtest.UninstallCRDs(east.Config, kinds)).To(Succeed()) })
	w.becomes("east", Connected, "", "")

	exports := &unstructured.UnstructuredList{}
	exports.SetGroupVersionKind(kind.GroupVersionKind().GroupVersion().WithKind("ExportList"))
	m, err := w.set.Member("east")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(m.Reader().List(t.Context(), exports)).To(Succeed())
	w.Expect(envtest.UninstallCRDs(east.Config, kinds)).To(Succeed())
	w.becomes("east", Refused, ReasonKindMissing, "does not serve any more: Export")
	w.Expect(m.Reader().List(t.Context(), exports)).To(MatchError(IsUnreachable, "its cache is not current"))
	_, err = envtest.InstallCRDs(east.Config, kinds)
	w.Expect(err).NotTo(HaveOccurred())
	w.becomes("east", Connected, "", "")
}

func TestAKindThatIsNotPermittedAnyMoreIsUnknown(t *testing.T) {
	permit := func(what string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{what}, Verbs: verbs}
	}
	secrets, all := permit("secrets", "list", "watch"), permit("configmaps", "list", "watch")
	for name, less := range map[string][]rbacv1.PolicyRule{
		"neither listed nor watched": {secrets}, "only listed": {secrets, permit("configmaps", "list")},
	} {
		t.Run(name, func(t *testing.T) {
			kubeconfig, rules, watches := limited(t)
			rules(secrets, all)
			w := newWorld(t)
			w.joined(kubeconfig, "")
			m := w.member("east")
			w.Eventually(func() ([]string, error) { return w.read(t.Context(), m) }).Should(BeEmpty())
			rules(less...)
			w.Eventually(watches).Should(BeFalse())
			m.link.Load().drop() // ends the watches; API servers end each within minutes
			w.becomes("east", Refused, ReasonForbidden, `cannot watch resource "configmaps"`)
			w.put("meanwhile")
			_, err := w.read(t.Context(), m)
			w.Expect(err).To(MatchError(IsUnreachable, "its cache is not current"))
			rules(secrets, all)
			w.becomes("east", Connected, "", "")
			w.Expect(w.read(t.Context(), m)).To(Equal([]string{"meanwhile"}), "from the first read on")
		})
	}
}

func TestRightsThatAreLostInOneNamespaceMakeItUnknown(t *testing.T) {
	kubeconfig, rules, _ := limited(t)
	rules()
	g, c := NewWithT(t), clientOf(t, east.Config)
	kept, lost := newNamespace(t, c), newNamespace(t, c)
	bindings := map[string]*rbacv1.RoleBinding{}
	for _, ns := range []string{kept, lost} {
		bindings[ns] = &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "all"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: userOf(t, kubeconfig)}},
		}
		g.Expect(c.Create(t.Context(), bindings[ns])).To(Succeed())
	}
	w := newWorld(t, func(o *Options) {
		o.Cluster = []cluster.Option{func(c *cluster.Options) { c.Cache.DefaultNamespaces = map[string]cache.Config{kept: {}, lost: {}} }}
	})
	w.joined(kubeconfig, "")
	m := w.member("east")
	read := func(from client.Reader, ns string) error {
		return errors.Join(from.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(ns)),
			client.IgnoreNotFound(from.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "a"}, &corev1.ConfigMap{})))
	}
	w.Eventually(func() error { return errors.Join(read(m.Reader(), kept), read(m.Reader(), lost)) }).Should(Succeed())
	w.Expect(c.Delete(t.Context(), bindings[lost])).To(Succeed())
	w.Eventually(func() error {
		m.link.Load().drop() // ends the watches; API servers end each within minutes
		return read(m.Reader(), lost)
	}).WithPolling(time.Second).Should(MatchError(And(ContainSubstring("the cache of ConfigMap in namespace "+lost+" is outdated"),
		ContainSubstring("cannot"))))
	both, err := m.Client()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(read(both, lost)).To(MatchError(apierrors.IsForbidden, "for the client, too"))
	w.Eventually(func() error { return read(m.Reader(), kept) }).Should(Succeed())
	w.becomes("east", Connected, "", "")

	bindings[lost].ResourceVersion = ""
	w.Expect(c.Create(t.Context(), bindings[lost])).To(Succeed())
	w.Eventually(func() error { return read(m.Reader(), lost) }).Should(Succeed())
}

func TestAWatchThatNeverBeginsIsWaitedForOnce(t *testing.T) {
	kubeconfig, rules, watches := limited(t)
	permit := func(what string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{what}, Verbs: []string{"list", "watch"}}
	}
	rules(permit("secrets"))
	w := newWorld(t)
	w.secret("east", kubeconfig)
	w.remotes(Remote{ID: "east", Secret: "east"})
	w.becomes("east", Connected, "", "")
	m := w.member("east")
	m.waits.timeout = time.Second
	forbidden := MatchError(And(ContainSubstring("the watch of ConfigMap in namespace "+w.far+" has not begun"),
		ContainSubstring("may not permit it")))
	_, err := w.read(t.Context(), m)
	w.Expect(err).To(forbidden)
	m.waits.timeout = time.Hour
	for range 3 {
		_, err = w.read(t.Context(), m)
		w.Expect(err).To(forbidden)
		w.Expect(m.Reader().Get(t.Context(), client.ObjectKey{Namespace: w.far, Name: "a"}, &corev1.ConfigMap{})).To(forbidden)
	}
	rules(permit("secrets"), permit("configmaps"))
	w.Eventually(watches).Should(BeTrue())
	w.put("there")
	w.Eventually(func() ([]string, error) { return w.read(t.Context(), m) }).Should(Equal([]string{"there"}))
}

// userOf returns the name of the kubeconfig's user.
func userOf(t *testing.T, kubeconfig []byte) string {
	t.Helper()
	access, err := ReadKubeconfig(kubeconfig, "")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	certificate, _ := pem.Decode(access.Config.CertData)
	of, err := x509.ParseCertificate(certificate.Bytes)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return of.Subject.CommonName
}

// limited returns a kubeconfig of east for a user who can read the identity, and what the rules permit that were last passed to rules.
// watches reports whether the API server permits the user to watch ConfigMaps.
func limited(t *testing.T) (kubeconfig []byte, rules func(...rbacv1.PolicyRule), watches func() bool) {
	t.Helper()
	needServers(t)
	g, c := NewWithT(t), clientOf(t, east.Config)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	g.Expect(c.Create(t.Context(), role)).To(Succeed())
	u, err := east.AddUser(envtest.User{Name: role.Name}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	kubeconfig, err = u.KubeConfig()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: role.Name}},
	})).To(Succeed())
	rules = func(rules ...rbacv1.PolicyRule) {
		t.Helper()
		role.Rules = append([]rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}}}, rules...)
		g.Expect(c.Update(t.Context(), role)).To(Succeed())
	}
	watches = func() bool {
		t.Helper()
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: role.Name,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "watch", Resource: "configmaps"}}}
		g.Expect(c.Create(t.Context(), review)).To(Succeed())
		return review.Status.Allowed
	}
	return kubeconfig, rules, watches
}

// restricted returns a config of home for a user with only these rights.
func restricted(t *testing.T, rules ...rbacv1.PolicyRule) *rest.Config {
	t.Helper()
	needServers(t)
	g, c := NewWithT(t), clientOf(t, home.Config)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}, Rules: rules}
	g.Expect(c.Create(t.Context(), role)).To(Succeed())
	u, err := home.AddUser(envtest.User{Name: role.Name}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: role.Name}},
	})).To(Succeed())
	return u.Config()
}

func TestTheRightsThatAreNeededAtHome(t *testing.T) {
	kubeconfig, _ := user(t, east)
	secrets := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"east"},
		Verbs: []string{"list", "watch"}}
	identity := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{"kube-system"},
		Verbs: []string{"get"}}
	t.Run("those that the design names suffice", func(t *testing.T) {
		w := newWorldAt(t, restricted(t, secrets, identity))
		w.joined(kubeconfig, "")
	})
	t.Run("without the identity the home cluster is there, and no remote one joins", func(t *testing.T) {
		w := newWorldAt(t, restricted(t, secrets))
		w.becomes("home", Connected, "", "")
		w.secret("east", kubeconfig)
		w.remotes(Remote{ID: "east", Secret: "east"})
		w.becomes("east", Unreachable, ReasonNoAnswer, "the identity of the home cluster is unknown")
	})
	t.Run("without the Secret it is said", func(t *testing.T) {
		w := newWorldAt(t, restricted(t, identity))
		w.secret("east", kubeconfig)
		w.remotes(Remote{ID: "east", Secret: "east"})
		w.becomes("east", Joining, ReasonSecretUnread, "forbidden")
	})
}
