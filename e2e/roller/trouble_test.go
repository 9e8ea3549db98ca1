package roller

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/e2e/podsets"
)

// troubleSpecs are about combined nodes that are not ready, or can't run.
func troubleSpecs(s *scene) {
	It("waits for a node that is not ready and up to date, and restarts nobody for that", func() {
		uids, node := s.uids(), s.followers()[1]
		s.fixture.Break(node, podsets.Fault{})
		s.seen(node, beReady(corev1.ConditionFalse))
		plan := s.plan(pending)
		Expect(plan.order()).To(BeEmpty())
		Expect(plan.Nodes[0]).To(And(HaveField("Node", node), HaveField("State", "NotReady"), HaveField("Need", "Nothing")))
		Expect(s.ask(pending, "explain", s.pod(node))).To(MatchRegexp(`state +NotReady`))
		roll := s.start("roll", "--patience=2s", "--silence=2s")
		Eventually(roll.printed).Should(ContainSubstring("NotReady"))
		Consistently(func() []int32 { return s.remade(uids) }, 6*time.Second, "200ms").Should(BeEmpty(), "also after its patience")
		Expect(roll.Running()).To(BeTrue(), "it waits: %s", roll.printed())
		s.fixture.Mend(node)
		Eventually(roll.Exited()).Should(BeClosed())
		Expect(roll.ExitCode()).To(Equal(done), roll.printed())
		Expect(s.remade(uids)).To(BeEmpty())
	})

	It("restarts a node first that is not ready and out of date, once it was waited for", func() {
		before, leader, followers := s.restarts(), s.leader(), s.followers()
		node, other := followers[1], followers[0]
		s.fixture.Break(node, podsets.Fault{Revision: s.revision()})
		s.seen(node, beReady(corev1.ConditionFalse))
		s.outdate()
		Expect(s.ask(blocked, "explain", s.pod(node))).To(ContainSubstring("blocked  Patience: it is not ready; the roller waits for it until "))
		plan := s.plan(blocked)
		Expect(plan.order()).To(Equal([]int32{node}))
		Expect(plan.Blocked).To(Equal([]int32{other, leader}), "as long as there is nobody but them in sync who is ready")
		s.rollOn(func() {}, 10*time.Second, "--limit=4m")
		Expect(s.restartedSince(before)).To(Equal([]int32{node, other, leader}))
		s.fixture.Mend(node)
		s.settled()
	})

	It("restarts nobody while a node is stuck that is up to date, ends with 4, and says which", func() {
		uids, followers := s.uids(), s.followers()
		node, other := followers[1], followers[0]
		s.fixture.Break(node, podsets.Fault{Waiting: "CrashLoopBackOff", Revision: s.revision()})
		s.seen(node, beStuck("CrashLoopBackOff"))
		annotate[corev1.Pod](s, s.pod(other), core.AnnotationManualRollingUpdate, "true")
		said := s.ask(blocked, "roll", "--patience=3s")
		Expect(said).To(MatchRegexp(s.pod(node) + `, .*\n +state +Stuck: CrashLoopBackOff(; it refuses connections)?\n +needs +Nothing`))
		Expect(said).To(MatchRegexp(s.pod(other) +
			`, .*\n(.*\n)*? +blocked  Halt: node \d is stuck \(CrashLoopBackOff(; it refuses connections)?\) and up to date`))
		Expect(s.remade(uids)).To(BeEmpty())
	})

	It("restarts a node first, and at once, that is stuck and out of date", func() {
		before, leader := s.restarts(), s.leader()
		followers := s.followers()
		node, other := followers[1], followers[0]
		Expect(s.seenNow(node)).To(beStuck("CrashLoopBackOff"), "since the last spec")
		s.outdate()
		began := time.Now()
		Expect(s.ask(done, "roll", "--limit=4m")).To(And(
			MatchRegexp(`node %d is restarted: PodHasOldRevision, PodStuck \(CrashLoopBackOff\); `+servesNobody, node),
			MatchRegexp(`node %d is restarted: ManualRollingUpdate \(the pod is annotated\), PodHasOldRevision`, other)))
		Expect(s.restartedSince(before)).To(Equal([]int32{node, other, leader}))
		Expect(s.fixture.Starts()[before].At).To(BeTemporally("~", began, 30*time.Second), "nobody waited five minutes for it")
		s.fixture.Mend(node)
		s.settled()
	})
}
