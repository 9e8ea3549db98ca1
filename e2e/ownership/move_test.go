package ownership

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

var _ = Describe("A KafkaTopic whose spec.topicName is changed", func() {
	It("is refused, its topic stays, and it recovers when the name is set back", func() {
		ns := newNamespace()
		start(clusterA, never, ns)
		kt := created(clusterA, ns, "t", config(retention, asItWas))
		topic := clusterA.state(kt.Name)
		other := named("other", ns)
		update(kt, topicName(other), config(retention, asAsked))
		refusedWith(kt, v1.ReasonNotSupported, "Changing spec.topicName is not supported")
		Expect(kt.Status.TopicName).To(Equal(kt.Name))
		Expect(kt.Status.TopicID).To(Equal(topic.id))
		Expect(kt.Status.ClusterID).To(Equal(clusterA.ClusterID()))
		clusterA.keeps(kt.Name, topic)
		Expect(clusterA.exists(other)).To(BeFalse())
		told(kt, "Warning", v1.ReasonNotSupported, other)

		update(kt, ownName)
		ready(kt, clusterA)
		topic.config = map[string]string{retention: asAsked}
		clusterA.keeps(kt.Name, topic)
		Expect(clusterA.exists(other)).To(BeFalse())
	})

	It("takes on its deletion only the topic along that is its own", func() {
		ns := newNamespace()
		start(clusterA, never, ns)
		kt := created(clusterA, ns, "t")
		other := named("other", ns)
		stranger := clusterA.make(other)
		update(kt, topicName(other))
		refusedWith(kt, v1.ReasonNotSupported, "Changing spec.topicName is not supported")
		remove(kt)
		gone(kt)
		Eventually(clusterA.exists).WithArguments(kt.Name).Should(BeFalse())
		clusterA.keeps(other, stranger)
	})
})

// docs/topic-operator/ownership.md describes the two ways.
var _ = Describe("A KafkaTopic that moves to another namespace", Ordered, func() {
	var one, two string

	BeforeAll(func() {
		one, two = twoNamespaces()
		start(clusterA, never, one, two)
	})

	It("keeps its topic when it is unmanaged, deleted, and created elsewhere", func() {
		kt := created(clusterA, one, "careful")
		topic := clusterA.state(kt.Name)
		update(kt, unmanaged())
		expectCondition(kt, "Unmanaged=True")
		remove(kt)
		gone(kt)
		ready(moved(kt, two), clusterA)
		clusterA.keeps(kt.Name, topic)
	})

	It("keeps its topic when it is created elsewhere, and then deleted", func() {
		kt := created(clusterA, one, "daring")
		topic := clusterA.state(kt.Name)
		there := moved(kt, two)
		conflicts(kt, there)
		conflicts(there, kt)
		remove(kt)
		gone(kt)
		ready(there, clusterA)
		clusterA.keeps(kt.Name, topic)
	})

	for name, mode := range map[string]settings{"": {}, ", without finalizers": unfinalized} {
		It("keeps its topic when both happen at once, over and over"+name, func() {
			const rounds = 20
			one, two := twoNamespaces()
			o := start(clusterA, never.and(mode), one, two)
			objects, topics := make([]*v1.KafkaTopic, rounds), make([]state, rounds)
			each(rounds, func(i int) {
				objects[i] = created(clusterA, one, numbered(i))
				topics[i] = clusterA.state(objects[i].Name)
			})
			arrived := func(from string) {
				GinkgoHelper()
				for i, kt := range objects {
					// The operator has handled the deletion, and does nothing more about it.
					Eventually(o.logged).WithArguments("stays in Kafka", from+"/"+kt.Name+" ").Should(BeTrue())
					ready(kt, clusterA)
					clusterA.keeps(kt.Name, topics[i])
				}
			}
			for i, kt := range objects { // one after the other
				objects[i] = moved(kt, two)
				remove(kt)
			}
			arrived(one)
			each(rounds, func(i int) { // and back, many at a time
				kt := objects[i]
				objects[i] = moved(kt, one)
				remove(kt)
			})
			arrived(two)
		})
	}
})

