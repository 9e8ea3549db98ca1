package roller

import (
	"fmt"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// Plan lists what Step would do if nothing else changed, and all brokers took the same time: in the same order and the same batches.
type Plan struct {
	// At is the time of the snapshot.
	At time.Time `json:"at"`
	// Waits are the pause and the closed window for which all of it waits; empty if there is none, or nothing to do.
	Waits []Block `json:"waits,omitempty"`
	// Reconfigurations come first: they need no restart.
	Reconfigurations []Reconfiguration `json:"reconfigurations,omitempty"`
	// Batches go in this order. If Refilled is true, a broker goes before its batch does, as soon as no broker before it has to wait for
	// it, so that a slow one does not delay all others (docs/decisions/refill.md); otherwise a whole batch is back before the next one
	// goes.
	Batches  []Batch `json:"batches"`
	Refilled bool    `json:"refilled,omitempty"`
	// Fewest is a number of batches below which no division under the policy exists, and Proof the reason.
	Fewest int    `json:"fewest"`
	Proof  string `json:"proof,omitempty"`
	// PredictedSeconds is how long the restarts will likely take, based on the latest ones; 0 if that is unknown. Estimated means that the
	// roller has not seen a restart of some of the nodes' kinds, and takes how long their pods took to start instead: a restart also takes
	// the time to stop and to catch up.
	PredictedSeconds int64 `json:"predictedSeconds,omitempty"`
	Estimated        bool  `json:"estimated,omitempty"`
	// Blocked are the nodes that need something but are blocked; their assessments have the reasons.
	Blocked []NodeID `json:"blocked,omitempty"`
	// Unknown are the nodes with unknown facts, so that they may need something (Assessment.Unknown). Unread explains why there may be
	// other nodes; empty if all were read.
	Unknown []NodeID `json:"unknown,omitempty"`
	Unread  string   `json:"unread,omitempty"`
	// Disputes are the cluster-wide keys for which nodes have different desired values.
	Disputes []brokerconfig.Dispute `json:"disputes,omitempty"`
	// Nodes are all nodes, in the order in which the roller considers them.
	Nodes []Assessment `json:"nodes"`
}

// Batch is a set of nodes that go down together.
type Batch struct {
	Nodes []NodeID `json:"nodes"`
	// Split explains why its first node is not in the batch before; empty for the first batch.
	Split string `json:"split,omitempty"`
	// Risks are the effects on clients although the availability rule allows the batch, each with the first partition.
	Risks map[Risk]string `json:"risks,omitempty"`
}

// Reconfiguration is a change that needs no restart.
type Reconfiguration struct {
	Node    NodeID            `json:"node"`
	Changes brokerconfig.Diff `json:"changes"`
}

// passing are the rules that stop blocking a node when its turn comes, so that they do not exclude it from a plan.
var passing = []Rule{RuleOrder, RuleLimit, RuleRack, RuleLeaders, RuleBatch, RuleSettle, RulePatience, RuleUnderWay}

// NewPlan returns what Step would do from this snapshot on, or once the roller is not paused and a window is open.
func NewPlan(s *Snapshot, p Progress, policy Policy) Plan {
	r := newRound(s, p, policy)
	waits := r.closed()
	r.policy.Paused, r.policy.Closed = "", ""
	r.follow()
	plan := Plan{At: s.At, Unread: r.s.Unread, Disputes: r.disputes, Batches: []Batch{}} // none are an empty list in JSON
	for _, a := range r.reconfigurations() {
		plan.Reconfigurations = append(plan.Reconfigurations, Reconfiguration{a.Node, a.Changes})
	}
	var controllers, brokers []*Assessment
	for _, a := range r.nodes {
		switch {
		case a.Need == NeedRestart && a.stage == stageStopping:
			// Its restart is in progress.
		case a.Need == NeedRestart && r.stays(a):
			plan.Blocked = append(plan.Blocked, a.Node)
		case a.Need == NeedRestart && a.Roles.Controller:
			controllers = append(controllers, a)
		case a.Need == NeedRestart:
			brokers = append(brokers, a)
		case a.Need == NeedReconfiguration && len(a.Blocks) > 0:
			plan.Blocked = append(plan.Blocked, a.Node)
		}
	}
	plan.controllers(r, controllers)
	plan.brokers(r, brokers)
	plan.predict(r)
	if len(plan.Reconfigurations)+len(plan.Batches)+len(plan.Blocked) > 0 {
		plan.Waits = waits
	}
	plan.list(r.nodes)
	return plan
}

// list adds the nodes, and those that may need something.
func (p *Plan) list(nodes []*Assessment) {
	for _, a := range nodes {
		p.Nodes = append(p.Nodes, *a)
		if len(a.Unknown) > 0 && a.Need == NeedNothing {
			p.Unknown = append(p.Unknown, a.Node)
		}
	}
}

// predict sets how long the plan takes.
func (p *Plan) predict(r *round) {
	var groups [][]NodeID
	for _, b := range p.Batches {
		groups = append(groups, b.Nodes)
	}
	if len(groups) > 0 {
		predicted, estimated := r.predict(groups)
		p.PredictedSeconds, p.Estimated = int64(predicted/time.Second), estimated
	}
}

// stays reports whether the node would not be restarted in the present state, and sets its blocks. It ignores blocks that end when the
// restarts under way are complete.
func (r *round) stays(a *Assessment) bool {
	passes := passing
	if slices.ContainsFunc(r.away, func(other *Assessment) bool { return other.stage.underWay() }) {
		passes = append(slices.Clip(passing), RuleAvailability, RuleQuorum, RuleClusterLoss)
	}
	blocks := slices.DeleteFunc(r.gates(a), func(b Block) bool { return slices.Contains(passes, b.Rule) })
	if len(blocks) == 0 {
		a.Forced = r.forced(a)
		return false
	}
	a.Blocks = blocks
	return true
}

// controllers adds controllers one at a time, and those that are down together if there is no quorum.
func (p *Plan) controllers(r *round, controllers []*Assessment) {
	together := false
	for _, a := range controllers {
		down := a.Down && r.noQuorum()
		if down && together {
			last := &p.Batches[len(p.Batches)-1]
			last.Nodes = append(last.Nodes, a.Node)
			continue
		}
		together = down
		ids := []NodeID{a.Node}
		p.Batches = append(p.Batches, Batch{Nodes: ids, Split: "controllers restart one at a time", Risks: r.risks(ids)})
	}
	p.Fewest = len(p.Batches)
	if len(p.Batches) > 0 {
		p.Batches[0].Split = ""
		p.Proof = "controllers restart one at a time"
	}
}

// brokers adds the brokers, in the batches that Step follows.
func (p *Plan) brokers(r *round, brokers []*Assessment) {
	if len(brokers) == 0 {
		return
	}
	d := r.made
	switch {
	case r.policy.MaxUnavailable <= 1:
		anew := oneByOne(brokers)
		d = &anew
	case d == nil: // an existing plan is followed: compute its bound and proof again
		anew := r.divide(brokers)
		d = &anew
	}
	left, missing := trimmed(r.progress.Batches, brokers)
	if len(missing) > 0 {
		left = append(left, r.divide(missing).batches...)
	}
	for i, ids := range left {
		b := Batch{Nodes: ids, Risks: r.risks(ids)}
		switch {
		case i == 0 && len(p.Batches) > 0:
			b.Split = "brokers restart after the controllers"
		case i > 0:
			b.Split = r.split(left[i-1], ids)
		}
		p.Batches = append(p.Batches, b)
	}
	p.Refilled = len(left) > 1 && r.policy.refills()
	p.Fewest += d.fewest
	if p.Proof != "" {
		p.Proof += "; "
	}
	p.Proof += d.proof
}

// trimmed returns the batches with only the given brokers, and those brokers that are in no batch.
func trimmed(batches [][]NodeID, brokers []*Assessment) (left [][]NodeID, missing []*Assessment) {
	wanted := map[NodeID]bool{}
	for _, a := range brokers {
		wanted[a.Node] = true
	}
	for _, ids := range batches {
		var rest []NodeID
		for _, id := range ids {
			if wanted[id] {
				rest = append(rest, id)
				delete(wanted, id)
			}
		}
		if len(rest) > 0 {
			left = append(left, rest)
		}
	}
	for _, a := range brokers {
		if wanted[a.Node] {
			missing = append(missing, a)
		}
	}
	return left, missing
}

// split explains why the first node of a batch is not in the batch before.
func (r *round) split(before, batch []NodeID) string {
	first := r.s.Node(batch[0])
	rack, share := 0, r.avail.leaderShare(first.ID)
	for _, id := range before {
		share += r.avail.leaderShare(id)
		if first.Rack != "" && r.s.Node(id).Rack == first.Rack {
			rack++
		}
	}
	gone := r.with(before)
	why, loss := r.avail.shortage(first.ID, gone), r.losses.whyBeside(r.assessment(first.ID), gone)
	switch {
	case r.rankOf(before[0]) < r.rankOf(first.ID):
		return "nodes that are not ready restart first"
	case len(before) >= max(1, r.policy.MaxUnavailable):
		return fmt.Sprintf("at most %s may be down", amount(max(1, r.policy.MaxUnavailable), "broker"))
	case why != "":
		return why
	case loss != "":
		return loss
	case r.policy.MaxPerRack > 0 && rack >= r.policy.MaxPerRack:
		return fmt.Sprintf("at most %s of rack %q may be down", amount(r.policy.MaxPerRack, "broker"), first.Rack)
	case r.policy.MaxLeaderShare > 0 && share > r.policy.MaxLeaderShare:
		return fmt.Sprintf("together they lead %.1f %% of all partitions", 100*share)
	}
	return "this grouping needs the fewest batches"
}

// rankOf returns the rank of a considered node.
func (r *round) rankOf(id NodeID) int {
	i := slices.IndexFunc(r.nodes, func(a *Assessment) bool { return a.Node == id })
	return r.nodes[i].rank()
}

// with returns the nodes that are down, and these.
func (r *round) with(ids []NodeID) nodeSet {
	gone := nodeSet{ids: r.ledger.gone.ids, marks: slices.Clone(r.ledger.gone.marks)}
	for _, id := range ids {
		gone.add(id)
	}
	return gone
}

// risks returns the risks of a whole batch.
func (r *round) risks(ids []NodeID) map[Risk]string {
	var risks map[Risk]string
	gone := r.with(ids)
	for _, id := range ids {
		for risk, at := range r.avail.risks(id, gone) {
			if risks == nil {
				risks = map[Risk]string{}
			}
			if risks[risk] == "" {
				risks[risk] = at
			}
		}
	}
	return risks
}
