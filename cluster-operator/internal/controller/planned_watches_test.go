package controller

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/clusters"
)

// watchPatience is how long a watch may take to start a pass, on a busy machine.
const watchPatience = time.Minute

// connect connects the central Kubernetes cluster to east with module clusters, and starts a controller with the watches that watch adds.
func (w *stretchedWorld) connect(do reconcile.Func, watch func(manager.Manager, controller.Controller, *clusters.Set) error) *clusters.Set {
	w.t.Helper()
	user, err := remoteServer(w.t, "east").AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	w.Expect(err).NotTo(HaveOccurred())
	kubeconfig, err := user.KubeConfig()
	w.Expect(err).NotTo(HaveOccurred())
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "kubeconfig-east"},
		Data: map[string][]byte{clusters.KubeconfigKey: kubeconfig}})
	mgr, err := ctrl.NewManager(server, manager.Options{Scheme: w.k8s.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		GracefulShutdownTimeout: new(time.Duration), Logger: logr.Discard()})
	w.Expect(err).NotTo(HaveOccurred())
	set, err := clusters.New(mgr, clusters.Options{Home: "central", Namespace: w.namespace, Log: logr.Discard(),
		Probing: clusters.Probing{Interval: 400 * time.Millisecond},
		Remotes: []clusters.Remote{{ID: "east", Secret: "kubeconfig-east"}},
		Cluster: []cluster.Option{func(o *cluster.Options) { o.Scheme = w.k8s.Scheme() }}})
	w.Expect(err).NotTo(HaveOccurred())
	c, err := controller.NewUnmanaged("kafka", controller.Options{SkipNameValidation: new(true), Logger: logr.Discard(),
		Reconciler: reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			if request.Namespace != w.namespace { // from another test
				return reconcile.Result{}, nil
			}
			return do(ctx, request)
		})})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(watch(mgr, c, set)).To(Succeed())
	w.Expect(mgr.Add(set)).To(Succeed())
	w.Expect(mgr.Add(c)).To(Succeed())
	ctx, stop := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	w.t.Cleanup(func() {
		stop()
		w.Eventually(ended).WithTimeout(watchPatience).Should(Receive(BeNil()))
	})
	w.joined(set)
	return set
}

// joined waits until east is connected.
func (w *stretchedWorld) joined(set *clusters.Set) {
	w.t.Helper()
	w.Eventually(func() clusters.State {
		if m, err := set.Member("east"); err == nil {
			return m.Status().State
		}
		return ""
	}).WithTimeout(watchPatience).Should(Equal(clusters.Connected))
}

func TestWhatAProviderPlannedIsWatched(t *testing.T) {
	w := newStretchedWorld(t)
	w.r.Stretching.APIVersions = func(context.Context, Member) []string { return []string{"v1", "discovery.k8s.io/v1"} }
	w.r.Stretching.Provider = liar{Provider: w.r.Stretching.Provider, plan: endpointSlices("central", "east")}
	w.form()
	w.Expect(w.r.Interval).To(BeNumerically(">", 2*watchPatience), "it is no timer that heals")
	w.connect(w.r.Reconcile, func(mgr manager.Manager, c controller.Controller, set *clusters.Set) error {
		return w.r.WatchClusters(mgr, c, set, nil)
	})
	for _, id := range []string{"central", "east"} {
		at := w.members[id]
		slice := &discoveryv1.EndpointSlice{}
		w.in(id, slice, "nodes")
		w.Eventually(func() error {
			// The first pass after the start adds the watch, and may not have run yet.
			return at.Delete(t.Context(), slice.DeepCopy(), client.Preconditions{UID: &slice.UID})
		}).WithTimeout(watchPatience).Should(Succeed())
		again := &discoveryv1.EndpointSlice{}
		w.Eventually(func() error { return at.Get(t.Context(), client.ObjectKeyFromObject(slice), again) }).WithTimeout(watchPatience).
			Should(Succeed(), id)
		again.Labels["app.kubernetes.io/instance"] = "somebody-else"
		w.Expect(at.Update(t.Context(), again)).To(Succeed())
		w.Eventually(func() string {
			w.in(id, again, "nodes")
			return again.Labels["app.kubernetes.io/instance"]
		}).WithTimeout(watchPatience).Should(Equal("my-cluster"), id)
	}
}

// exports is the CustomResourceDefinition of a kind that a provider may plan.
var exports = envtest.CRDInstallOptions{Paths: []string{"testdata/exports.yaml"}, ErrorIfPathMissing: true,
	MaxTime: watchPatience, PollInterval: 50 * time.Millisecond}

func TestAKindThatIsNotServedAnyMoreKeepsNothingUp(t *testing.T) {
	w := newStretchedWorld(t)
	east := remoteServer(t, "east")
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Export"}
	export := func() client.Object {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(kind)
		o.SetNamespace(w.namespace)
		o.SetName("nodes")
		o.SetLabels(map[string]string{v1.LabelCluster: "my-cluster"})
		return o
	}
	install := func() {
		t.Helper()
		_, err := envtest.InstallCRDs(east.Config, exports)
		w.Expect(err).NotTo(HaveOccurred())
	}
	install()
	t.Cleanup(func() { _ = envtest.UninstallCRDs(east.Config, exports) }) // the test may have uninstalled it
	woken := make(chan reconcile.Request, 100)
	var leave context.CancelFunc
	set := w.connect(func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
		woken <- request
		return reconcile.Result{}, nil
	}, func(_ manager.Manager, c controller.Controller, set *clusters.Set) error {
		set.OnJoin(func(ctx context.Context, m *clusters.Member) error {
			if m.ID() == "east" {
				ctx, leave = context.WithCancel(ctx)
			}
			if err := w.r.plannedWatches.join(ctx, c, m, nil, func(context.Context) {}, logr.Discard()); err != nil {
				return err
			}
			return w.r.plannedWatches.watch("east", kind)
		})
		return nil
	})
	wakes := func(how string) {
		t.Helper()
		w.Eventually(woken).WithTimeout(watchPatience).Should(Receive(Equal(w.request())), how)
	}
	w.Expect(w.members["east"].Create(t.Context(), export())).To(Succeed())
	wakes("it is made")
	w.Expect(envtest.UninstallCRDs(east.Config, exports)).To(Succeed())
	wakes("it goes with its kind")

	// After an outage, the informers list all objects again.
	secret := &corev1.Secret{}
	w.get(secret, "kubeconfig-east")
	w.Expect(w.k8s.Delete(t.Context(), secret)).To(Succeed())
	w.Eventually(func() clusters.State {
		m, err := set.Member("east")
		w.Expect(err).NotTo(HaveOccurred())
		return m.Status().State
	}).WithTimeout(watchPatience).ShouldNot(Equal(clusters.Connected))
	secret.ResourceVersion = ""
	w.create(secret)
	w.joined(set)

	install()
	w.Eventually(func() error { return w.members["east"].Create(t.Context(), export()) }).WithTimeout(watchPatience).Should(Succeed())
	wakes("it is made again")

	leave()
	w.Eventually(func() bool {
		w.r.plannedWatches.mu.Lock()
		defer w.r.plannedWatches.mu.Unlock()
		return w.r.plannedWatches.by["east"] == nil
	}).Should(BeTrue(), "nothing is kept of who left")
}
