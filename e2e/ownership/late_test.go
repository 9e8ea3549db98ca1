package ownership

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/proxy"
)

// The state of the API server when a request leaves counts, and not the state when the operator began to wait for Kafka
// (docs/decisions/facts-at-the-call.md).
var _ = Describe("A Kafka cluster that hangs while KafkaTopics are deleted and changed", func() {
	for name, key := range map[string]uint16{"when they are looked at": proxy.Metadata, "right before the change": proxy.APIVersions} {
		It("loses no topic that is rescued meanwhile, "+name, func() {
			ns := newNamespace()
			way := startProxy(clusterA, answered)
			launch(way.Addresses(), never, ns).awaitReady()
			unmanaging, rivalled, resting := created(clusterA, ns, "unmanaged"), created(clusterA, ns, "rivalled"), created(clusterA, ns, "paused")
			a, b, c := clusterA.state(unmanaging.Name), clusterA.state(rivalled.Name), clusterA.state(resting.Name)
			hanging := way.Hold(proxy.BeforeBroker, key)
			remove(unmanaging)
			remove(rivalled)
			update(resting, config(retention, "1234567"))
			Eventually(hanging.Waiting).Should(BeNumerically(">=", 2), "the deletions, and the change, wait for Kafka")
			update(unmanaging, unmanaged())
			rival := create(ns, "rival", topicName(rivalled.Name))
			update(resting, paused())
			hanging.Release()

			gone(unmanaging)
			gone(rivalled)
			ready(rival, clusterA)
			expectCondition(resting, "ReconciliationPaused=True")
			clusterA.keeps(unmanaging.Name, a)
			clusterA.keeps(rivalled.Name, b)
			clusterA.keeps(resting.Name, c)
			Expect(way.count(clusterA, proxy.DeleteTopics, proxy.IncrementalAlterConfigs)).To(BeZero(), "no request was sent at all")
		})
	}
})
