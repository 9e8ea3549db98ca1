package executor

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/memory"
)

// A Kafka without DescribeConfigs: the operator creates topics, and for an existing one the error names the missing right.
func TestWithoutDescribeConfigs(t *testing.T) {
	g := NewWithT(t)
	cluster := memory.New(memory.Options{Authorize: func(_ string, operation memory.Operation,
		_ string) bool {
		return operation != memory.DescribeConfigs
	}})
	e := New(t.Context(), cluster.Client("User:operator", nil), newObserver(), Options{MaxBatch: 1, CallTimeout: time.Minute})

	_, err := e.Describe(t.Context(), "orders", false)
	g.Expect(kafka.IsNotFound(err)).To(BeTrue())
	_, err = e.Create(t.Context(), kafka.NewTopic{Name: "orders", Partitions: 1, ReplicationFactor: 1}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = e.Describe(t.Context(), "orders", false)
	g.Expect(kafka.ClassOf(err)).To(Equal(kafka.ClassForbidden))
	g.Expect(err).To(MatchError(And(HavePrefix("TopicAuthorizationException: "), HaveSuffix("grant the operator DescribeConfigs on it)"))))
	found, err := e.Locate(t.Context(), "orders")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(e.Delete(t.Context(), found.ID, nil)).To(Succeed())

	g.Expect(unreadable(kafka.NewError(kafka.CodeUnsupportedVersion,
		""))).To(MatchError(ContainSubstring("this Kafka has no DescribeConfigs")))
	g.Expect(unreadable(nil)).To(Succeed())
}

func TestSettingsOfABrokerAreReadOrTheMissingRightIsNamed(t *testing.T) {
	g := NewWithT(t)
	allowed := true
	cluster := memory.New(memory.Options{Authorize: func(string, memory.Operation, string) bool { return allowed }})
	e := New(t.Context(), cluster.Client("User:operator", nil), newObserver(), Options{MaxBatch: 1, CallTimeout: time.Minute})
	const key = "auto.create.topics.enable"
	g.Expect(e.BrokerConfig(t.Context(), []string{key})).To(HaveKey(key))
	allowed = false
	_, err := e.BrokerConfig(t.Context(), []string{key})
	g.Expect(kafka.ClassOf(err)).To(Equal(kafka.ClassForbidden))
	g.Expect(err).To(MatchError(ContainSubstring("grant the operator DescribeConfigs on the cluster")))
}
