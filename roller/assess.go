package roller

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// State is the state of a node.
type State string

// The states.
const (
	StateReady      State = "Ready"
	StateUnready    State = "NotReady"
	StateStuck      State = "Stuck"      // its pod can't run without a change
	StateRecovering State = "Recovering" // it is recovering its logs
	StateSilent     State = "Silent"     // its pod is ready, but it does not answer
	StateMissing    State = "Missing"    // there is no pod
	StateUnknown    State = "Unknown"
	StateRestarting State = "Restarting"
	StateCatchingUp State = "CatchingUp" // it was restarted, and some of its replicas are not in sync yet
	StateStalled    State = "Stalled"    // the same, without progress
	StateFailed     State = "Failed"     // it was restarted, and has not become ready within the patience
)

// Need is the action that a node needs.
type Need string

// The needs.
const (
	NeedNothing         Need = "Nothing"
	NeedReconfiguration Need = "Reconfiguration"
	NeedRestart         Need = "Restart"
)

// Rule names a rule that keeps a node from being restarted or reconfigured.
type Rule string

// The rules.
const (
	RuleUnknown      Rule = "Unknown"      // a required fact is unknown
	RuleRecovery     Rule = "Recovery"     // a node that is recovering its logs is left alone
	RuleOwner        Rule = "Owner"        // no proof that the roller may restart it, and that its pod will be recreated
	RuleHold         Rule = "Hold"         // a user put it on hold
	RulePaused       Rule = "Paused"       // the roller is paused
	RuleWindow       Rule = "Window"       // no maintenance window is open
	RulePatience     Rule = "Patience"     // an unready node may still get ready by itself
	RuleHalt         Rule = "Halt"         // another node failed after a restart into the same state
	RuleOrder        Rule = "Order"        // other nodes go first
	RuleUnderWay     Rule = "UnderWay"     // its restart has begun
	RuleLimit        Rule = "Limit"        // the maximum number of brokers is down
	RuleRack         Rule = "Rack"         // the maximum number of brokers of its rack is down
	RuleLeaders      Rule = "Leaders"      // too many partitions would change their leader at the same time
	RuleBatch        Rule = "Batch"        // brokers of batches before its own go first
	RuleSettle       Rule = "Settle"       // the last node has not been back for long enough
	RuleQuorum       Rule = "Quorum"       // the metadata quorum would not survive it
	RuleAvailability Rule = "Availability" // a partition would have too few replicas in sync
	RuleClusterLoss  Rule = "ClusterLoss"  // until other nodes are back, the loss of a Kubernetes cluster would be an outage
	RuleRisk         Rule = "Risk"         // allowed by the availability rule, forbidden by the policy
	RuleConfig       Rule = "Config"       // Kafka rejects the configuration
	RuleDenied       Rule = "Denied"       // the API server does not delete its pod, or an attempt to change its configuration failed
)

// Block is a reason why a node is not restarted or reconfigured.
type Block struct {
	Rule Rule `json:"rule"`
	// Why is a message for users: what blocks the node and, unless obvious, what unblocks it.
	Why string `json:"why"`
}

// Assessment is the evaluation of one node.
type Assessment struct {
	Node  NodeID `json:"node"`
	Name  string `json:"name"`
	Roles Roles  `json:"roles"`
	// ActiveController reports whether the node leads the metadata quorum.
	ActiveController bool   `json:"activeController,omitempty"`
	State            State  `json:"state"`
	Detail           string `json:"detail,omitempty"`
	Need             Need   `json:"need"`
	// Reasons are the reasons to restart it.
	Reasons []Reason `json:"reasons,omitempty"`
	// Repeated are reasons that it still has after a restart for them; they cause no further restart.
	Repeated []Reason `json:"repeated,omitempty"`
	// Changes are the differences between its desired and its live configuration.
	Changes brokerconfig.Diff `json:"changes,omitzero"`
	// Unknown lists unknown facts about the node that may hide that it needs a restart or a reconfiguration.
	Unknown []string `json:"unknown,omitempty"`
	// Ending reports whether its pod is being deleted, by anybody, and the roller waits for that.
	Ending bool `json:"ending,omitempty"`
	// Down reports whether the node serves no clients, so that a restart does no harm.
	Down bool `json:"down,omitempty"`
	// Blocks are the rules that block its restart or reconfiguration, or why its pod does not end. Forced describes the checks that are
	// skipped because they are impossible or unnecessary (docs/decisions/restart-order.md).
	Blocks []Block `json:"blocks,omitempty"`
	Forced string  `json:"forced,omitempty"`

	stage stage
	node  *Node
}

