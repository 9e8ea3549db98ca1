package podsets_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/e2e/podsets"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

const patience = time.Minute

// scene is a Kafka of one node, and its pod.
type scene struct {
	*WithT
	kafka   *realkafka.Cluster
	plane   *controlplane.ControlPlane
	k8s     client.Client
	fixture *podsets.Fixture
	pool    podsets.Pool
}

// pod returns the node's present pod.
func (s *scene) pod(ctx context.Context, g Gomega) *corev1.Pod {
	pod := &corev1.Pod{}
	g.Expect(s.k8s.Get(ctx, client.ObjectKey{Namespace: s.pool.Namespace, Name: s.pool.PodName(0)}, pod)).To(Succeed())
	return pod
}

func start(t *testing.T) *scene {
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
	ctrllog.SetLogger(logr.Discard()) // the clients log nothing of interest
	s := &scene{WithT: NewWithT(t), pool: podsets.Pool{Namespace: "default", Cluster: "my-cluster", Name: "all", Broker: true,
		Controller: true, Nodes: []int32{0}, Revision: "r1"}}
	var err error
	s.kafka, err = realkafka.Start(t.Context(), realkafka.Options{})
	s.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { s.kafka.Close() })
	s.plane, err = controlplane.Start(t.Context(), controlplane.Options{})
	s.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { s.Expect(s.plane.Stop()).To(Succeed()) })
	crds, err := operatorproc.RepositoryPath("config", "crd", "bases")
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(s.plane.InstallCRDs(crds)).To(Succeed())
	scheme, err := podsets.Scheme()
	s.Expect(err).NotTo(HaveOccurred())
	s.k8s, err = client.New(s.plane.RESTConfig(), client.Options{Scheme: scheme})
	s.Expect(err).NotTo(HaveOccurred())
	s.fixture, err = podsets.Run(t.Context(), podsets.Options{Config: s.plane.RESTConfig(), Namespace: "default", Kafka: s.kafka,
		Log: t.Output()})
	s.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { s.Expect(s.fixture.Close()).To(Succeed()) })
	properties, err := s.fixture.Properties(0)
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(s.k8s.Create(t.Context(), s.pool.ConfigMap(0, properties))).To(Succeed())
	set, err := s.pool.PodSet()
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(s.k8s.Create(t.Context(), set)).To(Succeed())
	return s
}

// status returns the numbers in the set's status: pods, ready pods, and current pods.
func (s *scene) status(ctx context.Context) func() []int32 {
	return func() []int32 {
		var set core.StrimziPodSet
		if err := s.k8s.Get(ctx, client.ObjectKey{Namespace: "default", Name: s.pool.SetName()}, &set); err != nil {
			return nil
		}
		return []int32{set.Status.Pods, set.Status.ReadyPods, set.Status.CurrentPods}
	}
}

func isReady(pod *corev1.Pod) bool {
	return len(pod.Status.Conditions) == 1 && pod.Status.Conditions[0].Type == corev1.PodReady &&
		pod.Status.Conditions[0].Status == corev1.ConditionTrue
}

