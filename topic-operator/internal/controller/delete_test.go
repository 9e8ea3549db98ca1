package controller

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

const (
	deletedWasTold = "Normal Deleted: Deleted topic 'a'"
	keptWasTold    = "Warning DeletionDisabled: Topic 'a' stays in Kafka, unmanaged: topic deletion is disabled there " +
		"(delete.topic.enable=false)"
	deletionIsDisabled = "TopicDeletionDisabledException: Topic deletion is disabled."
)

// Strimzi: shouldDeleteTopicFromKafkaWhenManagedTopicDeletedFromKube.
func TestADeletedKafkaTopicTakesItsTopicWithIt(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	id := w.kafka.get("a").Topic.ID.String()
	w.delete("a")
	result := w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.kafka.get("a")).To(BeNil())
	w.Expect(w.kafka.took()).To(Equal([]string{"describe a", "delete " + id}))
	w.Expect(w.requests.took()).To(Equal([]string{"PATCH a"}))
	w.Expect(w.sink.took()).To(Equal([]string{deletedWasTold}))
	w.Expect(result.RequeueAfter).To(BeZero())
	w.Expect(w.pass("a").RequeueAfter).To(BeZero())
	w.Expect(w.kafka.took()).To(BeEmpty())
}

// Strimzi: shouldReconcilePausedKafkaTopicOnDelete.
func TestADeletedPausedKafkaTopicTakesItsTopicWithIt(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.update("a", pause)
	w.pass("a")
	w.delete("a")
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.kafka.get("a")).To(BeNil())
}

// Strimzi: shouldNotDeleteTopicFromKafkaWhenUnmanagedTopicDeletedFromKube.
func TestADeletedUnmanagedKafkaTopicLeavesItsTopic(t *testing.T) {
	for name, unmanage := range map[string]change{"annotation": abandon, "spec": managed(false)} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ready("a")
			w.update("a", unmanage)
			w.pass("a")
			w.Expect(w.get("a")).To(haveFinalizer())
			w.delete("a")
			w.pass("a")
			w.Expect(w.exists("a")).To(BeFalse())
			w.Expect(w.kafka.get("a")).NotTo(BeNil())
			w.Expect(w.kafka.took()).To(BeEmpty())
		})
	}
}

func TestOtherFinalizersStay(t *testing.T) {
	w := newWorld(t)
	w.ready("a", finalizers("example.org/other"))
	w.delete("a")
	w.pass("a")
	w.Expect(w.get("a").Finalizers).To(Equal([]string{"example.org/other"}))
	w.Expect(w.kafka.get("a")).To(BeNil())
	w.forget()
	w.pass("a")
	w.Expect(w.kafka.took()).To(BeEmpty())
	w.Expect(w.requests.took()).To(BeEmpty())
	w.update("a", finalizers())
	w.Expect(w.exists("a")).To(BeFalse())
}

func TestADeletedKafkaTopicWithoutATopicIsReleased(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.kafka.drop("a")
	w.delete("a")
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.sink.took()).To(BeEmpty(), "nothing was deleted")
}

// The operator logs one line for each object that it releases without deleting a topic. It emits an Event if a topic stays, as a warning
// only if the user did not ask to keep the topic.
func TestWhatIsSaidOfAReleasedKafkaTopic(t *testing.T) {
	forbidden := false
	for name, c := range map[string]struct {
		before func(w *world)
		line   string // NS stands for the namespace
		event  string
	}{
		"its topic is gone": {func(w *world) { w.kafka.drop("t") },
			`level=INFO msg="The topic of the deleted KafkaTopic no longer exists" topic=t`, ""},
		"it is unmanaged": {func(w *world) { w.update("a", managed(false)) },
			`level=INFO msg="The KafkaTopic is not managed: topic 't' stays in Kafka"`,
			"Normal Released: The KafkaTopic is not managed: topic 't' stays in Kafka"},
		"another one manages it": {func(w *world) { w.create("b", named("t")) },
			`level=WARN msg="Topic 't' stays in Kafka: it is also managed by NS/b"`,
			"Warning LeftToOthers: Topic 't' stays in Kafka: it is also managed by NS/b"},
		"a policy keeps its topic": {func(*world) { forbidden = true },
			`level=WARN msg="Topic 't' stays in Kafka: the namespace policy does not allow namespace 'NS' to delete it"`,
			"Warning PolicyViolation: Topic 't' stays in Kafka: the namespace policy does not allow namespace 'NS' to delete it"},
	} {
		t.Run(name, func(t *testing.T) {
			forbidden = false
			w := newWorld(t, func(s *setup) {
				s.Violation = func(string, string) string { return map[bool]string{true: "not yours"}[forbidden] }
			})
			w.ready("a", named("t"))
			c.before(w)
			w.sink.took()
			w.logged.took()
			w.delete("a")
			result := w.pass("a")
			w.Expect(result).To(BeZero(), "it is not looked at again")
			w.Expect(w.exists("a")).To(BeFalse())
			here := func(text string) string { return strings.ReplaceAll(text, "NS", w.ns) }
			w.Expect(w.logged.all()).To(ConsistOf(ContainSubstring(here(c.line))))
			if c.event == "" {
				w.Expect(w.sink.took()).To(BeEmpty())
				return
			}
			w.Expect(w.sink.took()).To(Equal([]string{here(c.event)}))
			w.Expect(w.sink.actions[len(w.sink.actions)-1]).To(Equal("Delete"))
			w.Expect(w.kafka.get("t")).NotTo(BeNil())
		})
	}
}

