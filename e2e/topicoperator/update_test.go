package topicoperator

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

var _ = Describe("A changed KafkaTopic", func() {
	var s *scene
	BeforeEach(func() { s = stage(coreOperator()) })

	DescribeTable("carries values of all types to Kafka",
		func(key, before, after, want string) {
			kt := s.created("t", config(key, before))
			s.update(kt, config(key, after))
			Eventually(main.settings).WithArguments(kt.Name).Should(Equal(map[string]string{key: want}))
			s.ready(kt)
			Eventually(s.events).WithArguments(kt).Should(ContainElement("Normal Changed: Topic '" + kt.Name + "': configuration changed: " + key +
				"=" + want))
		},
		Entry("shouldUpdateTopicInKafkaWhenStringConfigChangedInKube", "cleanup.policy", `"compact"`, `"delete"`, "delete"),
		Entry("shouldUpdateTopicInKafkaWhenIntConfigChangedInKube", "delete.retention.ms", `1000`, `1001`, "1001"),
		Entry("shouldUpdateTopicInKafkaWhenLongConfigChangedInKube", "retention.bytes", `9007199254740993`, `9223372036854775807`,
			"9223372036854775807"),
		Entry("shouldUpdateTopicInKafkaWhenDoubleConfigChangedInKube", "min.cleanable.dirty.ratio", `0.6`, `0.25`, "0.25"),
		Entry("shouldUpdateTopicInKafkaWhenBooleanConfigChangedInKube", "unclean.leader.election.enable", `false`, `true`, "true"),
		Entry("shouldUpdateTopicInKafkaWhenListConfigChangedInKube", "cleanup.policy", `["compact"]`, `["compact", "delete"]`, "compact,delete"),
	)

	It("shouldUpdateTopicInKafkaWhenConfigRemovedInKube: the key goes back to what it inherits", func() {
		kt := s.created("t", config("compression.type", `"zstd"`), config("retention.ms", `1000000`))
		s.update(kt, withoutConfig("compression.type"))
		Eventually(main.settings).WithArguments(kt.Name).Should(Equal(map[string]string{"retention.ms": "1000000"}))
		Expect(main.effective(kt.Name, "compression.type")).To(Equal("snappy"))
		s.ready(kt)
	})

	It("shouldNotRemoveInheritedConfigs: timed passes leave alone what comes from the brokers", func() {
		o := startOperator(setup{name: "inherited", env: settings{"STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": "500"}})
		s := stage(o)
		kt := s.created("t", config("retention.ms", `1000000`))
		passes := func() float64 { return o.metric("strimzi_reconciliations_periodical_total") }
		Eventually(passes).Should(BeNumerically(">=", 3))
		Expect(main.effective(kt.Name, "compression.type")).To(Equal("snappy"))
		Expect(o.requests("IncrementalAlterConfigs")).To(BeZero())
	})

	It("shouldUpdateTopicInKafkaWhenPartitionsIncreasedInKube", func() {
		kt := s.created("t", partitions(2))
		id := kt.Status.TopicID
		s.update(kt, partitions(5))
		Eventually(main.partitions).WithArguments(kt.Name).Should(Equal(5))
		s.ready(kt)
		Expect(kt.Status.TopicID).To(Equal(id))
		Eventually(s.events).WithArguments(kt).Should(ContainElement("Normal Changed: Topic '" + kt.Name + "': partitions raised from 2 to 5"))
	})

	// See docs/decisions/what-is-changed.md.
	const noDecrease = "Ready=False NotSupported: Decrease of spec.partitions is not supported by Kafka"

	It("shouldFailDecreaseInPartitions", func() {
		kt := s.created("t", partitions(3))
		id := kt.Status.TopicID
		s.update(kt, partitions(2))
		s.expectConditions(kt, noDecrease)
		Expect(main.partitions(kt.Name)).To(Equal(3))
		Expect(kt.Status.TopicID).To(Equal(id), "no error clears the id")
		Expect(s.events(kt)).To(ContainElement("Warning NotSupported: Decrease of spec.partitions is not supported by Kafka"))
		s.update(kt, partitions(3))
		s.ready(kt)
	})

	It("shouldFailDecreaseInPartitionsWithConfigChange: the change of the configuration is applied nevertheless", func() {
		kt := s.created("t", partitions(3))
		s.update(kt, partitions(2), config("compression.type", `"lz4"`))
		s.expectConditions(kt, noDecrease)
		Expect(main.settings(kt.Name)).To(Equal(map[string]string{"compression.type": "lz4"}))
		Expect(main.partitions(kt.Name)).To(Equal(3))
	})

	It("shouldFailChangeToSpecTopicName: the topic of before stays", func() {
		kt := s.created("t")
		s.update(kt, topicName("other-"+kt.Name))
		s.refused(kt, "NotSupported", "Changing spec.topicName is not supported")
		Expect(kt.Status.TopicName).To(Equal(kt.Name))
		Expect(main.exists(kt.Name)).To(BeTrue())
		Expect(main.exists("other-" + kt.Name)).To(BeFalse())
		s.deleted(kt)
		Eventually(main.exists).WithArguments(kt.Name).Should(BeFalse(), "a retargeted KafkaTopic deletes the topic that it stands for")
	})

	It("shouldFailChangeToRf: the partitions that differ are named, and the configuration follows", func() {
		kt := s.created("t", partitions(2))
		s.update(kt, replicas(2), config("compression.type", `"gzip"`))
		s.expectConditions(kt,
			"Ready=False NotSupported: Changing spec.replicas is not supported by the operator: partitions [0, 1] have 1 replicas, not 2")
		Expect(main.settings(kt.Name)).To(Equal(map[string]string{"compression.type": "gzip"}))
		s.update(kt, replicas(1))
		s.ready(kt)
	})

	It("shouldRestoreFinalizerIfRemoved", func() {
		kt := s.created("t")
		s.update(kt, func(kt *v1.KafkaTopic) { kt.Finalizers = []string{"example.com/somebody-else"} })
		Eventually(func(g Gomega) {
			refresh(g, kt)
			g.Expect(kt.Finalizers).To(ConsistOf("example.com/somebody-else", v1.FinalizerTopicOperator))
		}).Should(Succeed())
	})

	It("shouldNotUpdateTopicInKafkaWhenKafkaTopicBecomesUnselected: finalizer and status stay, changes do not arrive", func() {
		kt := s.created("t", partitions(1))
		s.update(kt, label(labelOperator, "somebody-else"))
		s.update(kt, partitions(2), config("retention.ms", `1000000`))
		s.created("later")
		Consistently(main.partitions).WithArguments(kt.Name).Should(Equal(1))
		refresh(Default, kt)
		Expect(held(kt)).To(BeTrue())
		Expect(kt.Status.TopicName).To(Equal(kt.Name))
		Expect(main.settings(kt.Name)).To(BeEmpty())
	})

	It("shouldUpdateTopicInKafkaWhenKafkaTopicBecomesSelected: what changed before is applied", func() {
		kt := s.created("t", partitions(1))
		s.update(kt, label(labelOperator, "somebody-else"))
		s.update(kt, partitions(2))
		s.update(kt, label(labelOperator, s.name))
		s.ready(kt)
		Eventually(main.partitions).WithArguments(kt.Name).Should(Equal(2))
	})
})

