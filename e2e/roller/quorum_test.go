package roller

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/e2e/podsets"
	"github.com/kafka-operators/kafka-operators/e2e/traffic"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/freeport"
)

// brief is a short timeout of the roller's requests, for specs without a quorum, in which no broker responds.
const brief = "--timeout=2s"

// servesNobody is the message about a node whose restart loses nothing: the node is down, and, if it was seen to refuse connections, since
// when.
const servesNobody = `it (serves no clients|has been unable to serve clients since \S+ UTC: it refuses connections)`

// quorumSpecs are about the loss of the metadata quorum.
func quorumSpecs(s *scene) {
	It("restarts nothing that works while the quorum is lost, says why, and goes on when it is back", func() {
		before, uids := s.restarts(), s.uids()
		broken := []int32{4, 5}
		for _, id := range broken {
			s.fixture.Break(id, podsets.Fault{Waiting: "CrashLoopBackOff"})
			s.seen(id, beStuck("CrashLoopBackOff"))
		}
		By("restarting nothing that is up to date")
		Expect(s.ask(blocked, "roll", "--patience=3s", brief)).
			To(MatchRegexp(`my-cluster-controllers-4, controller\)\n  state    Stuck: CrashLoopBackOff`))
		Expect(s.remade(uids)).To(BeEmpty())

		By("restarting nothing that works, also where somebody takes care of those that are down")
		for _, id := range broken {
			annotate[corev1.Pod](s, s.pod(id), core.AnnotationHold, "ann repairs it")
		}
		s.outdate()
		Expect(s.ask(blocked, "roll", "--patience=3s", brief)).
			To(And(ContainSubstring("blocked  Hold: it is annotated with kafka-operators.io/hold: ann repairs it"),
				ContainSubstring("blocked  Quorum: the metadata quorum is lost, because 2 of 3 voters are down")))
		Expect(s.remade(uids)).To(BeEmpty())
		for _, id := range broken {
			annotate[corev1.Pod](s, s.pod(id), core.AnnotationHold, "")
		}

		By("restarting only the controllers that are down, by which nothing is lost")
		Expect(s.ask(blocked, "roll", "--patience=3s", brief)).To(And(
			MatchRegexp(`node 4 is restarted: PodHasOldRevision, PodStuck \(CrashLoopBackOff\); `+servesNobody),
			MatchRegexp(`blocked  Halt: node 4 is stuck \(CrashLoopBackOff(; it refuses connections)?\) and up to date`),
			ContainSubstring("blocked  Quorum: ")))
		Expect(s.remade(uids)).To(Equal(broken))

		By("going on")
		for _, id := range broken {
			s.fixture.Mend(id)
		}
		s.ask(done, "roll", "--limit=4m")
		restarted := s.restartedSince(before)
		Expect(slices.Sorted(slices.Values(restarted))).To(Equal(everyone), "each node once: %v", restarted)
		s.settled()
	})
	It("restarts controllers that run and elect no leader, one at a time, and after its patience, until they have one", func() {
		s.works("led")
		ports, err := freeport.Take(2 * len(controllers))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { freeport.Release(ports) })
		moved := s.moved(ports)
		By("starting the controllers with addresses of each other at which nobody listens")
		uids := s.uids()
		for _, id := range controllers {
			s.configure(id, moved[id].wrong)
			Expect(k8s.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.pod(id)}})).To(Succeed())
		}
		Eventually(func() []int32 { return s.remade(uids) }).WithTimeout(2 * patience).Should(Equal(controllers))
		for _, id := range controllers {
			s.seen(id, beReady(corev1.ConditionTrue))
		}
		By("blocking their restart, and that of brokers, before the patience")
		for _, id := range controllers {
			s.configure(id, moved[id].right)
		}
		before, uids := s.restarts(), s.uids()
		s.outdate()
		Eventually(func() string { return s.ask(blocked, "explain", "4") }).
			Should(ContainSubstring("blocked  Quorum: the metadata quorum has no leader\n"))
		Expect(s.ask(blocked, "explain", "0")).
			To(ContainSubstring("blocked  Quorum: the metadata quorum has no leader: a broker that stops now could not come back"))
		Expect(s.remade(uids)).To(BeEmpty())

		const long = 10 * time.Second
		began := time.Now()
		printed := s.rollOn(func() {
			Expect(len(s.unready(controllers))).To(BeNumerically("<=", 1), "controllers that are not ready")
		}, long, "--stall=5s", "--limit=8m")
		restarted := s.restartedSince(before)
		Expect(slices.Sorted(slices.Values(restarted))).To(Equal(everyone), "each node once: %v", restarted)
		Expect(slices.Sorted(slices.Values(restarted[:3]))).To(Equal(controllers), "controllers first: %v", restarted)
		Expect(s.fixture.Starts()[before].At.Sub(began)).To(BeNumerically(">=", long), "after the patience")
		// Two that listen elect a leader. The last one is restarted with all checks.
		for i, id := range restarted {
			forced := fmt.Sprintf(`node %d is restarted: PodHasOldRevision; the controllers have had no leader since \S+ UTC`, id)
			Expect(regexp.MustCompile(forced).MatchString(printed)).To(Equal(i < 2), "%s\n%s", forced, printed)
		}
		Expect(s.leader()).To(BeElementOf(controllers))
		s.settled()
		s.works("led-again")
	})
}

