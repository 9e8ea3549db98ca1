package controller

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/operator/logging"
)

// vanish deletes an object and delivers the deletion to the reconciler, as its watch does.
func (w *world) vanish(name string) {
	w.t.Helper()
	kt := w.get(name)
	w.delete(name)
	w.Expect(w.exists(name)).To(BeFalse())
	w.Expect(w.r.watched().Delete(event.DeleteEvent{Object: kt})).To(BeTrue())
}

// Strimzi: shouldDeleteTopicFromKafkaWhenManagedTopicDeletedFromKubeAndFinalizersDisabled.
func TestWithoutFinalizersTheTopicGoesAfterItsObject(t *testing.T) {
	w := newWorld(t, withoutFinalizers)
	w.create("a")
	w.pass("a")
	w.Expect(w.get("a").Finalizers).To(BeEmpty())
	w.Expect(w.requests.took()).To(Equal([]string{"PATCH a/status"}))
	w.vanish("a")
	w.Expect(w.pass("a").RequeueAfter).To(BeZero())
	w.Expect(w.kafka.get("a")).To(BeNil())
	w.kafka.took()
	w.pass("a")
	w.Expect(w.kafka.took()).To(BeEmpty(), "once")
	w.Expect(w.r.vanish.names).To(BeEmpty())
	w.Expect(w.r.memory.names).To(BeEmpty())
}

func TestWithoutFinalizersAnOldOneIsRemoved(t *testing.T) {
	w := newWorld(t, withoutFinalizers)
	w.create("a", finalizers("strimzi.io/topic-operator", "example.org/other"))
	w.pass("a")
	w.Expect(w.get("a").Finalizers).To(Equal([]string{"example.org/other"}))
	w.Expect(w.get("a")).To(haveConditions("Ready=True"))
	w.update("a", finalizers())
}

func TestWithoutFinalizersAnObjectThatStillHasOneIsDeletedAsUsual(t *testing.T) {
	w := newWorld(t, withoutFinalizers)
	id := w.kafka.put("a", 1, 1, nil)
	w.create("a", finalizers("strimzi.io/topic-operator"))
	w.status("a", func(s *v1.KafkaTopicStatus) { s.TopicName, s.TopicID, s.ClusterID = "a", id.String(), ownID })
	w.delete("a")
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.kafka.get("a")).To(BeNil())
}

// Strimzi: shouldNotDeleteTopicFromKafkaWhenUnmanagedTopicDeletedAndFinalizersDisabled.
func TestWithoutFinalizersWhatIsNotOursStays(t *testing.T) {
	for _, c := range []struct {
		name string
		change
	}{{"unmanaged", abandon}, {"unmanaged by spec", managed(false)}, {"unselected", noLabel("strimzi.io/cluster")}} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, withoutFinalizers, onlySelected)
			w.create("a", selected)
			w.pass("a")
			w.update("a", c.change)
			w.pass("a")
			w.vanish("a")
			w.pass("a")
			w.Expect(w.kafka.get("a")).NotTo(BeNil())
		})
	}
}

func TestWithoutFinalizersAnObjectThatIsBackKeepsItsTopic(t *testing.T) {
	w := newWorld(t, withoutFinalizers)
	w.create("a")
	w.pass("a")
	id := w.kafka.get("a").Topic.ID
	w.vanish("a")
	w.create("a", config("k", `1`))
	w.pass("a")
	w.Expect(w.kafka.get("a").Topic.ID).To(Equal(id))
	w.Expect(w.get("a")).To(And(haveConditions("Ready=True"), claim("a", id.String())))

	// The pass does not catch up on the old object's deletion.
	w.update("a", abandon)
	w.pass("a")
	w.vanish("a")
	w.pass("a")
	w.Expect(w.kafka.get("a")).NotTo(BeNil())
}

// Strimzi: shouldNotDeleteTopicWhen...FinalizersDisabledButDeletionDisabledInKafka.
func TestWithoutFinalizersAFinalFailureIsLogged(t *testing.T) {
	for _, c := range []struct {
		err  *kafka.Error
		line string
	}{
		{kafka.NewError(kafka.CodeTopicDeletionDisabled, ""),
			"Unable to delete topic 'a' from Kafka because topic deletion is disabled on the Kafka controller."},
		{kafka.NewError(kafka.CodeTopicAuthorizationFailed, ""), "Unable to delete topic 'a' from Kafka. TopicAuthorizationException"},
	} {
		t.Run(c.err.Name, func(t *testing.T) {
			w := newWorld(t, withoutFinalizers)
			w.create("a")
			w.pass("a")
			w.vanish("a")
			w.kafka.fails(deleteCall, c.err)
			w.Expect(w.pass("a").RequeueAfter).To(BeZero())
			w.Expect(w.logged.took()).To(ConsistOf(And(ContainSubstring("level=WARN"), ContainSubstring(c.line))))
			w.kafka.took()
			w.pass("a")
			w.Expect(w.kafka.took()).To(BeEmpty())
			w.Expect(w.kafka.get("a")).NotTo(BeNil())
		})
	}
}

func TestWithoutFinalizersAPassingFailureIsTriedAgain(t *testing.T) {
	w := newWorld(t, withoutFinalizers)
	w.create("a")
	w.pass("a")
	w.vanish("a")
	w.kafka.fails(deleteCall, kafka.NewError(kafka.CodeRequestTimedOut, ""))
	w.Expect(w.pass("a").RequeueAfter).To(Equal(firstRetry))
	w.Expect(w.pass("a").RequeueAfter).To(Equal(2 * firstRetry))
	w.kafka.hook(nil)
	w.Expect(w.pass("a").RequeueAfter).To(BeZero())
	w.Expect(w.kafka.get("a")).To(BeNil())

	w.kafka.took()
	w.pass("a")
	w.Expect(w.kafka.took()).To(BeEmpty(), "once")
	w.create("a")
	w.kafka.fails(describeCall, kafka.NewError(kafka.CodeRequestTimedOut, ""))
	w.Expect(w.pass("a").RequeueAfter).To(Equal(firstRetry), "the back-off begins anew")
}