func TestADeletedKafkaTopicThatNeverGotATopicIsReleased(t *testing.T) {
	w := newWorld(t)
	w.create("a", replicas(3))
	w.kafka.fails(createCall, kafka.NewError(kafka.CodeInvalidReplicationFactor, ""))
	w.pass("a")
	w.delete("a")
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
}

// Kafka has no topic of an illegal name, and says so in its own way. Strimzi: shouldFailCreationIfIllegalTopicName.
func TestADeletedKafkaTopicOfAnIllegalNameIsReleased(t *testing.T) {
	w := newWorld(t)
	w.create("a", named(".."))
	w.kafka.fails(describeCall, kafka.NewError(kafka.CodeInvalidTopic, "Topic name is invalid: '..' is not allowed"))
	w.pass("a")
	w.Expect(w.get("a")).To(failWith(v1.ReasonKafkaError, "InvalidTopicException: Topic name is invalid: '..' is not allowed"))
	w.delete("a")
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
}

// Strimzi: shouldNotDeleteTopicWhenTopicDeletionDisabledInKafka; docs/decisions/deletion.md.
func TestWhereKafkaHasDeletionDisabled(t *testing.T) {
	t.Run("the KafkaTopic goes and the topic stays", func(t *testing.T) {
		w := newWorld(t)
		w.ready("a")
		w.kafka.fails(deleteCall, kafka.NewError(kafka.CodeTopicDeletionDisabled, ""))
		w.delete("a")
		w.pass("a")
		w.Expect(w.exists("a")).To(BeFalse())
		w.Expect(w.kafka.get("a")).NotTo(BeNil())
		w.Expect(w.sink.took()).To(Equal([]string{keptWasTold}))
		w.Expect(w.logged.took()).
			To(ConsistOf(ContainSubstring("Unable to delete topic 'a' from Kafka because topic deletion is disabled on the Kafka controller.")))
	})
	t.Run("or both stay, as in Strimzi", func(t *testing.T) {
		w := newWorld(t, func(s *setup) { s.KeepWhenDeletionDisabled = true })
		w.ready("a")
		id := w.kafka.get("a").Topic.ID.String()
		w.kafka.fails(deleteCall, kafka.NewError(kafka.CodeTopicDeletionDisabled, ""))
		w.delete("a")
		result := w.pass("a")
		w.Expect(w.get("a")).To(And(failWith(v1.ReasonKafkaError, deletionIsDisabled), haveFinalizer(), claim("a", id)))
		w.Expect(result.RequeueAfter).To(Equal(w.moment("a")))
		w.kafka.hook(nil)
		w.pass("a")
		w.Expect(w.exists("a")).To(BeFalse())
		w.Expect(w.kafka.get("a")).To(BeNil())
	})
}

