package observe_test

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// The way out of expired certificates (docs/decisions/lost-clusters.md) depends on the errors of real brokers and the real client.
func TestEvidenceOfRealKafka(t *testing.T) {
	g := NewWithT(t)
	if testing.Short() {
		t.Skip("real Kafka takes longer than -short allows")
	}
	if err := realkafka.Available(t.Context()); err != nil {
		g.Expect(os.Getenv("CI")).NotTo(Equal("true"), "%v", err)
		t.Skip(err)
	}
	c, err := realkafka.Start(t.Context(), realkafka.Options{Brokers: 2, Controllers: 1, TLS: &realkafka.TLS{ClientAuth: "required"}})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(c.Close()).To(Succeed()) })
	stranger, err := realkafka.NewAuthority("stranger")
	g.Expect(err).NotTo(HaveOccurred())
	foreign, err := stranger.Issue("client")
	g.Expect(err).NotTo(HaveOccurred())
	look := func(client realkafka.Certificate, own map[int32]string) func() map[roller.NodeID]observe.NodeAnswer {
		admin, err := saramakafka.New(kafka.Config{Bootstrap: c.TLSBootstrap(), Nodes: own, ClientID: "test", NodeTimeout: 5 * time.Second,
			TLS: &kafka.TLS{TrustedCertificates: c.Authority().PEM(), Certificate: client.Cert, Key: client.Key}})
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(admin.Close)
		return func() map[roller.NodeID]observe.NodeAnswer {
			return (&observe.Kafka{Brokers: admin}).Read(t.Context(), []roller.NodeID{0, 1}, nil).Nodes
		}
	}
	ours := look(c.ClientCertificate(), nil)
	g.Eventually(ours).WithTimeout(2 * time.Minute).Should(And(HaveKeyWithValue(roller.NodeID(0), HaveField("Answers", true)),
		HaveKeyWithValue(roller.NodeID(1), HaveField("Answers", true))))

	// A rejected certificate is evidence about a node that was asked at its own address. Nobody tells this client another one.
	own := map[int32]string{0: c.TLSBootstrap()[0], 1: c.TLSBootstrap()[1]}
	g.Eventually(look(foreign, own)).WithTimeout(2 * time.Minute).Should(HaveKeyWithValue(roller.NodeID(0),
		And(HaveField("Answers", false), HaveField("Failing", HavePrefix("it refuses TLS: ")))))
	g.Expect(look(foreign, nil)()).To(HaveKeyWithValue(roller.NodeID(0), HaveField("Failing", BeEmpty())))

	// One broker is recreated with an expired certificate; the other one reports its address.
	g.Expect(c.ExpireCertificate(1)).To(Succeed())
	g.Expect(c.Kill(1)).To(Succeed())
	g.Expect(c.StartNode(t.Context(), 1)).To(Succeed())
	g.Eventually(ours).WithTimeout(2 * time.Minute).Should(And(HaveKeyWithValue(roller.NodeID(0), HaveField("Answers", true)),
		HaveKeyWithValue(roller.NodeID(1), And(HaveField("Answers", false), HaveField("Failing", HavePrefix("its certificate has expired: "))))))

	// Both have expired: no broker reports addresses, and the evidence is about the brokers that were asked.
	g.Expect(c.ExpireCertificate(0)).To(Succeed())
	g.Expect(c.Kill(0)).To(Succeed())
	g.Expect(c.StartNode(t.Context(), 0)).To(Succeed())
	for _, client := range []func() map[roller.NodeID]observe.NodeAnswer{ours, look(c.ClientCertificate(), nil)} {
		g.Eventually(client).WithTimeout(2 * time.Minute).Should(HaveKeyWithValue(roller.NodeID(0),
			And(HaveField("Answers", false), HaveField("Failing", HavePrefix("its certificate has expired: ")))))
	}
}
