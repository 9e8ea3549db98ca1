package topicoperator

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/proxy"
)

var _ = Describe("While Kafka is away", func() {
	var way *proxy.Proxy
	BeforeEach(func() { way = startProxy(main.Bootstrap()...) })

	It("an operator starts, is ready, and carries out what is waiting once Kafka is there", func() {
		way.Lead()
		namespace := newNamespace()
		o := startOperator(setup{name: "early", namespaces: namespace, bootstrap: way.Addresses()})
		s := stageIn(o, namespace)
		s.createAll(20)
		Eventually(way.Knocks).Should(BeNumerically(">", 0))
		Expect(o.process.Running()).To(BeTrue())
		way.Lead(main.Bootstrap()...)
		s.allReady(20, patience)
		s.inStep()
		Eventually(o.logged).WithArguments(autoCreate).Should(BeTrue(), "the review is made up for")
	})

	It("the statuses of a converged set stay as they are, and its timed passes go on afterwards", func() {
		const n = 30
		namespace := newNamespace()
		o := startOperator(setup{name: "patient", namespaces: namespace, bootstrap: way.Addresses(), env: settings{
			"STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": "2000",
		}})
		s := stageIn(o, namespace)
		s.createAll(n)
		s.allReady(n, patience)
		passes := func() float64 { return s.metric("strimzi_reconciliations_periodical_total") }
		before := passes()
		Eventually(passes).Should(BeNumerically(">=", before+2*n), "the settling is over")

		since := mark()
		way.Lead()
		began, knocks := time.Now(), way.Knocks()
		Eventually(func(g Gomega) {
			g.Expect(way.Knocks()).To(BeNumerically(">", knocks+3), "attempts to reach Kafka")
			g.Expect(time.Since(began)).To(BeNumerically(">", 5*time.Second), "two intervals and more")
		}).Should(Succeed())
		Expect(s.asked(since)).To(BeEmpty())
		way.Lead(main.Bootstrap()...)
		before = passes()
		Eventually(passes).Should(BeNumerically(">=", before+2*n))
		Expect(s.asked(since)).To(BeEmpty())
	})

	It("what the user changes meanwhile is carried out afterwards", func() {
		namespace := newNamespace()
		s := stageIn(startOperator(setup{name: "catching-up", namespaces: namespace, bootstrap: way.Addresses()}), namespace)
		changed, deleted := s.created("changed"), s.created("deleted")
		way.Lead()
		s.update(changed, partitions(4), config("retention.ms", `1000000`))
		s.delete(deleted)
		s.create("new")
		knocks := way.Knocks()
		Eventually(way.Knocks).Should(BeNumerically(">", knocks))
		way.Lead(main.Bootstrap()...)
		s.ready(changed)
		s.gone(deleted)
		s.allReady(2, patience)
		Eventually(main.partitions).WithArguments(changed.Name).Should(Equal(4))
		Eventually(main.settings).WithArguments(changed.Name).Should(Equal(map[string]string{"retention.ms": "1000000"}))
		s.inStep()
	})
})