// By the time a standby is elected, the name may belong to another owner's topic.
func TestWithoutFinalizersAStandbyTakesNoNoteOfDeletions(t *testing.T) {
	w := newWorld(t, withoutFinalizers)
	w.create("a")
	w.pass("a")
	w.r.elected = func() bool { return false }
	w.vanish("a")
	w.r.elected = func() bool { return true }
	w.pass("a")
	w.Expect(w.kafka.get("a")).NotTo(BeNil())
}

func TestWithFinalizersAVanishedObjectLeavesItsTopic(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.update("a", finalizers())
	w.vanish("a")
	w.pass("a")
	w.Expect(w.kafka.get("a")).NotTo(BeNil(), "somebody took the finalizer away and wants just that")
}

func TestAPassThatStillSeesTheObjectForgetsNoDeletion(t *testing.T) {
	w := newWorld(t, withoutFinalizers)
	w.create("a")
	w.pass("a")
	w.Expect(w.r.watched().Delete(event.DeleteEvent{Object: w.get("a")})).To(BeTrue())
	w.pass("a") // as if it had read the object before the deletion
	w.delete("a")
	w.pass("a")
	w.Expect(w.kafka.get("a")).To(BeNil())
}

// A deletion without finalizers is not retried by the user, so only an id proves ownership.
func TestWithoutFinalizersATopicWhoseIDIsNotKnownStays(t *testing.T) {
	w := newWorld(t, withoutFinalizers)
	w.create("a")
	w.pass("a")
	w.clock.step(2 * longMemory)
	w.update("a", pause)
	w.pass("a")
	w.vanish("a")
	w.Expect(w.pass("a").RequeueAfter).To(BeZero())
	w.Expect(w.kafka.get("a")).NotTo(BeNil())
	w.Expect(w.sink.took()).To(ContainElement(HavePrefix("Warning NotReadyForDeletion: Topic 'a' stays in Kafka")))
}

func TestWithoutFinalizersATopicThatWasMadeAgainStays(t *testing.T) {
	w := newWorld(t, withoutFinalizers)
	w.create("a")
	w.pass("a")
	w.kafka.drop("a")
	w.kafka.put("a", 1, 1, nil)
	w.vanish("a")
	w.Expect(w.pass("a").RequeueAfter).To(BeZero())
	w.Expect(w.kafka.get("a")).NotTo(BeNil())
	w.Expect(w.sink.took()).To(ContainElement(HavePrefix("Warning TopicIdMismatch")))
}

func TestWithoutFinalizersADeletionWaitsForTheOperatorsCluster(t *testing.T) {
	w := newWorld(t, withoutFinalizers)
	w.create("a")
	w.pass("a")
	w.vanish("a")
	w.cluster.Answering = otherID
	w.Expect(w.pass("a").RequeueAfter).To(Equal(firstRetry))
	w.cluster.Answering = ""
	w.Expect(w.pass("a").RequeueAfter).To(BeZero())
	w.Expect(w.kafka.get("a")).To(BeNil())
}

func TestWithoutFinalizersADeletionWaitsForTheRightLogin(t *testing.T) {
	for _, call := range []string{describeCall, deleteCall} {
		t.Run(call, func(t *testing.T) {
			w := newWorld(t, withoutFinalizers)
			w.create("a")
			w.pass("a")
			w.vanish("a")
			w.kafka.fails(call, kafka.NewTLSError("the broker refused the certificate", 0))
			w.Expect(w.pass("a").RequeueAfter).To(Equal(firstRetry))
			w.kafka.hook(nil)
			w.Expect(w.pass("a").RequeueAfter).To(BeZero())
			w.Expect(w.kafka.get("a")).To(BeNil())
		})
	}
}

// docs/decisions/claims.md applies to deleted objects too.
func TestWithoutFinalizersTheTopicOfSeveralClaimantsStays(t *testing.T) {
	w := newWorld(t, withoutFinalizers)
	w.create("a", named("t"))
	w.pass("a")
	w.create("b", named("t"))
	w.vanish("a")
	w.pass("a")
	w.Expect(w.kafka.get("t")).NotTo(BeNil())
	w.pass("b")
	w.Expect(w.get("b")).To(haveConditions("Ready=True"))
}

func TestWhatIsStillToBeDeletedAtTheEndIsNamed(t *testing.T) {
	w := newWorld(t, withoutFinalizers)
	for name, change := range map[string]change{"a": named("t"), "b": named("u")} {
		w.create(name, change)
		w.pass(name)
	}
	id := w.get("a").Status.TopicID
	w.kafka.hook(func(context.Context, string, string) error { return attempt(1) })
	w.vanish("a")
	w.pass("a")
	w.logged.took()
	w.r.ReportPending(logging.New(w.logged, logging.Options{}))
	w.Expect(w.logged.took()).To(ConsistOf(And(ContainSubstring("level=WARN"), ContainSubstring("KafkaTopic="+w.ns+"/a topic=t topicId="+id+
		" clusterId="+ownID))))

	w.kafka.hook(nil)
	w.pass("a")
	w.r.ReportPending(logging.New(w.logged, logging.Options{}))
	w.Expect(w.logged.took()).To(BeEmpty())
}
