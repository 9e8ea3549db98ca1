package roller

import (
	"fmt"
	"slices"
)

// gates returns what blocks, at this moment, a node that should be restarted. It is called again after each node that was chosen.
func (r *round) gates(a *Assessment) []Block {
	wayOut := r.wayOut(a) != ""
	blocks := slices.Concat(a.Blocks, r.closed(), r.halts(a, wayOut), r.order(a), r.alone(a, wayOut), r.voters(a, wayOut),
		r.limits(a, wayOut), r.settles(a), r.safety(a, wayOut))
	if wayOut || len(blocks) > 0 {
		return blocks
	}
	return r.refill(a)
}

// closed blocks all restarts while the policy forbids them.
func (r *round) closed() (blocks []Block) {
	if r.policy.Paused != "" {
		blocks = blocked(RulePaused, "%s", r.policy.Paused)
	}
	if r.policy.Closed != "" {
		blocks = append(blocks, blocked(RuleWindow, "%s", r.policy.Closed)...)
	}
	return blocks
}

// settles blocks a healthy node until the last one has been back for the settle time.
func (r *round) settles(a *Assessment) []Block {
	if until := r.settled(); r.policy.Settle > 0 && !a.Down && r.s.At.Before(until) {
		return blocked(RuleSettle, "the last node has just come back; the next restart is at %s", clock(until))
	}
	return nil
}

// halts blocks healthy nodes while another node has failed that was restarted into the same state (docs/decisions/restart-order.md: a stuck
// pod that is up to date stops all; a node that is not ready after its restart stops those of its kind). A node on hold halts no other
// node, because a user knows about it. In a lost cluster, a node may be unready only because it waits for the others.
func (r *round) halts(a *Assessment, clusterIsLost bool) []Block {
	for _, other := range r.nodes {
		switch {
		case a.Down, other == a, other.node.Hold != "", other.Need == NeedRestart:
		case other.State == StateStuck && other.node.Revision.IsKnown():
			return blocked(RuleHalt, "node %d is stuck (%s) and up to date: other nodes might fail in the same way: fix it, or put it on hold",
				other.Node, other.Detail)
		case !clusterIsLost && r.failed(other) && other.Roles.Controller == a.Roles.Controller:
			return blocked(RuleHalt, "node %d was restarted and did not become ready: other nodes might fail in the same way: fix it, or put "+
				"it on hold", other.Node)
		}
	}
	return nil
}

// failed reports whether a node did not become ready after its restart. One whose old pod does not end has not been restarted yet, and one
// whose new pod was ready, and does not end, has lost its machine since.
func (r *round) failed(a *Assessment) bool {
	old := a.node.Instance.Or("") == r.progress.Restarts[a.Node].Instance
	lost := a.node.lingers(r.s.At, r.policy) && (old || a.node.Ready.Or(false) || !a.node.LastReady.IsZero())
	return a.stage == stageFailed && !lost
}

// order lets controllers go before brokers, and the active controller last of them. Others do not wait for a blocked node for longer than
// the patience (docs/decisions/restart-order.md).
func (r *round) order(a *Assessment) []Block {
	if a.Roles.Controller && !a.ActiveController {
		return nil
	}
	for _, other := range r.nodes {
		if other == a || !other.Roles.Controller || r.givenUp(other) || a.Roles.Controller && other.ActiveController {
			continue
		}
		if other.wanted() || other.stage.underWay() {
			what := "brokers restart after the controllers"
			if a.Roles.Controller {
				what = "the active controller restarts last"
			}
			return blocked(RuleOrder, "%s, and node %d has yet to complete its restart: %s", what, other.Node, other.summary())
		}
	}
	return nil
}

// summary says in short why a node is not done.
func (a *Assessment) summary() string {
	switch {
	case len(a.Blocks) > 0:
		return a.Blocks[0].Why
	case a.stage.underWay():
		return "it is " + string(a.State)
	}
	return "it is next"
}

// voters lets voters go one at a time (docs/decisions/availability.md). Voters that are down may go together if there is no quorum to lose.
func (r *round) voters(a *Assessment, wayOut bool) []Block {
	if !a.Roles.Controller || wayOut || a.Down && r.noQuorum() {
		return nil
	}
	for _, other := range r.away {
		if other != a && other.Roles.Controller && (other.stage != stageStalled || slices.Contains(r.chosen, other)) {
			return blocked(RuleLimit, "controllers restart one at a time, and node %d %s", other.Node, r.doing(other))
		}
	}
	return nil
}

