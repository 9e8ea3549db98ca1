package roller

import (
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// ActionKind is the kind of an action.
type ActionKind string

// The actions.
const (
	// ActionRestart deletes the node's pod, whose owner creates a new one. It should be done only to the given Instance.
	ActionRestart ActionKind = "Restart"
	// ActionReconfigure changes the configuration of a node, or of all brokers, while they run. All changes are validated first.
	ActionReconfigure ActionKind = "Reconfigure"
	// ActionElectLeaders elects a broker leader of Partitions, whose preferred replica it is.
	ActionElectLeaders ActionKind = "ElectLeaders"
)

// Action is one action on a node.
type Action struct {
	Kind ActionKind `json:"kind"`
	// Node is the affected node. A change for all brokers names one that needs it.
	Node NodeID `json:"node"`
	// Instance is the instance to end: Restart only.
	Instance string   `json:"instance,omitempty"`
	Reasons  []Reason `json:"reasons,omitempty"`
	// Until is the latest time at which the action may start. After that, its facts are too old, and another look is needed.
	Until time.Time `json:"until,omitzero"`
	// Unasked are the nodes that must be serving for the action to be safe, and that were not asked in this look. The action must not be
	// carried out before they were asked and it was decided again. Restart only.
	Unasked []NodeID `json:"unasked,omitempty"`
	// Forced describes which checks were skipped, and why; empty if none was.
	Forced string `json:"forced,omitempty"`
	// Changes are the keys to change: Reconfigure only.
	Changes brokerconfig.Diff `json:"changes,omitzero"`
	// Partitions are the partitions whose preferred leader should be elected, by topic: ElectLeaders only.
	Partitions map[string][]int32 `json:"partitions,omitempty"`
	// Await means that a restart follows, which should wait until the broker leads and its followers fetch: ElectLeaders only.
	Await bool `json:"await,omitempty"`
}

// Phase is the summary of a decision.
type Phase string

// The phases.
const (
	PhaseDone    Phase = "Done"    // nothing to do, and all nodes are ready
	PhaseRolling Phase = "Rolling" // an action is decided, or a restart is in progress
	PhaseWaiting Phase = "Waiting" // a node is not ready, or pending work only waits for time or a window
	PhaseBlocked Phase = "Blocked" // work is pending, and something else must change first
	PhaseFailed  Phase = "Failed"  // a restarted node did not come back, or a node is stuck
	PhaseUnknown Phase = "Unknown" // no work is known to be pending, and some facts are unknown
)

// Decision is the result of a Step.
type Decision struct {
	Phase   Phase    `json:"phase"`
	Actions []Action `json:"actions,omitempty"`
	// Nodes are all nodes, in the order in which the roller considers them, with their blocks.
	Nodes []Assessment `json:"nodes"`
	// Disputes are the cluster-wide keys for which nodes have different desired values.
	Disputes []brokerconfig.Dispute `json:"disputes,omitempty"`
	// Progress should be stored before Actions are carried out.
	Progress Progress `json:"progress"`
	// Expected is when all restarts are likely to be complete, predicted as Plan.PredictedSeconds is; zero if none is in progress, or that is
	// unknown.
	Expected time.Time `json:"expected,omitzero"`
	// Again is the time until the next look, unless something changes before; 0 if none is needed.
	Again time.Duration `json:"again,omitempty"`
}

// The default time until the next look.
const (
	atOnce = 100 * time.Millisecond
	soon   = 2 * time.Second
	later  = 10 * time.Second
)

// Freshness is the largest age of the facts on which a node is restarted.
const Freshness = 5 * time.Second

// Step decides what to do now: elections of leaders, at most one restart, and configuration changes, in this order. It evaluates everything
// again each time, and remembers only the Progress. Each member of a batch is decided in a look of its own, because facts age while the
// previous one is restarted (docs/decisions/facts-of-a-restart.md).
func Step(s *Snapshot, p Progress, policy Policy) Decision {
	r := newRound(s, p, policy)
	r.follow()
	restarts := r.restarts()
	actions := slices.Concat(r.elections(), restarts, r.reconfigurations())
	r.record()
	return r.decision(actions)
}

// restarts chooses the nodes that may go now, and returns the restart of the first one.
func (r *round) restarts() (actions []Action) {
	for _, a := range r.nodes {
		if a.Need != NeedRestart {
			continue
		}
		if blocks := r.gates(a); len(blocks) > 0 {
			a.Blocks = blocks
			continue
		}
		a.Forced = r.forced(a)
		if len(r.chosen) == 0 {
			actions = append(actions, Action{
				Kind: ActionRestart, Node: a.Node, Instance: a.node.Instance.Or(""), Reasons: a.Reasons, Forced: a.Forced,
				Until: r.s.from().Add(Freshness), Unasked: r.unasked(a),
			})
		} else {
			a.block(RuleOrder, "it follows node %d, after the other nodes have been observed again", r.chosen[0].Node)
		}
		r.choose(a)
	}
	return actions
}

// record stores in the progress which controllers wait, and the restart that begins.
func (r *round) record() {
	for _, a := range r.nodes {
		r.waits(a)
	}
	if len(r.chosen) > 0 {
		a := r.chosen[0]
		r.progress.Restarts[a.Node] = r.restart(a)
		delete(r.progress.Waiting, a.Node)
	}
	r.progress.unwitnessed()
}

// decision returns the decision with these actions.
func (r *round) decision(actions []Action) Decision {
	d := Decision{Actions: actions, Disputes: r.disputes}
	for _, a := range r.nodes {
		d.Nodes = append(d.Nodes, *a)
	}
	d.Phase = phase(d, r.s)
	r.noteTold(d.Phase)
	d.Progress = r.progress
	if d.Phase == PhaseRolling {
		if rest, _ := r.predict(r.left()); rest > 0 {
			d.Expected = r.s.At.Add(rest)
		}
	}
	if d.Phase == PhaseDone && !d.Progress.Static { // voters may be added or removed before the next look
		d.Progress.forgetVoters()
	}
	if d.Again = d.again(); len(r.chosen) > 1 {
		d.Again = atOnce
	}
	return d
}

// reconfigurations returns the changes that need no restart. They take no node down, so no check of the data or the quorum applies.
func (r *round) reconfigurations() []Action {
	var actions []Action
	for _, a := range r.nodes {
		changes := a.Changes.WithoutRestart()
		b := a
		switch {
		case a.Need == NeedReconfiguration:
		case a.Need == NeedRestart && changes.Live() && !a.leftAlone() && !slices.Contains(r.chosen, a):
			// The node's own changes are part of its restart, unless an illegal value blocks that; the other brokers must not wait for
			// either.
			if !slices.ContainsFunc(a.Blocks, func(x Block) bool { return x.Rule == RuleConfig }) {
				changes.Node = nil
			}
			if !changes.Live() {
				continue
			}
			b = &Assessment{Node: a.Node, State: a.State, Changes: changes}
			b.configBlocks(r.s, r.progress)
		default:
			continue
		}
		if r.policy.Paused != "" {
			b.block(RulePaused, "%s", r.policy.Paused)
		}
		if r.policy.Closed != "" {
			b.block(RuleWindow, "%s", r.policy.Closed)
		}
		if len(b.Blocks) > 0 {
			continue
		}
		last, change := r.progress.Alterations[a.Node], changes.Fingerprint()
		if last.Change != change {
			last = Alteration{Change: change}
		}
		last.At, last.Why = r.s.At, ""
		r.progress.Alterations[a.Node] = last
		actions = append(actions, Action{Kind: ActionReconfigure, Node: a.Node, Changes: changes, Until: r.s.from().Add(Freshness)})
	}
	return actions
}

// phase returns the phase of a decision.
func phase(d Decision, s *Snapshot) Phase {
	result := PhaseDone
	if s.Unread != "" {
		result = PhaseUnknown
	}
	for i := range d.Nodes {
		if result = d.Nodes[i].phase(result); result == PhaseFailed {
			return result
		}
	}
	if len(d.Actions) > 0 {
		return PhaseRolling
	}
	return result
}

// phase returns the phase including one more node.
func (a *Assessment) phase(before Phase) Phase {
	switch {
	case a.State == StateFailed || a.State == StateStuck && a.Need != NeedRestart:
		return PhaseFailed
	case a.stage.underWay() || before == PhaseRolling:
		return PhaseRolling
	case a.Need != NeedNothing && a.waitsForTime():
		return PhaseWaiting
	case a.Need != NeedNothing && before != PhaseWaiting:
		return PhaseBlocked
	case before == PhaseDone || before == PhaseUnknown:
		return a.quietPhase(before)
	}
	return before
}

// quietPhase returns the phase including one more node that needs nothing, if no node before it needed anything.
func (a *Assessment) quietPhase(before Phase) Phase {
	switch {
	case a.State == StateUnknown || a.State == StateReady && len(a.Unknown) > 0:
		return PhaseUnknown
	case a.State != StateReady || len(a.Blocks) > 0:
		return PhaseWaiting // it may soon need something
	}
	return before
}

// waitsForTime reports whether all blocks end with time.
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

// Awaited is what a roller waits for.
type Awaited int

// What a roller waits for.
const (
	AwaitsNothing  Awaited = iota // no restart is under way, or something is wrong
	AwaitsAnything                // restarts are under way, and something else can be done meanwhile, or any change may allow it
	AwaitsReplicas                // nothing can be done before a restart is complete, and a node that is back waits for its replicas
	AwaitsNodes                   // nothing can be done before a restart is complete, and no restarted node is back
)

// Awaits returns what has to happen before anything can be done. If a restart under way has to complete first, each node that needs
// something waits for its turn.
func (d Decision) Awaits() Awaited {
	if d.Phase != PhaseRolling || len(d.Progress.Restarts) == 0 {
		return AwaitsNothing
	}
	turn := []Rule{RuleUnderWay, RuleOrder, RuleLimit, RuleBatch}
	if len(d.Actions) > 0 || slices.ContainsFunc(d.Nodes, func(a Assessment) bool {
		return a.Need != NeedNothing && !slices.ContainsFunc(a.Blocks, func(b Block) bool { return slices.Contains(turn, b.Rule) })
	}) {
		return AwaitsAnything
	}
	for _, restart := range d.Progress.Restarts {
		if !restart.Ready.IsZero() {
			return AwaitsReplicas
		}
	}
	return AwaitsNodes
}

// again returns when the next look is useful.
func (d Decision) again() time.Duration {
	switch d.Phase {
	case PhaseDone:
		return 0
	case PhaseRolling:
		return soon
	}
	return later
}
