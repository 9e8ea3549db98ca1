package app

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

func TestARollEndsWhenAllIsDoneOrBlocked(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1000, 0)
	elect := []roller.Action{{Kind: roller.ActionElectLeaders}}
	e := &ending{patience: time.Minute}
	g.Expect(e.reached(roller.Decision{Phase: roller.PhaseRolling}, now)).To(BeFalse())
	g.Expect(e.reached(roller.Decision{Phase: roller.PhaseWaiting}, now)).To(BeFalse())
	g.Expect(e.reached(roller.Decision{Phase: roller.PhaseBlocked, Actions: elect}, now)).To(BeFalse(), "something is done")
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
		"another one is restarted": {Phase: roller.PhaseFailed, Actions: []roller.Action{{Kind: roller.ActionRestart, Node: 1}},
			Progress: roller.Progress{Restarts: map[roller.NodeID]roller.Restart{1: {}}}},
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

// What blocks a node may end by itself, unless a user decided it: an election of the controllers, a request that timed out, a pod that is
// being replaced.
func TestABlockedRollWaitsForWhatMayEndByItself(t *testing.T) {
	now := time.Unix(1000, 0)
	blocked := func(rules ...roller.Rule) roller.Assessment {
		a := roller.Assessment{State: roller.StateReady, Need: roller.NeedRestart}
		for _, rule := range rules {
			a.Blocks = append(a.Blocks, roller.Block{Rule: rule})
		}
		return a
	}
	const never = -1
	for name, c := range map[string]struct {
		nodes []roller.Assessment
		ends  time.Duration
	}{
		"a fact is unknown":    {[]roller.Assessment{blocked(roller.RuleUnknown)}, time.Minute},
		"no leader":            {[]roller.Assessment{blocked(roller.RuleLimit, roller.RuleQuorum)}, time.Minute},
		"replicas are missing": {[]roller.Assessment{blocked(roller.RuleAvailability)}, time.Minute},
		"a restart is denied":  {[]roller.Assessment{blocked(roller.RuleDenied)}, time.Minute},
		"on hold":              {[]roller.Assessment{blocked(roller.RuleHold)}, 0},
		"on hold, and unknown": {[]roller.Assessment{blocked(roller.RuleUnknown, roller.RuleHold)}, 0},
		"all wait for a user":  {[]roller.Assessment{blocked(roller.RuleConfig), blocked(roller.RuleOwner)}, 0},
		"one does not":         {[]roller.Assessment{blocked(roller.RuleConfig), blocked(roller.RuleClusterLoss)}, time.Minute},
		"a change once it is ready": {[]roller.Assessment{{State: roller.StateUnready, Need: roller.NeedReconfiguration,
			Blocks: []roller.Block{{Rule: roller.RuleConfig}}}}, time.Minute},
		"one that needs nothing": {[]roller.Assessment{blocked(roller.RuleRisk), {State: roller.StateUnready,
			Need: roller.NeedNothing}}, 0},
		"a pod ends":                   {[]roller.Assessment{blocked(roller.RuleAvailability), {State: roller.StateReady, Ending: true}}, never},
		"another one recovers":         {[]roller.Assessment{blocked(roller.RuleQuorum), {State: roller.StateRecovering}}, never},
		"another one than one on hold": {[]roller.Assessment{blocked(roller.RuleHold), {State: roller.StateRecovering}}, never},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := &ending{patience: time.Minute}
			d := roller.Decision{Phase: roller.PhaseBlocked, Nodes: c.nodes}
			for _, after := range []time.Duration{0, time.Minute - 1, time.Minute, time.Hour} {
				g.Expect(e.reached(d, now.Add(after))).To(Equal(c.ends != never && after >= c.ends), after.String())
			}
		})
	}
}

// A restart that the API server denies is tried again after up to five minutes, which is the default of patience: an attempt is no
// progress.
func TestARollEndsWhenARestartStaysDenied(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1000, 0)
	e := &ending{patience: 5 * time.Minute}
	blocked := roller.Decision{Phase: roller.PhaseBlocked, Nodes: []roller.Assessment{{Need: roller.NeedRestart,
		Blocks: []roller.Block{{Rule: roller.RuleDenied}}}}}
	tried := roller.Decision{Phase: roller.PhaseRolling, Actions: []roller.Action{{Kind: roller.ActionRestart, Node: 1}}}
	g.Expect(e.reached(tried, now)).To(BeFalse())
	g.Expect(e.reached(blocked, now.Add(2*time.Second))).To(BeFalse())
	g.Expect(e.reached(tried, now.Add(300*time.Second))).To(BeFalse())
	g.Expect(e.reached(blocked, now.Add(302*time.Second))).To(BeTrue())
}

