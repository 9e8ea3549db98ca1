package controller_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/internal/controller"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// world is a reconciler with a real API server, and with rolls that only count their looks.
type world struct {
	*WithT
	t         *testing.T
	namespace string
	mu        sync.Mutex
	looks     map[string]int
	begun     map[string]int
	open      map[string]bool
	hangs     map[string]bool
	overlap   bool
	cache     cache.Cache
	connected chan string
}

// stub is the roll of one Kafka cluster.
type stub struct {
	w    *world
	name string
	busy sync.Mutex
}

// Look implements controller.Roll.
func (s *stub) Look(ctx context.Context) (roller.Decision, error) {
	if !s.busy.TryLock() {
		s.w.overlap = true
	} else {
		defer s.busy.Unlock()
	}
	s.w.mu.Lock()
	s.w.looks[s.name]++
	hangs := s.w.hangs[s.name]
	s.w.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return roller.Decision{}, context.Cause(ctx)
	}
	return roller.Decision{}, nil
}

// Close implements controller.Roll.
func (s *stub) Close(context.Context) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	delete(s.w.open, s.name)
}

func begin(t *testing.T, namespace, named string, remotes ...observe.Source) *world {
	return beginSeeing(observe.Trim, t, namespace, named, remotes...)
}

// beginSeeing is begin with caches that transform what they store.
func beginSeeing(transform toolscache.TransformFunc, t *testing.T, namespace, named string, remotes ...observe.Source) *world {
	needServer(t)
	w := &world{WithT: NewWithT(t), t: t, namespace: namespace, looks: map[string]int{}, begun: map[string]int{},
		open: map[string]bool{}, hangs: map[string]bool{}, connected: make(chan string)}
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	mgr, err := ctrl.NewManager(env.Config, ctrl.Options{
		Scheme: scheme, Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}, DefaultTransform: transform},
		Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
	})
	w.Expect(err).NotTo(HaveOccurred())
	w.cache = mgr.GetCache()
	r := &controller.Reconciler{
		Sources:   func() []observe.Source { return append([]observe.Source{{Cache: mgr.GetCache()}}, remotes...) },
		Connected: w.connections(remotes),
		Interval:  time.Hour, Deadline: time.Minute, Named: named != "",
		Record: func(_ string, about runtime.Object, reason, action, note string) {
			mgr.GetEventRecorder("roller").Eventf(about, nil, corev1.EventTypeNormal, reason, action, "%s", note)
		},
		New: func(cluster types.NamespacedName) controller.Roll {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.open[cluster.Name] = true
			w.begun[cluster.Name]++
			return &stub{w: w, name: cluster.Name}
		},
	}
	w.Expect(r.AddTo(mgr, controller.NewWake(mgr), types.NamespacedName{Namespace: namespace, Name: named})).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		w.Expect(<-ended).To(Succeed())
		r.Close(context.Background())
		w.Expect(w.isOpen("")).To(BeFalse())
		w.Expect(w.overlap).To(BeFalse(), "a roll is used by one at a time")
	})
	return w
}

// connections yields the ids of remotes, and then those in w.connected.
func (w *world) connections(remotes []observe.Source) func(context.Context) iter.Seq[string] {
	return func(ctx context.Context) iter.Seq[string] {
		return func(yield func(string) bool) {
			for _, r := range remotes {
				yield(r.ID)
			}
			for {
				select {
				case id := <-w.connected:
					yield(id)
				case <-ctx.Done():
					return
				}
			}
		}
	}
}

func (w *world) create(objects ...client.Object) {
	w.t.Helper()
	for _, o := range objects {
		w.Expect(k8s.Create(w.t.Context(), o)).To(Succeed())
	}
}

func (w *world) looked(cluster string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.looks[cluster]
}

// isOpen reports whether the roll of this cluster, or of any, is in use.
func (w *world) isOpen(cluster string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open[cluster] || cluster == "" && len(w.open) > 0
}

// opened returns how many rolls of this cluster were begun.
func (w *world) opened(cluster string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.begun[cluster]
}

// quiet waits until no more looks follow from the events so far, and returns the number of looks.
func (w *world) quiet(cluster string) int {
	last, since := w.looked(cluster), time.Now()
	w.Eventually(func() bool {
		if now := w.looked(cluster); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 1500*time.Millisecond
	}).Should(BeTrue())
	return last
}

