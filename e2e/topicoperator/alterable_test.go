package topicoperator

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/proxy"
)

// Strimzi's AlterableTopicConfigIT.
var _ = Describe("The list of alterable configurations", func() {
	alterable := func(name, list string) *operator {
		GinkgoHelper()
		return startOperator(setup{name: "alterable-" + name, env: settings{"STRIMZI_ALTERABLE_TOPIC_CONFIG": list}})
	}
	ignored := func(key string) string { return "Property " + key + " is ignored according to alterable config" }

	It("shouldNotCallGetClusterConfigWhenDisabled: without the review, no broker is asked for its configuration", func() {
		way := startProxy(main.Bootstrap()...)
		o := startOperator(setup{name: "unreviewed", bootstrap: way.Addresses(), env: settings{"STRIMZI_SKIP_CLUSTER_CONFIG_REVIEW": "true"}})
		// The operator reads no configuration for a new topic, so any such request would be the review's.
		stage(o).created("t")
		Expect(way.Count(proxy.DescribeConfigs)).To(BeZero())
		Expect(o.logged(autoCreate)).To(BeFalse())
	})

	throttles := map[string]string{"leader.replication.throttled.replicas": "0:0", "follower.replication.throttled.replicas": "0:0"}

	It("shouldIgnoreWithCruiseControlThrottleConfigInKafka: throttles that only Kafka knows survive", func() {
		s := stage(timed())
		kt := s.created("t", config("retention.ms", `1000000`))
		main.alter(kt.Name, throttles)
		main.alter(kt.Name, map[string]string{"flush.ms": "1"}) // the reversal proves that the operator has checked the topic
		Eventually(main.settings).WithArguments(kt.Name).ShouldNot(HaveKey("flush.ms"))
		for key, value := range throttles {
			Expect(main.settings(kt.Name)).To(HaveKeyWithValue(key, value))
		}
		s.ready(kt)
	})

	It("shouldReconcileAndWarnWithThrottleConfigInKube: applied, with a warning for each, until the keys are removed", func() {
		s := stage(coreOperator())
		kt := s.create("t", config("leader.replication.throttled.replicas", `"0:0"`), config("follower.replication.throttled.replicas", `"0:0"`))
		s.readyWith(kt,
			"Property follower.replication.throttled.replicas may conflict with throttled rebalances",
			"Property leader.replication.throttled.replicas may conflict with throttled rebalances")
		Expect(main.settings(kt.Name)).To(Equal(throttles))
		s.update(kt, withoutConfig("leader.replication.throttled.replicas"), withoutConfig("follower.replication.throttled.replicas"))
		s.ready(kt)
	})

	It("shouldIgnoreAndWarnWithAlterableConfigOnCreation: creation is not limited, and the warning says what will be", func() {
		s := stage(alterable("some", "compression.type, max.message.bytes"))
		kt := s.create("t", config("compression.type", `"lz4"`), config("retention.ms", `1000000`), config("cleanup.policy", `"compact"`))
		s.readyWith(kt, ignored("cleanup.policy"), ignored("retention.ms"))
		Expect(main.settings(kt.Name)).To(Equal(map[string]string{"compression.type": "lz4", "retention.ms": "1000000",
			"cleanup.policy": "compact"}))
		Eventually(s.events).WithArguments(kt).Should(ContainElement(
			"Warning InvalidConfig: " + ignored("cleanup.policy") + "; " + ignored("retention.ms")))
		s.update(kt, config("retention.ms", `2000000`))
		s.readyWith(kt, ignored("cleanup.policy"), ignored("retention.ms"))
		Expect(main.settings(kt.Name)).To(HaveKeyWithValue("retention.ms", "1000000"))
	})

	It("shouldReconcileWithAlterableConfigOnUpdate: a listed key is altered without a warning", func() {
		s := stage(alterable("some", "compression.type, max.message.bytes"))
		kt := s.created("t", config("compression.type", `"lz4"`))
		s.update(kt, config("compression.type", `"gzip"`), config("max.message.bytes", `100000`))
		s.ready(kt)
		Eventually(main.settings).WithArguments(kt.Name).Should(Equal(map[string]string{"compression.type": "gzip",
			"max.message.bytes": "100000"}))
	})

	DescribeTable("shouldReconcileWithAllOrEmptyAlterableConfig",
		func(name, list string) {
			s := stage(alterable(name, list))
			kt := s.created("t", config("retention.ms", `1000000`))
			s.update(kt, config("retention.ms", `2000000`))
			s.ready(kt)
			Eventually(main.settings).WithArguments(kt.Name).Should(Equal(map[string]string{"retention.ms": "2000000"}))
		},
		Entry("ALL", "all", "ALL"),
		Entry("empty", "empty", ""),
	)

	nothing := func(s *scene) {
		GinkgoHelper()
		kt := s.create("t", config("retention.ms", `1000000`), config("compression.type", `"lz4"`))
		s.readyWith(kt, ignored("compression.type"), ignored("retention.ms"))
		s.update(kt, config("retention.ms", `2000000`), withoutConfig("compression.type"), partitions(2))
		s.readyWith(kt, ignored("retention.ms"))
		Eventually(main.partitions).WithArguments(kt.Name).Should(Equal(2))
		Expect(main.settings(kt.Name)).To(Equal(map[string]string{"retention.ms": "1000000", "compression.type": "lz4"}))
		Expect(s.requests("IncrementalAlterConfigs")).To(BeZero())
	}

	It("shouldIgnoreAndWarnWithNoneAlterableConfig", func() { nothing(stage(alterable("none", "NONE"))) })

	DescribeTable("shouldIgnoreAndWarnWithInvalidAlterableConfig: it matches nothing",
		func(name, list string) { nothing(stage(alterable(name, list))) },
		Entry("nonsense", "nonsense", "invalid"),
		Entry("semicolons", "semicolons", "compression.type;retention.ms"),
	)
})
