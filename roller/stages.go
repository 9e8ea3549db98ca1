package roller

import (
	"maps"
	"slices"
	"time"
)

// stage is the progress of a restart.
type stage int

const (
	stageNone       stage = iota
	stageStopping         // the old instance still exists
	stageStarting         // no instance exists, or the new one is not ready
	stageFailed           // it has not become ready within the patience
	stageCatchingUp       // it is ready, and some replicas are not in sync, or it lags in the quorum
	stageStalled          // the same, without progress for long
	stageUnread           // its Kubernetes cluster has not been readable for the patience
)

// underWay reports whether the roller waits for it.
func (s stage) underWay() bool { return s != stageNone && s != stageStalled && s != stageUnread }

// advance updates the progress with the facts of the snapshot, and returns the stage of each restart.
func (p Progress) advance(s *Snapshot, policy Policy, a *availability) (Progress, map[NodeID]stage) {
	p = p.Clone()
	p.notAfter(s.At)
	p.electsAgain()
	stages := map[NodeID]stage{}
	for _, id := range slices.Sorted(maps.Keys(p.Restarts)) { // in order: restarts that end together change one pace
		if at := p.advanceRestart(id, s, policy, a); at != stageNone {
			stages[id] = at
		}
	}
	return p, stages
}

// advanceRestart updates the record of a restart, and returns its stage. It removes a restart that is complete, or never began.
func (p *Progress) advanceRestart(id NodeID, s *Snapshot, policy Policy, a *availability) stage {
	n := s.Node(id)
	if n == nil { // no StrimziPodSet lists it any more (see Snapshot.absent)
		if s.forgets() {
			delete(p.Restarts, id)
		}
		return stageNone
	}
	instance, known := n.Instance.Get()
	if r := p.Restarts[id]; known && instance == r.Instance && !n.Terminating && s.from().Sub(r.At) >= effect {
		p.neverBegan(id, s.At)
		if _, earlier := p.Restarts[id]; !earlier {
			return stageNone
		}
	}
	r := p.reads(s, id, known)
	at := stageStopping
	switch {
	case !known:
		at = r.unknown(s, policy)
	case instance != r.Instance:
		p.Restarted[id] = restartedFor(p.Restarted[id], r.Reasons)
		next, reached := r.after(s, n, policy, a)
		if reached == stageNone {
			p.back(s, n, r, policy)
			return stageNone
		}
		p.Restarts[id], at = next, reached
	}
	if at < stageFailed && s.At.Sub(r.since(n)) >= policy.Patience {
		return stageFailed
	}
	return at
}

// unknown returns the stage of a restart whose instance is unknown.
func (r Restart) unknown(s *Snapshot, policy Policy) stage {
	if !r.Unread.IsZero() && s.At.Sub(r.Unread) >= policy.Patience {
		return stageUnread
	}
	return stageStarting
}

// reads notes since when the Kubernetes cluster of a restarted node can't be read. Its pod may also be unknown for another reason.
func (p Progress) reads(s *Snapshot, id NodeID, known bool) Restart {
	r := p.Restarts[id]
	switch {
	case known || s.Unread == "":
		r.Unread = time.Time{}
	case r.Unread.IsZero(), s.began().Sub(p.Witnessed) > unwatched: // in between, it may have been readable
		r.Unread = s.At
	}
	p.Restarts[id] = r
	return r
}

// back ends the restart of a node, whose new instance serves. If nobody looked when it came back, it is unknown how long it took.
func (p *Progress) back(s *Snapshot, n *Node, r Restart, policy Policy) {
	p.Back = s.At
	if r.watched(s, n, policy) {
		p.took(n.Roles, s.At.Sub(r.At))
	}
	if n.Roles.Broker {
		p.Returned[n.ID] = Return{At: s.At}
	}
	delete(p.Restarts, n.ID)
}

// watched reports whether the last looks may have seen the new instance become ready and catch up: the roller was not off meanwhile.
func (r Restart) watched(s *Snapshot, n *Node, policy Policy) bool {
	if r.Ready.IsZero() {
		return s.began().Sub(n.ReadyChanged) <= unwatched
	}
	return s.At.Sub(r.Improved) < policy.Stall
}

// since returns the time from which the roller waits for a restarted node: its restart, the creation of its new pod or, if that was ready
// in between, perhaps unnoticed, the time at which it became unready. A container that is killed again and again renews nothing.
func (r Restart) since(n *Node) time.Time {
	since := r.At
	if instance, known := n.Instance.Get(); !known || instance == r.Instance || instance == "" || n.Ready.Or(true) {
		return since
	}
	for _, at := range []time.Time{n.Created, n.LastReady} {
		if at.After(since) {
			since = at
		}
	}
	return since
}

// restartedFor adds reasons to those that a node was restarted for.
func restartedFor(keys []string, reasons []Reason) []string {
	keys = slices.Clone(keys)
	for _, r := range reasons {
		if !slices.Contains(keys, r.key()) {
			keys = append(keys, r.key())
		}
	}
	slices.Sort(keys)
	return keys
}

// after updates the restart with the state of the new instance.
func (r Restart) after(s *Snapshot, n *Node, policy Policy, a *availability) (Restart, stage) {
	if !n.Ready.Or(false) || n.Terminating || n.Instance.Or("") == "" {
		r.Ready, r.First = time.Time{}, 0
		return r, stageStarting
	}
	left, known := r.left(s, n, policy, a)
	switch {
	case !known && r.Ready.IsZero():
		r.Ready, r.Improved = s.At, s.At
	case !known: // wait no longer than without progress
	case left == 0:
		return r, stageNone
	case r.First == 0:
		r.First, r.Left, r.Least, r.Improved = left, left, left, s.At
		if r.Ready.IsZero() {
			r.Ready = s.At
		}
	case r.Least == 0 || left < r.Least: // an earlier version stored no Least
		r.Left, r.Least, r.Improved = left, left, s.At
	default:
		r.Left = left
	}
	if s.At.Sub(r.Improved) >= policy.Stall {
		return r, stageStalled
	}
	return r, stageCatchingUp
}

// left returns how many replicas of the node still have to catch up, including its replica of the metadata.
func (r Restart) left(s *Snapshot, n *Node, policy Policy, a *availability) (left int, known bool) {
	if n.Roles.Broker {
		behind, ok := a.behind(n.ID)
		if !ok {
			return 0, false
		}
		left += max(0, behind-r.Behind)
	}
	if n.Roles.Controller {
		q, ok := s.Quorum.Get()
		if !ok {
			return 0, false
		}
		if q.Leader < 0 || !q.caughtUp(n.ID, policy.fetchTimeout(n)) {
			left++
		}
	}
	return left, true
}

// Rate returns how many replicas per second have caught up since the node became ready, and how long the rest takes at that rate; false if
// none has caught up yet.
func (r Restart) Rate(now time.Time) (perSecond float64, rest time.Duration, ok bool) {
	took := now.Sub(r.Ready).Seconds()
	if r.Ready.IsZero() || took <= 0 || r.First <= r.Left {
		return 0, 0, false
	}
	perSecond = float64(r.First-r.Left) / took
	return perSecond, time.Duration(float64(r.Left) / perSecond * float64(time.Second)), true
}
