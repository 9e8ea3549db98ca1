package controller

import (
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// blockedAs returns the metric of blocked deletions for a reason.
func (w *world) blockedAs(reason string) float64 {
	return w.count("strimzi_deletions_blocked", "reason="+reason)
}

func selective(s *setup) {
	s.Selects = func(labels map[string]string) bool { return labels["selected"] != "no" }
	s.metrics.Refusals = []string{v1.ReasonNotSelected}
}

func TestADeletedObjectThatNobodySelectsIsTold(t *testing.T) {
	w := newWorld(t, selective)
	w.ready("a")
	w.r.seen(w.get("a"))
	w.update("a", label("selected", "no"))
	w.delete("a")
	w.clock.step(w.get("a").DeletionTimestamp.Sub(w.clock.now()))
	w.sink.took()
	w.Expect(w.pass("a").RequeueAfter).To(And(BeNumerically(">", 0), BeNumerically("<=", interval)), "another operator may select it")
	w.Expect(w.sink.took()).To(BeEmpty())
	w.Expect(w.blockedAs(v1.ReasonNotSelected)).To(BeZero())

	w.clock.step(interval)
	w.requests.took()
	for range 2 {
		w.Expect(w.pass("a").RequeueAfter).To(BeNumerically(">", 0))
		w.Expect(w.blockedAs(v1.ReasonNotSelected)).To(BeEquivalentTo(1))
	}
	w.Expect(w.sink.took()).To(ConsistOf(HavePrefix("Warning NotSelected: ")))
	w.Expect(w.requests.all()).To(BeEmpty(), "it may be another operator's")
	w.Expect(w.kafka.get("a")).NotTo(BeNil())

	w.update("a", label("selected", "yes"))
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.kafka.get("a")).To(BeNil())
	w.Expect(w.blockedAs(v1.ReasonNotSelected)).To(BeZero())
}

func TestADeletedObjectThatAnotherOperatorLooksAtIsNotTold(t *testing.T) {
	w := newWorld(t, selective)
	w.create("a", finalizers(v1.FinalizerTopicOperator), label("selected", "no"))
	w.delete("a")
	w.status("a", func(s *v1.KafkaTopicStatus) { s.ObservedGeneration = w.get("a").Generation })
	w.clock.step(w.get("a").DeletionTimestamp.Sub(w.clock.now()))
	w.clock.step(2 * interval)
	w.Expect(w.pass("a").RequeueAfter).To(BeZero())
	w.Expect(w.sink.took()).To(BeEmpty())
	w.update("a", finalizers())
}