// moved creates an object in another namespace for the topic of an existing object.
func moved(kt *v1.KafkaTopic, to string) *v1.KafkaTopic {
	GinkgoHelper()
	there := object(to, kt.Name)
	Expect(k8s.Create(ctx, there)).To(Succeed())
	return there
}

var _ = Describe("A KafkaTopic that never got a topic", func() {
	It("is not trapped: it can be deleted although the operator is down", func() {
		ns := newNamespace()
		o := start(clusterA, never, ns)
		kt := create(ns, "t", replicas(5))
		refusedWith(kt, v1.ReasonKafkaError, "InvalidReplicationFactorException")
		Eventually(func(g Gomega) {
			refresh(g, kt)
			g.Expect(held(kt)).To(BeFalse())
		}).Should(Succeed())
		Expect(clusterA.exists(kt.Name)).To(BeFalse())

		By("letting it have its topic once it asks for one that Kafka can make")
		other := create(ns, "other", replicas(5))
		refusedWith(other, v1.ReasonKafkaError, "InvalidReplicationFactorException")
		update(other, replicas(1))
		ready(other, clusterA)
		Expect(held(other)).To(BeTrue())

		o.stop()
		_, err := plane.Kubectl(ctx, "--namespace", ns, "delete", "kafkatopic", kt.Name, "--timeout=20s")
		Expect(err).NotTo(HaveOccurred())
		Expect(isGone(kt)).To(BeTrue())
	})

	for name, mode := range map[string]settings{"": {}, ", without finalizers": unfinalized} {
		It("leaves nothing behind when it is deleted right after its creation"+name, func() {
			const pairs = 30
			ns := newNamespace()
			o := start(clusterA, never.and(mode), ns)
			objects := make([]*v1.KafkaTopic, pairs)
			each(pairs, func(i int) {
				objects[i] = create(ns, numbered(i))
				deleteAfter(objects[i], moment(i%int(moments)))
			})
			stuck := 0
			for _, kt := range objects {
				if blockedOrGone(kt) {
					stuck++
					continue
				}
				Eventually(clusterA.exists).WithArguments(kt.Name).Should(BeFalse(), "the topic of a KafkaTopic that is gone")
			}
			AddReportEntry("not ready for deletion", stuck)
			ready(create(ns, "sentinel"), clusterA) // the operator has handled all objects that were queued before
			for _, kt := range objects {
				if isGone(kt) {
					Expect(clusterA.exists(kt.Name)).To(BeFalse(), "topic %s came back", kt.Name)
				}
			}
			o.shows(float64(stuck), float64(stuck), v1.ReasonNotReadyForDeletion)
		})
	}
})

// moment is the time at which a new KafkaTopic is deleted.
type moment int

const (
	// atOnce is right after the creation, withTopic when the topic exists, withStatus when the status names the topic.
	atOnce moment = iota
	withTopic
	withStatus
	moments
)

// deleteAfter waits for this moment and deletes the object.
func deleteAfter(kt *v1.KafkaTopic, when moment) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		switch when {
		case withTopic:
			g.Expect(clusterA.exists(kt.Name)).To(BeTrue())
		case withStatus:
			refresh(g, kt)
			g.Expect(kt.Status.TopicID).NotTo(BeEmpty())
		}
	}).WithPolling(time.Millisecond).Should(Succeed())
	remove(kt)
}

// blockedOrGone waits until the object is deleted, or its deletion is blocked because nothing proves that the topic is its own. It reports
// whether the deletion is blocked.
func blockedOrGone(kt *v1.KafkaTopic) (blocked bool) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		if blocked = false; isGone(kt) {
			return
		}
		refresh(g, kt)
		g.Expect(conditions(kt)).To(HaveExactElements(HavePrefix("Ready=False " + v1.ReasonNotReadyForDeletion)))
		blocked = true
	}).Should(Succeed())
	return blocked
}
