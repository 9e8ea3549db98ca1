package podset

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/testserver"
)

// apiServer is the API server of all tests of this package; without one, missing says why. It has no kubelets: the tests play them.
var (
	apiServer *envtest.Environment
	missing   error
	scheme    = runtime.NewScheme()
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	// What has to come comes soon, but the machine may be busy.
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(5 * time.Millisecond)
	SetDefaultConsistentlyDuration(300 * time.Millisecond)
	if missing = startServer(); missing == nil {
		defer testserver.Stop(apiServer)
	}
	return m.Run()
}

func startServer() error {
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, core.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	env, err := testserver.Start(true)
	apiServer = env
	return err
}

// world is a namespace of a test's own.
type world struct {
	*WithT
	t         *testing.T
	namespace string
	admin     client.WithWatch
}

func newWorld(t *testing.T) *world {
	t.Helper()
	testserver.Need(t, missing)
	w := &world{WithT: NewWithT(t), t: t}
	c := rest.CopyConfig(apiServer.Config)
	c.QPS = -1
	var err error
	w.admin, err = client.NewWithWatch(c, client.Options{Scheme: scheme})
	w.Expect(err).NotTo(HaveOccurred())
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	w.Expect(w.admin.Create(t.Context(), ns)).To(Succeed())
	w.namespace = ns.Name
	return w
}

// start runs the reconciler in a manager, as a Deployment would, until stop is called or the test ends.
func (w *world) start() (stop func()) {
	w.t.Helper()
	c := rest.CopyConfig(apiServer.Config)
	c.QPS = -1
	mgr, err := ctrl.NewManager(c, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{w.namespace: {}},
			ByObject:          map[client.Object]cache.ByObject{&corev1.Pod{}: {Transform: TrimPod}},
		},
	})
	w.Expect(err).NotTo(HaveOccurred())
	r := &Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Now: time.Now}
	ctx, cancel := context.WithCancel(context.Background())
	w.Expect(r.SetupWithManager(ctx, mgr, controller.Options{})).To(Succeed())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			w.Expect(<-ended).To(Succeed())
		}
	}
	w.t.Cleanup(stop)
	return stop
}

// set makes a StrimziPodSet that lists these pods. On this API server pods that are on no node end at once when they are deleted.
func (w *world) set(names ...string) *core.StrimziPodSet {
	w.t.Helper()
	set := testSet(names...)
	set.ObjectMeta = metav1.ObjectMeta{Namespace: w.namespace, Name: "c-p", Labels: set.Labels}
	w.Expect(w.admin.Create(w.t.Context(), set)).To(Succeed())
	return set
}

// edit changes an object until that is not overtaken by another owner's change.
func edit[T client.Object](w *world, object T, change func(T)) {
	w.t.Helper()
	w.Eventually(func() error {
		if err := w.admin.Get(w.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change(object)
		return w.admin.Update(w.t.Context(), object)
	}).Should(Succeed())
}

// is plays the kubelet: a pod is in this phase, and ready or not.
func (w *world) is(name string, phase corev1.PodPhase, ready bool) {
	w.t.Helper()
	w.Eventually(func() error {
		pod := w.pod(name)
		if pod == nil {
			return fmt.Errorf("there is no pod %s", name)
		}
		status := corev1.ConditionFalse
		if ready {
			status = corev1.ConditionTrue
		}
		pod.Status.Phase, pod.Status.Conditions = phase, []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
		return w.admin.Status().Update(w.t.Context(), pod)
	}).Should(Succeed())
}

func (w *world) pod(name string) *corev1.Pod {
	var pod corev1.Pod
	if err := w.admin.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &pod); err != nil {
		return nil
	}
	return &pod
}

// names are the pods that exist.
func (w *world) names() []string {
	var pods corev1.PodList
	w.Expect(w.admin.List(w.t.Context(), &pods, client.InNamespace(w.namespace))).To(Succeed())
	names := []string{}
	for _, pod := range pods.Items {
		names = append(names, pod.Name)
	}
	return names
}

// status is observedGeneration, pods, readyPods and currentPods, and the condition Error, of the set.
func (w *world) status() string {
	var set core.StrimziPodSet
	if err := w.admin.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "c-p"}, &set); err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("generation %+d: %d %d %d", set.Status.ObservedGeneration-set.Generation, set.Status.Pods, set.Status.ReadyPods,
		set.Status.CurrentPods)
	for _, c := range set.Status.Conditions {
		text += "; " + c.Type + "=" + c.Status + " " + c.Message
	}
	return text
}