// voters matches the addresses of the controllers in a configuration.
var voters = regexp.MustCompile(`(?m)^controller\.quorum\.voters=.*$`)

// movedTo are configurations of a controller whose quorum moves to listeners of its own: in wrong, nobody listens at the addresses of the
// controllers.
type movedTo struct{ wrong, right string }

// moved returns the configurations of the controllers, with listeners at the first half of the ports. Other clients use the earlier ones.
func (s *scene) moved(ports []int) map[int32]movedTo {
	GinkgoHelper()
	at := func(ports []int) string {
		var addresses []string
		for i, id := range controllers {
			addresses = append(addresses, fmt.Sprintf("%d@127.0.0.1:%d", id, ports[i]))
		}
		return "controller.quorum.voters=" + strings.Join(addresses, ",")
	}
	all := map[int32]movedTo{}
	for i, id := range controllers {
		properties := s.properties(id)
		Expect(properties).To(MatchRegexp(voters.String()))
		right := voters.ReplaceAllString(properties, at(ports))
		for key, more := range map[string]string{"listeners": fmt.Sprintf("QUORUM://127.0.0.1:%d", ports[i]),
			"listener.security.protocol.map": "QUORUM:PLAINTEXT", "controller.listener.names": "QUORUM"} {
			Expect(right).To(ContainSubstring("\n" + key + "="))
			right = strings.Replace(right, "\n"+key+"=", "\n"+key+"="+more+",", 1)
		}
		all[id] = movedTo{wrong: voters.ReplaceAllString(properties, at(ports[len(controllers):])), right: right}
	}
	return all
}

// unready returns those of the nodes that have no ready pod.
func (s *scene) unready(nodes []int32) []int32 {
	GinkgoHelper()
	ready := map[string]bool{}
	for _, pod := range s.pods() {
		ready[pod.Name] = pod.DeletionTimestamp == nil && core.IsReady(&pod)
	}
	return slices.DeleteFunc(slices.Clone(nodes), func(id int32) bool { return ready[s.pod(id)] })
}

// works checks that the Kafka creates a topic, and that what is written there with acks=all can be read.
func (s *scene) works(topic string) {
	GinkgoHelper()
	created, err := s.admin.CreateTopics(ctx, []kafka.NewTopic{{Name: topic, Partitions: 1, ReplicationFactor: 3}}, false)
	Expect(err).NotTo(HaveOccurred())
	Expect(created[topic].Err).NotTo(HaveOccurred())
	o := traffic.Options{Bootstrap: s.kafka.Bootstrap(), Topic: topic}
	Expect(traffic.Write(ctx, o, traffic.Record{Value: []byte("a record"), At: time.Now()})).To(Succeed())
	Expect(traffic.ReadAll(ctx, o)).To(Equal(map[string]int{"a record": 1}))
}
