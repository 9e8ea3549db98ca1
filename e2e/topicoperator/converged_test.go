package topicoperator

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
)

var _ = Describe("A converged set of 300 topics", Ordered, func() {
	const n = 300
	var s *scene

	BeforeAll(func() {
		namespace := newNamespace()
		s = stageIn(startOperator(setup{name: "converged", namespaces: namespace, env: settings{
			"STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": "3000",
		}}), namespace)
		s.createAll(n, config("retention.ms", `7200000`))
		s.allReady(n, time.Minute)
		// Events arrive later, because their rate is limited.
		Eventually(func() int {
			events := &eventsv1.EventList{}
			Expect(k8s.List(ctx, events, client.InNamespace(namespace))).To(Succeed())
			return len(events.Items)
		}).WithPolling(slowly).Should(Equal(n))
	})

	// passes returns the number of passes over objects that were converged before.
	passes := func() float64 { return s.metric("strimzi_reconciliations_periodical_total") }
	// wholePasses waits until each object has had that many timed passes.
	wholePasses := func(times float64) {
		GinkgoHelper()
		goal := passes() + times*n
		Eventually(passes).WithPolling(slowly).Should(BeNumerically(">=", goal))
	}

	It("costs the API server nothing: not one request for KafkaTopics in two timed passes", func() {
		wholePasses(1) // the last passes after the creation are over
		since, kafkaBefore := mark(), s.requests("Metadata")+s.requests("DescribeConfigs")
		failed := s.metric("strimzi_reconciliations_failed_total")
		wholePasses(2)
		Expect(s.asked(since)).To(BeEmpty())
		ofKafkas := func(r controlplane.Request) bool { return r.Verb == "list" && r.Resource == "kafkas" }
		others, err := plane.Requests(since, func(r controlplane.Request) bool {
			return r.UserAgent == userAgent && r.Namespace == s.namespace && r.Verb != "watch" && !ofKafkas(r)
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(others).To(BeEmpty(), "requests for anything else, such as Events")
		kafkas, err := plane.Requests(since, func(r controlplane.Request) bool {
			return r.UserAgent == userAgent && r.Namespace == s.namespace && ofKafkas(r)
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(len(kafkas)).To(BeNumerically("<=", 4), "which Kafkas exist is looked up once an interval, however many topics there are")
		Expect(s.requests("Metadata")+s.requests("DescribeConfigs")-kafkaBefore).To(BeNumerically("<", n),
			"requests to Kafka: checks travel together")
		Expect(s.requests("IncrementalAlterConfigs")).To(BeZero())
		Expect(s.metric("strimzi_reconciliations_failed_total")).To(Equal(failed))
	})

	It("reverts what Kafka's own tool changed, at the timed pass, and tells it", func() {
		kt := s.topic("t0007")
		before := s.metric("strimzi_drift_reverted_total")
		_, err := main.Tool(ctx, "ConfigCommand", "--alter", "--topic", kt.Name, "--add-config", "retention.ms=1,cleanup.policy=compact")
		Expect(err).NotTo(HaveOccurred())
		Eventually(main.settings).WithArguments(kt.Name).Should(Equal(map[string]string{"retention.ms": "7200000"}))
		Eventually(s.metric).WithArguments("strimzi_drift_reverted_total").Should(BeNumerically(">", before))
		Eventually(s.events).WithArguments(kt).Should(ContainElement(HavePrefix("Warning DriftReverted: Topic '" + kt.Name +
			"' was changed outside of Kubernetes; reverted: ")))
		s.ready(kt)
	})

	It("makes again, empty, a topic that was deleted behind its back, and tells it", func() {
		kt := s.topic("t0008")
		s.ready(kt)
		id, before := kt.Status.TopicID, s.metric("strimzi_drift_reverted_total")
		_, err := main.Tool(ctx, "TopicCommand", "--delete", "--topic", kt.Name)
		Expect(err).NotTo(HaveOccurred())
		Eventually(func(g Gomega) {
			refresh(g, kt)
			g.Expect(kt.Status.TopicID).NotTo(Equal(id))
		}).Should(Succeed())
		s.ready(kt)
		Expect(s.metric("strimzi_drift_reverted_total")).To(Equal(before + 1))
		Eventually(s.events).WithArguments(kt).Should(ContainElement(HavePrefix("Warning Recreated: Recreated topic '" +
			kt.Name + "' (empty)")))
		s.inStep()
	})

	It("leaves throttles alone that somebody who moves partitions has set", func() {
		kt := s.topic("t0009")
		throttle := map[string]string{"leader.replication.throttled.replicas": "0:0", "follower.replication.throttled.replicas": "0:0"}
		main.alter(kt.Name, throttle)
		wholePasses(2)
		want := map[string]string{"retention.ms": "7200000"}
		for key, value := range throttle {
			want[key] = value
		}
		Expect(main.settings(kt.Name)).To(Equal(want))
	})

	It("is still there after a restart, without a write", func() {
		since := mark()
		s.terminate()
		s.operator = startOperator(setup{name: "converged-again", namespaces: s.namespace, env: settings{
			"STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": "3000",
		}})
		Eventually(passes).WithPolling(slowly).Should(BeNumerically(">=", 2*n))
		Expect(writes(s.asked(since))).To(BeEmpty())
		Expect(s.metric("strimzi_drift_reverted_total")).To(BeZero())
	})
})

// writes returns the requests that modify objects.
func writes(requests []controlplane.Request) []controlplane.Request {
	var all []controlplane.Request
	for _, r := range requests {
		if r.Verb != "get" && r.Verb != "list" && r.Verb != "watch" {
			all = append(all, r)
		}
	}
	return all
}

var _ = Describe("The mode without finalizers", func() {
	It("deletes the topics of a hundred objects that just vanish, and of no other", func() {
		const n = 100
		namespace := newNamespace()
		s := stageIn(startOperator(setup{name: "vanishing", namespaces: namespace, env: settings{"STRIMZI_USE_FINALIZERS": "false"}}), namespace)
		s.createAll(n, label("vanish", "yes"))
		s.create("kept")
		s.allReady(n+1, time.Minute)
		for _, kt := range s.list() {
			Expect(kt.Finalizers).To(BeEmpty())
		}
		Expect(k8s.DeleteAllOf(ctx, &v1.KafkaTopic{}, client.InNamespace(namespace), client.MatchingLabels{"vanish": "yes"})).To(Succeed())
		s.allReady(1, time.Minute)
		s.inStep()
	})

	It("takes away the finalizers that are left of the other mode", func() {
		namespace := newNamespace()
		first := startOperator(setup{name: "with-finalizers", namespaces: namespace})
		s := stageIn(first, namespace)
		kt := s.created("t")
		Expect(held(kt)).To(BeTrue())
		first.terminate()
		s.operator = startOperator(setup{name: "without-finalizers", namespaces: namespace, env: settings{"STRIMZI_USE_FINALIZERS": "false"}})
		Eventually(func(g Gomega) {
			refresh(g, kt)
			g.Expect(kt.Finalizers).To(BeEmpty())
		}).Should(Succeed())
		s.delete(kt)
		Eventually(main.exists).WithArguments(kt.Name).Should(BeFalse())
	})
})