var _ = Describe("An unmanaged KafkaTopic", func() {
	var s *scene
	BeforeEach(func() { s = stage(coreOperator()) })

	It("shouldNotUpdateTopicInKafkaWhenUnmanagedTopicUpdatedInKube", func() {
		kt := s.created("t", partitions(1))
		s.update(kt, unmanaged())
		s.expectConditions(kt, "Unmanaged=True")
		s.update(kt, partitions(2), config("retention.ms", `1000000`))
		s.expectConditions(kt, "Unmanaged=True")
		Expect(kt.Status.TopicName).To(BeEmpty())
		Consistently(main.partitions).WithArguments(kt.Name).Should(Equal(1))
		Expect(main.settings(kt.Name)).To(BeEmpty())
	})

	It("topicNameAndIdShouldBeEmptyOnUnmanagedKafkaTopic, and come back with management", func() {
		kt := s.created("t")
		id := kt.Status.TopicID
		s.update(kt, specManaged(false))
		s.expectConditions(kt, "Unmanaged=True UnmanagedBySpec: spec.managed is false")
		Expect(kt.Status.TopicName).To(BeEmpty())
		Expect(kt.Status.TopicID).To(BeEmpty())
		Expect(kt.Status.ClusterID).To(BeEmpty())
		s.update(kt, specManaged(true))
		s.ready(kt)
		Expect(kt.Status.TopicID).To(Equal(id))
	})

	It("shouldUpdateAnUnmanagedTopic: each change is one write, not a loop", func() {
		kt := s.create("t", unmanaged())
		s.expectConditions(kt, "Unmanaged=True")
		since := mark()
		s.update(kt, config("retention.ms", `1000000`))
		s.expectConditions(kt, "Unmanaged=True")
		Eventually(func() int { return len(s.asked(since)) }).Should(Equal(1))
		Consistently(func() int { return len(s.asked(since)) }).Should(Equal(1))
	})

	It("shouldUpdateTopicIdIfDeletedWhileUnmanaged", func() {
		kt := s.created("t")
		before := kt.Status.TopicID
		s.update(kt, unmanaged())
		s.expectConditions(kt, "Unmanaged=True")
		main.remove(kt.Name)
		after := main.make(kt.Name, 1, nil)
		s.update(kt, managed())
		s.ready(kt)
		Expect(kt.Status.TopicID).To(And(Equal(after), Not(Equal(before))))
	})
})

