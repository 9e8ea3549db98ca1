package app

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
)

func TestARollEndsWhenAllIsDoneOrBlocked(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1000, 0)
	restart := []roller.Action{{Kind: roller.ActionRestart}}
	e := &ending{patience: time.Minute}
	g.Expect(e.reached(roller.Decision{Phase: roller.PhaseRolling}, now)).To(BeFalse())
	g.Expect(e.reached(roller.Decision{Phase: roller.PhaseWaiting}, now)).To(BeFalse())
	g.Expect(e.reached(roller.Decision{Phase: roller.PhaseBlocked, Actions: restart}, now)).To(BeFalse(), "something is done")
	g.Expect(e.reached(roller.Decision{Phase: roller.PhaseBlocked}, now)).To(BeTrue())
	g.Expect(e.reached(roller.Decision{Phase: roller.PhaseDone}, now)).To(BeTrue())
}

func TestARollEndsWhenANodeStaysFailed(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	stuck := roller.Decision{Phase: roller.PhaseFailed, Nodes: []roller.Assessment{{State: roller.StateStuck}, {State: roller.StateReady}}}
	e := &ending{patience: time.Minute}
	g.Expect(e.reached(stuck, at(0))).To(BeFalse(), "it may still get ready by itself")
	g.Expect(e.reached(stuck, at(59))).To(BeFalse())
	g.Expect(e.reached(stuck, at(60))).To(BeTrue())

	for name, meanwhile := range map[string]roller.Decision{
		"another one is restarted": {Phase: roller.PhaseFailed, Actions: []roller.Action{{Kind: roller.ActionRestart}}},
		"another one catches up": {Phase: roller.PhaseFailed,
			Nodes: []roller.Assessment{{State: roller.StateFailed}, {State: roller.StateCatchingUp}}},
		"it got ready": {Phase: roller.PhaseRolling},
	} {
		e := &ending{patience: time.Minute}
		g.Expect(e.reached(stuck, at(0))).To(BeFalse(), name)
		g.Expect(e.reached(meanwhile, at(60))).To(BeFalse(), name)
		g.Expect(e.reached(stuck, at(70))).To(BeFalse(), "%s: patience begins anew", name)
		g.Expect(e.reached(stuck, at(130))).To(BeTrue(), name)
	}
}

// A node that nothing has to be done with stays unready: nothing will ever happen. But windows open, and patience ends.
func TestARollEndsWhenItOnlyWaits(t *testing.T) {
	now := time.Unix(1000, 0)
	waiting := func(nodes ...roller.Assessment) roller.Decision {
		return roller.Decision{Phase: roller.PhaseWaiting, Nodes: nodes}
	}
	blocked := func(rule roller.Rule) roller.Assessment {
		return roller.Assessment{State: roller.StateReady, Need: roller.NeedRestart, Blocks: []roller.Block{{Rule: rule}}}
	}
	for name, c := range map[string]struct {
		d    roller.Decision
		ends bool
	}{
		"a controller that stays unready": {waiting(roller.Assessment{State: roller.StateUnready}), true},
		"a node that makes no progress":   {waiting(roller.Assessment{State: roller.StateStalled}), true},
		"others wait for their turn":      {waiting(roller.Assessment{State: roller.StateUnready}, blocked(roller.RuleLimit)), true},
		"a pod that ends":                 {waiting(roller.Assessment{State: roller.StateReady, Ending: true}, blocked(roller.RuleLimit)), false},
		"a node that recovers its logs":   {waiting(roller.Assessment{State: roller.StateRecovering}), false},
		"a window":                        {waiting(blocked(roller.RuleWindow)), false},
		"patience":                        {waiting(blocked(roller.RulePatience)), false},
	} {
		t.Run(name, func(t *testing.T) {
			e := &ending{patience: time.Minute}
			NewWithT(t).Expect(e.reached(c.d, now)).To(BeFalse())
			NewWithT(t).Expect(e.reached(c.d, now.Add(time.Minute))).To(Equal(c.ends))
		})
	}
}

// The exit code of explain agrees with that of plan.
func TestOnlyWhatIsInTheWayBlocksANode(t *testing.T) {
	g := NewWithT(t)
	blocks := func(rules ...roller.Rule) roller.Assessment {
		a := roller.Assessment{Need: roller.NeedRestart}
		for _, r := range rules {
			a.Blocks = append(a.Blocks, roller.Block{Rule: r})
		}
		return a
	}
	g.Expect(exitOf(roller.Assessment{Need: roller.NeedNothing})).To(Equal(ExitDone))
	g.Expect(exitOf(blocks())).To(Equal(ExitPending))
	g.Expect(exitOf(blocks(roller.RuleOrder, roller.RuleLimit))).To(Equal(ExitPending), "it only waits for its turn")
	g.Expect(exitOf(blocks(roller.RuleOrder, roller.RuleQuorum))).To(Equal(ExitBlocked))
	unknown := []string{"its revision: no StrimziPodSet has this pod"}
	g.Expect(exitOf(roller.Assessment{Need: roller.NeedNothing, Unknown: unknown})).To(Equal(ExitBlocked), "nobody knows what it needs")
	g.Expect(exitOf(roller.Assessment{Need: roller.NeedRestart, Unknown: unknown})).To(Equal(ExitPending))
	g.Expect(exitOfPlan(roller.Plan{})).To(Equal(ExitDone))
	g.Expect(exitOfPlan(roller.Plan{Batches: []roller.Batch{{}}})).To(Equal(ExitPending))
	g.Expect(exitOfPlan(roller.Plan{Unknown: []roller.NodeID{1}})).To(Equal(ExitBlocked))
	g.Expect(exitOfPlan(roller.Plan{Unread: "cluster east can't be read"})).To(Equal(ExitBlocked), "it may have nodes that need something")
}
