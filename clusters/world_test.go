package clusters

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gstruct"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// quick is short enough for tests, and long enough for a busy machine.
var quick = Probing{Interval: 400 * time.Millisecond, Hysteresis: Hysteresis{Failures: 3, Successes: 2}}

// world is a Set with a namespace for the test in both control planes.
type world struct {
	*WithT
	t          *testing.T
	home, east client.Client
	// ns is the namespace in home, for Secrets; far is the one in east.
	ns, far string
	set     *Set
	stop    func()
}

func newWorld(t *testing.T, change ...func(*Options)) *world {
	t.Helper()
	needServers(t)
	return newWorldAt(t, home.Config, change...)
}

// newWorldAt returns a world whose Set uses the config for the home cluster.
func newWorldAt(t *testing.T, config *rest.Config, change ...func(*Options)) *world {
	t.Helper()
	w := &world{WithT: NewWithT(t), t: t, home: clientOf(t, home.Config), east: clientOf(t, east.Config)}
	w.ns, w.far = newNamespace(t, w.home), newNamespace(t, w.east)
	here, err := cluster.New(config)
	w.Expect(err).NotTo(HaveOccurred())
	// A cache with options for one kind requests it from the server when it is created.
	options := func(c *cluster.Options) { c.Cache.ByObject = map[client.Object]cache.ByObject{&corev1.Secret{}: {}} }
	o := Options{Home: "home", Namespace: w.ns, Probing: quick, Cluster: []cluster.Option{options}}
	for _, c := range change {
		c(&o)
	}
	w.set, err = New(here, o)
	w.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { _ = here.Start(ctx) })
	group.Go(func() { _ = w.set.Start(ctx) })
	w.stop = func() {
		cancel()
		ended := make(chan struct{})
		go func() { group.Wait(); close(ended) }()
		w.Eventually(ended).Should(BeClosed(), "nothing of the set goes on")
	}
	t.Cleanup(w.stop)
	w.Eventually(w.set.Members).ShouldNot(BeEmpty())
	return w
}

// remotes replaces the remote clusters.
func (w *world) remotes(remotes ...Remote) {
	w.t.Helper()
	_, err := w.set.setRemotes(remotes)
	w.Expect(err).NotTo(HaveOccurred())
}

// secret creates or updates a Secret; nil deletes it.
func (w *world) secret(name string, kubeconfig []byte) {
	w.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}}
	if kubeconfig == nil {
		w.Expect(w.home.Delete(w.t.Context(), s)).To(Succeed())
		return
	}
	s.Data = map[string][]byte{KubeconfigKey: kubeconfig}
	if err := w.home.Create(w.t.Context(), s); err != nil {
		w.Expect(w.home.Update(w.t.Context(), s)).To(Succeed())
	}
}

func (w *world) member(id string) *Member {
	w.t.Helper()
	m, err := w.set.Member(id)
	w.Expect(err).NotTo(HaveOccurred())
	return m
}

func (w *world) status(id string) Status { w.t.Helper(); return w.member(id).Status() }

// becomes waits until a member has this state, reason and message.
func (w *world) becomes(id string, state State, reason Reason, message string) {
	w.t.Helper()
	w.Eventually(w.status).WithArguments(id).Should(is(state, reason, message))
}

// receive waits until a subscriber receives this state of east.
func (w *world) receive(changes <-chan Status, state State) {
	w.t.Helper()
	for s := (Status{}); s.ID != "east" || s.State != state; {
		w.Eventually(changes).Should(Receive(&s))
	}
}

func is(state State, reason Reason, message string) gomegatypes.GomegaMatcher {
	return gstruct.MatchFields(gstruct.IgnoreExtras, gstruct.Fields{
		"State": Equal(state), "Reason": Equal(reason), "Message": ContainSubstring(message),
	})
}

// joined adds a cluster "east", and follows the ConfigMaps of the test's namespace there.
func (w *world) joined(kubeconfig []byte, url string) *follower {
	w.t.Helper()
	f := w.follow()
	w.secret("east", kubeconfig)
	w.remotes(Remote{ID: "east", URL: url, Secret: "east"})
	w.becomes("east", Connected, "", "")
	w.Eventually(f.greeted.get).Should(Equal(1))
	return f
}

func uidOf(t *testing.T, c client.Client) types.UID {
	t.Helper()
	ns := &corev1.Namespace{}
	NewWithT(t).Expect(c.Get(t.Context(), client.ObjectKey{Name: IdentityNamespace}, ns)).To(Succeed())
	return ns.UID
}

// put creates a ConfigMap in east without the Set.
func (w *world) put(name string) {
	w.t.Helper()
	w.Expect(w.east.Create(w.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.far, Name: name}})).To(Succeed())
}

func (w *world) drop(name string) {
	w.t.Helper()
	w.Expect(w.east.Delete(w.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.far, Name: name}})).To(Succeed())
}

// read lists the ConfigMaps of the test's namespace in east, through the Set.
func (w *world) read(ctx context.Context, m *Member) ([]string, error) {
	list := &corev1.ConfigMapList{}
	if err := m.Reader().List(ctx, list, client.InNamespace(w.far)); err != nil {
		return nil, err
	}
	var names []string
	for _, o := range list.Items {
		if o.Name != "kube-root-ca.crt" {
			names = append(names, o.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

func (c *counter) get() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// follower watches the ConfigMaps of the test's namespace in each remote member that joins.
type follower struct {
	greeted, left counter
	mu            sync.Mutex
	added, gone   []string
}

func (w *world) follow() *follower {
	f := &follower{}
	note := func(to *[]string, o any) {
		if tombstone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = tombstone.Obj
		}
		if cm, ok := o.(*corev1.ConfigMap); ok && cm.Namespace == w.far {
			f.mu.Lock()
			defer f.mu.Unlock()
			*to = append(*to, cm.Name)
		}
	}
	w.set.OnJoin(func(ctx context.Context, m *Member) error {
		if m.Home() {
			return nil
		}
		f.greeted.add()
		context.AfterFunc(ctx, f.left.add)
		informer, err := m.Cluster().GetCache().GetInformer(ctx, &corev1.ConfigMap{})
		if err != nil {
			return err
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { note(&f.added, o) },
			DeleteFunc: func(o any) { note(&f.gone, o) },
		})
		return err
	})
	return f
}

func (f *follower) has(which *[]string) func() []string {
	return func() []string {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.Clone(*which)
	}
}
