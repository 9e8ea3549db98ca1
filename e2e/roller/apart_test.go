package roller

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// The nodes of a cluster with separate controllers and brokers.
var (
	brokers     = []int32{0, 1, 2}
	controllers = []int32{3, 4, 5}
	everyone    = []int32{0, 1, 2, 3, 4, 5}
)

var _ = Describe("Three controllers and three brokers", Ordered, func() {
	s := &scene{}
	BeforeAll(func() {
		s.begin("apart", realkafka.Options{
			Brokers: 3, Controllers: 3, JVMFlags: []string{logsAsShipped()},
			// A killed broker has to recover its logs from the beginning, and not from a checkpoint that it writes once a minute.
			Config: map[string]string{"log.flush.offset.checkpoint.interval.ms": "86400000"},
		})
	})

	It("plans, explains, and ends with the code for what it found", func() {
		Expect(s.ask(done, "plan")).To(ContainSubstring("Nothing to do: 6 nodes are up to date."))
		Expect(s.plan(done).order()).To(BeEmpty())
		Expect(s.ask(done, "explain", "4")).To(ContainSubstring("Node 4 (pod my-cluster-controllers-4, controller"))
		Expect(s.ask(failed, "explain", "17")).To(ContainSubstring("there is no node 17; there are my-cluster-"))
		Expect(s.ask(usage, "plan", "--max-unavailable=0")).To(ContainSubstring(`--max-unavailable="0": Failed to parse.`))
		Expect(s.restarts()).To(BeZero())
	})

	It("rolls once, in the right order, unnoticed by clients, however often the roller is killed", func() {
		t := s.produce()
		s.outdate()
		leader := s.leader()
		plan := s.plan(pending, "--max-unavailable=3")
		order := plan.order()
		Expect(slices.Sorted(slices.Values(order[:3]))).To(Equal(controllers))
		Expect(order[2]).To(Equal(leader), "the active controller is the last one of the controllers")
		Expect(order[3:]).To(Equal(brokers))
		Expect(plan.Fewest).To(Equal(6), "controllers restart one at a time, and any two brokers share a partition")
		for _, n := range plan.Nodes {
			Expect(n.Need).To(Equal("Restart"), n.Name)
			Expect(n.Reasons).To(ConsistOf(HaveField("Kind", "PodHasOldRevision")), n.Name)
		}
		Expect(s.ask(pending, "plan", "--max-unavailable=3")).
			To(ContainSubstring("6 of 6 nodes need a restart, in 6 batches (at least 6 are needed"))
		Expect(s.ask(pending, "explain", s.pod(leader))).To(ContainSubstring("(active controller)"))

		for _, moment := range []func() bool{s.aPodIsDeleted, s.begins(2), s.aPodIsDeleted, s.begins(4), s.aPodIsDeleted} {
			roll := s.start("roll", "--max-unavailable=3")
			Eventually(moment).WithTimeout(2 * patience).WithPolling(eager).Should(BeTrue())
			roll.Kill() // the next one only has the journal
			Expect(roll.ExitCode()).To(Equal(-1), "it was in the midst of it")
		}
		Expect(s.ask(done, "roll", "--max-unavailable=3", "--limit=4m")).To(MatchRegexp(`Done: \d+ nodes? restarted`))
		restarted := s.restartedSince(0)
		Expect(slices.Sorted(slices.Values(restarted))).To(Equal(everyone), "each node once: %v", restarted)
		Expect(slices.Sorted(slices.Values(restarted[:3]))).To(Equal(controllers), "controllers first: %v", restarted)
		Expect(restarted[2]).To(Equal(leader), "the active controller last of them: %v", restarted)
		Expect(restarted[3:]).To(Equal(brokers))
		Expect(s.plan(done).order()).To(BeEmpty())
		s.ledAsBefore()
		t.stop()
	})

	recoverySpecs(s)
	quorumSpecs(s)
})

// aPodIsDeleted reports whether a pod is being deleted: a restart has begun, and the node is stopping.
func (s *scene) aPodIsDeleted() bool {
	return slices.ContainsFunc(s.pods(), func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

// begins returns a function that reports whether that many nodes have started for new pods.
func (s *scene) begins(n int) func() bool {
	return func() bool { return s.restarts() >= n }
}
