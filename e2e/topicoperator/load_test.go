package topicoperator

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

var _ = Describe("Many KafkaTopics at once", func() {
	// The opposite of Strimzi's shouldTerminateIfQueueFull: there, the operator stops itself.
	It("shouldTerminateIfQueueFull is not so: more objects than Strimzi's queue of 1024 holds wait their turn", func() {
		const n = 1100
		namespace := newNamespace()
		s := stageIn(&operator{kafka: main, name: "nobody yet"}, namespace)
		s.createAll(n)
		// Few workers, so that the other objects have to wait in the queue.
		s.operator = startOperator(setup{name: "queue", namespaces: namespace, env: settings{
			"STRIMZI_CONCURRENCY": "16", "STRIMZI_MAX_QUEUE_SIZE": "1024",
		}})
		s.allReady(n, 2*time.Minute)
		s.inStep()
		Expect(s.metric("strimzi_reconciliations_max_queue_size")).To(BeNumerically(">", 1024))
		Expect(s.metric("strimzi_reconciliations_failed_total")).To(BeZero())
		Expect(s.metric("strimzi_resources")).To(BeEquivalentTo(n))

		Expect(k8s.DeleteAllOf(ctx, &v1.KafkaTopic{}, client.InNamespace(namespace))).To(Succeed())
		s.allReady(0, 2*time.Minute)
		s.inStep()
		Expect(s.process.Running()).To(BeTrue())
	})
})
