package roller

import (
	"cmp"
	"slices"
	"time"
)

// unreliableReplica reports whether the replicas on a broker can't be relied on, now or soon (docs/decisions/availability.md): it serves no
// clients, it is shutting down for any reason, or nothing in this look shows that it serves. Kafka's metadata about it may be as old as the
// broker's session (docs/decisions/facts-of-a-restart.md).
func (a *Assessment) unreliableReplica(now time.Time, policy Policy) bool {
	n := a.node
	switch {
	case a.Down, n.Terminating, n.dead(), a.leaving(now, policy), !n.Instance.IsKnown(), !n.Ready.IsKnown():
		return true
	case a.stage.underWay() && a.stage != stageCatchingUp:
		return true
	}
	return n.Roles.Broker && (!n.Answers.Or(false) || n.Fenced.Or(false))
}

// unreliableVoter reports whether a voter can't be relied on, although the leader of the quorum may still report it as caught up.
func (a *Assessment) unreliableVoter(now time.Time, policy Policy) bool {
	n := a.node
	crashed := n.Recovery.Or(nil) != nil && now.Sub(n.ReadyChanged) < policy.Patience || !n.CrashesSince.IsZero()
	return crashed || a.Down || n.Terminating || !n.Instance.IsKnown() || !n.Ready.IsKnown() || a.stage.underWay() &&
		a.stage != stageCatchingUp
}

// countsAgainstLimits reports whether the node counts against the limits because the roller waits for it. It does not wait for a node that
// did not come back and is on hold, because a user knows about it, nor for one whose machine is lost, whoever deleted its pod, nor for one
// whose container has long crashed again and again, although each of its starts is recent.
func (a *Assessment) countsAgainstLimits(now time.Time, policy Policy) bool {
	n := a.node
	if a.stage == stageFailed && (n.Hold != "" || n.lingers(now, policy)) {
		return false
	}
	crashes := !n.CrashesSince.IsZero() && now.Sub(n.CrashesSince) >= policy.Patience
	return a.stage.underWay() || n.stillStopping(now, policy) || a.leaving(now, policy) && !crashes
}

// stillStopping reports whether the roller waits for a pod that is being deleted. A ready one may use its whole grace period, and the
// patience; but nothing ends the pod of a machine that is lost, whose readiness may be that of its last report.
func (n *Node) stillStopping(now time.Time, policy Policy) bool {
	return n.Terminating && (now.Sub(n.Deleted) < policy.Patience || n.Ready.Or(true)) && !n.lingers(now, policy)
}

// certainlyDown reports whether a broker certainly serves no clients, or is going to stop. An unknown fact is not certain.
func (a *Assessment) certainlyDown() bool {
	n := a.node
	ready, known := n.Ready.Get()
	return a.Down || n.Terminating || known && !ready && !n.Answers.Or(true) || n.Recovery.Or(nil) != nil
}

// unawaited reports whether the roller does not wait for the node to come back: the node has been down or has refused connections for long,
// and is on hold, so a user knows about it. The roller waits for a node that it has just restarted, however old its facts are.
func (r *round) unawaited(a *Assessment) bool {
	n := a.node
	if a.stage.underWay() && a.stage != stageFailed {
		return false
	}
	since, failing := n.ReadyChanged, !n.Ready.Or(true)
	if !failing && n.lingers(r.s.At, r.policy) {
		since, failing = n.Overdue, true
	}
	if at, noted := r.progress.Failing[n.ID]; !failing && n.Failing != "" {
		since, failing = at, noted
	}
	return n.Hold != "" && failing && r.s.At.Sub(since) >= r.policy.Patience
}

// lingers reports whether the pod should have ended long ago; if it is on hold, a user knows about it at once.
func (n *Node) lingers(now time.Time, policy Policy) bool {
	late := now.Sub(n.Overdue)
	return n.Terminating && !n.Overdue.IsZero() && (late >= policy.Patience || n.Hold != "" && late >= 0)
}

// leaving reports whether a node became unready a short time ago without the roller. Kafka may still report it as in sync, and as a voter.
func (a *Assessment) leaving(now time.Time, policy Policy) bool {
	recent := now.Sub(a.node.ReadyChanged) < policy.Patience
	return (a.State == StateUnready || a.State == StateUnknown) && !a.Down && !a.node.Ready.Or(true) && recent
}

// dead reports whether a node is not ready and does not answer, or is recovering its logs. Without a quorum, Kafka never removes it from
// the replicas in sync, however long that lasts.
func (n *Node) dead() bool {
	ready, known := n.Ready.Get()
	return known && !ready && !n.Answers.Or(false) || n.Recovery.Or(nil) != nil
}