func TestEachChangeOfAKafkaClusterIsLookedAt(t *testing.T) {
	w := begin(t, "watches", "")
	set, pod := setOf(t, "watches", "mine"), node("watches", "mine-kafka-0", "mine")
	configuration := &corev1.ConfigMap{ObjectMeta: metadata("watches", "mine-kafka-0", "mine"),
		Data: map[string]string{core.ConfigMapServerConfig: "a=1"}}
	progress := &corev1.ConfigMap{ObjectMeta: metadata("watches", "mine-roller", "mine")}
	progress.Labels[core.LabelManagedBy] = core.ManagedByRoller
	w.create(set)
	w.Eventually(func() int { return w.looked("mine") }).Should(BeNumerically(">", 0))
	w.create(pod, configuration, progress)
	for _, c := range []struct {
		name   string
		object client.Object
		change func()
		status bool
		wakes  bool
	}{
		{"a pod gets ready", pod, func() {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}, true, true},
		{"a pod is annotated", pod, func() { pod.Annotations = map[string]string{core.AnnotationHold: "x"} }, false, true},
		{"a configuration changes", configuration, func() { configuration.Data[core.ConfigMapServerConfig] = "a=2" }, false, true},
		{"a set changes", set, func() {
			desired := node("watches", "mine-kafka-0", "mine")
			desired.Annotations = map[string]string{core.AnnotationRevision: "2"}
			w.Expect(set.SetDesiredPods([]corev1.Pod{*desired})).To(Succeed())
		}, false, true},
		{"a set is paused", set, func() { set.Annotations["strimzi.io/pause-reconciliation"] = "true" }, false, true},
		{"a set's status changes", set, func() { set.Status.ReadyPods = 1 }, true, false},
		{"the roller writes its journal", progress, func() { progress.Data = map[string]string{"progress": "{}"} }, false, false},
		{"somebody pauses the roller", progress, func() { progress.Annotations = map[string]string{"strimzi.io/pause-reconciliation": "true"} },
			false, true},
	} {
		before := w.quiet("mine")
		w.Expect(k8s.Get(t.Context(), client.ObjectKeyFromObject(c.object), c.object)).To(Succeed())
		c.change()
		if c.status {
			w.Expect(k8s.Status().Update(t.Context(), c.object)).To(Succeed(), c.name)
		} else {
			w.Expect(k8s.Update(t.Context(), c.object)).To(Succeed(), c.name)
		}
		if c.wakes {
			w.Eventually(func() int { return w.looked("mine") }).Should(BeNumerically(">", before), c.name)
		} else {
			w.Consistently(func() int { return w.looked("mine") }, "1s").Should(Equal(before), c.name)
		}
	}
}

// The test above finds a change that wakes nobody.
func TestAChangeThatWakesNobodyIsFound(t *testing.T) {
	w := beginSeeing(func(o any) (any, error) {
		o, err := observe.Trim(o)
		if c, is := o.(*corev1.ConfigMap); is {
			delete(c.Labels, v1.LabelCluster)
		}
		return o, err
	}, t, "deaf", "")
	configuration := &corev1.ConfigMap{ObjectMeta: metadata("deaf", "mine-kafka-0", "mine"),
		Data: map[string]string{core.ConfigMapServerConfig: "a=1"}}
	w.create(setOf(t, "deaf", "mine"), node("deaf", "mine-kafka-0", "mine"), configuration)
	w.Eventually(func() int { return w.looked("mine") }).Should(BeNumerically(">", 0))
	before := w.quiet("mine")
	configuration.Data[core.ConfigMapServerConfig] = "a=2"
	w.Expect(k8s.Update(t.Context(), configuration)).To(Succeed())
	w.Consistently(func() int { return w.looked("mine") }, "2s").Should(Equal(before), "TestEachChangeOfAKafkaClusterIsLookedAt requires more")
}

// A Kafka cluster whose look hangs does not delay other clusters, even if several clusters hang.
func TestAClusterThatHangsSlowsNoOther(t *testing.T) {
	w := begin(t, "hangs", "")
	names := []string{"stuck-a", "stuck-b", "stuck-c", "stuck-d", "stuck-e"}
	for _, name := range names {
		w.hangs[name] = true
		w.create(setOf(t, "hangs", name))
	}
	for _, name := range names {
		w.Eventually(func() int { return w.looked(name) }).Should(Equal(1))
	}
	w.create(setOf(t, "hangs", "mine"))
	w.Eventually(func() int { return w.looked("mine") }, 5*time.Second).Should(Equal(1))
	w.create(node("hangs", "mine-kafka-0", "mine"))
	w.Eventually(func() int { return w.looked("mine") }, 5*time.Second).Should(Equal(2))
	for _, name := range names {
		w.Expect(w.looked(name)).To(Equal(1), "it is still in its first look")
	}
}