func TestAPodIsAProcess(t *testing.T) {
	s := start(t)
	ctx := t.Context()
	s.Eventually(s.status(ctx), patience).Should(Equal([]int32{1, 1, 1}))
	first, process := s.pod(ctx, s), s.kafka.PID(0)
	s.Expect(first.OwnerReferences).To(HaveLen(1))
	s.Expect(first.OwnerReferences[0].Kind).To(Equal("StrimziPodSet"))
	s.Expect(s.fixture.Starts()).To(BeEmpty(), "it ran already")

	// With another revision of the set, the controller leaves the pod alone.
	s.pool.Revision = "r2"
	next, err := s.pool.PodSet()
	s.Expect(err).NotTo(HaveOccurred())
	var set core.StrimziPodSet
	s.Expect(s.k8s.Get(ctx, client.ObjectKeyFromObject(next), &set)).To(Succeed())
	set.Spec = next.Spec
	s.Expect(s.k8s.Update(ctx, &set)).To(Succeed())
	s.Eventually(s.status(ctx), patience).Should(Equal([]int32{1, 1, 0}))
	s.Expect(s.kafka.PID(0)).To(Equal(process))
	s.Expect(s.pod(ctx, s).UID).To(Equal(first.UID))

	// After a deletion, there is a new pod of the new revision, with the configuration in the ConfigMap.
	var config corev1.ConfigMap
	s.Expect(s.k8s.Get(ctx, client.ObjectKeyFromObject(first), &config)).To(Succeed())
	config.Data["server.config"] += "num.io.threads=3\n"
	s.Expect(s.k8s.Update(ctx, &config)).To(Succeed())
	s.Expect(s.k8s.Delete(ctx, first)).To(Succeed())
	s.Eventually(s.status(ctx), patience).Should(Equal([]int32{1, 1, 1}))
	second := s.pod(ctx, s)
	s.Expect(second.UID).NotTo(Equal(first.UID))
	s.Expect(second.Annotations[core.AnnotationRevision]).To(Equal("r2"))
	s.Expect(s.kafka.PID(0)).NotTo(BeElementOf(0, process))
	starts := s.fixture.Starts()
	s.Expect(starts).To(HaveLen(1))
	s.Expect(starts[0].Pod).To(Equal(string(second.UID)))
	s.Expect(s.fixture.Properties(0)).To(ContainSubstring("num.io.threads=3\n"))

	// The API server serves only the log of the new process.
	clientset, err := kubernetes.NewForConfig(s.plane.RESTConfig())
	s.Expect(err).NotTo(HaveOccurred())
	log, err := clientset.CoreV1().Pods("default").GetLogs(second.Name, &corev1.PodLogOptions{Container: "kafka"}).DoRaw(ctx)
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(strings.Count(string(log), "Kafka Server started")).To(Equal(1), "the process began once in it")
	one := int64(1)
	log, err = clientset.CoreV1().Pods("default").GetLogs(second.Name, &corev1.PodLogOptions{Container: "kafka", TailLines: &one}).DoRaw(ctx)
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(strings.Count(string(log), "\n")).To(Equal(1))

	// A process that dies is restarted in the same pod.
	process = s.kafka.PID(0)
	s.Expect(s.kafka.Kill(0)).To(Succeed())
	s.Eventually(s.status(ctx), patience).Should(Equal([]int32{1, 0, 1}))
	s.Eventually(s.status(ctx), patience).Should(Equal([]int32{1, 1, 1}))
	s.Expect(s.kafka.PID(0)).NotTo(BeElementOf(0, process))
	s.Expect(s.pod(ctx, s).UID).To(Equal(second.UID))
	s.Expect(s.fixture.Starts()).To(HaveLen(1))
	log, err = clientset.CoreV1().Pods("default").GetLogs(second.Name, &corev1.PodLogOptions{Container: "kafka"}).DoRaw(ctx)
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(strings.Count(string(log), "Kafka Server started")).To(Equal(1), "the log is that of the container which runs now")

	// A fault lasts until Mend, or until the pod has another revision.
	s.fixture.Break(0, podsets.Fault{})
	s.Eventually(func(g Gomega) { g.Expect(isReady(s.pod(ctx, g))).To(BeFalse()) }, patience).Should(Succeed())
	s.Expect(s.kafka.PID(0)).NotTo(BeZero())
	s.fixture.Break(0, podsets.Fault{Waiting: "CrashLoopBackOff", Revision: "r2"})
	s.Eventually(func(g Gomega) {
		g.Expect(s.pod(ctx, g).Status.ContainerStatuses[0].State.Waiting).To(HaveField("Reason", "CrashLoopBackOff"))
	}, patience).Should(Succeed())
	s.Expect(s.kafka.PID(0)).To(BeZero())
	s.fixture.Mend(0)
	s.Eventually(func(g Gomega) { g.Expect(isReady(s.pod(ctx, g))).To(BeTrue()) }, patience).Should(Succeed())
}
