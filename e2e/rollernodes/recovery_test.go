//go:build linux

package rollernodes

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
	"github.com/kafka-operators/kafka-operators/e2e/traffic"
	"github.com/kafka-operators/kafka-operators/kafka"
)

const (
	// segmented is a topic with a log that takes long to recover, because it has that many segments.
	segmented = "segments"
	segments  = 100
	// eager is the polling interval for short-lived states.
	eager = 5 * time.Millisecond
	// enough is the number of looks after which the roller would have restarted a node that nothing blocks: it does so in the first or the
	// second one.
	enough = 3
)

var _ = Describe("a broker that recovers its logs", Ordered, func() {
	const node = 3
	var (
		k     *kafkaCluster
		d     *deployment
		pod   *corev1.Pod
		hangs *recovery
	)

	BeforeAll(func() {
		home := lab.Clusters()[0]
		k = &kafkaCluster{
			namespace: "recovery", name: "orders", port: 30300, places: []*realnodes.Cluster{home},
			nodes: map[*realnodes.Cluster][]int32{home: {1, 2, node}}, onlyBrokers: []int32{2, node},
		}
		startKafka(k)
		d = deploy(home, k.namespace, k.name, "roller-leader", filepath.Join("testdata", "recovery"))
		Eventually(d.status).Should(ContainSubstring(`"phase":"Done"`))
		k.makeSegments()
		pod = podOf(d.k8s, k.namespace, k.podName(node))
		hangs = k.recoverLogs(pod)
	})

	It("is left alone although it is outdated, fenced and not ready", func() {
		Eventually(k.fenced).Should(ContainElement(int32(node)))
		outdate(d.in, k.pools(d.in, "r2")[1])
		k.keeps(pod, d, "Recovering: Restart waits: Recovery")
		out, _ := d.run("explain", "--cluster="+k.name, pod.Name) // exits with 4: a restart is blocked
		Expect(out).To(And(ContainSubstring("because  PodHasOldRevision"),
			ContainSubstring("blocked  Recovery: it is recovering its logs; a restart would start that over")))
		Eventually(func() ([]string, error) { return d.eventsOf(d.in, pod.Name) }).
			Should(ContainElement(HavePrefix("Blocked: Restart waits (Recovery)")))
	})

	It("is left alone, too, while the roller may not read its log, because an unknown recovery may be one", func() {
		giveBack := d.withoutLogs()
		k.keeps(pod, d, "NotReady: Restart waits: Patience")
		out, _ := d.run("explain", "--cluster="+k.name, pod.Name) // as above
		Expect(out).To(And(ContainSubstring("it may be recovering its logs: read the pod's log: forbidden: "+
			"the roller needs the verb get on pods/log"), ContainSubstring("blocked  Patience: it is not ready; the roller waits for it until")))

		giveBack()
		k.keeps(pod, d, "Recovering: Restart waits: Recovery")
	})

	It("is left alone when it has recovered them, until it has started: before that, Kafka does not note that its logs are whole", func() {
		hangs.goOnUntil(`Loaded \d+ logs`)
		Expect(hangs.said()).NotTo(ContainSubstring("Kafka Server started"), "it is not through")
		k.keeps(pod, d, "Recovering: Restart waits: Recovery")
		out, _ := d.run("explain", "--cluster="+k.name, pod.Name) // as above
		Expect(out).To(ContainSubstring("blocked  Recovery: it has read its logs, and has not started yet; a restart would start that over"))
	})

	It("is restarted when it has started, so that nothing is recovered again, and the roll ends", func() {
		hangs.goOn()
		Eventually(func() []string { return k.history.made("r2") }).Should(ConsistOf(k.podName(2), pod.Name), k.logs)
		Eventually(d.status).Should(ContainSubstring(`"phase":"Done"`), k.logs)
		Expect(hangs.said()).To(MatchRegexp(`(?s) Kafka Server started .* Terminating process due to signal SIGTERM`))
		next, err := os.ReadFile(d.in.Nodes()[0].PodLogFile(podOf(d.k8s, k.namespace, pod.Name), "kafka", 0))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(next)).To(MatchRegexp(`Skipping recovery of \d+ logs? from \S+ since clean shutdown file was found`))
		Expect(k.history.made("r2")).To(HaveLen(2), "each once")
		Expect(k.history.mostAway()).To(Equal(1))
	})
})

// podOf returns the present pod of a name.
func podOf(k8s client.Client, namespace, name string) *corev1.Pod {
	GinkgoHelper()
	var pod corev1.Pod
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pod)).To(Succeed())
	return &pod
}

// makeSegments creates a topic of one partition with many segments.
func (k *kafkaCluster) makeSegments() {
	GinkgoHelper()
	brief, two := "1", minISR
	created, err := k.admin.CreateTopics(ctx, []kafka.NewTopic{{
		Name: segmented, Partitions: 1, ReplicationFactor: 3, Configs: map[string]*string{"segment.ms": &brief, "min.insync.replicas": &two},
	}}, false)
	Expect(err).NotTo(HaveOccurred())
	Expect(created[segmented].Err).NotTo(HaveOccurred())
	Expect(traffic.Write(ctx, traffic.Options{Bootstrap: k.addresses(k.clientPort), Dial: lab.DialContext, Topic: segmented},
		traffic.Segments(segments)...)).To(Succeed())
}

// recovery is the JVM of a broker that recovers its logs, and is suspended now and then. Its log can be read also when its pod is gone.
type recovery struct {
	jvm int
	log *os.File
}

