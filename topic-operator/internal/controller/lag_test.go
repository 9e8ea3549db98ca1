package controller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	kafkamemory "github.com/kafka-operators/kafka-operators/kafka/kafkatest/memory"
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

// A broker that no longer applies the metadata, as after an error of its publisher, and to which the client sticks.
func TestABrokerThatNeverShowsTheTopicIsReported(t *testing.T) {
	w := newWorld(t)
	cluster := kafkamemory.New(kafkamemory.Options{})
	w.batched(cluster.Client("User:operator", nil), time.Millisecond)
	before := cluster.Snapshot()
	w.ready("b")
	w.create("a")
	_, err := cluster.Client("User:else", nil).CreateTopics(t.Context(),
		[]kafka.NewTopic{{Name: "a", Partitions: 1, ReplicationFactor: 1}}, false)
	w.Expect(err).NotTo(HaveOccurred())
	cluster.Lag(before)

	passes := func(name string) {
		w.t.Helper()
		want := firstRetry
		for range 7 {
			w.Expect(w.pass(name).RequeueAfter).To(Equal(want))
			w.clock.step(want)
			want = min(2*want, lastRetry)
		}
	}
	passes("a")
	w.Expect(w.logged.took()).To(BeEmpty(), "most brokers catch up")
	w.Expect(w.get("a").Status.Conditions).To(BeEmpty())
	w.pass("a")
	w.clock.step(lastRetry)
	w.pass("a")
	w.Expect(w.get("a")).To(haveConditions("Ready=False KafkaError: the Kafka controller has another state of topic 'a' than the broker " +
		"that answers, which does not show it. If this lasts, look at the brokers' metric metadata-apply-error-count, and restart the one " +
		"that lags behind"))
	w.Expect(w.logged.took()).To(ContainElement(ContainSubstring("which does not show it")))
	w.Expect(w.count("strimzi_reconciliations_failed_total")).To(BeEquivalentTo(9))

	w.restart() // or the topic counts as created for it a moment ago
	w.delete("b")
	passes("b")
	w.clock.step(reportAfter)
	w.pass("b")
	w.Expect(w.get("b")).To(haveCondition(HavePrefix("Ready=False KafkaError: Deletion failed: the Kafka controller has another state")))

	cluster.Lag(nil)
	w.pass("a")
	w.Expect(w.get("a")).To(beReady())
	w.pass("b")
	w.Expect(w.exists("b")).To(BeFalse())
}
