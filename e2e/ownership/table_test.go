package ownership

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// The values of the configuration key by which the examples detect changes of a topic: the topic's own value, and the value in its
// KafkaTopic.
const (
	asItWas = "3600000"
	asAsked = "7200000"
)

// Ids of a Kafka cluster and a topic that do not exist in these tests.
const (
	foreignCluster = "Zm9yZWlnbi1jbHVzdGVyLQ"
	foreignTopic   = "Zm9yZWlnbi10b3BpYy0tLQ"
)

// example is a KafkaTopic in the situation of a row of the table in docs/topic-operator/ownership.md. It was created while no operator ran.
type example struct {
	kt *v1.KafkaTopic
	// topic is the state of the topic before the operator started; the zero value if there was none.
	topic state
}

// newcomer returns a KafkaTopic that no operator has processed, without a topic.
func newcomer(namespace, name string) *example {
	GinkgoHelper()
	return &example{kt: create(namespace, name, config(retention, asAsked))}
}

// veteran returns a KafkaTopic with a status, which f changes, and with a topic in cluster A. The topic has records, and its configuration
// differs from the KafkaTopic's.
func veteran(namespace, name string, f func(*v1.KafkaTopicStatus), changes ...change) *example {
	GinkgoHelper()
	e := &example{topic: clusterA.make(named(name, namespace), retention, asItWas)}
	e.kt = create(namespace, name, append(changes, finalizer, config(retention, asAsked))...)
	status := v1.KafkaTopicStatus{TopicName: e.kt.Name, TopicID: e.topic.id, ClusterID: clusterA.ClusterID()}
	f(&status)
	writeStatus(e.kt, status)
	return e
}

// Changes of a valid status.
func inOrder(*v1.KafkaTopicStatus)             {}
func ofAnotherCluster(s *v1.KafkaTopicStatus)  { s.ClusterID = foreignCluster }
func ofAnotherTopic(s *v1.KafkaTopicStatus)    { s.TopicID = foreignTopic }
func withoutTopicID(s *v1.KafkaTopicStatus)    { s.TopicID = "" }
func strangerWithoutID(s *v1.KafkaTopicStatus) { s.TopicID, s.ClusterID = "", foreignCluster }
func unclaimed(s *v1.KafkaTopicStatus)         { *s = v1.KafkaTopicStatus{} }

// deleting requests the KafkaTopic's deletion.
func (e *example) deleting() *example { GinkgoHelper(); remove(e.kt); return e }

// untouched checks that the topic is unchanged.
func (e *example) untouched() { GinkgoHelper(); clusterA.keeps(e.kt.TopicName(), e.topic) }

// aligned waits until the topic has the configuration of its KafkaTopic, and checks that it is still the same topic with its records.
func (e *example) aligned() {
	GinkgoHelper()
	want := e.topic
	want.config = map[string]string{retention: asAsked}
	Eventually(clusterA.state).WithArguments(e.kt.TopicName()).Should(Equal(want))
}

// goneWithTopic waits until the KafkaTopic and its topic are deleted.
func (e *example) goneWithTopic() {
	GinkgoHelper()
	gone(e.kt)
	Eventually(clusterA.exists).WithArguments(e.kt.TopicName()).Should(BeFalse())
}

// cleared waits until the KafkaTopic is unmanaged and its status no longer names a topic.
func (e *example) cleared() {
	GinkgoHelper()
	expectCondition(e.kt, "Unmanaged=True")
	Expect([]string{e.kt.Status.TopicName, e.kt.Status.TopicID, e.kt.Status.ClusterID}).To(HaveEach(""))
	e.untouched()
}

// skipped waits until the KafkaTopic is paused, and checks that the same cluster still claims it.
func (e *example) skipped() {
	GinkgoHelper()
	before := e.kt.Status
	expectCondition(e.kt, "ReconciliationPaused=True")
	Expect(e.kt.Status.TopicID).To(BeEmpty())
	Expect(e.kt.Status.ClusterID).To(Equal(before.ClusterID))
	Expect(e.kt.Status.TopicName).To(Equal(before.TopicName))
	e.untouched()
}

// refusedAs waits until the KafkaTopic is refused for this reason, and checks that the topic is unchanged and that the status still names
// it.
func (e *example) refusedAs(reason string, texts ...string) {
	GinkgoHelper()
	before := e.kt.Status
	refusedWith(e.kt, reason, texts...)
	after := e.kt.Status
	Expect([]string{after.TopicName, after.TopicID, after.ClusterID}).To(Equal([]string{before.TopicName, before.TopicID, before.ClusterID}))
	Expect(held(e.kt)).To(BeTrue())
	e.untouched()
	told(e.kt, "Warning", reason, texts...)
}

