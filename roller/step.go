package roller

import (
	"time"

	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// ActionKind is what is to be done.
type ActionKind string

// The actions.
const (
	// ActionRestart ends the node's pod; whoever owns the pod makes a new one. It is to be done only to the given Instance.
	ActionRestart ActionKind = "Restart"
	// ActionReconfigure changes the configuration of a node, or of all brokers, while they run: what is to be changed is validated first.
	ActionReconfigure ActionKind = "Reconfigure"
)

// Action is one thing to be done.
type Action struct {
	Kind ActionKind `json:"kind"`
	// Node is the one that it is done to. A change for all brokers names one that needs it.
	Node NodeID `json:"node"`
	// Instance is the one that is to end: Restart only.
	Instance string   `json:"instance,omitempty"`
	Reasons  []Reason `json:"reasons,omitempty"`
	// Forced says which checks were not made, and why; empty: all were.
	Forced string `json:"forced,omitempty"`
	// Changes are what is to be changed: Reconfigure only.
	Changes brokerconfig.Diff `json:"changes,omitzero"`
}

// Phase sums up.
type Phase string

// The phases.
const (
	PhaseDone    Phase = "Done"    // nothing is to be done, and all nodes are ready
	PhaseRolling Phase = "Rolling" // something is done, or under way
	PhaseWaiting Phase = "Waiting" // a node is not ready, or something is to be done that only takes time, or a window
	PhaseBlocked Phase = "Blocked" // something is to be done, and something else must change first
	PhaseFailed  Phase = "Failed"  // a node that was restarted is not back, or one is stuck
)

// Decision is what a Step comes to.
type Decision struct {
	Phase   Phase    `json:"phase"`
	Actions []Action `json:"actions,omitempty"`
	// Nodes are all nodes, in the order in which they are considered, with what keeps each from what it needs.
	Nodes []Assessment `json:"nodes"`
	// Disputes are what the desired configurations of nodes do not agree on.
	Disputes []brokerconfig.Dispute `json:"disputes,omitempty"`
	// Progress is to be stored before Actions are carried out.
	Progress Progress `json:"progress"`
	// Again is after how long to look again, unless something changes before; 0: there is no need to.
	Again time.Duration `json:"again,omitempty"`
}

// How long until the next look, where nothing that is seen says when.
const (
	soon  = 2 * time.Second
	later = 10 * time.Second
)

// Step decides what is to be done now: at most one action for each node. It looks at everything anew each time; all it remembers is the Progress.
func Step(s *Snapshot, p Progress, policy Policy) Decision {
	r := newRound(s, p, policy)
	r.follow()
	actions := r.reconfigurations()
	for _, a := range r.nodes {
		if a.Need != NeedRestart {
			continue
		}
		if blocks := r.gates(a); len(blocks) > 0 {
			a.Blocks = blocks
			continue
		}
		a.Forced = r.forced(a)
		actions = append(actions, Action{Kind: ActionRestart, Node: a.Node, Instance: a.node.Instance.Or(""), Reasons: a.Reasons, Forced: a.Forced})
		r.choose(a)
	}
	for _, a := range r.nodes {
		r.waits(a)
	}
	for _, a := range r.chosen {
		r.progress.Restarts[a.Node] = r.restart(a)
		delete(r.progress.Waiting, a.Node)
	}
	d := Decision{Actions: actions, Progress: r.progress, Disputes: r.disputes}
	for _, a := range r.nodes {
		d.Nodes = append(d.Nodes, *a)
	}
	d.Phase = phase(d)
	d.Again = d.again()
	return d
}

// reconfigurations are the changes that need no restart. They take nobody down, so that no check of the data or the quorum keeps them (goal G18).
func (r *round) reconfigurations() []Action {
	var actions []Action
	for _, a := range r.nodes {
		if a.Need != NeedReconfiguration {
			continue
		}
		if r.policy.Paused != "" {
			a.block(RulePaused, "%s", r.policy.Paused)
		}
		if r.policy.Closed != "" {
			a.block(RuleWindow, "%s", r.policy.Closed)
		}
		if len(a.Blocks) > 0 {
			continue
		}
		last := r.progress.Alterations[a.Node]
		if last.Change != a.alteration() {
			last = Alteration{Change: a.alteration()}
		}
		last.At = r.s.At
		last.Tries++
		r.progress.Alterations[a.Node] = last
		changes := brokerconfig.Diff{Node: a.Changes.Node, Global: a.Changes.Global}
		actions = append(actions, Action{Kind: ActionReconfigure, Node: a.Node, Changes: changes})
	}
	return actions
}

// phase sums a decision up.
func phase(d Decision) Phase {
	result := PhaseDone
	for _, a := range d.Nodes {
		failed := a.State == StateFailed || a.State == StateStuck && a.Need != NeedRestart
		switch {
		case failed:
			return PhaseFailed
		case a.stage.underWay():
			result = PhaseRolling
		case a.Need != NeedNothing && result != PhaseRolling:
			if a.waitsForTime() {
				result = PhaseWaiting
			} else if result != PhaseWaiting {
				result = PhaseBlocked
			}
		case a.State != StateReady && result == PhaseDone:
			result = PhaseWaiting // it may need something before long
		}
	}
	if len(d.Actions) > 0 {
		return PhaseRolling
	}
	return result
}

// waitsForTime reports whether nothing but time is in the way.
func (a *Assessment) waitsForTime() bool {
	for _, b := range a.Blocks {
		switch b.Rule {
		case RulePatience, RuleRecovery, RuleSettle, RuleWindow, RuleOrder, RuleLimit, RuleRack, RuleLeaders, RuleBatch, RuleUnderWay:
		default:
			return false
		}
	}
	return true
}

// again is when the next look is worth it.
func (d Decision) again() time.Duration {
	switch d.Phase {
	case PhaseDone:
		return 0
	case PhaseRolling:
		return soon
	}
	return later
}
