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
		sc.s.Quorum = roller.Known(roller.Quorum{Leader: 1, Voters: []roller.Voter{{ID: 1, Directory: "a", LastCaughtUp: 1},
			{ID: 2, Directory: "b", LastCaughtUp: 1}, {ID: 3, Directory: "c", LastCaughtUp: 1}}})
		sc.node(5).Requests = []roller.Reason{{Kind: roller.ManualRollingUpdate, Mark: "now"}}
		sc.node(5).Hold = "ann looks into it"
		sc.step()
		sc.progress = restored(t, sc.progress)
		sc.Expect(sc.last.Phase).To(Equal(roller.PhaseBlocked), "something is still to be done")
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
	t.Run("a broker waits while any is down, because it may vote by now", func(t *testing.T) {
		sc := began(t)
		outdated(sc, 0)
		lost(sc, true, 3, 4)
		sc.Expect(sc.roll()).To(BeEmpty())
		sc.Expect(sc.of(0).Blocks[0].Why).To(Equal("it is unknown which controllers vote, because no leader of the metadata quorum tells it, " +
			"and some are down (nodes 3 and 4): a broker that stops now may not come back. Start the controllers that are down, or see that the " +
			"roller reaches the others"))
		lost(sc, true)
		sc.node(3).Ready, sc.node(4).Ready = roller.Known(true), roller.Known(true)
		sc.Expect(sc.roll()).To(Equal(ids(0)))
	})
	t.Run("the repair of a quorum does not wait for others", func(t *testing.T) {
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
	t.Run("but it does once nobody has looked for a while: others may vote by now", func(t *testing.T) {
		sc := began(t)
		outdated(sc, 1)
		sc.s.At = sc.s.At.Add(time.Hour)
		lost(sc, false, 4, 5)
		sc.Expect(sc.roll()).To(BeEmpty())
	})
	t.Run("or nobody could tell whether there was a leader", func(t *testing.T) {
		sc := began(t)
		outdated(sc, 1)
		lost(sc, true, 4, 5)
		for range 100 {
			sc.step()
		}
		lost(sc, false, 4, 5)
		sc.Expect(sc.roll()).To(BeEmpty())
	})
	t.Run("and does not as long as there was none", func(t *testing.T) {
		sc := began(t)
		outdated(sc, 1)
		sc.node(1).Hold = "not yet"
		lost(sc, false, 4, 5)
		sc.roll()
		sc.node(1).Hold = ""
		sc.Expect(sc.roll()).To(Equal(ids(1)))
	})
	t.Run("and nothing is stored that is of no use", func(t *testing.T) {
		sc := began(t)
		sc.Expect(sc.progress.Voters).To(Equal(ids(1, 2, 3)))
		told := sc.progress.Told
		for range 10 {
			sc.step()
			sc.Expect(sc.progress.Told).To(Equal(told))
		}
		sc.node(5).Requests = nil
		sc.Expect(sc.step().Phase).To(Equal(roller.PhaseDone))
		sc.Expect(sc.progress.Voters).To(BeEmpty())
		sc.Expect(sc.progress.Told).To(BeZero())
	})
	looks := func(sc *scene, gaps ...time.Duration) (written int) {
		for _, gap := range gaps {
			told := sc.progress.Told
			sc.s.At = sc.s.At.Add(gap - time.Second) // a step is a second
			sc.Expect(sc.s.At.Sub(told)).To(BeNumerically("<", time.Minute), "it is of no use any more")
			if sc.step(); !sc.progress.Told.Equal(told) {
				written++
			}
		}
		return written
	}
	t.Run("nor is anything stored often while a node is on hold", func(t *testing.T) {
		sc := began(t)
		written := looks(sc, slices.Repeat([]time.Duration{10 * time.Second}, 60)...)
		sc.Expect(sc.last.Phase).To(Equal(roller.PhaseBlocked))
		sc.Expect(written).To(BeNumerically("<=", 15))
	})
	t.Run("while it is often enough where looks are rare, because nodes restart", func(t *testing.T) {
		sc := began(t)
		sc.node(5).Hold, sc.after = "", func(n *roller.Node) { n.Ready = roller.Known(false) }
		looks(sc, 2*time.Second, 15*time.Second, 44*time.Second, 9*time.Second, 44*time.Second)
		sc.Expect(sc.last.Phase).To(Equal(roller.PhaseRolling))
	})
	t.Run("and those of a static quorum stay", func(t *testing.T) {
		sc := newScene(t).with(broker, 0).with(controller, 1, 2, 3).led(1).current(0, 1, 2, 3)
		sc.Expect(sc.step().Phase).To(Equal(roller.PhaseDone))
		sc.progress = restored(t, sc.progress)
		sc.s.At = sc.s.At.Add(time.Hour)
		outdated(sc, 0)
		lost(sc, true, 3)
		sc.Expect(sc.roll()).To(Equal(ids(0)))
	})
	t.Run("and where they are not known, all count", func(t *testing.T) {
		sc := began(t)
		sc.progress = roller.Progress{}
		outdated(sc, 0)
		lost(sc, true, 3, 4, 5)
		sc.Expect(sc.roll()).To(BeEmpty())
	})
}
