package ownership

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("A KafkaTopic for a topic of Kafka's own", func() {
	It("sets what it names, keeps what Kafka set, and says so", func() {
		const offsets = "__consumer_offsets"
		Eventually(func(g Gomega) {
			g.Expect(clusterA.broker.FindCoordinator("anybody")).To(Succeed())
			g.Expect(clusterA.exists(offsets)).To(BeTrue(), "Kafka makes its topic for the first group")
		}).Should(Succeed())
		before := clusterA.state(offsets)
		Expect(before.config).To(HaveKeyWithValue("cleanup.policy", "compact"))

		ns := newNamespace()
		start(clusterA, never, ns)
		kt := create(ns, "offsets", topicName(offsets), config("min.compaction.lag.ms", "1000"))
		Eventually(func() map[string]string { return clusterA.state(offsets).config }).Should(HaveKeyWithValue("min.compaction.lag.ms", "1000"))
		for key, value := range before.config {
			Expect(clusterA.state(offsets).config).To(HaveKeyWithValue(key, value))
		}
		tells(kt, "Ready=True")
		tells(kt, "cleanup.policy=compact")
		told(kt, "Warning", "InvalidConfig", "cleanup.policy=compact")
		update(kt, unmanaged())
		expectCondition(kt, "Unmanaged=True")
	})
})
