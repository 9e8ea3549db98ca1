package topic

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestKafkasOwnTopicsAreCreatedAsKafkaCreatesThem(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"__consumer_offsets": {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "7"},
		"__transaction_state": {"cleanup.policy": "compact", "compression.type": "uncompressed", "segment.bytes": "7",
			"min.insync.replicas": "7", "unclean.leader.election.enable": "false"},
		"__share_group_state": {"cleanup.policy": "delete", "compression.type": "producer", "segment.bytes": "7",
			"min.insync.replicas": "7", "retention.ms": "-1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(IsInternal(name)).To(BeTrue())
			broker := map[string]string{}
			for _, key := range BrokerKeys(name) {
				broker[key] = "7"
			}
			open := Desired{Name: name, Partitions: -1, Replicas: -1, Config: map[string]string{}}
			d, refusal := open.AsKafkaCreates(broker)
			g.Expect(refusal).To(BeNil())
			g.Expect(d).To(Equal(Desired{Name: name, Partitions: 7, Replicas: 7, Config: want, reliedOn: 7}))
			g.Expect(open.Config).To(BeEmpty())

			said := Desired{Name: name, Partitions: 50, Replicas: 3, Config: map[string]string{"cleanup.policy": "compact,delete", "k": "v"}}
			d, refusal = said.AsKafkaCreates(broker)
			g.Expect(refusal).To(BeNil())
			g.Expect(d.Replicas).To(BeEquivalentTo(3))
			g.Expect(d.Partitions).To(BeEquivalentTo(50))
			g.Expect(said.Kept(d)).To(ContainElement(HaveField("Message", ContainSubstring("rely on 7. Set it to 50 and"))))
			g.Expect(d.Config).To(And(HaveKeyWithValue("cleanup.policy", "compact,delete"), HaveKeyWithValue("k", "v"),
				HaveKeyWithValue("segment.bytes", "7")), "what the KafkaTopic says counts")

			delete(broker, BrokerKeys(name)[0])
			_, refusal = open.AsKafkaCreates(broker)
			g.Expect(refusal.Message).To(ContainSubstring("do not show their setting " + BrokerKeys(name)[0]))
		})
	}
	g := NewWithT(t)
	g.Expect(IsInternal("orders")).To(BeFalse())
	g.Expect(BrokerKeys("orders")).To(BeEmpty())
}
