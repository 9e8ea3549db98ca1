package roller_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
)

// A restart also depends on the topics that its node has replicas of, and on its peers; an election does not.
func TestWhatAnActionDependsOn(t *testing.T) {
	g := NewWithT(t)
	restart := roller.Action{Kind: roller.ActionRestart, Node: 1}
	elect := roller.Action{Kind: roller.ActionElectLeaders, Node: 1}
	asked := roller.Asked{}.And(elect)
	g.Expect(asked).To(Equal(roller.Asked{Nodes: ids(1)}))
	g.Expect(asked.Suffice(elect)).To(BeTrue())
	g.Expect(asked.Suffice(restart)).To(BeFalse(), "nobody asked which topics it has")
	g.Expect(roller.Asked{}.Suffice(elect)).To(BeFalse())

	restart.Unasked = ids(2, 3)
	all := asked.And(restart).And(restart)
	g.Expect(all).To(Equal(roller.Asked{Nodes: ids(1), Restarts: ids(1), Peers: ids(2, 3)}))
	g.Expect(all.Suffice(restart)).To(BeFalse(), "it was decided before they were asked")
	restart.Unasked = nil
	g.Expect(all.Suffice(restart)).To(BeTrue())
}