// The table in docs/topic-operator/ownership.md, row by row. Columns: scenario, status.topicId, status.clusterId, the operator's clusterId.
var _ = Describe("What happens, case by case", Ordered, func() {
	// known has its cluster's id. unknown and careful do not, because the request fails; careful deletes nothing meanwhile.
	var known, unknown, careful *operator
	var gate, carefulGate way
	examples := map[string]*example{}
	row := func(text string, check func(*example)) {
		It(text, func() { check(examples[text]) })
	}

	const (
		row1    = "New topic | null | null | valid: set both, proceed"
		row2    = "New topic | null | null | null (fetch failed): proceed without protection"
		row3    = "Existing topic | valid | matches | valid: proceed normally"
		row4    = "Existing topic | valid | differs | valid: block with ClusterMismatch"
		row5    = "Existing topic | any | any | null (fetch failed): proceed (protection disabled)"
		row6    = "Unmanaged topic | any | any | valid: clear both to null"
		row6b   = "Unmanaged topic | any | any | null (fetch failed): clear both to null"
		row7    = "Paused topic | null | preserved | valid: skip reconciliation"
		row7b   = "Paused topic | null | preserved | null (fetch failed): skip reconciliation"
		row8    = "Delete (normal) | valid | matches | valid: compare topicId with Kafka, delete if match"
		row9    = "Delete (normal) | valid | matches | valid: block if topicId mismatch"
		row10   = "Delete (paused) | null | matches | valid: proceed with deletion (clusterId fallback)"
		row11   = "Delete (paused) | null | differs | valid: block with ClusterMismatch"
		row12   = "Delete (unclaimed) | null | null | valid: block (not ready for deletion)"
		row13   = "Delete (any) | valid | differs | null (fetch failed): proceed (protection disabled)"
		row13b  = "Delete (any) | null | null | null (fetch failed): proceed (protection disabled)"
		row13c  = "Delete (any) | valid | matches | null (fetch failed), with STRIMZI_CLUSTER_ID_UNKNOWN_POLICY=block-deletion: block"
		row2cut = "New topic | null | null | null, because the connection breaks when the id is asked for: proceed without protection"
	)

	BeforeAll(func() {
		k, u, c := newNamespace(), newNamespace(), newNamespace()
		examples[row1] = newcomer(k, "row1")
		examples[row2] = newcomer(u, "row2")
		examples[row3] = veteran(k, "row3", inOrder)
		examples[row4] = veteran(k, "row4", ofAnotherCluster)
		examples[row5] = veteran(u, "row5", ofAnotherCluster)
		examples[row6] = veteran(k, "row6", ofAnotherCluster, unmanaged())
		examples[row6b] = veteran(u, "row6b", inOrder, unmanaged())
		examples[row7] = veteran(k, "row7", ofAnotherCluster, paused())
		examples[row7b] = veteran(u, "row7b", inOrder, paused())
		examples[row8] = veteran(k, "row8", inOrder).deleting()
		examples[row9] = veteran(k, "row9", ofAnotherTopic).deleting()
		examples[row10] = veteran(k, "row10", withoutTopicID, paused()).deleting()
		examples[row11] = veteran(k, "row11", strangerWithoutID, paused()).deleting()
		examples[row12] = veteran(k, "row12", unclaimed).deleting()
		examples[row13] = veteran(u, "row13", ofAnotherCluster).deleting()
		examples[row13b] = veteran(u, "row13b", unclaimed).deleting()
		examples[row13c] = veteran(c, "row13c", inOrder).deleting()

		gate, carefulGate = startProxy(clusterA, denied), startProxy(clusterA, denied)
		known = launch(clusterA.Bootstrap(), soon, k)
		unknown = launch(gate.Addresses(), soon, u)
		careful = launch(carefulGate.Addresses(), soon.and(settings{"STRIMZI_CLUSTER_ID_UNKNOWN_POLICY": "block-deletion"}), c)
		for _, o := range []*operator{known, unknown, careful} {
			o.awaitReady()
		}
	})

	row(row1, func(e *example) { ready(e.kt, clusterA) })
	row(row2, func(e *example) {
		expectCondition(e.kt, "Ready=True")
		Expect(e.kt.Status.ClusterID).To(BeEmpty())
		Expect(clusterA.id(e.kt.Name)).To(Equal(e.kt.Status.TopicID))
	})
	row(row3, func(e *example) {
		e.aligned()
		ready(e.kt, clusterA)
	})
	row(row4, func(e *example) {
		e.refusedAs(v1.ReasonClusterMismatch, mismatch(foreignCluster, clusterA.ClusterID()))
		Expect(known.logged("level=WARN", mismatch(foreignCluster, clusterA.ClusterID()))).To(BeTrue())
	})
	row(row5, func(e *example) {
		e.aligned()
		expectCondition(e.kt, "Ready=True")
		Expect(e.kt.Status.ClusterID).To(Equal(foreignCluster))
	})
	row(row6, (*example).cleared)
	row(row6b, (*example).cleared)
	row(row7, (*example).skipped)
	row(row7b, (*example).skipped)
	row(row8, (*example).goneWithTopic)
	row(row9, func(e *example) { e.refusedAs(v1.ReasonTopicIDMismatch, foreignTopic, e.topic.id) })
	row(row10, (*example).goneWithTopic)
	row(row11, func(e *example) {
		e.refusedAs(v1.ReasonClusterMismatch, mismatch(foreignCluster, clusterA.ClusterID()))
	})
	row(row12, func(e *example) {
		e.refusedAs(v1.ReasonNotReadyForDeletion, "not ready for deletion", `strimzi.io/managed="false"`)
	})
	row(row13, (*example).goneWithTopic)
	row(row13b, (*example).goneWithTopic)
	row(row13c, func(e *example) { e.refusedAs(v1.ReasonClusterIDUnknown, e.kt.Name) })

	It("tells by its figures what is refused", func() {
		known.shows(2, 1, v1.ReasonClusterMismatch)
		known.shows(1, 1, v1.ReasonTopicIDMismatch)
		known.shows(1, 1, v1.ReasonNotReadyForDeletion)
		careful.shows(1, 1, v1.ReasonClusterIDUnknown)
		known.gauge(1, "strimzi_cluster_id_protection_armed")
	})

	It("warns that protection is disabled, once", func() {
		for _, o := range []*operator{unknown, careful} {
			Expect(o.process.LogLines("level=WARN", "Unable to retrieve Kafka cluster ID. Cluster ID protection will be disabled")).To(HaveLen(1))
			o.gauge(0, "strimzi_cluster_id_protection_armed")
		}
		Expect(known.logged("Unable to retrieve Kafka cluster ID")).To(BeFalse())
	})

	// docs/decisions/another-cluster.md.
	It("arms protection without a restart once the id can be fetched", func() {
		gate.permit()
		carefulGate.permit()
		unknown.gauge(1, "strimzi_cluster_id_protection_armed")
		ready(examples[row2].kt, clusterA)
		refused(examples[row5].kt, v1.ReasonClusterMismatch, mismatch(foreignCluster, clusterA.ClusterID()))
		careful.gauge(1, "strimzi_cluster_id_protection_armed")
		examples[row13c].goneWithTopic()
		careful.shows(0, 0, v1.ReasonClusterIDUnknown)
	})

	// The client finds brokers with the same request: the closed connection must not make other requests fail.
	It(row2cut, func() {
		ns := newNamespace()
		e := newcomer(ns, "cut")
		gate := startProxy(clusterA, cut)
		o := launch(gate.Addresses(), soon, ns).awaitReady()
		expectCondition(e.kt, "Ready=True")
		Expect(e.kt.Status.ClusterID).To(BeEmpty())
		o.gauge(0, "strimzi_cluster_id_protection_armed")
		gate.permit()
		ready(e.kt, clusterA)
		o.gauge(1, "strimzi_cluster_id_protection_armed")
	})
})

