package roller

import (
	"cmp"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// round is the evaluation of one Snapshot. Both a plan and a step use it.
type round struct {
	s        *Snapshot
	policy   Policy
	progress Progress
	avail    *availability
	// nodes are the assessments in the order in which the roller considers the nodes.
	nodes []*Assessment
	// ledger counts the nodes that serve no clients, or soon will not: those that are down, shutting down or being restarted, and those chosen
	// in this round.
	ledger *ledger
	// away are the nodes that count against the limits: those being restarted, chosen in this round, or shutting down and expected back.
	away []*Assessment
	// chosen are the nodes chosen in this round.
	chosen []*Assessment
	// controllers counts the controllers, and down those of them that serve no clients. They show a lost quorum if no node answers that
	// could report it.
	controllers, down int
	// unreliableVoters are the controllers that can't be relied on, although the quorum's leader may still report them as caught up.
	unreliableVoters []NodeID
	// losses is the cluster-loss budget, and ring are the nodes that would wait for one another forever.
	losses *losses
	ring   []*Assessment
	// batch maps a broker to the number of its batch in the current plan. made is that plan if this round made it, else nil. due means that
	// a new plan is made once no broker is away.
	batch map[NodeID]int
	made  *division
	due   bool
	// disputes are the keys with different desired values, and met the refusals that block changes.
	disputes []brokerconfig.Dispute
	met      []brokerconfig.Refusal
}

// newRound assesses all nodes and orders them.
func newRound(s *Snapshot, p Progress, policy Policy) *round {
	s = s.whole().absent(p, policy).racked(p)
	r := &round{s: s, policy: policy, avail: newAvailability(s.Topics)}
	var stages map[NodeID]stage
	r.progress, stages = p.advance(s, policy, r.avail)
	changes := r.compare()
	var gone []NodeID
	for i := range s.Nodes {
		n := &s.Nodes[i]
		a := r.assess(n, stages[n.ID], changes[n.ID])
		r.nodes = append(r.nodes, a)
		if a.unreliableReplica(s.At, policy) {
			gone = append(gone, a.Node)
		}
		if a.countsAgainstLimits(s.At, policy) {
			r.away = append(r.away, a)
		}
		if a.Roles.Controller {
			r.controllers++
			if a.Down || n.dead() {
				r.down++
			}
			if a.unreliableVoter(s.At, policy) {
				r.unreliableVoters = append(r.unreliableVoters, a.Node)
			}
		}
	}
	slices.SortStableFunc(r.nodes, func(a, b *Assessment) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Node, b.Node))
	})
	if s.Unread != "" {
		gone = append(gone, r.unread()...)
	}
	for _, v := range s.Quorum.Or(Quorum{}).Voters {
		if s.Node(v.ID) == nil {
			r.unreliableVoters = append(r.unreliableVoters, v.ID)
		}
	}
	r.ledger = newLedger(r.avail, gone)
	r.losses = r.newLosses()
	r.forget()
	r.witness()
	return r
}

// unread returns the brokers with replicas whose pods may exist in a cluster that was not read: it is unknown whether they serve.
func (r *round) unread() []NodeID {
	var ids []NodeID
	for t := range r.avail.topics {
		for p := range r.avail.topics[t].Partitions {
			for _, id := range r.avail.topics[t].Partitions[p].Replicas {
				if r.s.Node(id) == nil && !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
		}
	}
	return ids
}

// rank returns the place in the order of docs/decisions/restart-order.md: unready controllers and combined nodes, ready ones, the active
// controller (even if it is not ready, it is the last of its kind), unready brokers, ready brokers. Nodes with the same rank go by their
// ids.
func (a *Assessment) rank() int {
	ready := a.State == StateReady || a.State == StateSilent || a.State == StateCatchingUp || a.State == StateStalled
	switch {
	case a.Roles.Controller && a.ActiveController:
		return 2
	case a.Roles.Controller && !ready:
		return 0
	case a.Roles.Controller:
		return 1
	case !ready:
		return 3
	}
	return 4
}

// forget removes from the progress reasons that no longer exist, controllers that need nothing any more, and changes that were applied. It
// keeps what can't be read.
func (r *round) forget() {
	for _, a := range r.nodes {
		r.forgetReasons(a)
		if a.Need != NeedRestart || a.stage != stageNone {
			delete(r.progress.Waiting, a.Node)
		}
		if d, denied := r.progress.Denied[a.Node]; denied && (a.node.Instance.IsKnown() && a.node.Instance.Or("") != d.Instance) {
			delete(r.progress.Denied, a.Node)
		}
		if a.node.Config.IsKnown() && !a.Changes.Live() {
			delete(r.progress.Alterations, a.Node)
		}
	}
	r.forgetRefusals()
	for id := range r.progress.Restarted {
		if len(r.progress.Restarted[id]) == 0 {
			delete(r.progress.Restarted, id)
		}
	}
	if r.s.forgets() { // no StrimziPodSet lists a missing node any more (docs/decisions/facts-of-a-restart.md)
		r.progress.drop(func(id NodeID) bool { return r.s.Node(id) == nil })
	}
}

// forgetReasons removes the reasons for which a node was restarted and that it no longer has.
func (r *round) forgetReasons(a *Assessment) {
	kept, n := r.progress.Restarted[a.Node], a.node
	if len(kept) == 0 || a.stage != stageNone || !n.Revision.IsKnown() || !n.Instance.IsKnown() || !n.Config.IsKnown() && needsConfig(kept) {
		return
	}
	silence := Reason{Kind: PodUnresponsive}
	r.progress.Restarted[a.Node] = slices.DeleteFunc(slices.Clone(kept), func(key string) bool {
		if key == silence.key() && !n.answered() {
			return false // a new instance gets time to answer, and has not answered yet
		}
		shown := func(x Reason) bool { return x.key() == key || x.Kind == ConfigChangeRequiresRestart && x.about(key) }
		return !slices.ContainsFunc(a.Repeated, shown) && !slices.ContainsFunc(a.Reasons, shown)
	})
}

// needsConfig reports whether one of the reasons can be checked only with the configuration.
func needsConfig(keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		return len(key) >= len(ConfigChangeRequiresRestart) && key[:len(ConfigChangeRequiresRestart)] == string(ConfigChangeRequiresRestart)
	})
}

