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
	// Voters are the voters of the metadata quorum, as its leader last told. Static means that none is ever added or removed. Otherwise Told
	// is when the leader told it, or it was last seen that there was none, without which no voter is added or removed.
	Voters []NodeID  `json:"voters,omitempty"`
	Static bool      `json:"static,omitempty"`
	Told   time.Time `json:"told,omitzero"`
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
	p.Voters = slices.Clone(p.Voters)
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
