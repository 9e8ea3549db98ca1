package roller

import (
	"slices"
	"time"
)

// gone reports whether the replicas on a broker can't be relied on, or soon can't (docs/decisions/availability.md): it serves nobody, it is
// on its way out, whoever sent it, or nothing in this look shows that it serves. What Kafka's metadata says of it may be as old as the
// broker's session (docs/decisions/facts-of-a-restart.md).
func (a *Assessment) gone(now time.Time, policy Policy) bool {
	n := a.node
	switch {
	case a.Down, n.Terminating, n.dead(), a.leaving(now, policy), !n.Instance.IsKnown(), !n.Ready.IsKnown():
		return true
	case a.stage.underWay() && a.stage != stageCatchingUp:
		return true
	}
	return n.Roles.Broker && (!n.Answers.Or(false) || n.Fenced.Or(false))
}

// lost reports whether a voter can't be relied on, although the leader of the quorum may still take it for caught up.
func (a *Assessment) lost(now time.Time, policy Policy) bool {
	n := a.node
	crashed := n.Recovery.Or(nil) != nil && now.Sub(n.ReadyChanged) < policy.Patience
	return crashed || a.Down || n.Terminating || !n.Instance.IsKnown() || !n.Ready.IsKnown() || a.stage.underWay() &&
		a.stage != stageCatchingUp
}

// away reports whether the node counts against the limits: it is waited for. One that did not come back and is on hold is waited for by
// nobody: somebody knows of it.
func (a *Assessment) away(now time.Time, policy Policy) bool {
	n := a.node
	if a.stage == stageFailed && n.Hold != "" {
		return false
	}
	ends := n.Terminating && (n.Ready.Or(true) || now.Sub(n.Deleted) < policy.Patience)
	return a.stage.underWay() || ends || a.leaving(now, policy)
}

// leaving reports whether a node went by itself not long ago. Kafka may still say that it is in sync, and a voter.
func (a *Assessment) leaving(now time.Time, policy Policy) bool {
	recent := now.Sub(a.node.ReadyChanged) < policy.Patience
	return (a.State == StateUnready || a.State == StateUnknown) && !a.Down && !a.node.Ready.Or(true) && recent
}

// dead reports whether a node is not ready and does not answer, or recovers its logs. Without a quorum nobody takes it out of what it is in
// sync with, however long that lasts.
func (n *Node) dead() bool {
	ready, known := n.Ready.Get()
	return known && !ready && !n.Answers.Or(false) || n.Recovery.Or(nil) != nil
}

// outside reports whether a broker has long been unready, or refuses everybody, and no partition that has a leader counts it as in sync.
// Nothing is taken from anybody by its restart. Brokers before Kafka 4.0 do not tell who is out of service, so that this is read from the
// replicas in sync.
func (a *Assessment) outside(s *Snapshot, policy Policy, avail *availability) bool {
	n := a.node
	long := s.At.Sub(n.ReadyChanged) >= policy.Patience
	unready := !n.Ready.Or(true) && (n.Fenced.Or(false) || long)
	return n.Roles.Broker && (unready || n.Failing != "") && avail.serves(n.ID) == ""
}

// unasked are the brokers that have replicas of the node's partitions, and answer only as far as is recalled: it is unknown whether they
// still do. Nothing rests on them where the node serves nobody.
func (r *round) unasked(a *Assessment) []NodeID {
	if !a.Roles.Broker || a.Down {
		return nil
	}
	return slices.DeleteFunc(r.avail.beside(a.Node), func(id NodeID) bool {
		n := r.s.Node(id)
		return n == nil || !n.Recalled || !n.Answers.Or(false)
	})
}

// absent returns the snapshot with the nodes that are under way and not in it: they may only not have been read
// (docs/decisions/facts-of-a-restart.md).
func (s *Snapshot) absent(p Progress) *Snapshot {
	var missing []Node
	for id, r := range p.Restarts {
		if s.Unread == "" || s.Node(id) != nil {
			continue
		}
		n := Node{ID: id, Name: r.Name, Roles: r.Roles, Rack: r.Rack, Place: r.Place, Instance: Unknown[string](s.Unread),
			Ready: Unknown[bool](s.Unread), Stuck: Unknown[string](s.Unread)}
		missing = append(missing, n)
	}
	if len(missing) == 0 {
		return s
	}
	whole := *s
	whole.Nodes = append(append([]Node{}, s.Nodes...), missing...)
	sortNodes(whole.Nodes)
	return &whole
}
