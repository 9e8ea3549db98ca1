package topicoperator

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("While Kafka is away", func() {
	var proxy *proxy
	BeforeEach(func() { proxy = startProxy(main.Bootstrap()...) })

	It("an operator starts, is ready, and carries out what is waiting once Kafka is there", func() {
		proxy.leave()
		namespace := newNamespace()
		o := startOperator(setup{name: "early", namespaces: namespace, bootstrap: proxy.addresses()})
		s := stageIn(o, namespace)
		s.createAll(20)
		Eventually(proxy.knocks).Should(BeNumerically(">", 0))
		Expect(o.process.Running()).To(BeTrue())
		proxy.back()
		s.allReady(20, patience)
		s.inStep()
		Eventually(o.logged).WithArguments(autoCreate).Should(BeTrue(), "the review is made up for")
	})

	It("the statuses of a converged set stay as they are, and its timed passes go on afterwards", func() {
		const n = 30
		namespace := newNamespace()
		o := startOperator(setup{name: "patient", namespaces: namespace, bootstrap: proxy.addresses(), env: settings{
			"STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": "2000",
		}})
		s := stageIn(o, namespace)
		s.createAll(n)
		s.allReady(n, patience)
		passes := func() float64 { return s.metric("strimzi_reconciliations_periodical_total") }
		before := passes()
		Eventually(passes).Should(BeNumerically(">=", before+2*n), "the settling is over")

		since := mark()
		proxy.leave()
		began, knocks := time.Now(), proxy.knocks()
		Eventually(func(g Gomega) {
			g.Expect(proxy.knocks()).To(BeNumerically(">", knocks+3), "attempts to reach Kafka")
			g.Expect(time.Since(began)).To(BeNumerically(">", 5*time.Second), "two intervals and more")
		}).Should(Succeed())
		Expect(s.asked(since)).To(BeEmpty())
		proxy.back()
		before = passes()
		Eventually(passes).Should(BeNumerically(">=", before+2*n))
		Expect(s.asked(since)).To(BeEmpty())
	})

	It("what the user changes meanwhile is carried out afterwards", func() {
		namespace := newNamespace()
		s := stageIn(startOperator(setup{name: "catching-up", namespaces: namespace, bootstrap: proxy.addresses()}), namespace)
		changed, deleted := s.created("changed"), s.created("deleted")
		proxy.leave()
		s.update(changed, partitions(4), config("retention.ms", `1000000`))
		s.delete(deleted)
		s.create("new")
		knocks := proxy.knocks()
		Eventually(proxy.knocks).Should(BeNumerically(">", knocks))
		proxy.back()
		s.ready(changed)
		s.gone(deleted)
		s.allReady(2, patience)
		Eventually(main.partitions).WithArguments(changed.Name).Should(Equal(4))
		Eventually(main.settings).WithArguments(changed.Name).Should(Equal(map[string]string{"retention.ms": "1000000"}))
		s.inStep()
	})
})
