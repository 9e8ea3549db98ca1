package ownership

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
)

// numbered returns the names t00, t01 and so on.
func numbered(i int) string { return fmt.Sprintf("t%02d", i) }

// statusWrites returns the number of status writes since the mark, by object.
func statusWrites(since controlplane.Mark, namespace string) map[string]int {
	GinkgoHelper()
	requests, err := plane.Requests(since, func(r controlplane.Request) bool {
		return r.Namespace == namespace && r.Resource == "kafkatopics" && r.Subresource == "status" && r.Verb != "get" && r.Code == 200
	})
	Expect(err).NotTo(HaveOccurred())
	return controlplane.Tally(requests, func(r controlplane.Request) string { return r.Name })
}

func mark() controlplane.Mark {
	GinkgoHelper()
	m, err := plane.Mark()
	Expect(err).NotTo(HaveOccurred())
	return m
}

var _ = Describe("An operator that is pointed at another Kafka cluster", func() {
	It("touches nothing there, blocks deletions, and goes on when it is pointed back", func() {
		const topics, common = 20, 10
		ns := newNamespace()
		o := start(clusterA, soon, ns)
		objects := make([]*v1.KafkaTopic, topics)
		each(topics, func(i int) { objects[i] = create(ns, numbered(i), config(retention, asAsked)) })
		before := make([]v1.KafkaTopicStatus, topics)
		for i, kt := range objects {
			ready(kt, clusterA)
			before[i] = kt.Status
		}
		clusterA.produce(objects[0].Name)
		o.stop()
		others := make([]state, common)
		each(common, func(i int) { others[i] = clusterB.make(objects[i].Name, retention, asItWas) })

		o = start(clusterB, soon, ns)
		for i, kt := range objects {
			refused(kt, v1.ReasonClusterMismatch, mismatch(clusterA.ClusterID(), clusterB.ClusterID()))
			after := kt.Status
			after.Conditions = before[i].Conditions
			Expect(after).To(Equal(before[i]), "everything in the status but the condition")
		}
		remove(objects[0])
		remove(objects[topics-1])
		o.shows(topics, 2, v1.ReasonClusterMismatch)
		o.passes(2*topics, v1.ReasonClusterMismatch)
		told(objects[0], "Warning", v1.ReasonClusterMismatch, mismatch(clusterA.ClusterID(), clusterB.ClusterID()))
		for i := range common {
			clusterB.keeps(objects[i].Name, others[i])
		}
		Expect(clusterB.names(suffix(ns))).To(HaveLen(common), "topics in B")
		Expect(clusterA.names(suffix(ns))).To(HaveLen(topics), "topics in A")
		for _, i := range []int{0, topics - 1} { // the first one has a topic in B, the last one has none
			Expect(isGone(objects[i])).To(BeFalse())
		}
		o.stop()

		o = start(clusterA, never, ns)
		for i := 1; i < topics-1; i++ {
			ready(objects[i], clusterA)
			Expect(objects[i].Status.TopicID).To(Equal(before[i].TopicID))
		}
		gone(objects[0])
		gone(objects[topics-1])
		Eventually(func() []string { return clusterA.names(suffix(ns)) }).Should(HaveLen(topics - 2))
		clusterB.keeps(objects[0].Name, others[0])
		o.shows(0, 0, v1.ReasonClusterMismatch)
	})

	It("takes a KafkaTopic over only on the way that it names, and leaves the old topic alone", func() {
		ns := newNamespace()
		o := start(clusterA, never, ns)
		kt := created(clusterA, ns, "t")
		topic := clusterA.state(kt.Name)
		o.stop()
		start(clusterB, never, ns)
		refused(kt, v1.ReasonClusterMismatch, mismatch(clusterA.ClusterID(), clusterB.ClusterID()))
		told(kt, "Warning", v1.ReasonClusterMismatch,
			`annotate it with strimzi.io/managed="false", wait for the condition Unmanaged, and remove the annotation`)
		update(kt, unmanaged())
		expectCondition(kt, "Unmanaged=True")
		update(kt, managed)
		ready(kt, clusterB)
		clusterA.keeps(kt.Name, topic)
	})

	It("keeps a topic whose KafkaTopic vanishes, where there are no finalizers", func() {
		ns := newNamespace()
		o := start(clusterA, never.and(unfinalized), ns)
		kt := created(clusterA, ns, "t")
		o.stop()
		topic := clusterB.make(kt.Name)
		o = start(clusterB, never.and(unfinalized), ns)
		refused(kt, v1.ReasonClusterMismatch, mismatch(clusterA.ClusterID(), clusterB.ClusterID()))
		remove(kt)
		gone(kt)
		told(kt, "Warning", v1.ReasonClusterMismatch, mismatch(clusterA.ClusterID(), clusterB.ClusterID()))
		sentinel := create(ns, "sentinel")
		ready(sentinel, clusterB)
		clusterB.keeps(kt.Name, topic)
		o.shows(0, 0, v1.ReasonClusterMismatch)
	})

	// docs/decisions/another-cluster.md.
	It("does not fight the operator of the right cluster for the status", func() {
		const topics = 5
		ns := newNamespace()
		// The operator of the wrong cluster backs off.
		often := settings{"STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": "400"}
		owner := start(clusterA, often, ns)
		objects := make([]*v1.KafkaTopic, topics)
		each(topics, func(i int) { objects[i] = create(ns, numbered(i)) })
		for _, kt := range objects {
			ready(kt, clusterA)
		}
		const total = "strimzi_reconciliations_total"
		peace := func(since controlplane.Mark, most int, stray *operator) {
			GinkgoHelper()
			stray.passes(topics, v1.ReasonClusterMismatch) // at least one pass over each, because all are due at about the same rate
			began := owner.metric(total)
			Eventually(func() float64 { return owner.metric(total) }).Should(BeNumerically(">=", began+3*topics))
			for _, kt := range objects {
				ready(kt, clusterA)
			}
			stray.passes(topics, v1.ReasonClusterMismatch)
			Consistently(func(g Gomega) {
				for _, kt := range objects {
					refresh(g, kt)
					g.Expect(conditions(kt)).To(HaveExactElements("Ready=True"))
				}
			}).Should(Succeed())
			Expect(statusWrites(since, ns)).To(HaveEach(BeNumerically("<=", most)), "writes of the status of each object")
		}
		began := mark()
		stray := start(clusterB, often, ns)
		peace(began, 2, stray) // one write of the stray, and one of the owner that reverts it

		By("telling it once for the next generation")
		began = mark()
		each(topics, func(i int) { update(objects[i], config(retention, asAsked)) })
		peace(began, 3, stray) // at worst: a write of the owner, one of the stray, and one of the owner that reverts it
		Expect(clusterB.names(suffix(ns))).To(BeEmpty())
	})
})

