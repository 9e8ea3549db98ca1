package brokerconfig_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// together compares models as the brokers 0, 1, 2... of one cluster.
func together(models ...*model) brokerconfig.Outcome {
	nodes := make([]brokerconfig.Node, len(models))
	for i, m := range models {
		nodes[len(nodes)-1-i] = brokerconfig.Node{ID: int32(i), Roles: broker, Config: m.config()}
	}
	return brokerconfig.Latest().CompareAll(nodes)
}

func TestAChangeOfTheWholeClusterIsMadeOnce(t *testing.T) {
	g := NewWithT(t)
	a := started("num.io.threads", "8", "listeners", "A://:1").wants("num.io.threads", "9", "listeners", "A://:2")
	out := together(a, a.clone(), a.clone())
	g.Expect(to(out.Global)).To(Equal(values{"num.io.threads": "9"}))
	g.Expect(out.Nodes).To(HaveLen(3))
	g.Expect(to(out.Nodes[2].Node)).To(Equal(values{"listeners": "A://:2"}))
	g.Expect(out.Nodes[2].Global).To(BeEmpty())
	g.Expect(out.Disputes).To(BeEmpty())
}

// In the middle of a roll, some brokers have the new file and others the old one.
func TestAValueThatSomeFilesStillHaveIsNotJustDeleted(t *testing.T) {
	g := NewWithT(t)
	restarted, old := started(), started("num.io.threads", "4").wants()
	restarted.global["num.io.threads"], old.global["num.io.threads"] = "5", "5"
	g.Expect(to(together(restarted).Global)).To(Equal(values{"num.io.threads": "(none)"}))
	g.Expect(to(together(restarted, old).Global)).To(Equal(values{"num.io.threads": "8"}))
	g.Expect(to(together(old, restarted).Global)).To(Equal(values{"num.io.threads": "8"}))
}

func TestADisputedKeyIsSetForEachNode(t *testing.T) {
	g := NewWithT(t)
	a, b, c := started("num.io.threads", "9"), started("num.io.threads", "9").wants("num.io.threads", "10"),
		started("num.io.threads", "9").wants()
	out := together(a, b, c)
	g.Expect(out.Global).To(BeEmpty())
	g.Expect(out.Nodes).To(HaveLen(2))
	g.Expect(to(out.Nodes[1].Node)).To(Equal(values{"num.io.threads": "10"}))
	g.Expect(to(out.Nodes[2].Node)).To(Equal(values{"num.io.threads": "8"}))
	g.Expect(out.Disputes).To(HaveLen(1))
	d := out.Disputes[0]
	g.Expect(d.Key).To(Equal("num.io.threads"))
	g.Expect(d.Unsolved).To(BeFalse())
	g.Expect(d.Wishes).To(HaveLen(3))
	g.Expect(*d.Wishes[1].Value).To(Equal("10"))
	g.Expect(d.Wishes[2].Nodes).To(Equal([]int32{2}))
}

// The retention of a topic must not become shorter temporarily because another pool changes its value.
func TestANodeGetsItsOwnValueBeforeTheClustersIsDeleted(t *testing.T) {
	g := NewWithT(t)
	a, b := started("log.retention.ms", "1000"), started()
	b.global = a.global
	a.global["log.retention.ms"] = "1000"
	a.static = values{} // it was started before the value was wanted
	out := together(a, b)
	g.Expect(to(out.Nodes[0].Node)).To(Equal(values{"log.retention.ms": "1000"}))
	g.Expect(out.Global).To(BeEmpty())
	a.apply(out.Nodes[0])
	g.Expect(to(together(a, b).Global)).To(Equal(values{"log.retention.ms": "(none)"}))
	alter(a.global, together(a, b).Global)
	out = together(a, b)
	g.Expect(out.Nodes).To(BeEmpty())
	g.Expect(out.Global).To(BeEmpty())
}

// Kafka rejects min.insync.replicas for single brokers while eligible leader replicas are enabled, so the user has to decide.
func TestADisputeAboutMinInSyncReplicasIsTold(t *testing.T) {
	g := NewWithT(t)
	out := together(started("min.insync.replicas", "1"), started("min.insync.replicas", "1").wants("min.insync.replicas", "2"))
	g.Expect(out.Nodes).To(BeEmpty())
	g.Expect(out.Global).To(BeEmpty())
	g.Expect(out.Disputes).To(HaveLen(1))
	g.Expect(out.Disputes[0].Unsolved).To(BeTrue())
}

// Different spellings of a value are no dispute, and neither are keys that a node does not apply.
func TestWhatIsNoDispute(t *testing.T) {
	g := NewWithT(t)
	a, b := started("num.network.threads", "3").wants("num.network.threads", "05"),
		started("num.network.threads", "3").wants("num.network.threads", "5")
	out := together(a, b)
	g.Expect(to(out.Global)).To(Equal(values{"num.network.threads": "05"}))
	g.Expect(out.Disputes).To(BeEmpty())
	nodes := []brokerconfig.Node{{ID: 1, Roles: broker, Config: a.config()}, {ID: 2, Roles: controller, Config: started().config()}}
	g.Expect(brokerconfig.Latest().CompareAll(nodes).Disputes).To(BeEmpty())
}
