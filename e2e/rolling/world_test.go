package rolling

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

const (
	namespace = "default"
	cluster   = "my-cluster"
)

// world is a Kafka, an API server, and the fixture between them. It lives as long as the test.
type world struct {
	*WithT
	t     *testing.T
	kafka *realkafka.Cluster
	plane *controlplane.ControlPlane
	k8s   client.Client
	admin *saramakafka.Admin
	// program is the roller's.
	program string

	mu sync.Mutex
	// revision is what pods are made from now.
	revision string
	restarts []int32
	// broken are nodes whose pods do not get ready.
	broken map[int32]bool
}

func newWorld(t *testing.T, o realkafka.Options) *world {
	if testing.Short() {
		t.Skip("real parts take longer than -short allows")
	}
	for _, available := range []func(context.Context) error{realkafka.Available, controlplane.Available} {
		if err := available(t.Context()); err != nil && os.Getenv("CI") != "true" {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	ctrllog.SetLogger(logr.Discard()) // the client's; it has nothing to say
	w := &world{WithT: NewWithT(t), t: t, revision: "r1", broken: map[int32]bool{}}
	var err error
	w.kafka, err = realkafka.Start(t.Context(), o)
	w.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = w.kafka.Close() })
	w.plane, err = controlplane.Start(t.Context(), controlplane.Options{})
	w.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = w.plane.Stop() })
	crds, err := operatorproc.RepositoryPath("config", "crd", "bases")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.plane.InstallCRDs(crds)).To(Succeed())
	scheme := runtime.NewScheme()
	w.Expect(errors.Join(clientgoscheme.AddToScheme(scheme), podset.AddToScheme(scheme))).To(Succeed())
	w.k8s, err = client.New(w.plane.RESTConfig(), client.Options{Scheme: scheme})
	w.Expect(err).NotTo(HaveOccurred())
	w.admin, err = saramakafka.New(kafka.Config{Bootstrap: w.kafka.Bootstrap()})
	w.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(w.admin.Close)
	w.build()
	w.makeSet()
	w.startFixture()
	return w
}

// build builds the roller.
func (w *world) build() {
	root, err := operatorproc.RepositoryPath()
	w.Expect(err).NotTo(HaveOccurred())
	w.program = filepath.Join(w.t.TempDir(), "roller")
	c := exec.CommandContext(w.t.Context(), "go", "build", "-buildvcs=false", "-o", w.program, "./roller/cmd")
	c.Dir = root
	out, err := c.CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), string(out))
}

func name(id int32) string { return fmt.Sprintf("%s-kafka-%d", cluster, id) }

// pod is what a node's pod is to be.
func (w *world) pod(id int32) corev1.Pod {
	role := func(is bool) string { return map[bool]string{true: "true", false: "false"}[is] }
	brokers := w.kafka.BrokerIDs()
	broker := slices.Contains(brokers, id)
	return corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name(id),
			Labels: map[string]string{
				v1.LabelCluster: cluster, podset.LabelBrokerRole: role(broker), podset.LabelControllerRole: role(!broker || len(brokers) == len(w.kafka.NodeIDs())),
			},
			Annotations: map[string]string{podset.AnnotationRevision: w.revision},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "kafka", Image: "kafka"}}},
	}
}

// makeSet makes the pod set, the pods as they are, and their configurations.
func (w *world) makeSet() {
	set := &podset.StrimziPodSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster + "-kafka", Labels: map[string]string{v1.LabelCluster: cluster}},
		Spec:       &podset.StrimziPodSetSpec{Selector: metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelCluster: cluster}}},
	}
	var pods []corev1.Pod
	for _, id := range w.kafka.NodeIDs() {
		pod := w.pod(id)
		pods = append(pods, pod)
		properties, err := os.ReadFile(filepath.Join(filepath.Dir(w.kafka.LogFile(id)), "server.properties"))
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(w.k8s.Create(w.t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod.Name, Labels: map[string]string{v1.LabelCluster: cluster}},
			Data:       map[string]string{"server.config": string(properties)},
		})).To(Succeed())
		w.Expect(w.k8s.Create(w.t.Context(), &pod)).To(Succeed())
		w.Expect(w.ready(w.t.Context(), id, true)).To(Succeed())
	}
	w.Expect(set.SetDesiredPods(pods)).To(Succeed())
	w.Expect(w.k8s.Create(w.t.Context(), set)).To(Succeed())
}