// docs/decisions/another-cluster.md.
var _ = Describe("A Kafka cluster that changes under a running operator", func() {
	It("gets no write; everything is held, is told, and goes on without a restart when the cluster is back", func() {
		ns := newNamespace()
		way := startProxy(clusterA, answered)
		o := launch(way.Addresses(), soon, ns).awaitReady()
		const topics = 4
		objects, inA, inB := make([]*v1.KafkaTopic, topics), make([]state, topics), make([]state, topics)
		each(topics, func(i int) { objects[i] = created(clusterA, ns, numbered(i), config(retention, asItWas)) })
		for i, kt := range objects {
			inA[i] = clusterA.state(kt.Name)
		}
		const common = topics - 1 // the last one has no topic in B
		for i := range common {
			inB[i] = clusterB.make(objects[i].Name, retention, "1800000")
		}
		meant := clusterB.make(named("later", ns), retention, "1800000")

		way.lead(clusterB)
		const deleted, asked = 0, 1
		remove(objects[deleted])
		update(objects[asked], config(retention, asAsked))
		later, other := create(ns, "later", config(retention, asAsked)), create(ns, "other")
		o.gauge(1, "strimzi_kafka_cluster_changed")
		Expect(o.logged("level=ERROR", "The Kafka cluster changed while the operator was running", clusterB.ClusterID())).To(BeTrue())
		for _, kt := range objects {
			refused(kt, v1.ReasonClusterMismatch, mismatch(clusterA.ClusterID(), clusterB.ClusterID()))
			Expect(kt.Status.ClusterID).To(Equal(clusterA.ClusterID()))
		}
		for _, kt := range []*v1.KafkaTopic{later, other} {
			refusedWith(kt, v1.ReasonClusterMismatch, clusterA.ClusterID(), clusterB.ClusterID())
			Expect(kt.Status.ClusterID).To(BeEmpty())
		}
		o.shows(topics+2, 1, v1.ReasonClusterMismatch)
		o.passes(3*topics, v1.ReasonClusterMismatch)
		o.gauge(1, "strimzi_cluster_id_protection_armed")
		for i := range common {
			clusterB.keeps(objects[i].Name, inB[i])
		}
		clusterB.keeps(later.Name, meant)
		Expect(clusterB.names(suffix(ns))).To(HaveLen(common+1), "topics in B")
		Expect(way.changes(clusterB)).To(BeZero(), "requests to B that could change anything")
		for i, kt := range objects {
			clusterA.keeps(kt.Name, inA[i])
		}

		way.lead(clusterA)
		o.gauge(0, "strimzi_kafka_cluster_changed")
		gone(objects[deleted])
		Eventually(clusterA.exists).WithArguments(objects[deleted].Name).Should(BeFalse())
		for _, kt := range append([]*v1.KafkaTopic{later, other}, objects[asked:]...) {
			ready(kt, clusterA)
		}
		Expect(clusterA.state(objects[asked].Name).config).To(HaveKeyWithValue(retention, asAsked))
		Expect(clusterA.state(objects[asked].Name).id).To(Equal(inA[asked].id))
		clusterB.keeps(objects[deleted].Name, inB[deleted])
		o.shows(0, 0, v1.ReasonClusterMismatch)
		Expect(o.process.Running()).To(BeTrue())
	})

	It("gets no write while it comes and goes in the middle of the work", func() {
		const topics, changesOfCluster = 10, 10
		ns := newNamespace()
		way := startProxy(clusterA, answered)
		launch(way.Addresses(), soon, ns).awaitReady()
		objects := make([]*v1.KafkaTopic, topics)
		inB := make([]state, topics)
		each(topics, func(i int) {
			objects[i] = created(clusterA, ns, numbered(i))
			inB[i] = clusterB.make(objects[i].Name, retention, asItWas)
		})
		for n := range changesOfCluster {
			for i, kt := range objects {
				update(kt, config(retention, fmt.Sprint(1000000+n*topics+i)))
			}
			create(ns, fmt.Sprintf("new-%d", n))
			to := []*cluster{clusterB, clusterA}[n%2]
			way.lead(to)
			before := way.count(to)
			Eventually(func() int { return way.count(to) }).Should(BeNumerically(">", before+topics), "requests to the cluster that answers now")
		}
		Expect(way.changes(clusterB)).To(BeZero(), "requests to B that could change anything")
		Expect(way.count(clusterB)).NotTo(BeZero())
		Expect(clusterB.names(suffix(ns))).To(HaveLen(topics), "topics in B")
		for i, kt := range objects {
			ready(kt, clusterA)
			clusterB.keeps(kt.Name, inB[i])
		}
	})
})