// Facts that always take too long to read let no look act: engine.Engine shows that as a block.
func TestARollEndsWhenAllLooksComeTooLate(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1000, 0)
	e := &ending{patience: time.Minute}
	tried := roller.Decision{Phase: roller.PhaseRolling, Actions: []roller.Action{{Kind: roller.ActionRestart, Node: 1}}}
	late := roller.Decision{Phase: roller.PhaseBlocked, Nodes: []roller.Assessment{{Need: roller.NeedRestart,
		Blocks: []roller.Block{{Rule: roller.RuleUnknown}}}}}
	g.Expect(e.reached(tried, now)).To(BeFalse())
	g.Expect(e.reached(late, now)).To(BeFalse())
	g.Expect(e.reached(late, now.Add(time.Minute))).To(BeTrue())
}

// The same if it is unknown for half a minute whether the API server accepted a restart. While another node comes back, the roll goes on.
func TestARollEndsWhenNoRestartIsAnswered(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	blocked := roller.Decision{Phase: roller.PhaseBlocked, Nodes: []roller.Assessment{{Need: roller.NeedRestart,
		Blocks: []roller.Block{{Rule: roller.RuleDenied}}}}}
	progress := roller.Progress{Restarts: map[roller.NodeID]roller.Restart{1: {Instance: "first"}},
		Denied: map[roller.NodeID]roller.Denial{1: {Instance: "first"}}}
	tried := roller.Decision{Phase: roller.PhaseRolling, Actions: []roller.Action{{Kind: roller.ActionRestart, Node: 1}}, Progress: progress}
	waits := roller.Decision{Phase: roller.PhaseRolling, Nodes: []roller.Assessment{{Node: 1, State: roller.StateRestarting}},
		Progress: progress}
	e := &ending{patience: 5 * time.Minute}
	g.Expect(e.reached(blocked, now)).To(BeFalse())
	g.Expect(e.reached(tried, at(290))).To(BeFalse())
	g.Expect(e.reached(waits, at(310))).To(BeFalse())
	g.Expect(e.reached(blocked, at(320))).To(BeTrue())

	for name, goesOn := range map[string]roller.Assessment{
		"another node":      {Node: 2, State: roller.StateCatchingUp},
		"it ends after all": {Node: 1, State: roller.StateRestarting, Ending: true},
	} {
		e := &ending{patience: 5 * time.Minute}
		g.Expect(e.reached(blocked, now)).To(BeFalse())
		also := waits
		also.Nodes = append(slices.Clone(also.Nodes), goesOn)
		g.Expect(e.reached(also, at(310))).To(BeFalse())
		g.Expect(e.reached(blocked, at(320))).To(BeFalse(), name)
	}
}

// A change of a configuration that fails each time, such as one that the roller has no right to make, is tried twice a minute.
func TestARollEndsWhenNoConfigurationCanBeChanged(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	tried := roller.Decision{Phase: roller.PhaseRolling, Actions: []roller.Action{{Kind: roller.ActionReconfigure, Node: 1}},
		Progress: roller.Progress{Alterations: map[roller.NodeID]roller.Alteration{1: {Why: "CLUSTER_AUTHORIZATION_FAILED"}}}}
	blocked := roller.Decision{Phase: roller.PhaseBlocked, Nodes: []roller.Assessment{{State: roller.StateReady,
		Need: roller.NeedReconfiguration, Blocks: []roller.Block{{Rule: roller.RuleDenied}}}}}
	e := &ending{patience: time.Minute}
	g.Expect(e.reached(blocked, at(0))).To(BeFalse())
	g.Expect(e.reached(tried, at(30))).To(BeFalse())
	g.Expect(e.reached(blocked, at(32))).To(BeFalse())
	g.Expect(e.reached(blocked, at(60))).To(BeTrue())
	made := tried
	made.Progress = roller.Progress{Alterations: map[roller.NodeID]roller.Alteration{1: {Tries: 1}}}
	g.Expect(e.reached(made, at(62))).To(BeFalse())
	g.Expect(e.reached(blocked, at(64))).To(BeFalse(), "patience begins anew")
}