// blocked returns the blocks of a rule that blocks.
func blocked(rule Rule, format string, args ...any) []Block {
	return []Block{{rule, fmt.Sprintf(format, args...)}}
}

func (a *Assessment) block(rule Rule, format string, args ...any) {
	a.Blocks = append(a.Blocks, blocked(rule, format, args...)...)
}

// outdated are the reasons that a new pod resolves, so that a stuck pod may be restarted (docs/roller/checklist.md).
var outdated = []ReasonKind{PodHasOldRevision, PodHasOldResourceRevision}

// assess determines the state of one node and what it needs, independent of all other nodes.
func (r *round) assess(n *Node, at stage, changes brokerconfig.Diff) *Assessment {
	s, p, policy := r.s, r.progress, r.policy
	a := &Assessment{Node: n.ID, Name: n.Name, Roles: n.Roles, Need: NeedNothing, Changes: changes, stage: at, node: n}
	if q, known := s.Quorum.Get(); known {
		a.ActiveController = q.Leader == n.ID
	}
	a.Ending = n.stillStopping(s.At, policy)
	a.state(s, n, p.Restarts[n.ID], policy)
	if a.State != StateRecovering && n.Recovery.IsKnown() && !n.Roles.Controller && a.outside(s, policy, r.avail) {
		a.Down = true
	}
	a.unknown(policy)
	for _, x := range r.reasons(a) {
		if x.served(p.Restarted[n.ID]) {
			a.Repeated = append(a.Repeated, x)
		} else {
			a.Reasons = append(a.Reasons, x)
		}
	}
	switch {
	case a.State == StateStuck && !slices.ContainsFunc(a.Reasons, func(r Reason) bool { return slices.Contains(outdated, r.Kind) }):
		a.Reasons = nil // the new pod would get stuck again
	case a.State == StateStuck:
		a.Reasons = append(a.Reasons, Reason{Kind: PodStuck, Note: n.Stuck.Or(""), Mark: n.Revision.Or(Revision{}).Desired})
	}
	if a.Need = a.need(); a.Need != NeedNothing {
		a.ownBlocks(s, n, p, policy)
	} else if n.lingers(s.At, policy) {
		a.blockOverdue()
	}
	return a
}

func (a *Assessment) need() Need {
	switch {
	case len(a.Reasons) > 0 && a.node.Instance.Or("?") != "": // a missing pod can't be replaced
		return NeedRestart
	case a.Changes.Live() || len(a.Changes.Rejected) > 0:
		return NeedReconfiguration
	}
	return NeedNothing
}

// state sets State, Detail and Down.
func (a *Assessment) state(s *Snapshot, n *Node, r Restart, policy Policy) {
	instance, exists := n.Instance.Get()
	ready, readable := n.Ready.Get()
	stuck := n.Stuck.Or("")
	recovery := n.Recovery.Or(nil)
	switch {
	case exists && instance == "":
		a.State, a.Down, a.Detail = StateMissing, true, "its pod does not exist; the owner of the pod creates it"
	case !exists:
		a.State, a.Detail = StateUnknown, "its pod is unknown: "+n.Instance.Why()
	case stuck != "":
		a.State, a.Down, a.Detail = StateStuck, true, stuck
	case !readable:
		a.State, a.Detail = StateUnknown, "its readiness is unknown: "+n.Ready.Why()
	case !ready && !n.Stuck.IsKnown():
		a.State, a.Detail = StateUnknown, "it is unknown whether its pod is stuck: "+n.Stuck.Why()
	case recovery != nil:
		a.State, a.Detail = StateRecovering, recovery.String()
	case !ready:
		a.unready(n)
	case !n.Answers.Or(true):
		a.State, a.Detail = StateSilent, "its pod is ready, but it does not answer"
		if !n.Silent.IsZero() { // it answered before
			a.Detail = "its pod is ready, but it has not answered for " + rounded(s.At.Sub(n.Silent))
		}
	default:
		a.State = StateReady
	}
	a.Detail = join(a.Detail, n.Sidecar, n.Failing)
	a.restartState(s, r, policy)
}

