package controller

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// afterCreate runs f right after the topic was created, before the pass continues.
func (w *world) afterCreate(f func()) {
	w.kafka.hookAfter(func(_ context.Context, call, _ string) error {
		if call == createCall {
			f()
		}
		return nil
	})
}

// The deletion comes before the status gets the topic's id, and the broker that is asked does not know the topic yet.
func TestADeletionRightAfterTheCreationFindsTheTopic(t *testing.T) {
	w := newWorld(t)
	w.kafka.lag()
	w.create("a")
	w.afterCreate(func() { w.delete("a") })
	w.pass("a")
	w.Expect(w.get("a").Status.TopicID).To(BeEmpty())
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.kafka.catchUp()
	w.Expect(w.kafka.get("a")).To(BeNil())
}

// A finalizer that is added while the API server already removes the object does not hold it.
func TestAnObjectThatItsFinalizerDidNotHoldTakesItsTopicWithIt(t *testing.T) {
	w := newWorld(t)
	w.kafka.lag()
	w.create("a")
	w.pass("a")
	gone := w.get("a")
	w.update("a", finalizers())
	w.delete("a")
	w.Expect(w.exists("a")).To(BeFalse())

	w.Expect(w.r.watched().Delete(event.DeleteEvent{Object: gone})).To(BeTrue())
	w.pass("a")
	w.kafka.catchUp()
	w.Expect(w.kafka.get("a")).To(BeNil())
}

func TestTheTopicOfAnObjectWhoseFinalizerWasTakenAwayStays(t *testing.T) {
	w := newWorld(t)
	w.create("a")
	w.pass("a")
	known := w.get("a")
	w.delete("a")
	deleting := w.get("a")
	w.update("a", finalizers())
	w.Expect(w.exists("a")).To(BeFalse())

	for name, e := range map[string]event.DeleteEvent{
		"the last state that was stored":         {Object: deleting},
		"the last state that the watch has seen": {Object: known, DeleteStateUnknown: true},
	} {
		w.Expect(w.r.watched().Delete(e)).To(BeTrue(), name)
		w.pass("a")
		w.Expect(w.kafka.get("a")).NotTo(BeNil(), name)
	}
}

// Without finalizers the operator acts only on a deletion that the watch reported: an object that a new list lacks may never have been
// deleted.
func TestWithoutFinalizersAGapInTheWatchDeletesNothing(t *testing.T) {
	w := newWorld(t, withoutFinalizers)
	w.create("a")
	w.pass("a")
	known := w.get("a")
	w.delete("a")
	w.Expect(w.exists("a")).To(BeFalse())

	w.sink.took()
	w.Expect(w.r.watched().Delete(event.DeleteEvent{Object: known, DeleteStateUnknown: true})).To(BeTrue())
	w.pass("a")
	w.Expect(w.kafka.get("a")).NotTo(BeNil())
	w.Expect(w.sink.took()).To(ContainElement(ContainSubstring("its topic stays in Kafka: 'a'")), "what can be known is told")

	w.Expect(w.r.watched().Delete(event.DeleteEvent{Object: known})).To(BeTrue())
	w.pass("a")
	w.Expect(w.kafka.get("a")).To(BeNil())
}