// wanted reports whether the node should be restarted, is not ending anyway, and has no block that stays when other nodes are back.
func (a *Assessment) wanted() bool {
	return a.Need == NeedRestart && !a.node.Terminating && !slices.ContainsFunc(a.Blocks, func(b Block) bool {
		return b.Rule == RuleHold || b.Rule == RuleOwner || b.Rule == RuleUnderWay || b.Rule == RuleRecovery || b.Rule == RuleConfig
	})
}

// givenUp reports whether a controller has waited long enough that others need not wait for it any more (docs/decisions/restart-order.md).
// Others wait for one that was chosen in this round.
func (r *round) givenUp(a *Assessment) bool {
	if slices.Contains(r.chosen, a) {
		return false
	}
	since, waits := r.progress.Waiting[a.Node]
	return a.stage == stageFailed || a.stage == stageStalled || a.stage == stageUnread ||
		waits && r.s.At.Sub(since) >= r.policy.Patience || r.denied(a)
}

// denied reports whether the API server has denied a node's restart for the patience, and is not to be asked again yet. Attempts in between
// are no end of its wait.
func (r *round) denied(a *Assessment) bool {
	d, denied := r.progress.Denied[a.Node]
	return denied && a.stage == stageNone && !a.node.Terminating && r.s.At.Before(d.again()) && r.s.At.Sub(d.Since) >= r.policy.Patience
}

// choose selects a node for a restart.
func (r *round) choose(a *Assessment) {
	r.chosen = append(r.chosen, a)
	r.ledger.add(a.Node)
	r.losses.goes(a.Node)
	if !slices.Contains(r.away, a) {
		r.away = append(r.away, a)
	}
}

// restart returns the record of the node's restart.
func (r *round) restart(a *Assessment) Restart {
	behind, _ := r.avail.behind(a.Node)
	if a.Down {
		behind = 0 // it is behind because it serves no clients, and catches up once it does
	}
	next := Restart{Instance: a.node.Instance.Or(""), Name: a.Name, Roles: a.Roles, Rack: a.node.Rack, Place: a.node.Place, At: r.s.At,
		Reasons: a.Reasons, Behind: behind}
	if before, ok := r.progress.Restarts[a.Node]; ok { // the replicas that the previous restart put behind still have to catch up
		before.Before = nil
		next.Before, next.Behind = &before, before.Behind
	}
	return next
}

// waits records since when a controller that should be restarted can't be. A controller that only waits in the queue behind one that is
// being restarted does not count: otherwise the last of many controllers would be given up before its turn.
func (r *round) waits(a *Assessment) {
	since, already := r.progress.Waiting[a.Node]
	switch {
	case !a.Roles.Controller || !a.wanted() || a.stage != stageNone:
		delete(r.progress.Waiting, a.Node)
	case already && r.s.At.Sub(since) >= r.policy.Patience && !a.waitsForTime():
		// It was given up, and stays so until its block has ended.
	case r.queues(a):
		delete(r.progress.Waiting, a.Node)
	case !already:
		r.progress.Waiting[a.Node] = r.s.At
	}
}

// queues reports whether a controller only waits for another one that is being restarted, or for a certain time.
func (r *round) queues(a *Assessment) bool {
	return r.policy.Paused != "" || r.policy.Closed != "" || r.s.At.Before(r.settled()) ||
		slices.ContainsFunc(r.nodes, func(other *Assessment) bool {
			return other != a && other.Roles.Controller && (other.stage.underWay() && other.stage != stageFailed || slices.Contains(r.chosen, other))
		})
}

// settled returns the time at which the last returned node will have been back for the settle time.
func (r *round) settled() time.Time {
	if r.progress.Back.IsZero() {
		return time.Time{}
	}
	return r.progress.Back.Add(r.policy.Settle)
}
