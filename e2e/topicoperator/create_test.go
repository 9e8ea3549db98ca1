package topicoperator

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/proxy"
)

var _ = Describe("A new KafkaTopic", func() {
	var s *scene
	BeforeEach(func() { s = stage(coreOperator()) })

	It("shouldCreateTopicInKafkaWhenManagedTopicCreatedInKube: the topic is as asked for, and the status says so", func() {
		kt := s.created("orders", partitions(3), config("retention.ms", `3600000`))
		Expect(held(kt)).To(BeTrue(), "the finalizer")
		Expect(kt.Status.ObservedGeneration).To(BeEquivalentTo(1))
		topic := main.topic(kt.Name)
		Expect(topic.Partitions).To(HaveLen(3))
		for _, p := range topic.Partitions {
			Expect(p.Replicas).To(HaveLen(1))
		}
		Expect(main.settings(kt.Name)).To(Equal(map[string]string{"retention.ms": "3600000"}))
		Eventually(s.events).WithArguments(kt).Should(ConsistOf(
			"Normal Created: Created topic '" + kt.Name + "' with 3 partitions and replication factor 1"))
	})

	It("shouldCreateTopicInKafkaWhenKafkaTopicHasOnlyPartitions: the replication factor is the brokers' default", func() {
		kt := s.created("t", emptySpec, partitions(5))
		Expect(main.topic(kt.Name).Partitions).To(HaveLen(5))
		Expect(main.topic(kt.Name).Partitions[0].Replicas).To(HaveLen(1))
	})

	It("shouldCreateTopicInKafkaWhenKafkaTopicHasOnlyReplicas: the number of partitions is the brokers' default", func() {
		kt := s.created("t", emptySpec, replicas(1))
		Expect(main.partitions(kt.Name)).To(Equal(2))
	})

	It("shouldCreateTopicInKafkaWhenKafkaTopicHasOnlyConfigs: the shape is the brokers' default", func() {
		kt := s.created("t", emptySpec, config("cleanup.policy", `"compact"`))
		Expect(main.partitions(kt.Name)).To(Equal(2))
		Expect(main.settings(kt.Name)).To(Equal(map[string]string{"cleanup.policy": "compact"}))
	})

	It("needs one pass and two writes for a topic", func() {
		since := mark()
		kt := s.created("t")
		other := s.created("other") // the first object's writes are done now, with any pass they might cause
		Eventually(func() int { return len(s.asked(since)) }).Should(Equal(4), "finalizer and status, twice")
		Consistently(func() int { return len(s.asked(since)) }).Should(Equal(4))
		_, _ = kt, other
	})

	DescribeTable("shouldNotCreateTopicInKafkaWhenUnmanagedTopicCreatedInKube",
		func(unmanage change, condition string) {
			kt := s.create("t", unmanage)
			s.expectConditions(kt, condition)
			Expect(held(kt)).To(BeFalse(), "the finalizer")
			Expect(kt.Status.TopicName).To(BeEmpty())
			Expect(kt.Status.TopicID).To(BeEmpty())
			Expect(main.exists(kt.Name)).To(BeFalse())
		},
		Entry("by the annotation", unmanaged(), "Unmanaged=True"),
		Entry("by spec.managed", specManaged(false), "Unmanaged=True UnmanagedBySpec: spec.managed is false"),
	)

	It("shouldNotCreateTopicInKafkaWhenUnselectedTopicCreatedInKube: it is left exactly as it is", func() {
		since := mark()
		kt := s.create("unselected", label(labelOperator, "somebody-else"))
		s.created("selected") // events arrive in order: by now the operator has seen the first one
		Consistently(func(g Gomega) {
			refresh(g, kt)
			g.Expect(kt.Status.Conditions).To(BeEmpty())
			g.Expect(kt.Finalizers).To(BeEmpty())
		}).Should(Succeed())
		Expect(main.exists(kt.Name)).To(BeFalse())
		for _, r := range s.asked(since) {
			Expect(r.Name).NotTo(Equal(kt.Name), r.String())
		}
	})

	It("shouldFailCreationIfMoreReplicasThanBrokers", func() {
		kt := s.create("t", replicas(2))
		s.refused(kt, "KafkaError", "InvalidReplicationFactorException: ")
		Expect(main.exists(kt.Name)).To(BeFalse())
		Expect(kt.Status.TopicID).To(BeEmpty())
		Expect(s.events(kt)).To(ContainElement(HavePrefix("Warning KafkaError: InvalidReplicationFactorException: ")))
		s.update(kt, replicas(1))
		s.ready(kt)
	})

	It("shouldFailCreationIfUnknownConfig", func() {
		kt := s.create("t", config("no.such.key", `"x"`))
		s.expectConditions(kt, "Ready=False KafkaError: InvalidConfigurationException: Unknown topic config name: no.such.key")
		Expect(main.exists(kt.Name)).To(BeFalse())
	})

	DescribeTable("shouldFailCreationIfIllegalTopicName",
		func(name string) {
			kt := s.create("t", topicName(name))
			s.refused(kt, "KafkaError", "InvalidTopicException: ")
			Expect(kt.Status.TopicName).To(BeEmpty(), "a name that Kafka refused is not claimed")
			s.update(kt, topicName(kt.Name))
			s.ready(kt)
		},
		Entry("..", ".."),
		Entry(".", "."),
		Entry("{}", "{}"),
		Entry("256 characters", strings.Repeat("x", 256)),
	)

	It("shouldFailCreationIfNpe: what has no form that Kafka could be given is the operator's own error", func() {
		kt := s.create("t", config("cleanup.policy", `[{"a": 1}]`))
		s.expectConditions(kt, `Ready=False InternalError: Invalid value for topic config 'cleanup.policy': [{"a":1}]`)
		Expect(main.exists(kt.Name)).To(BeFalse())
	})

	DescribeTable("shouldFailTheReconciliationWithNullConfig",
		func(existing bool) {
			kt := s.topic("t", config("cleanup.policy", `null`))
			if existing {
				main.make(kt.Name, 1, nil)
			}
			Expect(k8s.Create(ctx, kt)).To(Succeed())
			s.expectConditions(kt,
				"Ready=False KafkaError: InvalidConfigurationException: Null value not supported for topic configs: cleanup.policy")
			Expect(main.exists(kt.Name)).To(Equal(existing))
			s.update(kt, config("cleanup.policy", `"compact"`))
			s.ready(kt)
		},
		Entry("of a new topic", false),
		Entry("of an existing topic", true),
	)

	DescribeTable("shouldFailTheReconciliationWithUnexpectedConfig",
		func(existing bool) {
			kt := s.topic("t", config("cleanup.policy", `{"policy": "delete"}`))
			if existing {
				main.make(kt.Name, 1, nil)
			}
			Expect(k8s.Create(ctx, kt)).To(Succeed())
			s.expectConditions(kt, `Ready=False InternalError: Invalid value for topic config 'cleanup.policy': {"policy":"delete"}`)
			Expect(main.exists(kt.Name)).To(Equal(existing))
			s.update(kt, config("cleanup.policy", `"compact"`))
			s.ready(kt)
		},
		Entry("of a new topic", false),
		Entry("of an existing topic", true),
	)

	It("shouldReconcileOnTopicExistsException: a topic that appears between the look and the creation is taken over", func() {
		way := startProxy(main.Bootstrap()...)
		s := stage(startOperator(setup{name: "race", bootstrap: way.Addresses()}))
		create := way.Hold(proxy.BeforeBroker, proxy.CreateTopics)
		kt := s.create("t", partitions(3), config("retention.ms", `1000000`))
		Eventually(create.Caught).Should(BeClosed())
		id := main.make(kt.Name, 1, nil)
		create.Release()
		s.ready(kt)
		Expect(kt.Status.TopicID).To(Equal(id))
		Eventually(main.partitions).WithArguments(kt.Name).Should(Equal(3))
		Eventually(main.settings).WithArguments(kt.Name).Should(Equal(map[string]string{"retention.ms": "1000000"}))
	})
})

