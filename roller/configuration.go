package roller

import (
	"fmt"
	"slices"

	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// compare determines how each node's configuration differs from the desired one. It assigns cluster-wide changes to one of the brokers.
func (r *round) compare() map[NodeID]brokerconfig.Diff {
	diffs := map[NodeID]brokerconfig.Diff{}
	if r.policy.NoReconfiguration {
		return diffs
	}
	var nodes []brokerconfig.Node
	for i := range r.s.Nodes {
		n := &r.s.Nodes[i]
		if config, known := n.Config.Get(); known {
			roles := brokerconfig.Roles{Controller: n.Roles.Controller, Broker: n.Roles.Broker}
			nodes = append(nodes, brokerconfig.Node{ID: int32(n.ID), Roles: roles, Config: config})
		}
	}
	diffs = r.differences(nodes)
	if untaken := r.untaken(diffs); len(untaken) > 0 {
		r.progress.Refusals = brokerconfig.Add(r.progress.Refusals, untaken...)
		diffs = r.differences(nodes)
	}
	return diffs
}

// differences returns the differences of the nodes, without the changes that Kafka has rejected.
func (r *round) differences(nodes []brokerconfig.Node) map[NodeID]brokerconfig.Diff {
	diffs := map[NodeID]brokerconfig.Diff{}
	table := brokerconfig.TableOf(nodes)
	out := table.CompareAll(nodes, r.progress.Refusals...)
	r.disputes, r.met = out.Disputes, out.Met
	for id, d := range out.Nodes {
		diffs[NodeID(id)] = d
	}
	for i := range r.s.Nodes {
		n := &r.s.Nodes[i]
		if desired, known := n.Desired.Get(); known && !n.Config.IsKnown() && n.Instance.Or("?") != "" {
			if illegal := table.Illegal(desired, table.Version); len(illegal) > 0 {
				diffs[n.ID] = brokerconfig.Diff{Rejected: illegal}
			}
		}
	}
	if id, found := r.carrier(diffs); found && len(out.Global)+len(out.StoredGlobal) > 0 {
		d := diffs[id]
		d.Global, d.StoredGlobal = out.Global, out.StoredGlobal
		diffs[id] = d
	}
	return diffs
}

// untaken returns the changes that Kafka accepted several times without an effect. Kafka accepts a value for all brokers if one of them can
// apply it, and the others do not report that they can't; the roller treats that as a refusal.
func (r *round) untaken(diffs map[NodeID]brokerconfig.Diff) []brokerconfig.Refusal {
	const why = "it was set, but not every running node has applied it"
	var refusals []brokerconfig.Refusal
	add := func(node int32, final bool, changes []brokerconfig.Change) {
		for _, c := range changes {
			refusals = append(refusals, brokerconfig.Refusal{Key: c.Key, To: c.To, Node: node, Why: why, Final: final})
		}
	}
	for id, last := range r.progress.Alterations {
		d := diffs[id].WithoutRestart()
		if last.Tries < mostTries || r.s.At.Sub(last.At) < effect {
			continue
		}
		if d.Fingerprint() != last.Change {
			if d.Node = nil; d.Fingerprint() != last.Change { // see reconfigurations
				continue
			}
		}
		add(int32(id), false, d.Node)
		add(brokerconfig.EveryBroker, false, d.Global)
		add(int32(id), true, d.StoredNode)
		add(brokerconfig.EveryBroker, true, d.StoredGlobal)
	}
	return refusals
}

// forgetRefusals removes refusals of values that no node wants any more, or that all nodes have. It keeps them while a node can't be read.
func (r *round) forgetRefusals() {
	if !r.s.forgets() || r.policy.NoReconfiguration {
		return
	}
	r.progress.Refusals = slices.DeleteFunc(slices.Clone(r.progress.Refusals), func(refusal brokerconfig.Refusal) bool {
		matters := func(n Node) bool {
			desired, known := n.Desired.Get()
			value, set := desired[refusal.Key]
			return !n.Config.IsKnown() && (!known || refusal.To == nil || !set || value == *refusal.To)
		}
		return !slices.ContainsFunc(r.met, refusal.Same) && !slices.ContainsFunc(r.s.Nodes, matters)
	})
	if len(r.progress.Refusals) == 0 {
		r.progress.Refusals = nil
	}
}

// carrier returns the broker that gets a change for all brokers: preferably one that serves and needs no restart, else any that reports its
// configuration. The change must not wait for that broker's restart, its hold, or its owner.
func (r *round) carrier(diffs map[NodeID]brokerconfig.Diff) (id NodeID, found bool) {
	best := 0
	for i := range r.s.Nodes {
		n := &r.s.Nodes[i]
		if !n.Roles.Broker || !n.Config.IsKnown() {
			continue
		}
		_, underWay := r.progress.Restarts[n.ID]
		fit := 1
		if n.Hold == "" && n.Foreign == "" && !underWay && !n.Terminating && n.Ready.Or(false) && n.Answers.Or(false) {
			fit = 2
			if !n.Revision.Or(Revision{}).Outdated() && len(n.Requests)+len(diffs[n.ID].Restart) == 0 {
				fit = 3
			}
		}
		if fit > best {
			id, best = n.ID, fit
		}
	}
	return id, best > 0
}

// mostTries is how often a configuration change is tried that Kafka accepts and the node does not show.
const mostTries = 3

// alteration returns the fingerprint of the changes that the node can apply while it runs.
func (a *Assessment) alteration() string { return a.Changes.WithoutRestart().Fingerprint() }

// configBlocks adds the blocks of a configuration change without a restart. A rejected value blocks only itself.
func (a *Assessment) configBlocks(s *Snapshot, p Progress) {
	last := p.Alterations[a.Node]
	same := last.Change == a.alteration()
	switch {
	case !a.Changes.Live():
	case a.State != StateReady && a.State != StateCatchingUp && a.State != StateStalled:
		a.block(RuleConfig, "it is %s: its configuration is changed once it is ready", a.State)
	case same && last.Why != "" && s.At.Sub(last.At) < effect:
		a.block(RuleDenied, "the last attempt to change its configuration failed: %s; the roller tries again at %s", last.Why,
			clock(last.At.Add(effect)))
	case same && s.At.Sub(last.At) < effect:
		a.block(RuleUnderWay, "its configuration has just been changed")
	default:
		return
	}
	for _, x := range a.Changes.Rejected { // reported whenever there is nothing to do
		a.block(RuleConfig, "%s", advice(x))
	}
}

// startBlocks adds the blocks of a restart after which the node would not start.
func (a *Assessment) startBlocks() {
	for _, x := range a.Changes.Rejected {
		if x.Illegal {
			a.block(RuleConfig, "it would not start with its new configuration: %s", advice(x))
		}
	}
}

// advice describes the rejected values, and what to do about them.
func advice(x brokerconfig.Rejection) string {
	switch {
	case x.Illegal:
		return fmt.Sprintf("%s; correct it", x)
	case x.Final:
		return fmt.Sprintf("%s; correct it, or make Kafka accept it", x)
	}
	const ask = "if it is refused only while the node runs, ask for a restart (annotation strimzi.io/manual-rolling-update)"
	return fmt.Sprintf("%s; correct it, or, %s", x, ask)
}
