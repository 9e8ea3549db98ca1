package topicoperator

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/proxy"
)

// Strimzi's InterruptedExceptionsIT, and additionally whether the interrupted change is made in the end, exactly once.
var _ = Describe("An operator that is told to end during a call to Kafka", func() {
	// call is a kind of call, and how to make the operator make it.
	type call struct {
		key uint16
		// before prepares the topic or the object; provoke makes the operator call.
		before, provoke func(s *scene, kt *v1.KafkaTopic)
		// after waits for the result of the call.
		after func(s *scene, kt *v1.KafkaTopic)
	}
	existing := func(_ *scene, kt *v1.KafkaTopic) { main.make(kt.Name, 1, nil) }
	nothing := func(*scene, *v1.KafkaTopic) {}
	create := func(_ *scene, kt *v1.KafkaTopic) { Expect(k8s.Create(ctx, kt)).To(Succeed()) }
	becomesReady := func(s *scene, kt *v1.KafkaTopic) {
		s.ready(kt)
		Eventually(main.partitions).WithArguments(kt.Name).Should(BeEquivalentTo(*kt.Spec.Partitions))
		want := map[string]string{}
		for key, value := range kt.Spec.Config {
			want[key], _ = value.Text()
		}
		Eventually(main.settings).WithArguments(kt.Name).Should(Equal(want))
	}
	with := func(f func(*scene, *v1.KafkaTopic), changes ...change) func(*scene, *v1.KafkaTopic) {
		return func(s *scene, kt *v1.KafkaTopic) {
			for _, c := range changes {
				c(kt)
			}
			f(s, kt)
		}
	}
	isRefused := func(s *scene, kt *v1.KafkaTopic) { s.refused(kt, "NotSupported", "Changing spec.replicas") }
	isGone := func(s *scene, kt *v1.KafkaTopic) {
		s.gone(kt)
		Eventually(main.exists).WithArguments(kt.Name).Should(BeFalse())
	}

	var way *proxy.Proxy
	var configuration setup
	BeforeEach(func() {
		way = startProxy(main.Bootstrap()...)
		configuration = setup{namespaces: newNamespace(), bootstrap: way.Addresses(), name: "interrupted"}
	})

	DescribeTable("ends at once and well, and its successor brings the change about, once",
		func(where proxy.Side, c call) {
			first := startOperator(configuration)
			s := stageIn(first, configuration.namespaces)
			kt := s.topic("t")
			c.before(s, kt)
			h := way.Hold(where, c.key)
			c.provoke(s, kt)
			Eventually(h.Caught).Should(BeClosed())
			id := main.id(kt.Name)
			first.terminate()
			h.Lose()

			s.operator = startOperator(configuration)
			c.after(s, kt)
			s.inStep()
			if id != "" && kt.Status.TopicID != "" {
				Expect(kt.Status.TopicID).To(Equal(id), "the topic is the one that was there when the operator ended")
			}
		},
		Entry("describe topics", proxy.BeforeBroker, call{proxy.Metadata, nothing, create, becomesReady}),
		Entry("describe configs", proxy.BeforeBroker, call{proxy.DescribeConfigs, existing, create, becomesReady}),
		Entry("create, which Kafka never got", proxy.BeforeBroker, call{proxy.CreateTopics, nothing, create, becomesReady}),
		Entry("create, which Kafka carried out", proxy.AfterBroker, call{proxy.CreateTopics, nothing, create, becomesReady}),
		Entry("alter configs, which Kafka never got", proxy.BeforeBroker,
			call{proxy.IncrementalAlterConfigs, existing, with(create, config("retention.ms", `1000000`)), becomesReady}),
		Entry("alter configs, which Kafka carried out", proxy.AfterBroker,
			call{proxy.IncrementalAlterConfigs, existing, with(create, config("retention.ms", `1000000`)), becomesReady}),
		Entry("create partitions, which Kafka never got", proxy.BeforeBroker,
			call{proxy.CreatePartitions, existing, with(create, partitions(3)), becomesReady}),
		Entry("create partitions, which Kafka carried out", proxy.AfterBroker,
			call{proxy.CreatePartitions, existing, with(create, partitions(3)), becomesReady}),
		Entry("list reassignments", proxy.BeforeBroker,
			call{proxy.ListReassignments, existing, with(create, replicas(2)), isRefused}),
		Entry("delete, which Kafka never got", proxy.BeforeBroker,
			call{proxy.DeleteTopics, with((*scene).take), (*scene).delete, isGone}),
		Entry("delete, which Kafka carried out", proxy.AfterBroker,
			call{proxy.DeleteTopics, with((*scene).take), (*scene).delete, isGone}),
	)

	It("ends in order in the midst of 200 creations, none of which is lost or made twice", func() {
		const n = 200
		first := startOperator(configuration)
		s := stageIn(first, configuration.namespaces)
		h := way.Hold(proxy.AfterBroker, proxy.CreateTopics)
		s.createAll(n)
		Eventually(h.Caught).Should(BeClosed())
		first.terminate()
		h.Lose()
		s.operator = startOperator(configuration)
		s.allReady(n, time.Minute)
		s.inStep()
	})

	It("ends in order while Kafka hangs", func() {
		first := startOperator(configuration)
		s := stageIn(first, configuration.namespaces)
		kt := s.created("before")
		func() {
			Expect(main.Suspend(0)).To(Succeed())
			defer func() { Expect(main.Resume(0)).To(Succeed()) }()
			asked := way.Count()
			s.create("t")
			s.delete(kt)
			Eventually(way.Count).Should(BeNumerically(">", asked))
			first.terminate()
		}()
		s.operator = startOperator(configuration)
		s.gone(kt)
		s.allReady(1, time.Minute)
		s.inStep()
	})
})

// take creates the object and waits until it is ready.
func (s *scene) take(kt *v1.KafkaTopic) {
	GinkgoHelper()
	Expect(k8s.Create(ctx, kt)).To(Succeed())
	s.ready(kt)
}
