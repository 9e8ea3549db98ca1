package topicoperator

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/proxy"
)

// Strimzi's MetricsIT.
var _ = Describe("The metrics", func() {
	var s *scene
	BeforeEach(func() {
		namespace := newNamespace()
		s = stageIn(startOperator(setup{name: "measured", namespaces: namespace}), namespace)
	})

	It("eventHandlerMetrics: the number of objects, and of paused ones, follows", func() {
		all := func() float64 { return s.metric("strimzi_resources") }
		halted := func() float64 { return s.metric("strimzi_resources_paused") }
		Expect(all()).To(BeZero())
		one, two := s.created("one"), s.created("two")
		Eventually(all).Should(BeEquivalentTo(2))
		Expect(halted()).To(BeZero())
		s.update(one, paused())
		Eventually(halted).Should(BeEquivalentTo(1))
		s.update(one, resumed())
		Eventually(halted).Should(BeZero())
		s.update(two, paused())
		s.deleted(one)
		s.deleted(two)
		Eventually(all).Should(BeZero())
		Eventually(halted).Should(BeZero())
	})

	It("batchingLoopMetrics: the longest queue, the largest batch, and objects that changed while they were worked on", func() {
		s.createAll(50)
		s.allReady(50, patience)
		Expect(s.metric("strimzi_reconciliations_max_batch_size")).To(BeNumerically(">", 1))
		// Objects that are created one by one may each find the queue empty. Objects that exist when an operator starts are in the queue
		// together.
		s.terminate()
		way := startProxy(main.Bootstrap()...)
		s.operator = startOperator(setup{name: "measured", namespaces: s.namespace, bootstrap: way.Addresses()})
		Eventually(func() float64 { return s.metric("strimzi_reconciliations_max_queue_size") }).Should(BeNumerically(">", 0))
		kt := s.topic("t0000")
		alteration := way.Hold(proxy.BeforeBroker, proxy.IncrementalAlterConfigs)
		s.update(kt, config("retention.ms", `1000000`))
		Eventually(alteration.Caught).Should(BeClosed())
		locked := func() float64 { return s.metric("strimzi_reconciliations_locked_total") }
		before := locked()
		s.update(kt, label("round", "two"))
		Eventually(locked).Should(BeNumerically(">", before), "a change that meets a pass")
		alteration.Release()
		s.ready(kt)
	})

	It("batchingTopicControllerMetrics: what succeeded and what failed, by what was asked", func() {
		type figures struct{ All, Successful, Failed float64 }
		read := func() figures {
			return figures{s.metric("strimzi_reconciliations_total"), s.metric("strimzi_reconciliations_successful_total"),
				s.metric("strimzi_reconciliations_failed_total")}
		}
		Expect(read()).To(Equal(figures{}))
		Expect(s.metric("strimzi_reconciliation_errors_total")).To(BeZero(), "the series are there from the start")

		kt := s.created("t", partitions(2))
		Eventually(read).Should(Equal(figures{1, 1, 0}), "create")
		s.update(kt, config("retention.ms", `1000000`))
		s.ready(kt)
		Eventually(read).Should(HaveField("Successful", BeNumerically(">=", 2)), "alter")
		s.update(kt, partitions(3))
		s.ready(kt)
		Eventually(read).Should(HaveField("Successful", BeNumerically(">=", 3)), "increase")
		Expect(read().Failed).To(BeZero())

		s.update(kt, partitions(1))
		s.refused(kt, v1.ReasonNotSupported, "Decrease of spec.partitions")
		Eventually(read).Should(HaveField("Failed", BeNumerically(">=", 1)), "failed decrease")
		s.update(kt, partitions(3), replicas(2))
		s.refused(kt, v1.ReasonNotSupported, "Changing spec.replicas")
		Eventually(read).Should(HaveField("Failed", BeNumerically(">=", 2)), "change of the replication factor")
		Expect(s.metric("strimzi_reconciliation_errors_total", `reason="NotSupported"`)).To(Equal(read().Failed))

		before := read()
		s.update(kt, unmanaged(), replicas(1))
		s.expectConditions(kt, "Unmanaged=True")
		Eventually(read).Should(HaveField("Successful", BeNumerically(">", before.Successful)), "unmanage")
		s.update(kt, managed())
		s.ready(kt) // an object that is not claimed again could not be deleted
		s.update(kt, paused())
		s.expectConditions(kt, "ReconciliationPaused=True")
		before = read()
		s.deleted(kt)
		Eventually(read).Should(HaveField("Successful", BeNumerically(">", before.Successful)), "delete")
		last := read()
		Expect(last.All).To(Equal(last.Successful + last.Failed))
		Expect(s.metric("strimzi_reconciliations_duration_seconds_count")).To(Equal(last.All))

		for _, timer := range []string{
			"add_finalizer", "remove_finalizer", "update_status", "describe_topics", "describe_configs",
			"create_topics", "alter_configs", "create_partitions", "list_reassignments", "delete_topics",
		} {
			Expect(s.metric("strimzi_"+timer+"_duration_seconds_count")).NotTo(BeZero(), timer)
			Expect(s.metric("strimzi_"+timer+"_duration_seconds_sum")).NotTo(BeZero(), timer)
		}
	})
})
