package roller

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/e2e/podsets"
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
				ContainSubstring("blocked  Quorum: the metadata quorum is lost, because 2 of 3 controllers are down")))
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
}
