package topicoperator

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/proxy"
)

var _ = Describe("A deleted KafkaTopic", func() {
	It("shouldDeleteTopicFromKafkaWhenManagedTopicDeletedFromKube", func() {
		s := stage(coreOperator())
		kt := s.created("t")
		s.deleted(kt)
		Eventually(main.exists).WithArguments(kt.Name).Should(BeFalse())
		Eventually(s.events).WithArguments(kt).Should(ContainElement("Normal Deleted: Deleted topic '" + kt.Name + "'"))
	})

	It("goes although its topic is gone already", func() {
		s := stage(coreOperator())
		kt := s.created("t")
		main.remove(kt.Name)
		s.deleted(kt)
	})

	It("shouldDeleteTopicFromKafkaWhenManagedTopicDeletedFromKubeAndFinalizersDisabled", func() {
		s := stage(unfinalized())
		kt := s.created("t")
		Expect(held(kt)).To(BeFalse())
		s.delete(kt)
		Eventually(main.exists).WithArguments(kt.Name).Should(BeFalse())
	})

	It("shouldNotDeleteTopicFromKafkaWhenUnmanagedTopicDeletedFromKube: the object goes, the topic stays", func() {
		s := stage(coreOperator())
		kt := s.created("t")
		s.update(kt, unmanaged())
		s.expectConditions(kt, "Unmanaged=True")
		Expect(held(kt)).To(BeTrue(), "the finalizer goes with the object")
		s.deleted(kt)
		s.created("later")
		Expect(main.exists(kt.Name)).To(BeTrue())
	})

	It("shouldNotDeleteTopicWhenUnmanagedTopicDeletedAndFinalizersDisabled", func() {
		s := stage(unfinalized())
		kt := s.created("t")
		s.update(kt, unmanaged())
		s.expectConditions(kt, "Unmanaged=True")
		s.deleted(kt)
		s.created("later")
		Consistently(main.exists).WithArguments(kt.Name).Should(BeTrue())
	})
})

var _ = Describe("Where Kafka deletes no topics", func() {
	const warning = "because topic deletion is disabled on the Kafka controller."

	It("shouldNotDeleteTopicWhenTopicDeletionDisabledInKafka: the object is let go with a warning", func() {
		s := stage(startOperator(setup{name: "release", kafka: stubborn()}))
		kt := s.created("t")
		s.deleted(kt)
		Expect(stubborn().id(kt.Name)).To(Equal(kt.Status.TopicID))
		Expect(s.logged("level=WARN", "Unable to delete topic '"+kt.Name+"' from Kafka "+warning)).To(BeTrue())
		Eventually(s.events).WithArguments(kt).Should(ContainElement(And(HavePrefix("Warning DeletionDisabled: "), ContainSubstring(kt.Name))))
	})

	It("shouldNotDeleteTopicWhenTopicDeletionDisabledInKafka: the policy keep holds the object, as Strimzi does", func() {
		s := stage(startOperator(setup{name: "keep", kafka: stubborn(), env: settings{"STRIMZI_DELETION_DISABLED_POLICY": "keep"}}))
		kt := s.created("t")
		s.delete(kt)
		s.refused(kt, "KafkaError", "TopicDeletionDisabledException: Topic deletion is disabled.")
		Expect(held(kt)).To(BeTrue())
		Expect(kt.Status.TopicID).To(Equal(stubborn().id(kt.Name)), "an error on the way of deletion clears no id")
		s.update(kt, unmanaged())
		s.gone(kt)
		Expect(stubborn().exists(kt.Name)).To(BeTrue())
	})

	It("shouldNotDeleteTopicWhenTopicDeletedFromKubeAndFinalizersDisabledButDeletionDisabledInKafka: a warning in the log", func() {
		o := startOperator(setup{name: "stubborn-unfinalized", kafka: stubborn(), env: settings{"STRIMZI_USE_FINALIZERS": "false"}})
		s := stage(o)
		kt := s.created("t")
		s.deleted(kt)
		Eventually(o.logged).WithArguments("level=WARN", "Unable to delete topic '"+kt.Name+"' from Kafka "+warning).Should(BeTrue())
		Expect(stubborn().exists(kt.Name)).To(BeTrue())
	})
})

// autoCreate is Strimzi's warning (docs/decisions/kafkas-words.md).
const autoCreate = "It is recommended that auto.create.topics.enable is set to 'false' to avoid races between the operator and Kafka " +
	"applications auto-creating topics"

var _ = Describe("The review of the brokers' configuration", func() {
	It("shouldLogWarningIfAutoCreateTopicsIsEnabled", func() {
		Eventually(coreOperator().logged).WithArguments("level=WARN", autoCreate).Should(BeTrue())
	})

	It("says nothing where topics are not created automatically", func() {
		way := startProxy(stubborn().Bootstrap()...)
		o := startOperator(setup{name: "reviewed", kafka: stubborn(), bootstrap: way.Addresses()})
		Eventually(way.Count).WithArguments(proxy.DescribeConfigs).Should(Equal(1), "the review")
		stage(o).created("t")
		Expect(o.logged("auto.create.topics.enable")).To(BeFalse())
	})
})
