package roller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/podsets"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

// cluster is the name of all Kafka clusters; each has its own namespace.
const cluster = "my-cluster"

// scene is a Kafka cluster, its pods, and a user with the rights of the roller.
type scene struct {
	namespace string
	kafka     *realkafka.Cluster
	admin     *saramakafka.Admin
	fixture   *podsets.Fixture
	pools     []podsets.Pool
	revisions int
	roller    *controlplane.User
}

// begin creates the scene, which is removed with the container of specs.
func (s *scene) begin(namespace string, o realkafka.Options) {
	GinkgoHelper()
	*s = scene{namespace: namespace, revisions: 1}
	o.Config = maps.Clone(o.Config)
	if o.Config == nil {
		o.Config = map[string]string{}
	}
	o.Config["broker.heartbeat.interval.ms"] = "500" // a broker is unfenced with its next heartbeat, by default after 2 s
	o.StartTimeout = 5 * time.Minute                 // some specs have no quorum for a while, and then no broker serves
	o.Log = GinkgoWriter
	var err error
	s.kafka, err = realkafka.Start(ctx, o)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(s.kafka.Close)
	s.admin, err = saramakafka.New(kafka.Config{Bootstrap: s.kafka.Bootstrap(), ClientID: "e2e"})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(s.admin.Close)
	s.grant()
	s.fixture, err = podsets.Run(ctx, podsets.Options{Config: plane.RESTConfig(), Namespace: namespace, Kafka: s.kafka, Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error { return s.fixture.Close() })
	s.pools = podsets.PoolsOf(s.kafka, namespace, cluster)
	for i := range s.pools {
		s.pools[i].Revision = fmt.Sprintf("r%d", s.revisions)
	}
	Expect(s.fixture.Deploy(ctx, k8s, s.pools...)).To(Succeed())
	s.settled()
}

// grant creates the namespace, and a user with the rights of config/roller there.
func (s *scene) grant() {
	GinkgoHelper()
	Expect(k8s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}})).To(Succeed())
	_, err := plane.Kubectl(ctx, "apply", "--server-side", "-k", "../../config/roller/default", "-n", s.namespace)
	Expect(err).NotTo(HaveOccurred())
	s.roller, err = plane.AddServiceAccount(s.namespace, "roller")
	Expect(err).NotTo(HaveOccurred())
}

// ledAsBefore waits until each partition is led by its first replica: leaders that restarts moved are back, long before Kafka's own
// balancing.
func (s *scene) ledAsBefore() {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		topics, err := s.admin.ListTopics(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(topics).NotTo(BeEmpty())
		for _, t := range topics {
			for _, p := range t.Partitions {
				g.Expect(p.Leader).To(Equal(p.Replicas[0]), "%s-%d", t.Name, p.Index)
			}
		}
	}).WithTimeout(10 * time.Second).Should(Succeed())
}

// settled waits until all pods are ready and all replicas are in sync.
func (s *scene) settled() {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		for _, p := range s.pools {
			var set core.StrimziPodSet
			g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: p.SetName()}, &set)).To(Succeed())
			g.Expect(set.Status.ReadyPods).To(BeEquivalentTo(len(p.Nodes)), "pods of %s that are ready", p.Name)
		}
		topics, err := s.admin.ListTopics(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		for _, t := range topics {
			for _, partition := range t.Partitions {
				g.Expect(partition.ISR).To(HaveLen(len(partition.Replicas)), "%s-%d", t.Name, partition.Index)
			}
		}
	}).WithTimeout(2 * patience).Should(Succeed())
}

// revision returns the desired revision of the pods.
func (s *scene) revision() string { return s.pools[0].Revision }

// outdate gives all pod sets a new revision.
func (s *scene) outdate() {
	GinkgoHelper()
	s.revisions++
	for i := range s.pools {
		s.pools[i].Revision = fmt.Sprintf("r%d", s.revisions)
		next, err := s.pools[i].PodSet()
		Expect(err).NotTo(HaveOccurred())
		change(s, next.Name, func(set *core.StrimziPodSet) { set.Spec = next.Spec })
	}
}

// change updates an object, and retries on conflicts.
func change[T any, P interface {
	client.Object
	*T
}](s *scene, name string, f func(P)) {
	GinkgoHelper()
	Eventually(func() error {
		object := P(new(T))
		if err := k8s.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, object); err != nil {
			return err
		}
		f(object)
		return k8s.Update(ctx, object)
	}).Should(Succeed())
}