// Strimzi: shouldFailDeleteIfNoTopicAuthz; docs/decisions/deletion.md.
func TestAFailedDeletionIsToldAndKeepsEverything(t *testing.T) {
	for _, c := range []struct {
		call, message string
		err           error
		retry         bool
	}{
		{deleteCall, "Deletion failed: TopicAuthorizationException: Topic authorization failed.",
			kafka.NewError(kafka.CodeTopicAuthorizationFailed, ""), false},
		{describeCall, "Deletion failed: TopicAuthorizationException: Topic authorization failed.",
			kafka.NewError(kafka.CodeTopicAuthorizationFailed, ""), false},
		{deleteCall, "Deletion failed: TimeoutException: The request timed out.", kafka.NewError(kafka.CodeRequestTimedOut, ""), true},
		{describeCall, "Deletion failed: TimeoutException: no broker", kafka.NewTransportError("no broker", nil), true},
		{deleteCall, "Deletion failed: ThrottlingQuotaExceededException: slowly",
			kafka.NewError(kafka.CodeThrottlingQuotaExceeded, "slowly"), true},
	} {
		t.Run(c.call+" "+c.err.Error(), func(t *testing.T) {
			w := newWorld(t)
			w.ready("a")
			id := w.kafka.get("a").Topic.ID.String()
			w.kafka.fails(c.call, c.err)
			w.delete("a")
			for range 3 {
				result := w.pass("a")
				w.Expect(w.get("a")).To(And(failWith(v1.ReasonKafkaError, c.message), haveFinalizer(), claim("a", id)))
				w.Expect(result.RequeueAfter <= lastRetry && c.retry || result.RequeueAfter == w.moment("a")).To(BeTrue())
			}
			w.Expect(w.requests.took()).To(Equal([]string{"PATCH a/status"}), "told once")
			w.Expect(w.sink.took()).To(Equal([]string{"Warning KafkaError: " + c.message}))
			w.kafka.hook(nil)
			w.pass("a")
			w.Expect(w.exists("a")).To(BeFalse())
			w.Expect(w.kafka.get("a")).To(BeNil())
		})
	}
}

// A topic is created and its id does not reach the status. It is deleted with its object, whose finalizer stays because of a conflict.
// Auto-creation then makes a topic of that name.
func TestATopicThatWasMadeAnewAfterOurOwnDeletionBlocksNothing(t *testing.T) {
	for name, known := range map[string]bool{"the status has its id": true, "only the memory has its id": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create("a")
			if !known {
				w.requests.once("PATCH a/status", func() { w.update("a", label("k", "v")) })
			}
			w.pass("a")
			if id := w.get("a").Status.TopicID; known {
				w.Expect(id).NotTo(BeEmpty())
			} else {
				w.Expect(id).To(BeEmpty())
			}
			w.delete("a")
			w.requests.once("PATCH a", func() { w.update("a", label("k", "w")) })
			w.pass("a")
			w.Expect(w.kafka.get("a")).To(BeNil())
			w.Expect(w.exists("a")).To(BeTrue())
			w.kafka.put("a", 1, 1, nil)
			w.pass("a")
			w.Expect(w.exists("a")).To(BeFalse())
			w.Expect(w.kafka.get("a")).NotTo(BeNil())
		})
	}
}

func TestATopicThatABrokerDoesNotShowYetIsDeletedByItsID(t *testing.T) {
	w := newWorld(t)
	w.kafka.lag()
	w.create("a")
	w.pass("a")
	id := w.kafka.get("a").Topic.ID.String()
	w.forget()
	w.delete("a")
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.kafka.get("a")).To(BeNil())
	w.Expect(w.kafka.took()).To(Equal([]string{"describe a", "delete " + id}))
}

func TestATopicIsMadeAgainOnlyWhenBrokersHaveForgottenTheOldOne(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.kafka.lag()
	w.delete("a")
	w.pass("a")
	w.pass("a")
	w.create("a", partitions(2))
	w.forget()
	for n := range 3 {
		w.Expect(w.pass("a").RequeueAfter).To(Equal(firstRetry << n))
	}
	w.Expect(w.kafka.took()).To(HaveEach("describe a"))
	w.Expect(w.get("a")).To(claim("", ""))
	w.Expect(w.kafka.get("a")).To(BeNil())

	w.kafka.catchUp()
	w.pass("a")
	w.Expect(w.get("a")).To(And(beReady(), claim("a", w.kafka.get("a").Topic.ID.String())))
	w.Expect(w.kafka.partitions("a")).To(Equal(2))
}

// A topic is deleted, recreated and deleted again while a broker still reports the first topic: the operator must delete the second one.
func TestTheCurrentTopicIsDeletedThoughABrokerLags(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	first := w.kafka.get("a")
	w.delete("a")
	w.pass("a")
	w.create("a")
	w.pass("a")
	w.kafka.show(first)
	w.delete("a")
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.kafka.get("a")).To(BeNil())
}