// noQuorum reports whether no quorum with a leader is known, so that the restart of a voter that is down can't cost one.
func (r *round) noQuorum() bool {
	q, known := r.s.Quorum.Get()
	return !known || q.Leader < 0
}

// limits applies the limits on how many brokers are down at the same time.
func (r *round) limits(a *Assessment, wayOut bool) []Block {
	if !a.Roles.Broker || wayOut || a.Down && a.Roles.Controller && r.noQuorum() { // the last is left to the rule voters
		return nil
	}
	away := r.counted(a)
	if len(away) == 0 {
		return nil
	}
	return r.caps(a, away)
}

// counted returns the other brokers that count as away beside this one.
func (r *round) counted(a *Assessment) []*Assessment {
	var away []*Assessment
	for _, other := range r.away {
		if other != a && other.Roles.Broker && (a.Roles.Controller || !other.Roles.Controller || !r.givenUp(other)) {
			away = append(away, other)
		}
	}
	return away
}

// caps applies the policy's limits on nodes that are away at once: their number, their number per rack, and their share of leaders.
func (r *round) caps(a *Assessment, away []*Assessment) (blocks []Block) {
	if most := max(1, r.policy.MaxUnavailable); len(away) >= most {
		blocks = append(blocks, blocked(RuleLimit, "at most %s may be down, and %s", amount(most, "broker"), r.describeAway(away))...)
	}
	rack, same := a.node.Rack, 0
	share := r.avail.leaderShare(a.Node)
	for _, other := range away {
		if rack != "" && other.node.Rack == rack {
			same++
		}
		share += r.avail.leaderShare(other.Node)
	}
	if r.policy.MaxPerRack > 0 && same >= r.policy.MaxPerRack {
		blocks = append(blocks, blocked(RuleRack, "at most %s of rack %q may be down", amount(r.policy.MaxPerRack, "broker"), rack)...)
	}
	if r.policy.MaxLeaderShare > 0 && share > r.policy.MaxLeaderShare {
		blocks = append(blocks, blocked(RuleLeaders, "%.1f %% of all partitions would have to change their leader, and at most %.1f %% may "+
			"at once", 100*share, 100*r.policy.MaxLeaderShare)...)
	}
	return blocks
}

// doing describes why a node is down: it is restarted in this round, or its restart is under way.
func (r *round) doing(other *Assessment) string {
	if slices.Contains(r.chosen, other) {
		return "restarts first"
	}
	return "is " + string(other.State)
}

// describeAway describes the nodes that are down, or about to be restarted.
func (r *round) describeAway(away []*Assessment) string {
	ids := make([]NodeID, len(away))
	going := true
	for i, a := range away {
		ids[i] = a.Node
		going = going && slices.Contains(r.chosen, a)
	}
	slices.Sort(ids)
	switch {
	case going && len(ids) == 1:
		return list(ids) + " restarts first"
	case going:
		return list(ids) + " restart first"
	case len(ids) == 1:
		return list(ids) + " is"
	}
	return list(ids) + " are"
}

// safety blocks a restart that would endanger the data or the quorum. A node that serves no clients may always be restarted.
func (r *round) safety(a *Assessment, wayOut bool) []Block {
	if a.Down || wayOut && a.Roles.Controller {
		return nil
	}
	blocks := r.quorum(a)
	if a.Roles.Broker && !wayOut && !a.outside(r.s, r.policy, r.avail) {
		blocks = append(blocks, r.data(a)...)
	}
	if wayOut || len(blocks) > 0 || r.first(a) {
		return blocks
	}
	if why := r.losses.why(a); why != "" {
		return blocked(RuleClusterLoss, "%s", why)
	}
	return nil
}

// data blocks a restart that would endanger the replicas of a broker's partitions.
func (r *round) data(a *Assessment) (blocks []Block) {
	if a.node.Hidden != "" {
		return blocked(RuleAvailability, "%s", a.node.Hidden)
	}
	if r.nobodyAnswers(a) {
		if other := r.awaitedBroker(a); other != nil {
			return blocked(RuleAvailability, "it is unknown which replicas are in sync until node %d is back", other.Node)
		}
		return nil
	}
	if why := r.ledger.shortage(a.Node); why != "" {
		return blocked(RuleAvailability, "%s", why+r.standsStill(a.Node))
	}
	if len(r.policy.Forbid) == 0 {
		return nil
	}
	risks := r.avail.risks(a.Node, r.ledger.gone)
	for _, risk := range r.policy.Forbid {
		if at := risks[risk]; at != "" {
			blocks = append(blocks, blocked(RuleRisk, "partition %s would be %s, which the policy forbids", at, risk)...)
		}
	}
	return blocks
}