// annotate sets an annotation; an empty value removes it.
func annotate[T any, P interface {
	client.Object
	*T
}](s *scene, name, key, value string) {
	GinkgoHelper()
	change(s, name, func(object P) {
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = value
		if value == "" {
			delete(annotations, key)
		}
		object.SetAnnotations(annotations)
	})
}

// configure sets the desired configuration of a node.
func (s *scene) configure(id int32, properties string) {
	GinkgoHelper()
	change(s, s.pod(id), func(c *corev1.ConfigMap) { c.Data["server.config"] = properties })
}

// properties returns the desired configuration of a node.
func (s *scene) properties(id int32) string {
	GinkgoHelper()
	var config corev1.ConfigMap
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.pod(id)}, &config)).To(Succeed())
	return config.Data["server.config"]
}

// configuration returns the desired configuration of all nodes, by node.
func (s *scene) configuration() map[int32]string {
	GinkgoHelper()
	all := map[int32]string{}
	for _, id := range s.kafka.NodeIDs() {
		all[id] = s.properties(id)
	}
	return all
}

// configured adds properties to the earlier configuration of all nodes, and returns the result.
func (s *scene) configured(before map[int32]string, more string) map[int32]string {
	GinkgoHelper()
	all := map[int32]string{}
	for id, properties := range before {
		all[id] = properties + more
		s.configure(id, all[id])
	}
	return all
}

// pod returns the name of a node's pod.
func (s *scene) pod(id int32) string {
	for _, p := range s.pools {
		if slices.Contains(p.Nodes, id) {
			return p.PodName(id)
		}
	}
	return ""
}

// seen waits until a node's pod matches.
func (s *scene) seen(id int32, matcher types.GomegaMatcher) {
	GinkgoHelper()
	Eventually(s.seenNow).WithArguments(id).Should(matcher)
}

// seenNow returns a node's pod.
func (s *scene) seenNow(id int32) (corev1.Pod, error) {
	var pod corev1.Pod
	err := k8s.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.pod(id)}, &pod)
	return pod, err
}

// beStuck matches a pod whose container can't run for this reason.
func beStuck(reason string) types.GomegaMatcher {
	return HaveField("Status.ContainerStatuses", ConsistOf(HaveField("State.Waiting", HaveField("Reason", reason))))
}

// beReady matches a pod with this status of the condition Ready.
func beReady(status corev1.ConditionStatus) types.GomegaMatcher {
	return HaveField("Status.Conditions", ContainElement(And(HaveField("Type", corev1.PodReady), HaveField("Status", status))))
}

// remade returns the nodes whose pods do not have the given uids, sorted by id.
func (s *scene) remade(uids map[int32]string) []int32 {
	GinkgoHelper()
	ids := []int32{}
	now := s.uids()
	for id, uid := range uids {
		if now[id] != "" && now[id] != uid {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// uids returns the uids of the existing pods, by node.
func (s *scene) uids() map[int32]string {
	GinkgoHelper()
	uids := map[int32]string{}
	for _, pod := range s.pods() {
		for _, id := range s.kafka.NodeIDs() {
			if s.pod(id) == pod.Name {
				uids[id] = string(pod.UID)
			}
		}
	}
	return uids
}

// pods returns the existing pods.
func (s *scene) pods() []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, client.InNamespace(s.namespace))).To(Succeed())
	return pods.Items
}

// restartedSince returns the nodes that were started for new pods after that many starts, in order.
func (s *scene) restartedSince(before int) []int32 {
	ids := []int32{}
	for _, start := range s.fixture.Starts()[before:] {
		ids = append(ids, start.Node)
	}
	return ids
}

// restarts returns the number of restarts.
func (s *scene) restarts() int { return len(s.fixture.Starts()) }

// leader returns the active controller.
func (s *scene) leader() int32 {
	GinkgoHelper()
	var leader int32
	Eventually(func(g Gomega) {
		q, err := s.admin.DescribeQuorum(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(q.Leader).To(BeNumerically(">=", 0))
		leader = q.Leader
	}).Should(Succeed())
	return leader
}

// where returns the flags that name the cluster and its addresses.
func (s *scene) where(command string) []string {
	flags := []string{
		"--namespace=" + s.namespace, "--cluster=" + cluster,
		"--bootstrap-servers=" + strings.Join(s.kafka.Bootstrap(), ","),
		"--bootstrap-controllers=" + strings.Join(s.kafka.ControllerBootstrap(), ","),
	}
	if command == "roll" {
		flags = append(flags, "--yes")
	}
	return flags
}
