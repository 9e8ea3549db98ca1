package roller

import (
	"fmt"
	"slices"
	"time"
)

// wayOut explains why a node is restarted although a check of the data or the quorum blocks it, or is impossible
// (docs/decisions/lost-clusters.md); empty if it is not. Some clusters can only be repaired by the restart that a check blocks: those with
// expired certificates, or whose controllers run and find no leader. There must be positive evidence for as long as the patience, and the
// node must be out of date: otherwise the restart would change nothing.
func (r *round) wayOut(a *Assessment) string {
	if !slices.ContainsFunc(a.Reasons, func(x Reason) bool { return x.Kind != PodUnresponsive }) {
		return ""
	}
	long := func(since time.Time, noted bool) bool { return noted && r.s.At.Sub(since) >= r.policy.Patience }
	since, failing := r.progress.Failing[a.Node]
	switch {
	case a.node.Failing != "" && long(since, failing) && (a.node.Expired || !a.inSync(r.avail)):
		return "it has been unable to serve clients since " + clock(since) + ": " + a.node.Failing
	case !a.Roles.Controller || !long(r.progress.Leaderless, !r.progress.Leaderless.IsZero()):
	case r.leaderless() && (r.enough(a) || a.node.dead()):
		return "the controllers have had no leader since " + clock(r.progress.Leaderless) + r.supposed(a)
	case r.noneReady():
		return "no controller that votes has been ready since " + clock(r.progress.Leaderless) +
			", and no node reports a leader of the metadata quorum"
	}
	return ""
}

// noneReady reports whether no controller that votes is ready in Kubernetes, and no node reports a quorum with a leader.
func (r *round) noneReady() bool {
	return r.controllers > 0 && r.noQuorum() && r.s.Unread == "" &&
		!slices.ContainsFunc(r.nodes, func(a *Assessment) bool { return a.Roles.Controller && r.votes(a.Node) && a.node.Ready.Or(true) })
}

// leaderless reports whether the controllers that answer report no leader.
func (r *round) leaderless() bool {
	q, known := r.s.Quorum.Get()
	return known && q.Leader < 0
}

// enough reports whether enough other voters are alive to elect a leader without this controller.
func (r *round) enough(a *Assessment) bool {
	live := 0
	for _, other := range r.nodes {
		if n := other.node; other != a && other.Roles.Controller && r.votes(other.Node) && !other.Down && !n.Terminating &&
			n.Instance.IsKnown() && (r.mayWait(other) || !n.dead()) {
			live++
		}
	}
	return live >= min(r.voting/2+1, r.voting-1)
}

// mayWait reports whether a combined node may only be waiting for a quorum to become ready: it was restarted, or its pod was replaced by
// another client, and it is up to date. If it is unknown whether it is recovering its logs, it gets the time that any node gets
// (docs/decisions/facts-of-a-restart.md).
func (r *round) mayWait(a *Assessment) bool {
	if !a.Roles.Broker || a.stage.underWay() {
		return a.Roles.Broker
	}
	current := a.node.Revision.IsKnown() && !slices.ContainsFunc(a.Reasons, func(x Reason) bool { return x.Kind != PodUnresponsive })
	return current && a.State == StateUnready && (a.node.Recovery.IsKnown() || r.s.At.Sub(a.node.ReadyChanged) >= r.policy.Patience)
}

// supposed names a node that may be recovering its logs, and is treated as one that only waits for a quorum.
func (r *round) supposed(a *Assessment) string {
	for _, other := range r.nodes {
		if n := other.node; other != a && other.Roles.Controller && !n.Recovery.IsKnown() && n.dead() && r.mayWait(other) {
			return fmt.Sprintf("; it is unknown whether node %d waits for one or recovers its logs: %s", other.Node, n.Recovery.Why())
		}
	}
	return ""
}

// unwatched is the largest gap between two looks, each of which may take longer, after which evidence still counts as continuous.
const unwatched = time.Minute

// witness records since when there is evidence of such failures. A fact that can't be read neither starts nor ends it; but a quorum that
// can't be read for long may have had a leader in between, unless a controller is awaited, without which nobody can tell.
func (r *round) witness() {
	p := &r.progress
	if r.s.began().Sub(p.Witnessed) > unwatched {
		clear(p.Failing)
		clear(p.Waiting)
		p.Leaderless, p.Unled = time.Time{}, time.Time{}
	}
	for _, a := range r.nodes {
		_, noted := p.Failing[a.Node]
		switch {
		case a.node.Failing == "" && a.node.Answers.IsKnown():
			delete(p.Failing, a.Node)
		case a.node.Failing != "" && !noted:
			p.Failing[a.Node] = r.s.At
		}
	}
	awaited := slices.ContainsFunc(r.away, func(a *Assessment) bool { return a.Roles.Controller })
	switch {
	case r.leaderless(), r.noneReady():
		if p.Leaderless.IsZero() {
			p.Leaderless = r.s.At
		}
		if r.s.At.Sub(p.Unled) > unwatched/6 {
			p.Unled = r.s.At
		}
	case r.s.Quorum.IsKnown(), !awaited && r.s.began().Sub(p.Unled) > unwatched:
		p.Leaderless, p.Unled = time.Time{}, time.Time{}
	}
	if r.s.At.Sub(p.Witnessed) > unwatched/6 { // not in each look: each would write the progress
		p.Witnessed = r.s.At
	}
}

// unwitnessed forgets when such evidence was last checked if there is none.
func (p *Progress) unwitnessed() {
	unread := false
	for _, r := range p.Restarts {
		unread = unread || !r.Unread.IsZero()
	}
	if len(p.Failing)+len(p.Waiting) == 0 && p.Leaderless.IsZero() && !unread {
		p.Witnessed = time.Time{}
	}
}

// alone blocks a node that is restarted without all checks while another node is being restarted. It does not wait for a node that did not
// come back.
func (r *round) alone(a *Assessment, wayOut bool) []Block {
	if !wayOut && !a.guessed() {
		return nil
	}
	for _, other := range r.away {
		if other != a && (other.stage != stageFailed && other.stage != stageStalled || slices.Contains(r.chosen, other)) {
			return blocked(RuleLimit, "nodes that are restarted without all checks restart one at a time, and node %d %s", other.Node,
				r.doing(other))
		}
	}
	return nil
}
