package ownership

import (
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

const dropsClusterID = "drops status.clusterId"

// strimziCRD applies Strimzi's CustomResourceDefinition, without status.clusterId and spec.managed. ourCRD applies the operator's own.
func strimziCRD() {
	GinkgoHelper()
	Expect(plane.InstallCRDs(filepath.Join("..", "apitest", "testdata", "strimzi-v1-crd"))).To(Succeed())
}

func ourCRD() {
	GinkgoHelper()
	Expect(plane.InstallCRDs(filepath.Join("..", "..", "config", "crd", "bases", "kafka.strimzi.io_kafkatopics.yaml"))).To(Succeed())
}

func unmanagedBySpec(kt *v1.KafkaTopic) { kt.Spec.Managed = new(bool) }

// read reads the object again.
func read(kt *v1.KafkaTopic) {
	GinkgoHelper()
	Eventually(func(g Gomega) { refresh(g, kt) }).Should(Succeed())
}

// tells waits until one of the object's conditions contains the text.
func tells(kt *v1.KafkaTopic, text string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		refresh(g, kt)
		g.Expect(conditions(kt)).To(ContainElement(ContainSubstring(text)))
	}).Should(Succeed())
}

// looks waits until the operator has made that many more passes.
func (o *operator) looks(more float64) {
	GinkgoHelper()
	const total = "strimzi_reconciliations_total"
	before := o.metric(total)
	Eventually(func() float64 { return o.metric(total) }).Should(BeNumerically(">=", before+more))
}

var _ = Describe("Strimzi's CustomResourceDefinition", func() {
	BeforeEach(func() { DeferCleanup(ourCRD) })

	It("is noticed while the operator runs; nothing is deleted for what was unmanaged, and nothing is written in a loop", func() {
		ns := newNamespace()
		o := start(clusterA, soon, ns)
		o.gauge(1, "strimzi_cluster_id_protection_armed")
		kt := created(clusterA, ns, "managed")
		theirs := clusterA.make(named("theirs", ns))
		free := create(ns, "theirs", unmanagedBySpec, finalizer, config(retention, asAsked))
		expectCondition(free, "Unmanaged=True UnmanagedBySpec: spec.managed is false")

		By("replacing the definition")
		strimziCRD()
		o.gauge(0, "strimzi_cluster_id_protection_armed")
		Eventually(func() bool { return o.logged(dropsClusterID) }).Should(BeTrue())
		Eventually(func() *bool { read(free); return free.Spec.Managed }).Should(BeNil(), "it reads as managed")
		before := kt.DeepCopy()
		read(before)
		o.looks(6)
		read(kt)
		Expect(kt.ResourceVersion).To(Equal(before.ResourceVersion), "nothing is written in a loop")
		tells(free, `strimzi.io/managed="true"`)
		told(free, "Warning", v1.ConditionUnmanaged, `strimzi.io/managed="true"`)
		update(kt, unmanaged())
		expectCondition(kt, "Unmanaged=True")
		update(kt, managed)
		expectCondition(kt, "Ready=True")
		remove(free)
		tells(free, "drops spec.managed")
		tells(free, "Unmanaged=True")
		clusterA.keeps(free.Name, theirs)

		By("starting anew under it")
		o.stop()
		o = start(clusterA, soon, ns)
		o.gauge(0, "strimzi_cluster_id_protection_armed")
		o.passes(3, v1.ReasonNotReadyForDeletion)
		clusterA.keeps(free.Name, theirs)
		another := create(ns, "another")
		expectCondition(another, "Ready=True")
		update(free, unmanaged())
		gone(free)
		clusterA.keeps(free.Name, theirs)

		By("applying the operator's own again")
		ourCRD()
		o.gauge(1, "strimzi_cluster_id_protection_armed")
	})

	It("blocks deletions if an unknown cluster does", func() {
		ns := newNamespace()
		strimziCRD()
		o := start(clusterA, soon.and(settings{"STRIMZI_CLUSTER_ID_UNKNOWN_POLICY": "block-deletion"}), ns)
		o.gauge(0, "strimzi_cluster_id_protection_armed")
		kt := create(ns, "t")
		expectCondition(kt, "Ready=True")
		topic := clusterA.state(kt.Name)
		remove(kt)
		refusedWith(kt, v1.ReasonClusterIDUnknown, dropsClusterID)
		clusterA.keeps(kt.Name, topic)
		ourCRD()
		gone(kt)
		Eventually(clusterA.exists).WithArguments(kt.Name).Should(BeFalse())
	})
})