// Only clusters that ask for the roller are rolled, and the rolls of deleted clusters are closed (docs/decisions/who-rolls.md).
func TestWhoIsServed(t *testing.T) {
	w := begin(t, "served", "")
	set := setOf(t, "served", "mine")
	set.Annotations = nil
	w.create(set)
	alone := func() []string {
		var all eventsv1.EventList
		w.Expect(k8s.List(t.Context(), &all, client.InNamespace("served"))).To(Succeed())
		var notes []string
		for _, e := range all.Items {
			if e.Reason == "LeftAlone" && e.Regarding.UID == set.UID {
				notes = append(notes, e.Note)
			}
		}
		return notes
	}
	w.Eventually(alone).Should(ConsistOf("The roller skips Kafka cluster mine: StrimziPodSet mine-kafka is not annotated with " +
		"kafka-operators.io/rolled-by=roller, so the roller assumes that something else restarts its pods"))
	w.create(node("served", "mine-kafka-0", "mine"))
	w.Consistently(func() int { return w.looked("mine") }, "1500ms").Should(BeZero())
	w.Expect(alone()).To(HaveLen(1), "it is said once")

	set.Annotations = map[string]string{core.AnnotationRolledBy: core.RolledByRoller}
	w.Expect(k8s.Update(t.Context(), set)).To(Succeed())
	w.Eventually(func() int { return w.looked("mine") }).Should(BeNumerically(">", 0))
	w.Expect(w.isOpen("mine")).To(BeTrue())

	set.Annotations = nil
	w.Expect(k8s.Update(t.Context(), set)).To(Succeed())
	w.Eventually(func() bool { return w.isOpen("mine") }).Should(BeFalse(), "it is let go at once")
	set.Annotations = map[string]string{core.AnnotationRolledBy: core.RolledByRoller}
	w.Expect(k8s.Update(t.Context(), set)).To(Succeed())
	w.Eventually(func() bool { return w.isOpen("mine") }).Should(BeTrue())
	w.Expect(k8s.Delete(t.Context(), set)).To(Succeed())
	w.Eventually(func() bool { return w.isOpen("mine") }).Should(BeFalse(), "its connections are closed")
}

// A cluster that is named on the command line needs neither annotations nor a pod set. A cluster that Strimzi rolls is skipped.
func TestANamedCluster(t *testing.T) {
	w := begin(t, "named", "mine")
	w.Eventually(func() int { return w.looked("mine") }).Should(BeNumerically(">", 0))
	set := setOf(t, "named", "mine")
	set.Annotations = nil
	w.create(set)
	before := w.looked("mine")
	w.Eventually(func() int { return w.looked("mine") }).Should(BeNumerically(">", before))
	set.Labels[core.LabelManagedBy] = core.ManagedByStrimzi
	w.Expect(k8s.Update(t.Context(), set)).To(Succeed())
	w.Eventually(func() bool { return w.isOpen("mine") }).Should(BeFalse())
}

// A Kafka cluster that is deleted and made again under the same name is rolled anew, by clients that are not bound to the old one, whether
// it is named or not, and whether a reconcile came in between or not.
func TestAKafkaThatIsMadeAgainIsRolledAnew(t *testing.T) {
	for namespace, named := range map[string]string{"again-named": "mine", "again-unnamed": ""} {
		t.Run(namespace, func(t *testing.T) {
			w := begin(t, namespace, named)
			w.create(setOf(t, namespace, "mine"))
			w.Eventually(func() int { return w.looked("mine") }).Should(BeNumerically(">", 0))
			w.quiet("mine")
			opened := w.opened("mine")
			w.create(node(namespace, "mine-kafka-0", "mine"))
			w.quiet("mine")
			w.Expect(w.opened("mine")).To(Equal(opened), "it is the same Kafka")

			w.Expect(k8s.Delete(t.Context(), setOf(t, namespace, "mine"))).To(Succeed())
			w.create(setOf(t, namespace, "mine"))
			w.Eventually(func() int { return w.opened("mine") }).Should(BeNumerically(">", opened))
			w.Eventually(func() bool { return w.isOpen("mine") }).Should(BeTrue())
		})
	}
}

