package topicoperator

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/e2e/proxy"
)

var _ = Describe("Two replicas with leader election", func() {
	It("kill -9 of the leader in the midst of 300 creations: the other takes over, and nothing is made twice or lost", func() {
		const n = 300
		namespace := newNamespace()
		way := startProxy(main.Bootstrap()...)
		replica := func(name string) setup {
			return setup{name: name, namespaces: namespace, bootstrap: way.Addresses(), env: settings{
				"STRIMZI_LEADER_ELECTION_ENABLED":           "true",
				"STRIMZI_LEADER_ELECTION_LEASE_NAMESPACE":   namespace,
				"STRIMZI_LEADER_ELECTION_LEASE_NAME":        "replicas",
				"STRIMZI_LEADER_ELECTION_LEASE_DURATION_MS": "20000", // with less, a busy machine loses the lease
				"STRIMZI_LEADER_ELECTION_RENEW_DEADLINE_MS": "18000",
				"STRIMZI_LEADER_ELECTION_RETRY_PERIOD_MS":   "500",
			}}
		}
		holder := func() string {
			lease := &coordinationv1.Lease{}
			if err := k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "replicas"}, lease); err != nil || lease.Spec.HolderIdentity == nil {
				return ""
			}
			return *lease.Spec.HolderIdentity
		}
		leader := startOperator(replica("leader"))
		Eventually(holder).ShouldNot(BeEmpty())
		first := holder()
		standby := startOperator(replica("standby")) // ready without being the leader
		s := stageIn(standby, namespace)
		Expect(s.created("before").Status.TopicID).NotTo(BeEmpty())
		Expect(standby.metric("strimzi_reconciliations_total")).To(BeZero(), "only one works")

		// Kafka executes a batch, and its response is lost.
		each(n/3, func(i int) { defer GinkgoRecover(); s.create(name("early", i)) })
		h := way.Hold(proxy.AfterBroker, proxy.CreateTopics)
		s.createAll(n - n/3)
		Eventually(h.Caught).Should(BeClosed())
		leader.process.Kill()
		h.Lose()

		s.allReady(n+1, 2*time.Minute)
		s.inStep()
		Expect(holder()).NotTo(Equal(first))
		Expect(standby.metric("strimzi_reconciliations_total")).NotTo(BeZero())
	})

	It("a leader that ends in order gives the lease back, so that the other need not wait", func() {
		namespace := newNamespace()
		replica := func(name string) setup {
			return setup{name: name, namespaces: namespace, env: settings{
				"STRIMZI_LEADER_ELECTION_ENABLED":           "true",
				"STRIMZI_LEADER_ELECTION_LEASE_NAMESPACE":   namespace,
				"STRIMZI_LEADER_ELECTION_LEASE_DURATION_MS": "60000",
				"STRIMZI_LEADER_ELECTION_RENEW_DEADLINE_MS": "50000",
				"STRIMZI_LEADER_ELECTION_RETRY_PERIOD_MS":   "500",
			}}
		}
		leader := startOperator(replica("leader"))
		s := stageIn(leader, namespace)
		s.created("before")
		standby := startOperator(replica("standby"))
		leader.terminate()
		s.operator = standby
		s.created("after") // long before the lease would have expired
	})
})
