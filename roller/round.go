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
	// controllers counts the controllers, voting those of them that vote, and down those that vote and serve no clients. They show a lost
	// quorum before its leader does, and if no node answers that could report it.
	controllers, voting, down int
	// told reports that a leader tells who votes, or that there is none, without which nobody else can vote by now.
	told bool
	// unreliableVoters are the controllers that can't be relied on, although the quorum's leader may still report them as caught up.
	unreliableVoters []NodeID
	// losses is the cluster-loss budget, and ring are the nodes that would wait for one another forever.
	losses *losses
	ring   []*Assessment
	// standstill is what examine found; nil before.
	standstill *standstill
	// batch maps a broker to the number of its batch in the current plan. made is that plan if this round made it, else nil. due means that
	// a new plan is made once no broker is away.
	batch map[NodeID]int
	made  *division
	due   bool
	// disputes are the keys with different desired values, and met the refusals that block changes.
	disputes []brokerconfig.Dispute
	met      []brokerconfig.Refusal
}

// newRound assesses all nodes, orders them, and counts those that are down.
func newRound(s *Snapshot, p Progress, policy Policy) *round {
	s = s.markUnseen().addRestarting(p, policy).keepRacks(p)
	r := &round{s: s, policy: policy, avail: newAvailability(s.Topics)}
	r.assessNodes(p)
	r.rememberVoters()
	r.countControllers()
	r.findAway()
	slices.SortStableFunc(r.nodes, func(a, b *Assessment) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Node, b.Node))
	})
	r.ledger = newLedger(r.avail, r.unreliableReplicas())
	r.losses = r.newLosses()
	r.forget()
	r.witness()
	return r
}

// assessNodes brings the progress up to date, and assesses the nodes by it.
func (r *round) assessNodes(p Progress) {
	var stages map[NodeID]stage
	r.progress, stages = p.advance(r.s, r.policy, r.avail)
	changes := r.compare()
	for i := range r.s.Nodes {
		n := &r.s.Nodes[i]
		r.nodes = append(r.nodes, r.assess(n, stages[n.ID], changes[n.ID]))
	}
}

// countControllers counts the controllers, and finds those that can't be relied on as voters. Voters that were not observed are among them.
func (r *round) countControllers() {
	for _, a := range r.nodes {
		if !a.Roles.Controller {
			continue
		}
		r.controllers++
		r.countVoter(a)
		if a.unreliableVoter(r.s.At, r.policy) {
			r.unreliableVoters = append(r.unreliableVoters, a.Node)
		}
	}
	for _, v := range r.s.Quorum.Or(Quorum{}).Voters {
		if r.s.Node(v.ID) == nil {
			r.unreliableVoters = append(r.unreliableVoters, v.ID)
		}
	}
}

// rememberVoters stores who votes, while there is a leader that tells it. It forgets them if they may have changed since: a stored one is
// gone, or there may have been a leader for a while that nobody heard of.
func (r *round) rememberVoters() {
	p := &r.progress
	q, known := r.s.Quorum.Get()
	switch {
	case known && q.Leader >= 0:
		p.Voters, p.Static = q.ids(), q.static()
	case !p.Static && r.s.began().Sub(p.Told) > unwatched,
		r.s.Unread == "" && slices.ContainsFunc(p.Voters, func(id NodeID) bool { return r.s.Node(id) == nil }):
		p.forgetVoters()
	case !r.leaderless() && !r.outvoted(p.Voters):
		return
	}
	r.told = len(p.Voters) > 0 && !p.Static
	if !r.told {
		p.Told = time.Time{}
	}
}

// noteTold stores when a leader told who votes, in time for the next look to use it. A Progress that changes is written, so not each look
// stores it, and those of a roll that waits rarely do: they are regular.
func (r *round) noteTold(phase Phase) {
	lasts := unwatched - 2*later
	if phase == PhaseRolling {
		lasts = unwatched / 6 // the next look may be as late as engine.UnreadyWoken
	}
	if p := &r.progress; r.told && r.s.At.Sub(p.Told) > lasts {
		p.Told = r.s.At
	}
}

// forgetVoters forgets who votes.
func (p *Progress) forgetVoters() { p.Voters, p.Static, p.Told = nil, false, time.Time{} }

// outvoted reports whether so many of these voters are down that the others can't elect a leader.
func (r *round) outvoted(voters []NodeID) bool {
	live := len(voters)
	for _, a := range r.nodes {
		if slices.Contains(voters, a.Node) && (a.Down || a.node.dead()) {
			live--
		}
	}
	return live < len(voters)/2+1
}

// votes reports whether a controller votes, as far as a leader has told. If none has, all count.
func (r *round) votes(id NodeID) bool {
	return len(r.progress.Voters) == 0 || slices.Contains(r.progress.Voters, id)
}

// countVoter counts a controller that votes.
func (r *round) countVoter(a *Assessment) {
	if !r.votes(a.Node) {
		return
	}
	r.voting++
	if a.Down || a.node.dead() {
		r.down++
	}
}

func (r *round) findAway() {
	for _, a := range r.nodes {
		if a.countsAgainstLimits(r.s.At, r.policy) {
			r.away = append(r.away, a)
		}
	}
}

// unreliableReplicas returns the nodes whose replicas can't be relied on.
func (r *round) unreliableReplicas() []NodeID {
	var ids []NodeID
	for _, a := range r.nodes {
		if a.unreliableReplica(r.s.At, r.policy) {
			ids = append(ids, a.Node)
		}
	}
	if r.s.Unread != "" {
		ids = append(ids, r.unread()...)
	}
	return ids
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
	return r.longDenied(a) && a.stage == stageNone && !a.node.Terminating && r.s.At.Before(r.progress.Denied[a.Node].again())
}

// longDenied reports whether the API server has denied a node's restart for the patience.
func (r *round) longDenied(a *Assessment) bool {
	d, denied := r.progress.Denied[a.Node]
	return denied && r.s.At.Sub(d.Since) >= r.policy.Patience
}

// choose selects a node for a restart.
func (r *round) choose(a *Assessment) {
	r.chosen = append(r.chosen, a)
	r.ledger.add(a.Node)
	r.losses.add(a.Node)
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

// queues reports whether a controller only waits for another one that is being restarted, or for a certain time. An attempt on one whose
// restart has long been denied does not begin the wait of the others anew.
func (r *round) queues(a *Assessment) bool {
	return r.policy.Paused != "" || r.policy.Closed != "" || r.s.At.Before(r.settled()) ||
		slices.ContainsFunc(r.nodes, func(other *Assessment) bool {
			return other != a && other.Roles.Controller && !r.longDenied(other) &&
				(other.stage.underWay() && other.stage != stageFailed || slices.Contains(r.chosen, other))
		})
}

// assessment returns that of a node, or nil.
func (r *round) assessment(id NodeID) *Assessment {
	if i := slices.IndexFunc(r.nodes, func(a *Assessment) bool { return a.Node == id }); i >= 0 {
		return r.nodes[i]
	}
	return nil
}

// settled returns the time at which the last returned node will have been back for the settle time.
func (r *round) settled() time.Time {
	if r.progress.Back.IsZero() {
		return time.Time{}
	}
	return r.progress.Back.Add(r.policy.Settle)
}
