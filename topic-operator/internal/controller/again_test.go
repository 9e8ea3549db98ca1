package controller

import (
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// A changed Secret and a reachable Kafka cluster are the only triggers here: no KafkaTopic changes and no timer fires.
func TestObjectsThatWaitAreLookedAtWhenTheLoginWorksAgain(t *testing.T) {
	w := newWorld(t, untimed)
	w.kafka.fails(describeCall, kafka.NewError(kafka.CodeSASLAuthenticationFailed, "wrong password"))
	w.start(w.kafka)
	w.create("a")
	w.create("b")
	for _, name := range []string{"a", "b"} {
		w.Eventually(func() *v1.KafkaTopic { return w.get(name) }).
			Should(haveCondition(HavePrefix("Ready=False KafkaError: SaslAuthenticationException: ")))
	}
	w.Expect(w.readyNames()).To(BeEmpty())
	w.kafka.hook(nil)
	w.Expect(w.r.Requeue(t.Context(), Unready)).To(Succeed())
	w.Eventually(w.readyNames).Should(Equal([]string{"a", "b"}))
}
