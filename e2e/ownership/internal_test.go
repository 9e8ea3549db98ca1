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

	It("is created as Kafka creates it, and stays when it is deleted", func() {
		const transactions = "__transaction_state"
		ns := newNamespace()
		start(clusterA, never, ns)
		kt := create(ns, "transactions", topicName(transactions))
		tells(kt, "Ready=True")
		made := clusterA.state(transactions)
		Expect(made.partitions).To(Equal(1), "transaction.state.log.num.partitions")
		Expect(made.config).To(And(HaveKeyWithValue("cleanup.policy", "compact"), HaveKeyWithValue("compression.type", "uncompressed"),
			HaveKeyWithValue("unclean.leader.election.enable", "false"), HaveKeyWithValue("min.insync.replicas", "1")))
		remove(kt)
		gone(kt)
		clusterA.keeps(transactions, made)
	})
})
