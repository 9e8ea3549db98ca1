package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// Two quick changes, of which the second reverts the first: a lagging broker reports the state that the second one asks for, so that the
// pass finds nothing to do.
func TestWhatIsReadRightAfterAWriteIsLookedAtAgain(t *testing.T) {
	w := newWorld(t)
	w.ready("a", config("k", `1`))
	w.kafka.lag()
	w.update("a", config("k", `2`))
	w.pass("a")
	w.update("a", config("k", `1`))
	w.Expect(w.pass("a").RequeueAfter).To(Equal(w.settled("a")))
	w.Expect(w.kafka.config("a")).To(Equal(map[string]string{"k": "2"}), "the broker hid it")

	w.kafka.catchUp()
	w.clock.step(settle)
	w.Expect(w.pass("a").RequeueAfter).To(Equal(w.moment("a")))
	w.Expect(w.kafka.config("a")).To(Equal(map[string]string{"k": "1"}))
}

// The same, but the second change also contains a difference that the operator has to apply.
func TestAReadRightAfterAWriteIsRepeated(t *testing.T) {
	w := newWorld(t)
	w.ready("a", config("k", `1`))
	w.kafka.lag()
	w.update("a", config("k", `2`))
	w.pass("a")
	w.update("a", config("k", `1`), config("m", `1`))
	w.Expect(w.pass("a").RequeueAfter).To(Equal(w.settled("a")))
	w.kafka.catchUp()
	w.clock.step(settle)
	w.pass("a")
	w.Expect(w.kafka.config("a")).To(Equal(map[string]string{"k": "1", "m": "1"}))
}

func TestALoneChangeNeedsNoSecondLook(t *testing.T) {
	w := newWorld(t)
	w.create("a")
	w.Expect(w.pass("a").RequeueAfter).To(Equal(w.moment("a")))
	w.clock.step(settle)
	w.update("a", config("k", `2`))
	w.Expect(w.pass("a").RequeueAfter).To(Equal(w.moment("a")))
}

func TestABrokerThatShowsAnOldConfigurationIsNoDrift(t *testing.T) {
	w := newWorld(t)
	w.ready("a", config("k", `1`))
	w.kafka.lag()
	w.update("a", config("k", `2`))
	w.pass("a")
	w.update("a", label("touched", "yes"))
	w.pass("a")
	w.Expect(w.count("strimzi_drift_reverted_total")).To(BeZero())
	w.Expect(w.sink.took()).To(HaveEach(HavePrefix("Normal Changed")))
	w.Expect(w.logged.took()).To(BeEmpty())
}

func TestABrokerThatShowsTooFewPartitionsIsNoFailure(t *testing.T) {
	w := newWorld(t)
	w.ready("a", partitions(1))
	w.kafka.lag()
	w.update("a", partitions(3))
	w.pass("a")
	w.update("a", config("k", `1`))
	w.Expect(w.pass("a").RequeueAfter).To(Equal(w.settled("a")))
	w.Expect(w.get("a")).To(beReady())
	w.Expect(w.kafka.took()).To(Equal([]string{"describe a", "increase a", "describe a", "alter a", "increase a"}))
	w.Expect(w.logged.took()).To(BeEmpty())

	w.kafka.catchUp()
	w.clock.step(settle)
	w.Expect(w.pass("a").RequeueAfter).To(Equal(w.moment("a")))
	w.Expect(w.get("a")).To(beReady())
}

// A broker that never reports the new state must not make the operator write in each pass.
func TestLookingAgainEnds(t *testing.T) {
	w := newWorld(t)
	w.ready("a", config("k", `"1e3"`))
	w.kafka.lag()
	w.kafka.stale["a"].Config["k"] = w.kafka.stale["a"].Config[inheritedConfigKey] // never what was written
	w.update("a", config("k", `"2e3"`))
	w.Expect(w.pass("a").RequeueAfter).To(Equal(w.moment("a")))
	w.Expect(w.pass("a").RequeueAfter).To(Equal(w.settled("a")))
	w.clock.step(settle)
	w.Expect(w.pass("a").RequeueAfter).To(Equal(w.moment("a")))
}

func TestMemoryDoesNotGrow(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c"} {
		w.ready(name)
		w.delete(name)
		kt := w.get(name)
		w.pass(name)
		w.Expect(w.r.watched().Delete(event.DeleteEvent{Object: kt})).To(BeTrue())
		w.pass(name)
		w.clock.step(longMemory)
	}
	w.Expect(w.r.vanish.names).To(BeEmpty())
	w.Expect(w.r.memory.names).To(BeEmpty())
	w.Expect(len(w.r.memory.objects)).To(BeNumerically("<=", 1), "the last one is swept with the next write")
	w.Expect(len(w.r.memory.deleted)).To(BeNumerically("<=", 1))
	w.Expect(w.r.Healthy(w.t.Context())).To(Succeed(), "a pass that ended does not count as running a day later")
}

// Some brokers lag behind for longer than settle.
func TestABrokerThatLagsForLongIsNoFailureAtFirst(t *testing.T) {
	w := newWorld(t)
	w.ready("a", partitions(1))
	w.kafka.lag()
	w.update("a", partitions(3))
	w.pass("a")
	w.clock.step(2 * settle)
	w.Expect(w.pass("a").RequeueAfter).To(Equal(w.settled("a")))
	w.Expect(w.get("a")).To(beReady())
	w.kafka.catchUp()
	w.clock.step(settle)
	w.Expect(w.pass("a").RequeueAfter).To(Equal(w.moment("a")))
	w.Expect(w.get("a")).To(beReady())

	w.kafka.fails(increaseCall, kafka.NewError(kafka.CodeInvalidPartitions, "no"))
	w.update("a", partitions(4))
	w.pass("a")
	w.clock.step(settle)
	w.pass("a")
	w.Expect(w.get("a")).To(failWith(v1.ReasonKafkaError, "InvalidPartitionsException: no"))
}