// A drain evicts an up-to-date broker while another one is next: the roll goes on when the evicted one is back.
func TestARollWaitsForAPodThatSomebodyElseDeleted(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(100_000, 0)
	s := roller.Snapshot{At: now, Quorum: roller.Known(roller.Quorum{Leader: 9, Voters: []roller.Voter{{ID: 9, LastCaughtUp: 1}}})}
	ids := []roller.NodeID{0, 1, 2}
	for _, id := range ids {
		s.Nodes = append(s.Nodes, roller.Node{
			ID: id, Roles: roller.Roles{Broker: true}, Instance: roller.Known("first"), Ready: roller.Known(true),
			ReadyChanged: now.Add(-time.Hour), Stuck: roller.Known(""), Recovery: roller.Known[*roller.Recovery](nil),
			Answers: roller.Known(true), Fenced: roller.Known(false), Config: roller.Known(brokerconfig.Config{}),
			Revision: roller.Known(roller.Revision{Current: "old", Desired: "new"}),
		})
	}
	s.Nodes[1].Revision = roller.Known(roller.Revision{Current: "new", Desired: "new"})
	s.Nodes[1].Terminating, s.Nodes[1].Deleted, s.Nodes[1].Overdue = true, now, now.Add(time.Minute)
	s.Topics = roller.Known([]roller.Topic{{Name: "t", MinISR: roller.Known(2),
		Partitions: []roller.Partition{{Replicas: ids, ISR: ids, Leader: 0}}}})
	policy := roller.DefaultPolicy()
	e := &ending{patience: policy.Patience}
	d := roller.Step(&s, roller.Progress{}, policy)
	g.Expect(d.Phase).To(Equal(roller.PhaseBlocked))
	g.Expect(e.reached(d, now)).To(BeFalse())
	s.At, s.Nodes[1].Terminating, s.Nodes[1].Instance = now.Add(time.Minute), false, roller.Known("second")
	d = roller.Step(&s, d.Progress, policy)
	g.Expect(d.Actions).To(ConsistOf(HaveField("Node", roller.NodeID(0))))
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
	g.Expect(exitOf(roller.Assessment{Need: roller.NeedNothing, State: roller.StateReady})).To(Equal(ExitDone))
	g.Expect(exitOf(blocks())).To(Equal(ExitPending))
	g.Expect(exitOf(blocks(roller.RuleOrder, roller.RuleLimit))).To(Equal(ExitPending), "it only waits for its turn")
	g.Expect(exitOf(blocks(roller.RuleOrder, roller.RuleQuorum))).To(Equal(ExitBlocked))
	g.Expect(exitOf(blocks(roller.RuleOrder, roller.RuleWindow))).To(Equal(ExitPending), "it only waits for a window")
	g.Expect(exitOf(blocks(roller.RulePaused, roller.RuleWindow))).To(Equal(ExitBlocked))
	unknown := []string{"its revision: no StrimziPodSet has this pod"}
	g.Expect(exitOf(roller.Assessment{Need: roller.NeedNothing, Unknown: unknown})).To(Equal(ExitBlocked), "nobody knows what it needs")
	g.Expect(exitOf(roller.Assessment{Need: roller.NeedRestart, Unknown: unknown})).To(Equal(ExitPending))
	g.Expect(exitOfPlan(roller.Plan{})).To(Equal(ExitDone))
	g.Expect(exitOfPlan(roller.Plan{Batches: []roller.Batch{{}}})).To(Equal(ExitPending))
	for rule, want := range map[roller.Rule]int{roller.RulePaused: ExitBlocked, roller.RuleWindow: ExitPending} {
		g.Expect(exitOfPlan(roller.Plan{Batches: []roller.Batch{{}}, Waits: []roller.Block{{Rule: rule}}})).To(Equal(want), rule)
	}
	g.Expect(exitOfPlan(roller.Plan{Unknown: []roller.NodeID{1}})).To(Equal(ExitBlocked))
	g.Expect(exitOfPlan(roller.Plan{Unread: "cluster east can't be read"})).To(Equal(ExitBlocked), "it may have nodes that need something")
}

// Nobody goes on as if all were well while a node is not.
func TestARollThatHasNotEndedIsNotDone(t *testing.T) {
	for state, want := range map[roller.State]int{
		roller.StateReady: ExitDone, roller.StateRestarting: ExitPending, roller.StateCatchingUp: ExitPending, roller.StateStalled: ExitPending,
		roller.StateUnready: ExitPending, roller.StateRecovering: ExitPending, roller.StateMissing: ExitPending,
		roller.StateFailed: ExitBlocked, roller.StateStuck: ExitBlocked, roller.StateUnknown: ExitBlocked,
	} {
		g := NewWithT(t)
		a := roller.Assessment{State: state, Need: roller.NeedNothing}
		g.Expect(exitOf(a)).To(Equal(want), state)
		g.Expect(exitOfPlan(roller.Plan{Nodes: []roller.Assessment{a}})).To(Equal(want), state)
	}
	g := NewWithT(t)
	overdue := roller.Assessment{State: roller.StateReady, Need: roller.NeedNothing, Blocks: []roller.Block{{Rule: roller.RuleUnknown}}}
	g.Expect(exitOfPlan(roller.Plan{Nodes: []roller.Assessment{overdue}})).To(Equal(ExitBlocked), "its pod does not end")
	stops := roller.Assessment{State: roller.StateRestarting, Need: roller.NeedRestart}
	g.Expect(exitOfPlan(roller.Plan{Nodes: []roller.Assessment{stops}})).To(Equal(ExitPending), "it is in no batch")
	next := roller.Assessment{State: roller.StateFailed, Need: roller.NeedRestart}
	g.Expect(exitOfPlan(roller.Plan{Nodes: []roller.Assessment{next}, Batches: []roller.Batch{{}}})).To(Equal(ExitPending), "it is corrected")
}