// outside reports whether a broker has long been unready, or is fenced and unready or refuses connections, and no partition with a leader
// has it in its ISR, as far as the roller may describe them. Its restart makes nothing unavailable. Brokers before Kafka 4.0 do not report
// which brokers are fenced, so it is derived from the replicas in sync.
func (a *Assessment) outside(s *Snapshot, policy Policy, avail *availability) bool {
	n := a.node
	long := s.At.Sub(n.ReadyChanged) >= policy.Patience
	unready := !n.Ready.Or(true)
	idle := unready && long || n.Fenced.Or(false) && (unready || n.Failing != "")
	return n.Roles.Broker && idle && n.Hidden == "" && avail.serves(n.ID) == ""
}

// inSync reports whether Kafka says that the broker serves, or may serve, although the roller can't connect to it: what refuses the roller
// may only be between the two. If no broker reports the topics, Kafka does not say so.
func (a *Assessment) inSync(avail *availability) bool {
	n := a.node
	return n.Roles.Broker && avail.unknown == "" && !n.Fenced.Or(false) && (n.Hidden != "" || avail.serves(n.ID) != "")
}

// heard returns a broker whose answer shows that the roller can reach the place of a silent node that is ready in Kubernetes: one in the
// same Kubernetes cluster, or any if the node is the only broker there. If there is none, the cause may be the roller or its network, and
// not the node, also if all of them refuse the roller: they may not accept its certificate (docs/decisions/lost-clusters.md). One that was
// asked in this look is preferred.
func (r *round) heard(silent *Node) *Node {
	only := r.s.Unread == "" // brokers that nobody sees may be there
	for i := range r.s.Nodes {
		n := &r.s.Nodes[i]
		only = only && (n == silent || !n.Roles.Broker || n.Place != silent.Place)
	}
	var found *Node
	for i := range r.s.Nodes {
		n := &r.s.Nodes[i]
		near := n.Roles.Broker && (only || n.Place == silent.Place)
		if near && n.Answers.Or(false) && (found == nil || found.Recalled && !n.Recalled) {
			found = n
		}
	}
	return found
}

// unasked returns the brokers whose answers are recalled, so that it is unknown whether they still answer, and on which the restart
// depends: those with replicas of the node's partitions, unless it serves no clients, and one that shows that the roller can reach a silent
// node.
func (r *round) unasked(a *Assessment) []NodeID {
	var ids []NodeID
	if a.Roles.Broker && !a.Down {
		ids = slices.DeleteFunc(r.avail.beside(a.Node), func(id NodeID) bool {
			n := r.s.Node(id)
			return n == nil || !n.Recalled || !n.Answers.Or(false)
		})
	}
	silence := slices.ContainsFunc(a.Reasons, func(x Reason) bool { return x.Kind == PodUnresponsive })
	if silence && a.node.Ready.Or(true) {
		if n := r.heard(a.node); n != nil && n.Recalled && !slices.Contains(ids, n.ID) {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// keepRacks returns the snapshot with the racks of brokers that are being restarted: Kafka before 4.0 does not list fenced ones.
func (s *Snapshot) keepRacks(p Progress) *Snapshot {
	var next *Snapshot
	for i := range s.Nodes {
		if rack := p.Restarts[s.Nodes[i].ID].Rack; rack != "" && s.Nodes[i].Rack == "" {
			if next == nil {
				changed := *s
				next, changed.Nodes = &changed, slices.Clone(s.Nodes)
			}
			next.Nodes[i].Rack = rack
		}
	}
	return cmp.Or(next, s)
}

// addRestarting returns the snapshot with the nodes that are being restarted and are not in it: they may exist in a cluster that was not
// read (docs/decisions/facts-of-a-restart.md). While Kafka does not tell whether it lists them, they are waited for as long as any node.
func (s *Snapshot) addRestarting(p Progress, policy Policy) *Snapshot {
	var missing []Node
	for id, r := range p.Restarts {
		if s.Node(id) != nil || s.forgets() || s.Unread == "" && s.At.Sub(r.At) >= policy.Patience {
			continue
		}
		why := cmp.Or(s.Unread, "no pod or StrimziPodSet of it is seen, and Kafka does not tell whether it lists it")
		n := Node{ID: id, Name: r.Name, Roles: r.Roles, Rack: r.Rack, Place: r.Place, Instance: Unknown[string](why),
			Ready: Unknown[bool](why), Stuck: Unknown[string](why)}
		missing = append(missing, n)
	}
	if len(missing) == 0 {
		return s
	}
	next := *s
	next.Nodes = append(append([]Node{}, s.Nodes...), missing...)
	sortNodes(next.Nodes)
	return &next
}
