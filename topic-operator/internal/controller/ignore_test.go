package controller

import (
	"fmt"
	"runtime"
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

// failing is a test that fails instead of the real one.
type failing struct{ why string }

func (*failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.why = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failure runs checks on a world, and returns why they fail; empty if they don't.
func (w *world) failure(checks func(*world)) string {
	f := &failing{}
	was := w.WithT
	w.WithT = NewWithT(f)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		checks(w)
	}()
	<-ended
	w.WithT = was
	return f.why
}

func TestADeletedObjectThatNobodySelectsIsTold(t *testing.T) {
	w := newWorld(t, selective)
	isTold(w)
	for name, planted := range map[string]struct {
		change func(*setup)
		deaf   string
		says   string
	}{
		"who selects it does not matter": {func(s *setup) { s.Selects = func(map[string]string) bool { return true } }, "",
			"another operator may select it"},
		"no Event tells": {func(*setup) {}, v1.ReasonNotSelected, "Warning NotSelected: "},
	} {
		t.Run("and it is found that "+name, func(t *testing.T) {
			w := newWorld(t, selective, planted.change)
			w.sink.deaf = planted.deaf
			w.Expect(w.failure(isTold)).To(ContainSubstring(planted.says))
		})
	}
}

func isTold(w *world) {
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