// A glance reads the same from the caches as from the API server, page by page.
func TestCachesAreReadAsTheAPIServerIs(t *testing.T) {
	w := begin(t, "cached", "")
	w.create(setOf(t, "cached", "mine"), &corev1.ConfigMap{ObjectMeta: metadata("cached", "mine-kafka-0", "mine"),
		Data: map[string]string{core.ConfigMapServerConfig: "a=1"}})
	const pods = 201 // more than a page
	for id := range pods {
		w.create(node("cached", fmt.Sprintf("mine-kafka-%d", id), "mine"))
	}
	w.Eventually(func(g Gomega) {
		served, held := observe.ReadPlace(t.Context(), "", k8s, "cached", "mine"), observe.ReadCache(t.Context(), "", w.cache, "cached", "mine")
		g.Expect(served.Err).NotTo(HaveOccurred())
		g.Expect(held.Err).NotTo(HaveOccurred())
		g.Expect(served.Pods).To(HaveLen(pods))
		byName := func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) }
		slices.SortFunc(served.Pods, byName)
		slices.SortFunc(held.Pods, byName)
		g.Expect(held.Properties).To(Equal(served.Properties))
		g.Expect(held.Sets).To(HaveLen(1))
		g.Expect(held.Sets[0].Pods[0].Labels).To(Equal(served.Sets[0].Pods[0].Labels))
		for i := range served.Pods {
			g.Expect(held.Pods[i].UID).To(Equal(served.Pods[i].UID))
		}
	}).Should(Succeed())
}

// lost is the cache of a Kubernetes cluster whose connection can be lost.
type lost struct {
	client.Reader
	is bool
}

// outage is the cache of a Kubernetes cluster that is lost for as long as nobody closes over.
type outage struct {
	client.Reader
	over  chan struct{}
	asked atomic.Bool
}

func (o *outage) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	select {
	case <-o.over:
		return o.Reader.List(ctx, list, options...)
	default:
		o.asked.Store(true)
		return errors.New("it is not connected")
	}
}

// A Kafka whose nodes are all in a Kubernetes cluster that is lost when this process begins to lead is looked at once that is back,
// although no event reports what did not change meanwhile.
func TestAKubernetesClusterThatIsBackIsLookedAt(t *testing.T) {
	needServer(t)
	there := fake.NewClientBuilder().WithScheme(scheme).WithObjects(setOf(t, "back", "mine")).Build()
	east := &outage{Reader: there, over: make(chan struct{})}
	w := begin(t, "back", "", observe.Source{ID: "east", Cache: east})
	w.Eventually(east.asked.Load).Should(BeTrue())
	close(east.over)
	w.connected <- "east"
	w.Eventually(func() int { return w.looked("mine") }).Should(BeNumerically(">", 0))
}

func (l *lost) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if l.is {
		return errors.New("it is not connected")
	}
	return l.Reader.List(ctx, list, options...)
}

// A set that excludes a Kafka cluster does so as long as nobody can read that it no longer does, such as during a migration from Strimzi.
func TestARefusalOutlivesTheConnection(t *testing.T) {
	g := NewWithT(t)
	ours, others := setOf(t, "ns", "mine"), setOf(t, "ns", "mine")
	others.Annotations = nil
	build := func(set *core.StrimziPodSet) client.Client {
		return fake.NewClientBuilder().WithScheme(scheme).WithObjects(set).Build()
	}
	g.Expect(core.AddToScheme(scheme)).To(Succeed())
	there := build(others)
	home, east := &lost{Reader: build(ours)}, &lost{Reader: there}
	rolls := 0
	r := &controller.Reconciler{
		Sources:  func() []observe.Source { return []observe.Source{{Cache: home}, {ID: "east", Cache: east}} },
		Deadline: time.Minute,
		Record:   func(string, runtime.Object, string, string, string) {},
		New: func(types.NamespacedName) controller.Roll {
			rolls++
			return nothing{}
		},
	}
	reconcile := func() {
		_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "mine"}})
		g.Expect(err).NotTo(HaveOccurred())
	}
	reconcile()
	g.Expect(rolls).To(BeZero())
	east.is = true
	reconcile()
	reconcile()
	g.Expect(rolls).To(BeZero(), "the set in east is still there")
	others.Annotations = ours.Annotations
	g.Expect(there.Update(t.Context(), others)).To(Succeed())
	reconcile()
	g.Expect(rolls).To(BeZero())
	east.is = false
	reconcile()
	g.Expect(rolls).To(Equal(1))
	east.is = true
	reconcile()
	g.Expect(rolls).To(Equal(1), "a lost Kubernetes cluster ends no roll")
}