func join(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), "; ")
}

// unready sets State, Detail and Down of a node that is not ready.
func (a *Assessment) unready(n *Node) {
	a.State = StateUnready
	if n.Recovery.IsKnown() {
		a.Down = n.Roles.Broker && !n.Roles.Controller && n.Fenced.Or(false)
	} else {
		a.Detail = "it may be recovering its logs: " + n.Recovery.Why()
	}
}

// unknown lists the unknown facts that may hide that the node needs an action (docs/decisions/facts-of-a-restart.md). An unknown fact is
// never taken to be as desired.
func (a *Assessment) unknown(policy Policy) {
	n := a.node
	if n.Instance.Or("?") == "" {
		return // without a pod there are no facts about it
	}
	if a.stage == stageUnread {
		a.Unknown = append(a.Unknown, "whether it is back from its restart: "+n.Instance.Why())
	}
	if !n.Ready.IsKnown() {
		a.Unknown = append(a.Unknown, "its readiness: "+n.Ready.Why())
	}
	if !n.Revision.IsKnown() {
		a.Unknown = append(a.Unknown, "its revision: "+n.Revision.Why())
	}
	if !policy.NoReconfiguration && !n.Config.IsKnown() {
		a.Unknown = append(a.Unknown, "its configuration: "+n.Config.Why())
	}
}

// restartState replaces the state of a node whose restart is not complete.
func (a *Assessment) restartState(s *Snapshot, r Restart, policy Policy) {
	switch a.stage {
	case stageStopping:
		a.State, a.Detail = StateRestarting, "it is being stopped"
	case stageStarting:
		if a.State == StateUnready || a.State == StateMissing {
			a.State, a.Detail = StateRestarting, "the roller waits for it until "+clock(r.since(a.node).Add(policy.Patience))
		}
	case stageFailed:
		if a.State != StateStuck && a.State != StateRecovering && a.State != StateUnknown {
			a.State, a.Detail = StateFailed, fmt.Sprintf("it was restarted %s ago and is not ready", rounded(s.At.Sub(r.At)))
		}
	case stageUnread:
		a.Detail += "; it was restarted at " + clock(r.At) + ", and the roller does not wait for it"
	case stageCatchingUp, stageStalled:
		a.State, a.Detail = StateCatchingUp, amount(r.Left, "replica")+" left"
		if rate, rest, ok := r.Rate(s.At); ok {
			a.Detail += fmt.Sprintf(", %.3g/s, about %s left", rate, rounded(rest))
		}
		if a.stage == stageStalled {
			a.State = StateStalled
			a.Detail += ", no progress for " + rounded(s.At.Sub(r.Improved))
		}
	}
}

// String describes the remaining recovery.
func (r *Recovery) String() string {
	switch {
	case r.Loaded:
		return "it has read its logs, and has not started yet"
	case r.Loading:
		return "it is loading its logs"
	case r.RemainingLogs < 0:
		return "it is recovering its logs"
	}
	return fmt.Sprintf("it is recovering its logs: %s and %s left", amount(r.RemainingLogs, "log"),
		amount(max(0, r.RemainingSegments), "segment"))
}

// reasons returns all current reasons to restart the node, including those that it was already restarted for.
func (r *round) reasons(a *Assessment) []Reason {
	n := a.node
	reasons := slices.Clone(n.Requests)
	if revision, known := n.Revision.Get(); known && revision.Outdated() {
		reasons = append(reasons, Reason{Kind: PodHasOldRevision, Note: revision.Note, Mark: revision.Desired})
	}
	silent := n.Roles.Broker && a.State != StateRecovering && n.silent(r.s.At) >= n.allowedSilence(r.policy)
	if silent && (!n.Ready.Or(true) || r.heard(n) != nil) {
		reasons = append(reasons, Reason{Kind: PodUnresponsive})
	}
	if len(a.Changes.Restart) > 0 {
		d := brokerconfig.Diff{Restart: a.Changes.Restart}
		reasons = append(reasons, Reason{Kind: ConfigChangeRequiresRestart, Note: keys(a.Changes.Restart),
			Mark: d.Fingerprint() + before + d.Before()})
	}
	return sortedReasons(reasons)
}