// quorum blocks a restart that would endanger the metadata quorum: without a controller, the others must have a majority; a broker needs a
// quorum to come back.
func (r *round) quorum(a *Assessment) []Block {
	if a.Roles.Controller {
		if v := checkQuorum(r.s.Quorum, a.Node, r.policy.fetchTimeout(a.node), r.unreliableVoters); v.blocked != "" {
			return blocked(RuleQuorum, "%s", v.blocked)
		}
		return nil
	}
	switch {
	case r.leaderless():
		return blocked(RuleQuorum, "the metadata quorum has no leader: a broker that stops now could not come back")
	case r.down > 0 && r.voting-r.down < r.voting/2+1: // the last leader may not have noticed yet
		return blocked(RuleQuorum, "the metadata quorum is lost, because %d of %s are down: a broker that stops now could not come back",
			r.down, amount(r.voting, "voter"))
	}
	if down := r.mayVote(); len(down) > 0 && !r.nobodyAnswers(a) {
		return blocked(RuleQuorum, "it is unknown which controllers vote, because no leader of the metadata quorum tells it, and some are "+
			"down (%s): a broker that stops now may not come back. Start the controllers that are down, or see that the roller reaches the "+
			"others", list(down))
	}
	return nil
}

// mayVote returns the controllers that are down while it is unknown who votes: any of them may be most voters by now.
func (r *round) mayVote() (down []NodeID) {
	if !r.noQuorum() || r.progress.Static {
		return nil
	}
	for _, a := range r.nodes {
		if a.Roles.Controller && (a.Down || a.node.dead()) {
			down = append(down, a.Node)
		}
	}
	return down
}

// awaitedBroker returns another broker that is away, or became unready a short time ago, and may soon be back; nil if there is none.
func (r *round) awaitedBroker(a *Assessment) *Assessment {
	for _, other := range r.nodes {
		recent := other.State == StateUnready && r.s.At.Sub(other.node.ReadyChanged) < r.policy.Patience
		if other != a && other.Roles.Broker && (recent || other.State == StateMissing || other.State == StateRecovering ||
			slices.Contains(r.away, other)) {
			return other
		}
	}
	return nil
}

// nobodyAnswers reports whether the replicas in sync are unknown because no broker answers, including this one
// (docs/decisions/restart-order.md: a broker that can't be reached is restarted if a check is impossible).
func (r *round) nobodyAnswers(a *Assessment) bool {
	if r.s.Topics.IsKnown() || !slices.ContainsFunc(a.Reasons, func(x Reason) bool { return x.Kind == PodUnresponsive }) {
		return false
	}
	for i := range r.s.Nodes {
		if n := &r.s.Nodes[i]; n.Roles.Broker && n.Answers.Or(true) && n.Instance.Or("?") != "" {
			return false
		}
	}
	return true
}

// guessed reports whether a node is unready, and it is unknown whether it is recovering its logs. After the patience it is restarted
// anyway, alone (docs/decisions/facts-of-a-restart.md).
func (a *Assessment) guessed() bool {
	return !a.node.Ready.Or(true) && a.State != StateStuck && !a.node.Recovery.IsKnown()
}

// forced describes which checks are skipped before the node is restarted, and why; empty if none is (docs/decisions/restart-order.md).
func (r *round) forced(a *Assessment) string {
	way := r.wayOut(a)
	switch {
	case way != "":
		return way
	case r.first(a):
		return r.ringReason()
	case a.guessed():
		return fmt.Sprintf("it has been unready for %s, and may be recovering its logs: %s", rounded(r.s.At.Sub(a.node.ReadyChanged)),
			a.node.Recovery.Why())
	case a.Down:
		return fmt.Sprintf("it serves no clients (%s), so its restart costs neither the quorum nor in-sync replicas", a.summaryOfState())
	case a.Roles.Broker && r.nobodyAnswers(a):
		return "no broker answers, so it is unknown which replicas are in sync"
	case a.Roles.Controller:
		return checkQuorum(r.s.Quorum, a.Node, r.policy.fetchTimeout(a.node), r.unreliableVoters).warning
	}
	return ""
}

func (a *Assessment) summaryOfState() string {
	if a.Detail == "" {
		return string(a.State)
	}
	return string(a.State) + ": " + a.Detail
}
