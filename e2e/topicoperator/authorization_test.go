package topicoperator

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("An operator that may not do everything", Ordered, func() {
	var s *scene

	// allow permits the operator these operations on the topics with this prefix.
	allow := func(prefix string, operations ...string) {
		GinkgoHelper()
		args := []string{"--topic", prefix + "-", "--resource-pattern-type", "prefixed"}
		for _, operation := range operations {
			args = append(args, "--operation", operation)
		}
		Expect(main.Allow(ctx, "User:"+limitedUser, args...)).To(Succeed())
	}

	BeforeAll(func() {
		allow("limited-create", "Describe")
		allow("limited", "Describe", "DescribeConfigs")
		o := startOperator(setup{name: "limited", bootstrap: main.SASLBootstrap(), env: settings{
			"STRIMZI_SASL_ENABLED": "true", "STRIMZI_SASL_MECHANISM": "scram-sha-512",
			"STRIMZI_SASL_USERNAME": limitedUser, "STRIMZI_SASL_PASSWORD": limitedPassword,
			"STRIMZI_SKIP_CLUSTER_CONFIG_REVIEW":      "true",
			"STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": "1000",
		}})
		s = stage(o)
	})

	const denied = "TopicAuthorizationException: "

	It("shouldFailCreationIfNoTopicAuthz", func() {
		kt := s.create("limited-create")
		s.refused(kt, "KafkaError", denied)
		Expect(main.exists(kt.Name)).To(BeFalse())
	})

	It("shouldFailAlterConfigIfNoTopicAuthz", func() {
		kt := s.topic("limited-alter", config("retention.ms", `1000000`))
		main.make(kt.Name, 1, nil)
		Expect(k8s.Create(ctx, kt)).To(Succeed())
		s.refused(kt, "KafkaError", denied)
		Expect(main.settings(kt.Name)).To(BeEmpty())
	})

	It("shouldFailAddPartitionsIfNoTopicAuthz", func() {
		kt := s.topic("limited-partitions", partitions(3))
		main.make(kt.Name, 1, nil)
		Expect(k8s.Create(ctx, kt)).To(Succeed())
		s.refused(kt, "KafkaError", denied)
		Expect(main.partitions(kt.Name)).To(Equal(1))
	})

	It("shouldFailDeleteIfNoTopicAuthz: the object is held, and goes once the permission is there", func() {
		kt := s.topic("limited-delete")
		id := main.make(kt.Name, 1, nil)
		Expect(k8s.Create(ctx, kt)).To(Succeed())
		s.ready(kt)
		s.delete(kt)
		s.refused(kt, "KafkaError", "Deletion failed: "+denied)
		Expect(held(kt)).To(BeTrue())
		Expect(kt.Status.TopicID).To(Equal(id))
		Expect(main.exists(kt.Name)).To(BeTrue())
		allow("limited-delete", "Delete")
		s.gone(kt)
		Eventually(main.exists).WithArguments(kt.Name).Should(BeFalse())
	})
})