// silent returns how long the node has not answered although it could have: the time counts from the readiness of a new instance.
func (n *Node) silent(now time.Time) time.Duration {
	since := n.Silent
	if n.ReadyChanged.After(since) {
		since = n.ReadyChanged
	}
	if n.Answers.Or(true) || n.Silent.IsZero() {
		return 0
	}
	return now.Sub(since)
}

// allowedSilence returns how long the node may be silent. A node that is not ready gets the time to become ready.
func (n *Node) allowedSilence(policy Policy) time.Duration {
	if n.Ready.Or(true) {
		return policy.Silence
	}
	return max(policy.Silence, policy.Patience)
}

// answered reports whether this instance of the node has answered.
func (n *Node) answered() bool {
	answers, known := n.Answers.Get()
	return known && (answers || n.Silent.After(n.ReadyChanged))
}

// keys lists the keys of changes, up to a maximum.
func keys(changes []brokerconfig.Change) string {
	const most = 5
	var words []string
	for _, c := range changes[:min(most, len(changes))] {
		words = append(words, c.Key)
	}
	if more := len(changes) - most; more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return strings.Join(words, ", ")
}

// ownBlocks adds the blocks that do not depend on other nodes.
func (a *Assessment) ownBlocks(s *Snapshot, n *Node, p Progress, policy Policy) {
	a.stateBlocks(s, n, policy)
	if n.Foreign != "" {
		a.block(RuleOwner, "%s", n.Foreign)
	}
	if n.Unsettled != "" {
		a.block(RuleUnknown, "%s", n.Unsettled)
	}
	if n.Hold != "" {
		a.block(RuleHold, "%s", n.Hold)
	}
	if a.Need == NeedReconfiguration {
		a.configBlocks(s, p)
		return
	}
	a.startBlocks()
	if d, denied := p.Denied[a.Node]; denied && s.At.Before(d.again()) {
		a.block(RuleDenied, "%s; the roller tries again at %s", d.Why, clock(d.again()))
	}
}

// leftAlone reports whether the node may not be changed at all, neither by a restart nor while it runs.
func (a *Assessment) leftAlone() bool {
	return slices.ContainsFunc(a.Blocks, func(b Block) bool {
		return b.Rule == RuleHold || b.Rule == RuleOwner || b.Rule == RuleUnknown
	})
}

// blockOverdue tells users of a pod that does not end.
func (a *Assessment) blockOverdue() {
	a.block(RuleUnknown, "its pod should have ended at %s: its machine may be lost, and only its owner can tell whether Kafka still "+
		"runs there; delete the Kubernetes node if it is gone for good", clock(a.node.Overdue))
}

func (a *Assessment) stateBlocks(s *Snapshot, n *Node, policy Policy) {
	switch {
	case a.State == StateRecovering:
		a.block(RuleRecovery, "%s; a restart would start that over", n.Recovery.Or(&Recovery{RemainingLogs: -1}))
	case a.State == StateUnknown:
		a.block(RuleUnknown, "%s", a.Detail)
	case a.stage == stageStopping, a.stage.underWay() && !a.Down && a.stage != stageFailed:
		a.block(RuleUnderWay, "it is not back from its last restart: %s", a.Detail)
	case n.lingers(s.At, policy):
		a.blockOverdue()
	case a.stage == stageStarting && a.State == StateMissing, n.Terminating:
		a.block(RuleUnderWay, "its pod is being replaced")
	case (a.State == StateUnready || a.guessed()) && !a.Down && s.At.Sub(n.ReadyChanged) < policy.Patience:
		a.block(RulePatience, "it is not ready; the roller waits for it until %s", clock(n.ReadyChanged.Add(policy.Patience)))
	}
}
