package roller_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
)

// While no leader tells who votes, those count that voted last: other controllers are no matter of the quorum.
func TestWhoVotedLastCountsWithoutALeader(t *testing.T) {
	lost := func(sc *scene, unknown bool, ids ...roller.NodeID) {
		sc.s.Quorum = roller.Known(roller.Quorum{Leader: -1})
		if unknown {
			sc.s.Quorum = roller.Unknown[roller.Quorum]("no controller that answered is the leader")
		}
		sc.unready(time.Hour, ids...)
		for _, id := range ids {
			sc.node(id).Answers, sc.node(id).Hold = roller.Known(false), "ann looks into it"
		}
	}
	began := func(t *testing.T) *scene {
		sc := newScene(t).with(broker, 0).with(controller, 1, 2, 3, 4, 5).current(0, 1, 2, 3, 4, 5)
		sc.s.Quorum = roller.Known(roller.Quorum{Leader: 1, Voters: []roller.Voter{{ID: 1, LastCaughtUp: 1}, {ID: 2, LastCaughtUp: 1},
			{ID: 3, LastCaughtUp: 1}}})
		sc.step()
		sc.progress = restored(t, sc.progress)
		sc.Expect(sc.last.Phase).To(Equal(roller.PhaseDone))
		return sc
	}
	outdated := func(sc *scene, ids ...roller.NodeID) {
		for _, id := range ids {
			sc.node(id).Revision = roller.Known(roller.Revision{Current: "new", Desired: "newer"})
		}
	}
	t.Run("a broker stays while most of them are down", func(t *testing.T) {
		sc := began(t)
		outdated(sc, 0)
		lost(sc, true, 2, 3)
		sc.Expect(sc.roll()).To(BeEmpty())
		sc.Expect(sc.of(0).Blocks[0].Why).To(ContainSubstring("because 2 of 3 voters are down"))
	})
	t.Run("a broker does not wait for others", func(t *testing.T) {
		sc := began(t)
		outdated(sc, 0)
		lost(sc, true, 3, 4, 5)
		sc.Expect(sc.roll()).To(Equal(ids(0)))
	})
	t.Run("nor does the repair of a quorum", func(t *testing.T) {
		sc := began(t)
		outdated(sc, 1)
		lost(sc, false, 4, 5)
		sc.Expect(sc.roll()).To(Equal(ids(1)))
	})
	t.Run("which waits for voters", func(t *testing.T) {
		sc := began(t)
		outdated(sc, 1)
		lost(sc, false, 3)
		sc.Expect(sc.roll()).To(BeEmpty())
	})
	t.Run("nor does a repair if none of them is ready", func(t *testing.T) {
		sc := began(t)
		outdated(sc, 1)
		lost(sc, true, 1, 2, 3)
		sc.node(1).Hold = ""
		sc.Expect(sc.roll()).To(Equal(ids(1)))
		sc.Expect(sc.progress.Restarted).To(HaveKey(roller.NodeID(1)))
	})
	t.Run("and where one of them is gone, so that others may vote by now, all count", func(t *testing.T) {
		sc := began(t)
		sc.s.Nodes = slices.DeleteFunc(sc.s.Nodes, func(n roller.Node) bool { return n.ID == 1 || n.ID == 2 })
		outdated(sc, 4)
		lost(sc, true, 3)
		sc.Expect(sc.roll()).To(BeEmpty(), "4 and 5 are ready, and may be most voters")
	})
	t.Run("and where they are not known, all count", func(t *testing.T) {
		sc := began(t)
		sc.progress = roller.Progress{}
		outdated(sc, 0)
		lost(sc, true, 3, 4, 5)
		sc.Expect(sc.roll()).To(BeEmpty())
	})
}
