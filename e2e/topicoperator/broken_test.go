package topicoperator

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

var _ = Describe("Objects that can't be carried out", func() {
	It("harm no other: 50 good ones become ready among them", func() {
		const n = 50
		namespace := newNamespace()
		s := stageIn(&operator{kafka: main, name: "nobody yet"}, namespace)
		// All objects exist when the operator starts, so that valid and invalid ones are in the same batches.
		s.createAll(n/2, label("good", "yes"))
		existing := s.topic("map-on-existing", config("cleanup.policy", `{"a": "b"}`))
		main.make(existing.Name, 1, nil)
		Expect(k8s.Create(ctx, existing)).To(Succeed())
		bad := map[*v1.KafkaTopic]string{
			existing: "InternalError: Invalid value",
			s.create("null-value", config("retention.ms", `null`)):                   "KafkaError: InvalidConfigurationException: Null value",
			s.create("map-value", config("retention.ms", `{"a": [1, {"b": null}]}`)): "InternalError: Invalid value",
			s.create("null-in-list", config("cleanup.policy", `["compact", null]`)):  "KafkaError: InvalidConfigurationException: Null value",
			s.create("illegal-name", topicName("no spaces in topics")):               "KafkaError: InvalidTopicException: ",
			s.create("long-name", topicName(strings.Repeat("n", 250))):               "KafkaError: InvalidTopicException: ",
			s.create("unknown-key", config("no.such.key", `1`)):                      "KafkaError: InvalidConfigurationException: ",
			s.create("bad-value", config("retention.ms", `"soon"`)):                  "KafkaError: InvalidConfigurationException: ",
			s.create("replicas", replicas(32767)):                                    "KafkaError: InvalidReplicationFactorException: ",
			s.create("no-spec", func(kt *v1.KafkaTopic) { kt.Spec = nil }):           "NotSupported: Topic has no spec",
		}
		s.operator = startOperator(setup{name: "broken", namespaces: namespace})
		each(n/2, func(i int) {
			defer GinkgoRecover()
			Expect(k8s.Create(ctx, s.topic(name("more", i), label("good", "yes")))).To(Succeed())
		})
		s.goodOnesReady(n)
		for kt, why := range bad {
			reason, message, _ := strings.Cut(why, ": ")
			s.refused(kt, reason, message)
		}
		Expect(s.process.Running()).To(BeTrue())
	})

	It("are told of in an Event also if there is more to say than an Event holds", func() {
		s := stage(coreOperator())
		kt := s.create("t", config("retention.ms", `{"a": "`+strings.Repeat("b", 5000)+`"}`))
		s.refused(kt, "InternalError", "Invalid value for topic config 'retention.ms': ")
		Eventually(s.events).WithArguments(kt).Should(ContainElement(And(HavePrefix("Warning InternalError: Invalid value"), HaveSuffix("b..."))))
	})

	It("too many partitions for Kafka are one object's problem", func() {
		s := stage(coreOperator())
		bad := s.create("huge", partitions(2_000_000))
		s.createAll(20, label("good", "yes"))
		s.goodOnesReady(20)
		s.expectConditions(bad, HavePrefix("Ready=False KafkaError: "))
	})
})

// goodOnesReady waits until n objects with the label good are ready.
func (s *scene) goodOnesReady(n int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		list := &v1.KafkaTopicList{}
		g.Expect(k8s.List(ctx, list, client.InNamespace(s.namespace), client.MatchingLabels{"good": "yes"})).To(Succeed())
		g.Expect(list.Items).To(HaveLen(n))
		for i := range list.Items {
			g.Expect(isReady(&list.Items[i])).To(BeTrue(), list.Items[i].Name)
		}
	}).WithPolling(slowly).Should(Succeed())
}

var _ = Describe("Objects that others work on at the same time", func() {
	It("may vanish in the middle of a pass: nothing is left of them, and others are not held up", func() {
		const n = 30
		s := stage(unfinalized())
		// Without finalizers, an object disappears at once when it is deleted, whatever the operator is doing.
		each(n, func(i int) {
			defer GinkgoRecover()
			kt := s.create(name("gone", i))
			s.delete(kt)
		})
		s.createAll(20, label("good", "yes"))
		s.goodOnesReady(20)
		s.inStep()
	})

	It("may vanish in the middle of a pass in the mode with finalizers", func() {
		const n = 30
		s := stage(coreOperator())
		each(n, func(i int) {
			defer GinkgoRecover()
			kt := s.create(name("gone", i))
			s.delete(kt)
		})
		s.createAll(20, label("good", "yes"))
		s.goodOnesReady(20)
		s.allReady(20, patience)
		s.inStep()
	})

	It("are ready in the end although somebody writes to them all the time (409)", func() {
		const n = 10
		s := stage(coreOperator())
		hammering, stop := context.WithCancel(ctx)
		defer stop()
		conflicts := s.metric("rest_client_requests_total", `code="409"`)
		s.createAll(n)
		var hammers sync.WaitGroup
		for i := range n {
			hammers.Go(func() {
				defer GinkgoRecover()
				kt := s.topic(name("t", i))
				for round := 0; hammering.Err() == nil; round++ {
					patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{"hammer":"%d"}}}`, round))
					Expect(k8s.Patch(ctx, kt, patch)).To(Succeed())
				}
			})
		}
		changes := make([]*v1.KafkaTopic, n)
		each(n, func(i int) {
			changes[i] = s.topic(name("t", i))
			s.update(changes[i], partitions(3))
		})
		Eventually(s.metric).WithArguments("rest_client_requests_total", `code="409"`).Should(BeNumerically(">", conflicts),
			"writes that met another one's")
		stop()
		hammers.Wait()
		for _, kt := range changes {
			s.ready(kt)
			Eventually(main.partitions).WithArguments(kt.Name).Should(Equal(3))
		}
		s.allReady(n, 10*time.Second)
	})
})