// Without a finalizer, no object remains that shows the deletion later.
var _ = Describe("A KafkaTopic that vanishes while another Kafka cluster answers", func() {
	It("takes its topic along once the right cluster is back, and no other", func() {
		ns := newNamespace()
		way := startProxy(clusterA, answered)
		o := launch(way.Addresses(), never.and(unfinalized), ns).awaitReady()
		kt := created(clusterA, ns, "t")
		topic := clusterB.make(kt.Name)
		way.lead(clusterB)
		remove(kt)
		gone(kt)
		o.gauge(1, "strimzi_kafka_cluster_changed")
		Expect(clusterA.exists(kt.Name)).To(BeTrue())
		clusterB.keeps(kt.Name, topic)
		way.lead(clusterA)
		Eventually(clusterA.exists).WithArguments(kt.Name).Should(BeFalse())
		clusterB.keeps(kt.Name, topic)
		Expect(way.changes(clusterB)).To(BeZero(), "requests to B that could change anything")
		o.gauge(0, "strimzi_kafka_cluster_changed")
	})
})

// The purpose of cluster ids: two Kafka clusters with one namespace.
var _ = Describe("Two Kafka clusters with one namespace", func() {
	It("can have a topic of one name each, each with a KafkaTopic of its own", func() {
		ns := newNamespace()
		operators := map[*cluster]*operator{clusterA: start(clusterA, soon, ns), clusterB: nil}
		ofA := created(clusterA, ns, "t")
		operators[clusterB] = start(clusterB, soon, ns)
		ofB := rivalOf(ofA, ns, "t-of-b")
		ready(ofB, clusterB)
		ready(ofA, clusterA)
		clusterB.produce(ofA.Name)
		inA, inB := clusterA.state(ofA.Name), clusterB.state(ofA.Name)
		remove(ofA)
		gone(ofA)
		Eventually(clusterA.exists).WithArguments(ofA.Name).Should(BeFalse())
		ready(ofB, clusterB)
		clusterB.keeps(ofA.Name, inB)
		Expect(inA.id).NotTo(Equal(inB.id))
	})
})