var _ = Describe("A KafkaTopic for an existing topic", func() {
	// existing creates a topic without the operator, and an object that leaves out one of its settings.
	existing := func(s *scene, without change) {
		GinkgoHelper()
		kt := s.topic("t", partitions(3), config("retention.ms", `2000000`), without)
		id := main.make(kt.Name, 3, map[string]string{"retention.ms": "2000000"})
		since := s.requests("IncrementalAlterConfigs")
		Expect(k8s.Create(ctx, kt)).To(Succeed())
		s.ready(kt)
		Expect(kt.Status.TopicID).To(Equal(id))
		Expect(main.partitions(kt.Name)).To(Equal(3))
		Expect(main.settings(kt.Name)).To(Equal(map[string]string{"retention.ms": "2000000"}))
		Expect(s.requests("IncrementalAlterConfigs")).To(Equal(since), "requests that change a configuration")
	}

	DescribeTable("is content with what it does not name",
		func(without change) { existing(stage(coreOperator()), without) },
		Entry("shouldReconcileKafkaTopicWithoutPartitions", change(func(kt *v1.KafkaTopic) { kt.Spec.Partitions = nil })),
		Entry("shouldReconcileKafkaTopicWithoutReplicas", change(func(kt *v1.KafkaTopic) { kt.Spec.Replicas = nil })),
	)

	It("shouldReconcileKafkaTopicWithEmptySpec", func() {
		s := stage(coreOperator())
		kt := s.topic("t", emptySpec)
		id := main.make(kt.Name, 3, nil)
		Expect(k8s.Create(ctx, kt)).To(Succeed())
		s.ready(kt)
		Expect(kt.Status.TopicID).To(Equal(id))
		Expect(main.partitions(kt.Name)).To(Equal(3))
	})
})
