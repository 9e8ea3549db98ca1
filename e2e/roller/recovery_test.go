package roller

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/e2e/podsets"
	"github.com/kafka-operators/kafka-operators/e2e/traffic"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// segments is the number of segments of a log that takes long to recover.
const segments = 400

// shippedLogging is the part of Kafka's default log4j2.yaml for the log of a container.
const shippedLogging = `status = ERROR
appender.out.type = Console
appender.out.name = STDOUT
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = INFO
rootLogger.appenderRef.out.ref = STDOUT
`

// logsAsShipped makes nodes log what Kafka logs by default. Only that log shows that a broker recovers its logs.
func logsAsShipped() string {
	GinkgoHelper()
	path := filepath.Join(GinkgoT().TempDir(), "log4j2.properties")
	Expect(os.WriteFile(path, []byte(shippedLogging), 0o600)).To(Succeed())
	return "-Dlog4j2.configurationFile=" + path
}

// recoverySpecs are about nodes that recover their logs.
func recoverySpecs(s *scene) {
	It("does not take a controller for one that recovers its logs because it recovered that of the metadata, as each does", func() {
		const node = 4
		log, err := os.ReadFile(s.kafka.LogFile(node))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(log)).To(MatchRegexp(`Recovering unflushed segment .* for __cluster_metadata-0`), "it was restarted in order")
		s.fixture.Break(node, podsets.Fault{})
		s.seen(node, beReady(corev1.ConditionFalse))
		Expect(s.ask(pending, "explain", s.pod(node))).To(MatchRegexp(`state +NotReady\n`))
		s.fixture.Mend(node)
		s.seen(node, beReady(corev1.ConditionTrue))
	})

	It("leaves a broker alone while it recovers its logs, however silent and out of date it is, and restarts it once it is through", func() {
		s.makeSegments()
		const node = 1
		before, uids := s.restarts(), s.uids()
		s.suspendInRecovery(node)
		s.outdate()
		Expect(s.ask(blocked, "explain", s.pod(node))).To(And(
			ContainSubstring("blocked  Recovery: it is recovering its logs; a restart would start that over"), ContainSubstring("Recovering")))
		s.staysWithoutLogs(node, uids)
		// The limits for an unready and for a silent node do not apply to it. The controllers are restarted; brokers wait for it because of their
		// partitions.
		roll := s.start("roll", "--patience=3s", "--silence=2s")
		Eventually(func() []int32 { return s.remade(uids) }).WithTimeout(3 * patience).Should(Equal(controllers))
		Consistently(func() []int32 { return s.remade(uids) }, 6*time.Second, "200ms").Should(Equal(controllers))
		Expect(s.ask(blocked, "explain", "0", "--patience=3s")).To(ContainSubstring("blocked  Availability"))
		Expect(s.ask(blocked, "explain", strconv.Itoa(node), "--patience=3s")).To(ContainSubstring("blocked  Recovery"))
		Expect(roll.Running()).To(BeTrue(), "it waits: %s", roll.printed())
		roll.Kill()

		Expect(s.kafka.Resume(node)).To(Succeed())
		s.seen(node, beReady(corev1.ConditionTrue))
		s.ask(done, "roll", "--limit=4m")
		restarted := s.restartedSince(before)
		Expect(slices.Sorted(slices.Values(restarted))).To(Equal(everyone), "each node once: %v", restarted)
		s.settled()
	})
}

// staysWithoutLogs checks that a broker that recovers its logs is left alone where the roller may not read them.
func (s *scene) staysWithoutLogs(node int32, uids map[int32]string) {
	GinkgoHelper()
	s.withoutLogs(func() {
		Eventually(func() string { return s.ask(blocked, "explain", s.pod(node), "--silence=2s") }).
			Should(MatchRegexp(`it may be recovering its logs: .*forbidden`), "an unknown is not a default")
		roll := s.start("roll", "--silence=2s")
		Eventually(func() []int32 { return s.remade(uids) }).WithTimeout(3 * patience).Should(Equal(controllers))
		Consistently(func() []int32 { return s.remade(uids) }, 6*time.Second, "200ms").Should(Equal(controllers))
		Expect(roll.Running()).To(BeTrue(), "it waits: %s", roll.printed())
		roll.Kill()
	})
}

// withoutLogs has the API server refuse the roller the logs of pods while something is done.
func (s *scene) withoutLogs(do func()) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{}
	Expect(k8s.Get(ctx, client.ObjectKey{Name: "roller"}, role)).To(Succeed())
	all := role.Rules
	role.Rules = slices.DeleteFunc(slices.Clone(all), func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "pods/log") })
	Expect(role.Rules).To(HaveLen(len(all) - 1))
	Expect(k8s.Update(ctx, role)).To(Succeed())
	restore := func() {
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(role), role)).To(Succeed())
		role.Rules = all
		Expect(k8s.Update(ctx, role)).To(Succeed())
	}
	DeferCleanup(restore) // other specs need it, also when this one fails
	do()
	restore()
}

// makeSegments writes a topic of one partition with many segments.
func (s *scene) makeSegments() {
	GinkgoHelper()
	const topic = "segments"
	brief, two := "1", "2"
	created, err := s.admin.CreateTopics(ctx, []kafka.NewTopic{{
		Name: topic, Partitions: 1, ReplicationFactor: 3, Configs: map[string]*string{"segment.ms": &brief, "min.insync.replicas": &two},
	}}, false)
	Expect(err).NotTo(HaveOccurred())
	Expect(created[topic].Err).NotTo(HaveOccurred())
	Expect(traffic.Write(ctx, traffic.Options{Bootstrap: s.kafka.Bootstrap(), Topic: topic}, traffic.Segments(segments)...)).To(Succeed())
}

// suspendInRecovery kills a broker, and suspends it while it recovers its logs.
func (s *scene) suspendInRecovery(node int32) {
	GinkgoHelper()
	began, err := os.ReadFile(s.kafka.LogFile(node))
	Expect(err).NotTo(HaveOccurred())
	log := func() string {
		text, err := os.ReadFile(s.kafka.LogFile(node))
		Expect(err).NotTo(HaveOccurred())
		return string(text[len(began):])
	}
	Expect(s.kafka.Kill(node)).To(Succeed())
	Eventually(log).WithPolling(eager).Should(MatchRegexp(`Recovering unflushed segment .* for segments-0`))
	Expect(s.kafka.Suspend(node)).To(Succeed())
	DeferCleanup(func() { _ = s.kafka.Resume(node) }) // it was resumed already if the spec succeeded
	Expect(log()).NotTo(MatchRegexp(`Loaded \d+ logs`), "it is not through")
	GinkgoWriter.Printf("node %d hangs after %d of %d segments\n", node, strings.Count(log(), " recovered for segments-0"), segments)
	s.seen(node, beReady(corev1.ConditionFalse))
}