// recoverLogs kills the JVM of a pod, and suspends the one that is started in its place when it recovers its logs.
func (k *kafkaCluster) recoverLogs(pod *corev1.Pod) *recovery {
	GinkgoHelper()
	machine := k.places[0].Nodes()[0]
	running := func() ([]int, error) { return machine.Pids(pod, "java") }
	killed, err := running()
	Expect(err).NotTo(HaveOccurred())
	Expect(killed).To(HaveLen(1))
	Expect(syscall.Kill(killed[0], syscall.SIGKILL)).To(Succeed())
	Eventually(running).WithPolling(eager).Should(And(HaveLen(1), Not(Equal(killed))), k.logs)
	jvms, err := running()
	Expect(err).NotTo(HaveOccurred())
	Expect(jvms).To(HaveLen(1))
	log, err := os.Open(machine.PodLogFile(pod, "kafka", int(pod.Status.ContainerStatuses[0].RestartCount)+1))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(log.Close)
	r := &recovery{jvm: jvms[0], log: log}
	DeferCleanup(func() { _ = syscall.Kill(r.jvm, syscall.SIGCONT) }) // it has ended if the specs succeeded
	r.goOnUntil(`Recovering unflushed segment .* for ` + segmented + `-0`)
	Expect(r.said()).NotTo(MatchRegexp(`Loaded \d+ logs`), "it is not through")
	GinkgoWriter.Printf("%s hangs after %d of %d segments\n", pod.Name, strings.Count(r.said(), " recovered for "+segmented+"-0"), segments)
	return r
}

// goOn lets the JVM go on.
func (r *recovery) goOn() {
	GinkgoHelper()
	Expect(syscall.Kill(r.jvm, syscall.SIGCONT)).To(Succeed())
}

// goOnUntil lets the JVM go on, and suspends it when its log has something that matches.
func (r *recovery) goOnUntil(what string) {
	GinkgoHelper()
	r.goOn()
	Eventually(r.said).WithPolling(eager).Should(MatchRegexp(what))
	Expect(syscall.Kill(r.jvm, syscall.SIGSTOP)).To(Succeed())
	Eventually(os.ReadFile).WithArguments(filepath.Join("/proc", strconv.Itoa(r.jvm), "status")).WithPolling(eager).
		Should(MatchRegexp(`(?m)^State:\s+T`))
}

// said returns the log of the JVM.
func (r *recovery) said() string {
	GinkgoHelper()
	text, err := io.ReadAll(io.NewSectionReader(r.log, 0, math.MaxInt64))
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// fenced returns the brokers that the first node reports as fenced.
func (k *kafkaCluster) fenced() ([]int32, error) {
	found, err := k.views[0].DescribeCluster(ctx)
	var ids []int32
	for _, b := range found.Brokers {
		if b.Fenced {
			ids = append(ids, b.ID)
		}
	}
	return ids, err
}

// withoutLogs takes from the roller the right to read logs of pods, and returns how to give it back.
func (d *deployment) withoutLogs() (giveBack func()) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{}
	Expect(d.k8s.Get(ctx, client.ObjectKey{Name: "roller"}, role)).To(Succeed())
	all := role.Rules
	role.Rules = slices.DeleteFunc(slices.Clone(all), func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "pods/log") })
	Expect(role.Rules).To(HaveLen(len(all) - 1))
	Expect(d.k8s.Update(ctx, role)).To(Succeed())
	giveBack = func() {
		Expect(d.k8s.Get(ctx, client.ObjectKeyFromObject(role), role)).To(Succeed())
		role.Rules = all
		Expect(d.k8s.Update(ctx, role)).To(Succeed())
	}
	DeferCleanup(giveBack) // other specs need it, also when this one fails
	return giveBack
}

// decided matches the number of looks at the Kafka cluster that reached a decision.
var decided = regexp.MustCompile(`(?m)^strimzi_roller_looks_total\{cluster="orders",.*result="decided"\} (\d+)$`)

// look has the roller look at the Kafka cluster, as it does when a pod changes, and waits until it has looked.
func (d *deployment) look(pod *corev1.Pod) {
	GinkgoHelper()
	looks := func() (int, error) {
		found := decided.FindStringSubmatch(d.metrics(d.leader()))
		if found == nil {
			return 0, fmt.Errorf("no looks")
		}
		return strconv.Atoi(found[1])
	}
	before, err := looks()
	Expect(err).NotTo(HaveOccurred())
	note := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"e2e/looks":"%d"}}}`, before))
	Expect(d.k8s.Patch(ctx, pod.DeepCopy(), note)).To(Succeed())
	Eventually(looks).Should(BeNumerically(">", before), d.logs)
}

// keeps checks that the roller reports a state of the node of a pod, and deletes no pod of the Kafka cluster, however often it looks.
func (k *kafkaCluster) keeps(pod *corev1.Pod, d *deployment, state string) {
	GinkgoHelper()
	status := func() (string, error) {
		d.look(pod)
		Expect(k.history.stopped("r1")).To(BeEmpty(), k.logs)
		return d.status()
	}
	reported := fmt.Sprintf("%q:%q", pod.Name, state)
	Eventually(status).Should(ContainSubstring(reported), d.logs)
	for range enough {
		Expect(status()).To(ContainSubstring(reported))
	}
	Expect(podOf(d.k8s, k.namespace, pod.Name).UID).To(Equal(pod.UID))
}