var _ = Describe("Two operators that see one new KafkaTopic at the same time", func() {
	It("exactly one claims it, and only the claimant alters its topic", func() {
		const rounds = 20
		ns := newNamespace()
		clusters := []*cluster{clusterA, clusterB}
		operators := []*operator{launch(clusterA.Bootstrap(), soon, ns), launch(clusterB.Bootstrap(), soon, ns)}
		before := make([][]state, rounds)
		each(rounds, func(i int) {
			for side, c := range clusters {
				before[i] = append(before[i], c.make(named(numbered(i), ns), retention, fmt.Sprint(1000000+side)))
			}
		})
		for _, o := range operators {
			o.awaitReady()
		}
		objects := make([]*v1.KafkaTopic, rounds)
		each(rounds, func(i int) { objects[i] = create(ns, numbered(i), config(retention, asAsked)) })
		// sides returns the indexes of the cluster that an object is claimed for, and of the other one.
		sides := func(kt *v1.KafkaTopic) (owner, other int) {
			if kt.Status.ClusterID == clusterB.ClusterID() {
				return 1, 0
			}
			return 0, 1
		}
		var refusedBy [2]float64
		for i, kt := range objects {
			Eventually(func(g Gomega) {
				refresh(g, kt)
				g.Expect(kt.Status.ClusterID).NotTo(BeEmpty())
			}).Should(Succeed())
			owner, other := sides(kt)
			refusedBy[other]++
			want := before[i][owner]
			want.config = map[string]string{retention: asAsked}
			Eventually(clusters[owner].state).WithArguments(kt.Name).Should(Equal(want))
			Eventually(operators[other].logged).WithArguments(kt.Name,
				mismatch(clusters[owner].ClusterID(), clusters[other].ClusterID())).Should(BeTrue())
			ready(kt, clusters[owner])
		}
		AddReportEntry("refused by A, by B", refusedBy)

		By("looking again after further passes")
		for side, o := range operators {
			o.gauge(refusedBy[side], "strimzi_ownership_refused", reasonLabel(v1.ReasonClusterMismatch))
			if refusedBy[side] > 0 {
				o.passes(refusedBy[side], v1.ReasonClusterMismatch)
			}
		}
		for i, kt := range objects {
			owner, other := sides(kt)
			refresh(Default, kt)
			Expect(kt.Status.ClusterID).To(Equal(clusters[owner].ClusterID()))
			Expect(clusters[owner].id(kt.Name)).To(Equal(before[i][owner].id))
			clusters[other].keeps(kt.Name, before[i][other])
		}
	})
})