var _ = Describe("A paused KafkaTopic", func() {
	var s *scene
	BeforeEach(func() { s = stage(coreOperator()) })

	It("shouldNotReconcilePausedKafkaTopicOnAdd", func() {
		kt := s.create("t", paused())
		s.expectConditions(kt, "ReconciliationPaused=True")
		Expect(kt.Status.ObservedGeneration).To(BeEquivalentTo(1))
		Expect(held(kt)).To(BeFalse())
		Expect(main.exists(kt.Name)).To(BeFalse())
		s.update(kt, resumed())
		s.ready(kt)
	})

	It("shouldNotReconcilePausedKafkaTopicOnUpdate: the generation is noted, nothing else", func() {
		kt := s.created("t", partitions(1))
		s.update(kt, paused(), partitions(2))
		s.expectConditions(kt, "ReconciliationPaused=True")
		Expect(kt.Status.ObservedGeneration).To(BeEquivalentTo(2))
		Consistently(main.partitions).WithArguments(kt.Name).Should(Equal(1))
		s.update(kt, resumed())
		s.ready(kt)
		Eventually(main.partitions).WithArguments(kt.Name).Should(Equal(2))
	})

	It("shouldReconcilePausedKafkaTopicOnDelete: deletion is carried out", func() {
		kt := s.created("t")
		s.update(kt, paused())
		s.expectConditions(kt, "ReconciliationPaused=True")
		s.deleted(kt)
		Eventually(main.exists).WithArguments(kt.Name).Should(BeFalse())
	})

	It("topicIdShouldBeEmptyOnPausedKafkaTopic: the name stays", func() {
		kt := s.created("t")
		id := kt.Status.TopicID
		s.update(kt, paused())
		s.expectConditions(kt, "ReconciliationPaused=True")
		Expect(kt.Status.TopicID).To(BeEmpty())
		Expect(kt.Status.TopicName).To(Equal(kt.Name))
		s.update(kt, resumed())
		s.ready(kt)
		Expect(kt.Status.TopicID).To(Equal(id))
	})

	It("shouldUpdateTopicIdIfDeletedWhilePaused", func() {
		kt := s.created("t")
		before := kt.Status.TopicID
		s.update(kt, paused())
		s.expectConditions(kt, "ReconciliationPaused=True")
		main.remove(kt.Name)
		after := main.make(kt.Name, 1, nil)
		s.update(kt, resumed())
		s.ready(kt)
		Expect(kt.Status.TopicID).To(And(Equal(after), Not(Equal(before))))
	})
})
