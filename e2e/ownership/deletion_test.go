package ownership

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// The order of checks in docs/decisions/deletion.md.
var _ = Describe("The checks of a deletion", func() {
	It("deletes a topic whose id matches, and one that is paused and claimed", func() {
		ns := newNamespace()
		o := start(clusterA, never, ns)
		normal, resting := created(clusterA, ns, "normal"), created(clusterA, ns, "resting")
		update(resting, paused())
		expectCondition(resting, "ReconciliationPaused=True")
		Expect(resting.Status.TopicID).To(BeEmpty())
		Expect(resting.Status.ClusterID).To(Equal(clusterA.ClusterID()))
		for _, kt := range []*v1.KafkaTopic{normal, resting} {
			remove(kt)
			gone(kt)
			Eventually(clusterA.exists).WithArguments(kt.Name).Should(BeFalse())
			told(kt, "Normal", "Deleted", kt.Name)
		}
		Expect(o.metric("strimzi_ownership_refusals_total")).To(BeZero())
	})

	It("keeps, for ever, a topic that was recreated out of band while the operator was down", func() {
		ns := newNamespace()
		o := start(clusterA, soon, ns)
		kt := created(clusterA, ns, "t")
		o.stop()
		clusterA.remove(kt.Name)
		again := clusterA.make(kt.Name)
		remove(kt)

		o = start(clusterA, soon, ns)
		stays := func() {
			GinkgoHelper()
			const several = 4
			o.passes(several, v1.ReasonTopicIDMismatch)
			id := kt.Status.TopicID
			refusedWith(kt, v1.ReasonTopicIDMismatch, id, again.id, `strimzi.io/managed="false"`)
			Expect(kt.Status.TopicID).To(Equal(id), "an error clears no id: the weaker check of the cluster's id would delete the topic")
			Expect(kt.Status.ClusterID).To(Equal(clusterA.ClusterID()))
			clusterA.keeps(kt.Name, again)
			o.shows(1, 1, v1.ReasonTopicIDMismatch)
		}
		stays()
		told(kt, "Warning", v1.ReasonTopicIDMismatch, again.id)
		o.stop()
		o = start(clusterA, soon, ns)
		stays()

		By("taking the way out that the message names")
		update(kt, unmanaged())
		gone(kt)
		clusterA.keeps(kt.Name, again)
		o.shows(0, 0, v1.ReasonTopicIDMismatch)
	})

	It("keeps the topic of a KafkaTopic that was never reconciled, and names a way out that works", func() {
		ns := newNamespace()
		topic := clusterA.make(named("t", ns))
		kt := create(ns, "t", finalizer)
		remove(kt)
		o := start(clusterA, soon, ns)
		refusedWith(kt, v1.ReasonNotReadyForDeletion, kt.Name, `strimzi.io/managed="false"`)
		o.passes(3, v1.ReasonNotReadyForDeletion)
		Expect(kt.Status.ClusterID).To(BeEmpty(), "a KafkaTopic is not claimed on its deletion")
		clusterA.keeps(kt.Name, topic)
		told(kt, "Warning", v1.ReasonNotReadyForDeletion, `strimzi.io/managed="false"`)

		update(kt, unmanaged())
		gone(kt)
		clusterA.keeps(kt.Name, topic)
		o.shows(0, 0, v1.ReasonNotReadyForDeletion)
	})

	It("lets a KafkaTopic go whose topic is gone already", func() {
		ns := newNamespace()
		o := start(clusterA, never, ns)
		kt := created(clusterA, ns, "t")
		o.stop()
		clusterA.remove(kt.Name)
		remove(kt)
		start(clusterA, never, ns)
		gone(kt)
	})
})