// outdate makes all pods out of date.
func (w *world) outdate() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revision += "'"
	var set podset.StrimziPodSet
	w.Expect(w.k8s.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: cluster + "-kafka"}, &set)).To(Succeed())
	var pods []corev1.Pod
	for _, id := range w.kafka.NodeIDs() {
		pods = append(pods, w.pod(id))
	}
	w.Expect(set.SetDesiredPods(pods)).To(Succeed())
	w.Expect(w.k8s.Update(w.t.Context(), &set)).To(Succeed())
}

// configure appends to the configuration that a node is to have.
func (w *world) configure(id int32, line string) {
	var config corev1.ConfigMap
	w.Expect(w.k8s.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: name(id)}, &config)).To(Succeed())
	config.Data["server.config"] += "\n" + line + "\n"
	w.Expect(w.k8s.Update(w.t.Context(), &config)).To(Succeed())
}

// annotate sets an annotation of an object.
func (w *world) annotate(object client.Object, objectName, key, value string) {
	w.Expect(w.k8s.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: objectName}, object)).To(Succeed())
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	object.SetAnnotations(annotations)
	w.Expect(w.k8s.Update(w.t.Context(), object)).To(Succeed())
}

// ready tells whether a node's pod is.
func (w *world) ready(ctx context.Context, id int32, is bool) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var pod corev1.Pod
		if err := w.k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name(id)}, &pod); err != nil {
			return err
		}
		status := corev1.ConditionFalse
		if is {
			status = corev1.ConditionTrue
		}
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.Now()}}
		return w.k8s.Status().Update(ctx, &pod)
	})
}

// startFixture runs the fixture until the test ends.
func (w *world) startFixture() {
	ctx, cancel := context.WithCancel(w.t.Context())
	var all sync.WaitGroup
	w.t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	for _, id := range w.kafka.NodeIDs() {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := w.keep(ctx, id); err != nil && ctx.Err() == nil {
					w.t.Errorf("the fixture of node %d: %v", id, err)
					return
				}
				select {
				case <-ctx.Done():
				case <-time.After(100 * time.Millisecond):
				}
			}
		})
	}
}

// keep makes a new pod where one is gone, and starts the node's process anew.
func (w *world) keep(ctx context.Context, id int32) error {
	err := w.k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name(id)}, &corev1.Pod{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	w.mu.Lock()
	w.restarts = append(w.restarts, id)
	pod, broken := w.pod(id), w.broken[id]
	w.mu.Unlock()
	if err := w.kafka.Stop(id); err != nil {
		return err
	}
	if err := w.k8s.Create(ctx, &pod); err != nil {
		return err
	}
	if err := w.ready(ctx, id, false); err != nil {
		return err
	}
	if err := w.kafka.StartNode(ctx, id); err != nil || broken {
		return err
	}
	return w.ready(ctx, id, true)
}

// restarted are the nodes that were restarted, in order.
func (w *world) restarted() []int32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.restarts)
}

// roller runs the roller's program, and returns what it printed and how it ended.
func (w *world) roller(args ...string) (output string, exit int) {
	where := []string{
		"--namespace=" + namespace, "--cluster=" + cluster,
		"--bootstrap-servers=" + strings.Join(w.kafka.Bootstrap(), ","), "--bootstrap-controllers=" + strings.Join(w.kafka.ControllerBootstrap(), ","),
	}
	c := exec.CommandContext(w.t.Context(), w.program, append(args, where...)...)
	c.Env = append(os.Environ(), "KUBECONFIG="+w.plane.Kubeconfig())
	out, err := c.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		w.t.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}
