package roller

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// journal is the name of the ConfigMap with the roller's state.
const journal = cluster + "-roller"

var _ = Describe("Three combined nodes", Ordered, func() {
	s := &scene{}
	all := []int32{0, 1, 2}
	BeforeAll(func() { s.begin("combined", realkafka.Options{Brokers: 3}) })

	It("does nothing where somebody else's ConfigMap has the journal's name, and leaves that alone", func() {
		foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: journal}, Data: map[string]string{"a": "b"}}
		Expect(k8s.Create(ctx, foreign)).To(Succeed())
		s.outdate()
		Expect(s.ask(failed, "roll", "--limit=20s")).To(
			ContainSubstring("ConfigMap combined/my-cluster-roller has the name of the journal, and is left alone: it was not made by a roller"))
		Expect(s.restarts()).To(BeZero())
		var now corev1.ConfigMap
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(foreign), &now)).To(Succeed())
		Expect(now.ResourceVersion).To(Equal(foreign.ResourceVersion))
		Expect(k8s.Delete(ctx, foreign)).To(Succeed())
	})

	It("restarts nothing where another Kafka answers than the pods' own", func() {
		tells := func(id int32, kafka string) {
			change(s, s.pod(id), func(c *corev1.ConfigMap) { c.Data["cluster.id"] = kafka })
		}
		tells(0, "someOtherKafkaCluster0")
		Expect(s.ask(blocked, "roll", "--limit=20s")).To(ContainSubstring("blocked  Owner: the bootstrap addresses point to Kafka cluster " +
			s.kafka.ClusterID() + ", but the pods' ConfigMaps name someOtherKafkaCluster0: correct the addresses"))
		Expect(s.restarts()).To(BeZero())
		for _, id := range all {
			tells(id, s.kafka.ClusterID())
		}
	})

	It("restarts nothing that nobody would make anew", func() {
		set := s.pools[0].SetName()
		annotate[core.StrimziPodSet](s, set, v1.AnnotationPauseReconciliation, "true")
		Expect(s.ask(blocked, "roll", "--limit=20s")).To(ContainSubstring("blocked  Owner: StrimziPodSet " + set +
			" is annotated with strimzi.io/pause-reconciliation"))
		Expect(s.restarts()).To(BeZero())
		annotate[core.StrimziPodSet](s, set, v1.AnnotationPauseReconciliation, "")
	})

	It("rolls once, the active controller last, unnoticed by clients", func() {
		t := s.produce()
		order := s.inOrder()
		Expect(s.ask(pending, "plan", "--max-unavailable=3")).
			To(ContainSubstring("3 of 3 nodes need a restart, in 3 batches (at least 3 are needed"))
		s.ask(done, "roll", "--max-unavailable=3", "--limit=4m")
		Expect(s.restartedSince(0)).To(Equal(order))
		s.ledAsBefore()
		t.stop()
		s.settled()
	})

	It("keeps to a pause and to a hold, and restarts a pod by hand", func() {
		before := s.restarts()
		annotate[corev1.ConfigMap](s, journal, v1.AnnotationPauseReconciliation, "true")
		annotate[corev1.Pod](s, s.pod(1), core.AnnotationManualRollingUpdate, "true")
		Expect(s.ask(blocked, "roll", "--limit=1m")).To(ContainSubstring("blocked  Paused: ConfigMap combined/my-cluster-roller is annotated"))
		annotate[corev1.ConfigMap](s, journal, v1.AnnotationPauseReconciliation, "")
		annotate[corev1.Pod](s, s.pod(1), core.AnnotationHold, "ann replaces a disk")
		Expect(s.ask(blocked, "explain", "1")).
			To(ContainSubstring("blocked  Hold: it is annotated with kafka-operators.io/hold: ann replaces a disk"))
		s.ask(blocked, "roll", "--limit=1m")
		Expect(s.restartedSince(before)).To(BeEmpty())
		annotate[corev1.Pod](s, s.pod(1), core.AnnotationHold, "false")
		Expect(s.ask(done, "roll", "--limit=2m")).To(ContainSubstring("node 1 is restarted: ManualRollingUpdate (the pod is annotated)"))
		Expect(s.restartedSince(before)).To(Equal([]int32{1}))
		s.settled()
	})

	It("restarts all pods of a StrimziPodSet by hand, once for each time that it is asked to", func() {
		before, order := s.restarts(), s.inOrder()
		set := s.pools[0].SetName()
		annotate[core.StrimziPodSet](s, set, core.AnnotationManualRollingUpdate, "true")
		s.ask(done, "roll", "--limit=4m")
		Expect(s.restartedSince(before)).To(Equal(order))
		s.ask(done, "roll", "--limit=1m")
		Expect(s.ask(done, "explain", "0")).
			To(ContainSubstring("ManualRollingUpdate (StrimziPodSet my-cluster-combined is annotated): already restarted for that"))
		Expect(s.restartedSince(before)).To(Equal(order), "the annotation is still there, and asks for nothing more")
		annotate[core.StrimziPodSet](s, set, core.AnnotationManualRollingUpdate, "")
		s.ask(done, "roll", "--limit=1m")
		Expect(s.restartedSince(before)).To(Equal(order))
		s.settled()
	})

	It("changes a configuration without a restart, and restarts nothing for a value that is illegal", func() {
		uids, before := s.uids(), s.configuration()
		good := s.configured(before, "log.cleaner.threads=2\n")
		Expect(s.ask(pending, "plan")).To(ContainSubstring("log.cleaner.threads"))
		Expect(s.ask(done, "roll", "--limit=2m")).To(ContainSubstring("reconfigured without a restart: log.cleaner.threads of all brokers"))
		Expect(s.plan(done).order()).To(BeEmpty())
		s.configured(good, "num.io.threads=-3\nmax.connections=12345\n")
		Expect(s.ask(blocked, "roll", "--limit=2m")).To(And(
			ContainSubstring("blocked  Config: num.io.threads=-3 is illegal: it has value -3 which less than the minimum value 1; correct it"),
			ContainSubstring("reconfigured without a restart: max.connections of all brokers"), Not(ContainSubstring("Kafka rejects"))),
			"the other key is set, and nobody asks for this one")
		s.configured(good, "")
		s.ask(done, "roll", "--limit=2m")
		Expect(s.remade(uids)).To(BeEmpty(), "nobody was restarted for either")
	})

	It("restarts nodes for a legal value that Kafka rejects while they run, also where another value of the key is stored", func() {
		good := s.configuration()
		started := s.restarts()
		s.configured(good, "num.io.threads=100\nmax.connections=12346\n") // a running Kafka accepts at most twice the value
		Expect(s.ask(done, "roll", "--limit=4m")).To(And(
			ContainSubstring("Kafka rejects num.io.threads=100: InvalidRequestException: "),
			ContainSubstring("is restarted: ConfigChangeRequiresRestart (num.io.threads)")))
		Expect(s.restartedSince(started)).To(ConsistOf(all))

		started = s.restarts()
		s.configured(good, "num.io.threads=60\nmax.connections=12346\n")
		s.ask(done, "roll", "--limit=2m")
		Expect(s.restartedSince(started)).To(BeEmpty(), "Kafka takes it, and stores it")

		s.configured(good, "num.io.threads=5\nmax.connections=12347\n")
		s.ask(done, "roll", "--limit=4m")
		Expect(s.restartedSince(started)).To(ConsistOf(all))
		s.configured(good, "num.io.threads=5\n")
		s.ask(done, "roll", "--limit=2m")
		s.configured(good, "")
		s.ask(done, "roll", "--limit=4m")
		s.settled()
	})

	troubleSpecs(s)
	Context("with the Deployment's program", Ordered, func() { deploymentSpecs(s) })
})

// followers returns the combined nodes other than the active controller.
func (s *scene) followers() []int32 {
	GinkgoHelper()
	leader := s.leader()
	return slices.DeleteFunc(s.kafka.NodeIDs(), func(id int32) bool { return id == leader })
}

// inOrder returns the combined nodes in the order of their restarts if all are ready.
func (s *scene) inOrder() []int32 {
	GinkgoHelper()
	return append(s.followers(), s.leader())
}