// Statuses that were written before there was a status.clusterId.
var _ = Describe("Backwards compatibility", Ordered, func() {
	var claimed, stranger, missing, owned, other, elsewhere *example

	BeforeAll(func() {
		ns := newNamespace()
		withoutClusterID := func(s *v1.KafkaTopicStatus) { s.ClusterID = "" }
		withAnotherTopic := func(s *v1.KafkaTopicStatus) { s.TopicID, s.ClusterID = foreignTopic, "" }
		// gone returns an example without its topic.
		gone := func(e *example) *example {
			clusterA.remove(e.kt.Name)
			e.topic = state{}
			return e
		}
		claimed = veteran(ns, "claimed", withoutClusterID)
		owned = veteran(ns, "owned", withoutClusterID).deleting()
		stranger = veteran(ns, "stranger", withAnotherTopic)
		missing = gone(veteran(ns, "missing", withoutClusterID))
		other = veteran(ns, "other", withAnotherTopic).deleting()
		elsewhere = gone(veteran(ns, "elsewhere", withoutClusterID)).deleting()
		start(clusterA, soon, ns)
	})

	It("claims a KafkaTopic on the next successful reconciliation", func() {
		claimed.aligned()
		ready(claimed.kt, clusterA)
	})

	It("claims none whose topic is another one here, or none: it is most likely in another cluster", func() {
		stranger.refusedAs(v1.ReasonTopicIDMismatch, foreignTopic, stranger.topic.id)
		missing.refusedAs(v1.ReasonTopicIDMismatch, missing.kt.Status.TopicID)
	})

	It("deletes a topic whose id matches", func() { owned.goneWithTopic() })

	It("keeps a topic whose id does not match", func() { other.refusedAs(v1.ReasonTopicIDMismatch, foreignTopic, other.topic.id) })

	It("takes a topic that is not there for one of another cluster", func() {
		elsewhere.refusedAs(v1.ReasonNotReadyForDeletion, `strimzi.io/managed="false"`)
		update(elsewhere.kt, unmanaged())
		gone(elsewhere.kt)
	})
})