// A Kubernetes cluster that can't be read begins no rolls of names that it had no nodes of, such as that of a KafkaConnect or of a deleted
// Kafka, and ends none of those that it had.
func TestAPlaceThatCannotBeReadHasTheNodesThatItHad(t *testing.T) {
	g := NewWithT(t)
	g.Expect(core.AddToScheme(scheme)).To(Succeed())
	there := setOf(t, "ns", "elsewhere")
	here := fake.NewClientBuilder().WithScheme(scheme).WithObjects(setOf(t, "ns", "here")).Build()
	east := &lost{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(there).Build(), is: true}
	open := map[string]bool{}
	r := &controller.Reconciler{
		Sources:  func() []observe.Source { return []observe.Source{{Cache: here}, {ID: "east", Cache: east}} },
		Deadline: time.Minute,
		New: func(cluster types.NamespacedName) controller.Roll {
			open[cluster.Name] = true
			return closing{open: open, name: cluster.Name}
		},
	}
	reconcile := func(names ...string) {
		for _, name := range names {
			_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: name}})
			g.Expect(err).NotTo(HaveOccurred())
		}
	}
	reconcile("here", "connect")
	g.Expect(open).To(Equal(map[string]bool{"here": true}))
	east.is = false
	reconcile("here", "connect", "elsewhere")
	g.Expect(open).To(Equal(map[string]bool{"here": true, "elsewhere": true}))
	east.is = true
	g.Expect(here.DeleteAllOf(t.Context(), &core.StrimziPodSet{}, client.InNamespace("ns"))).To(Succeed())
	for range 2 {
		reconcile("here", "connect", "elsewhere")
		g.Expect(open).To(Equal(map[string]bool{"elsewhere": true}), "the deleted one ends")
	}
}

// closing is a roll that tells when it ends.
type closing struct {
	nothing
	open map[string]bool
	name string
}

// Close implements controller.Roll.
func (c closing) Close(context.Context) { delete(c.open, c.name) }

// nothing is a roll that does nothing.
type nothing struct{}

// Look implements controller.Roll.
func (nothing) Look(context.Context) (roller.Decision, error) { return roller.Decision{}, nil }

// Close implements controller.Roll.
func (nothing) Close(context.Context) {}

// meeting is the cache of a Kubernetes cluster that responds once all others are asked.
type meeting struct {
	client.Reader
	asked *sync.WaitGroup
	once  sync.Once
}

func (m *meeting) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	m.once.Do(m.asked.Done)
	m.asked.Wait()
	return m.Reader.List(ctx, list, options...)
}

// A Kubernetes cluster that can't be read makes its readers wait.
func TestAllKubernetesClustersAreReadAtOnceAtTheStart(t *testing.T) {
	needServer(t)
	var asked sync.WaitGroup
	var remotes []observe.Source
	for _, id := range []string{"east", "west"} {
		asked.Add(1)
		there := fake.NewClientBuilder().WithScheme(scheme).WithObjects(setOf(t, "start", "in-"+id)).Build()
		remotes = append(remotes, observe.Source{ID: id, Cache: &meeting{Reader: there, asked: &asked}})
	}
	w := begin(t, "start", "", remotes...)
	for _, id := range []string{"east", "west"} {
		w.Eventually(func() int { return w.looked("in-" + id) }).Should(BeNumerically(">", 0))
	}
}

// A kind that may not be watched in a Kubernetes cluster does not keep changes of the others there from being followed.
func TestAKindThatMayNotBeWatchedHoldsUpNoOther(t *testing.T) {
	needServer(t)
	g := NewWithT(t)
	nobody, err := env.AddUser(envtest.User{Name: "nobody"}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	there, err := cache.New(nobody.Config(), cache.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = there.Start(ctx) }()
	g.Expect(there.WaitForCacheSync(ctx)).To(BeTrue(), "it has started")
	mgr, err := ctrl.NewManager(env.Config, ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
	g.Expect(err).NotTo(HaveOccurred())
	followed := make(chan error, 1)
	go func() { followed <- controller.NewWake(mgr).Follow(ctx, there) }()
	g.Eventually(followed).Should(Receive(BeNil()))
}
