package controller

import (
	"testing"

	. "github.com/onsi/gomega"
)

// The operator does not reconcile an object that only another owner's finalizer holds, so its rival continues at once.
func TestAClaimantThatWasLetGoDoesNotCount(t *testing.T) {
	w := newWorld(t, untimed)
	w.start(w.kafka)
	w.create("a", named("t"), finalizers("example.org/other"))
	w.Eventually(w.readyNames).Should(Equal([]string{"a"}))
	id := w.kafka.get("t").Topic.ID
	w.create("b", named("t"))
	w.Eventually(w.conditions("b")).Should(haveConditions(conflicted + w.ns + "/a"))
	w.delete("a")
	w.Eventually(w.readyNames).Should(ContainElement("b"))
	w.Expect(w.exists("a")).To(BeTrue())
	w.Expect(w.kafka.get("t").Topic.ID).To(Equal(id))

	w.delete("b")
	w.Eventually(func() any { return w.kafka.get("t") }).Should(BeNil(), "the last one that can act takes the topic along")
	w.update("a", finalizers())
}
