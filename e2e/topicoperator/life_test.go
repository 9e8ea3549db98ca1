package topicoperator

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// Strimzi's system tests of topics (TopicST), with real programs.
var _ = Describe("In the life of a topic", func() {
	It("create-delete-create, ten times under one name: each time there is a new topic", func() {
		s := stage(coreOperator())
		seen := map[string]bool{}
		for range 10 {
			kt := s.created("t", partitions(3), config("retention.ms", `1000000`))
			Expect(seen).NotTo(HaveKey(kt.Status.TopicID))
			seen[kt.Status.TopicID] = true
			Expect(main.partitions(kt.Name)).To(Equal(3))
			s.deleted(kt)
		}
		Eventually(main.exists).WithArguments(s.topic("t").Name).Should(BeFalse())
	})

	It("create-delete-create without waiting in between: the last one wins", func() {
		s := stage(coreOperator())
		last := ""
		for range 10 {
			kt := s.created("t")
			Expect(kt.Status.TopicID).NotTo(Equal(last))
			last = kt.Status.TopicID
			s.delete(kt)
			s.gone(kt) // the name is free when the object is deleted, even if brokers still show the topic
		}
		s.created("t")
		s.inStep()
	})

	It("a new object after an unsupported change: the operator has not lost its way", func() {
		s := stage(coreOperator())
		kt := s.created("t", partitions(3))
		s.update(kt, partitions(1))
		s.refused(kt, "NotSupported", "Decrease of spec.partitions")
		s.created("other")
		s.deleted(kt)
		s.created("t", partitions(1))
		Expect(main.partitions(kt.Name)).To(Equal(1))
	})

	It("more replicas than brokers are refused, and a later number is taken", func() {
		s := stage(coreOperator())
		kt := s.create("t", replicas(3))
		s.refused(kt, "KafkaError", "InvalidReplicationFactorException: ")
		s.update(kt, replicas(1))
		s.ready(kt)
	})

	It("a min.insync.replicas that Kafka does not know as a number is refused on creation and on change", func() {
		s := stage(coreOperator())
		kt := s.create("new", config("min.insync.replicas", `0`))
		s.refused(kt, "KafkaError", "InvalidConfigurationException: ")
		Expect(main.exists(kt.Name)).To(BeFalse())
		existing := s.created("existing")
		s.update(existing, config("min.insync.replicas", `-1`))
		s.refused(existing, "KafkaError", "InvalidConfigurationException: ")
		Expect(main.settings(existing.Name)).To(BeEmpty())
		s.update(existing, config("min.insync.replicas", `1`))
		s.ready(existing)
	})

	It("an object without labels is the business of an operator without a selector, and of no other", func() {
		namespace := newNamespace()
		s := stageIn(startOperator(setup{name: "unselective", namespaces: namespace}), namespace)
		kt := s.created("t")
		Expect(kt.Labels).To(BeEmpty())
		other := stageIn(coreOperator(), newNamespace())
		left := s.topic("left")
		left.Namespace = other.namespace
		Expect(k8s.Create(ctx, left)).To(Succeed())
		stage(coreOperator()).created("later")
		refresh(Default, left)
		Expect(left.Status.Conditions).To(BeEmpty())
		Expect(main.exists(left.Name)).To(BeFalse())
	})
})
