package roller

import (
	"maps"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// Progress is what the roller must remember between steps, and across its own restarts. It should be stored before the actions of the same
// decision are carried out. The zero value is the initial state. A Progress is immutable: a Step returns a new one.
type Progress struct {
	// Batches are the brokers of the current plan, and Limits the policy's limits for which it was made.
	Batches [][]NodeID `json:"batches,omitempty"`
	Limits  string     `json:"limits,omitempty"`
	// Restarts are the restarts that have begun and are not complete.
	Restarts map[NodeID]Restart `json:"restarts,omitempty"`
	// Restarted are, by node, the reasons for which it was restarted and that it still has, by kind and mark.
	Restarted map[NodeID][]string `json:"restarted,omitempty"`
	// Waiting is since when a controller that should be restarted could not be.
	Waiting map[NodeID]time.Time `json:"waiting,omitempty"`
	// Alterations are the last attempts to change a node's configuration while it runs.
	Alterations map[NodeID]Alteration `json:"alterations,omitempty"`
	// Refusals are Kafka's rejections of configuration changes, as long as the changes are wanted.
	Refusals []brokerconfig.Refusal `json:"refusals,omitempty"`
	// Denied are the restarts that the API server rejected, or failed to begin.
	Denied map[NodeID]Denial `json:"denied,omitempty"`
	// Failing is since when there is positive evidence that a node can't serve clients, and Leaderless since when the controllers report no
	// leader, as they last did at Unled.
	Failing    map[NodeID]time.Time `json:"failing,omitempty"`
	Leaderless time.Time            `json:"leaderless,omitzero"`
	Unled      time.Time            `json:"unled,omitzero"`
	// Witnessed is when such evidence, Waiting, or Restart.Unread was last checked: during a long gap, it may have ended and begun again.
	Witnessed time.Time `json:"witnessed,omitzero"`
	// Shut are the brokers that the plan restarts one by one only because they could not go down when it was made.
	Shut []NodeID `json:"shut,omitempty"`
	// Ring is how much is missing on nodes that wait for one another (docs/decisions/cluster-loss-budget.md); nil if there are none.
	Ring *Ring `json:"ring,omitempty"`
	// Paces are how long recent restarts took, by the nodes' roles.
	Paces map[string]Pace `json:"paces,omitempty"`
	// Back is when the last node came back.
	Back time.Time `json:"back,omitzero"`
	// Returned are the brokers that came back, until they lead their preferred partitions.
	Returned map[NodeID]Return `json:"returned,omitempty"`
	// Elected is when elections of such brokers made a restart come too late (ElectionsTookLong); zero once one was carried out since.
	Elected time.Time `json:"elected,omitzero"`
}

// Restart is one restart that has begun.
type Restart struct {
	// Instance is the instance that the restart ends.
	Instance string    `json:"instance"`
	Name     string    `json:"name,omitempty"`
	Roles    Roles     `json:"roles,omitzero"`
	Rack     string    `json:"rack,omitempty"`
	Place    string    `json:"place,omitempty"`
	At       time.Time `json:"at"`
	Reasons  []Reason  `json:"reasons"`
	// Behind is how many of the broker's replicas were not in sync before: as many may be out of sync after.
	Behind int `json:"behind,omitempty"`
	// Ready is when the new instance was first seen ready.
	Ready time.Time `json:"ready,omitzero"`
	// Left is how many replicas still have to catch up, First the number when the node became ready, Least the smallest one since, and
	// Improved the time at which Least last decreased: replicas that fall out and come back are no progress.
	Left     int       `json:"left,omitempty"`
	Least    int       `json:"least,omitempty"`
	First    int       `json:"first,omitempty"`
	Improved time.Time `json:"improved,omitzero"`
	// Unread is since when the Kubernetes cluster of the node can't be read, so that nobody knows whether it is back; zero if it can.
	Unread time.Time `json:"unread,omitzero"`
	// Unclear is why it is unknown whether the API server accepted the deletion of the pod; empty if it is known.
	Unclear string `json:"unclear,omitempty"`
	// Before is the previous restart, if it was not complete when this one began: it is restored if this one turns out not to have begun.
	Before *Restart `json:"before,omitempty"`
}

// Alteration is an attempt to change a node's configuration while it runs.
type Alteration struct {
	// Change is the fingerprint of the intended change.
	Change string    `json:"change"`
	At     time.Time `json:"at"`
	// Tries is how often Kafka accepted it.
	Tries int `json:"tries"`
	// Why is why the last attempt failed, which is no rejection of the change; empty if it did not, or its result is not known yet.
	Why string `json:"why,omitempty"`
}

// effect is how long an action may take until it can be observed. Until then, a stored restart counts as begun, whether or not it was
// carried out.
const effect = 30 * time.Second

// Clone returns a copy that shares nothing with p.
func (p Progress) Clone() Progress {
	p.Batches = slices.Clone(p.Batches)
	for i := range p.Batches {
		p.Batches[i] = slices.Clone(p.Batches[i])
	}
	p.Restarts = cloned(p.Restarts)
	p.Restarted = cloned(p.Restarted)
	p.Waiting = cloned(p.Waiting)
	p.Denied = cloned(p.Denied)
	p.Failing = cloned(p.Failing)
	p.Shut = slices.Clone(p.Shut)
	p.Alterations = cloned(p.Alterations)
	p.Refusals = slices.Clone(p.Refusals)
	p.Paces = maps.Clone(p.Paces)
	p.Returned = cloned(p.Returned)
	return p
}

func cloned[V any](m map[NodeID]V) map[NodeID]V {
	if m == nil {
		return map[NodeID]V{}
	}
	return maps.Clone(m)
}

// Denial is a restart that the API server rejected, or failed to begin, and how often it was requested.
type Denial struct {
	Instance string `json:"instance"`
	// At is when it was last denied, and Since when it was first.
	At    time.Time `json:"at"`
	Since time.Time `json:"since,omitzero"`
	Times int       `json:"times"`
	Why   string    `json:"why"`
}

// again returns when to request it again, with a growing delay.
func (d Denial) again() time.Time {
	const first, longest = 5 * time.Second, 5 * time.Minute
	return d.At.Add(min(longest, first<<min(d.Times-1, 10)))
}

// Deny removes a restart that the API server rejected, at that time and for that reason. The roller requests it again, with a growing
// delay.
func (p Progress) Deny(id NodeID, at time.Time, why string) Progress {
	p = p.Clone()
	p.deny(id, at, why)
	return p
}

func (p Progress) deny(id NodeID, at time.Time, why string) {
	instance := p.Restarts[id].Instance
	p.undo(id)
	last := p.Denied[id]
	if last.Instance != instance {
		last = Denial{Instance: instance, Since: at}
	}
	last.At, last.Times, last.Why = at, last.Times+1, why
	p.Denied[id] = last
}

// Unclear records why it is unknown whether the API server accepted a restart. If it turns out not to have begun, it was denied.
func (p Progress) Unclear(id NodeID, why string) Progress {
	p = p.Clone()
	if r, tried := p.Restarts[id]; tried {
		r.Unclear = why
		p.Restarts[id] = r
	}
	return p
}

// drop removes everything about the matching nodes.
func (p Progress) drop(these func(id NodeID) bool) {
	maps.DeleteFunc(p.Restarts, func(id NodeID, _ Restart) bool { return these(id) })
	maps.DeleteFunc(p.Restarted, func(id NodeID, _ []string) bool { return these(id) })
	maps.DeleteFunc(p.Waiting, func(id NodeID, _ time.Time) bool { return these(id) })
	maps.DeleteFunc(p.Alterations, func(id NodeID, _ Alteration) bool { return these(id) })
	maps.DeleteFunc(p.Denied, func(id NodeID, _ Denial) bool { return these(id) })
	maps.DeleteFunc(p.Failing, func(id NodeID, _ time.Time) bool { return these(id) })
	maps.DeleteFunc(p.Returned, func(id NodeID, _ Return) bool { return these(id) })
}

// NotCarriedOut removes a restart that is known not to have begun.
func (p Progress) NotCarriedOut(id NodeID) Progress {
	p = p.Clone()
	p.undo(id)
	return p
}

// NotAltered removes an attempt to change a node's configuration that was not made: it is made at the next look.
func (p Progress) NotAltered(id NodeID) Progress {
	p = p.Clone()
	if a := p.Alterations[id]; a.Tries == 0 {
		delete(p.Alterations, id)
	} else {
		a.At = time.Time{}
		p.Alterations[id] = a
	}
	return p
}

// NotElected gives back the try of an election that was not requested: it is requested at the next look.
func (p Progress) NotElected(id NodeID) Progress {
	p = p.Clone()
	if back, is := p.Returned[id]; is && back.Tries > 0 {
		back.Tries--
		p.Returned[id] = back
	}
	return p
}

// undo removes a restart that did not begin.
func (p Progress) undo(id NodeID) {
	if before := p.Restarts[id].Before; before != nil {
		p.Restarts[id] = *before
	} else {
		delete(p.Restarts, id)
	}
}

// neverBegan removes a restart that has turned out not to have begun. Whatever made its request fail may last.
func (p Progress) neverBegan(id NodeID, now time.Time) {
	if why := p.Restarts[id].Unclear; why != "" {
		p.deny(id, now, why)
		return
	}
	p.undo(id)
}

// Taken records that Kafka accepted the last change of a node's configuration, except for what it rejected. A change is retried until it is
// known to be accepted: a repeated change does no harm.
func (p Progress) Taken(id NodeID) Progress {
	p = p.Clone()
	if a, tried := p.Alterations[id]; tried {
		a.Tries++
		p.Alterations[id] = a
	}
	return p
}

// NotTaken records why the last attempt to change a node's configuration failed. The change is retried however often that happens.
func (p Progress) NotTaken(id NodeID, why string) Progress {
	p = p.Clone()
	if a, tried := p.Alterations[id]; tried {
		a.Why = why
		p.Alterations[id] = a
	}
	return p
}

// Refused records Kafka's rejections of configuration changes. A rejected change is not retried, for this node or for others with the same
// cluster-wide value, until another value is wanted. A change that another key blocks is retried, but not forever
// (brokerconfig.Refusal.Waits).
func (p Progress) Refused(refusals ...brokerconfig.Refusal) Progress {
	p = p.Clone()
	var asked time.Time // the last attempt is the rejected one
	for _, a := range p.Alterations {
		if a.At.After(asked) {
			asked = a.At
		}
	}
	p.Refusals = brokerconfig.Count(p.Refusals, asked, effect, refusals...)
	return p
}

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

// advance updates the progress with the facts of the snapshot.
func (p Progress) advance(s *Snapshot, policy Policy, a *availability) (Progress, map[NodeID]stage) {
	p = p.Clone()
	p.notAfter(s.At)
	p.electsAgain()
	stages := map[NodeID]stage{}
	for id, r := range p.Restarts {
		n := s.Node(id)
		if n == nil { // no StrimziPodSet lists it any more (see Snapshot.absent)
			if s.forgets() {
				delete(p.Restarts, id)
			}
			continue
		}
		instance, known := n.Instance.Get()
		if known && instance == r.Instance && !n.Terminating && s.from().Sub(r.At) >= effect {
			p.neverBegan(id, s.At)
			if r, known = p.Restarts[id]; !known {
				continue
			}
		}
		r = p.reads(s, id, known)
		at := stageStopping
		switch {
		case !known:
			at = r.unknown(s, policy)
		case instance != r.Instance:
			p.Restarted[id] = restartedFor(p.Restarted[id], r.Reasons)
			var next Restart
			if next, at = r.after(s, n, policy, a); at == stageNone {
				p = p.back(s, n, r, policy)
				continue
			}
			p.Restarts[id] = next
		}
		if at < stageFailed && s.At.Sub(r.since(n)) >= policy.Patience {
			at = stageFailed
		}
		stages[id] = at
	}
	return p, stages
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
func (p Progress) back(s *Snapshot, n *Node, r Restart, policy Policy) Progress {
	p.Back = s.At
	if r.watched(s, n, policy) {
		p.took(n.Roles, s.At.Sub(r.At))
	}
	if n.Roles.Broker {
		p.Returned[n.ID] = Return{At: s.At}
	}
	delete(p.Restarts, n.ID)
	return p
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
