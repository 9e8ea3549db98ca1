package simulator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// oracle checks the roller's decisions against the rules of docs/decisions, by the true state of the simulated cluster. It uses nothing of
// the roller except the snapshot, the decision, and which actions were carried out.
type oracle struct {
	w      *world
	broken string
	// ended are all instances that the roller deleted. lastEnd is the time of the last such deletion, by node.
	ended   map[string]bool
	lastEnd map[roller.NodeID]time.Time
	// served are, by node, the reasons that it was restarted for and that each later look showed, if it could.
	served map[roller.NodeID]map[string]bool
	// meant are the same for the last restart that was decided on, whether it was carried out or not.
	meant map[roller.NodeID]map[string]bool
	// earlier are those that a node had been restarted for before that decision.
	earlier map[roller.NodeID]map[string]bool
	// wants is the time since when a controller shows a reason that it was not restarted for.
	wants map[roller.NodeID]time.Time
	// kept are the instances that the API server did not delete, with the time of the first attempt.
	kept map[string]time.Time
	// refused are keys with legal values that a running node rejected. denied are rejected values that the roller knows of, with the count
	// of wishes for the key at that time.
	refused map[[2]int]bool
	denied  map[[2]int]int
	// waiting are legal values that nodes rejected because of another key, with the times. heardOf are those times as the roller learned of
	// them, by the count of wishes for the key.
	waiting map[[2]int][]time.Time
	heardOf map[[3]int][]time.Time
	// policy is the roller's policy at the decision.
	policy roller.Policy
	seen   *roller.Snapshot
	// complete: no fact is unknown that can be known.
	complete bool
	topics   []roller.Topic
	// untold are the topics that the roller may not describe, and that no responding broker hosted when the look began.
	untold map[string]bool
	// before is the true state when the facts were read: the pods first, and Kafka's facts last.
	before truth
	// slow: time passed between the two.
	slow bool
	// evidence is the time since when each look showed that a cluster is lost.
	evidence evidence
	// races are the deletions that broke a rule only because of events after their facts were read.
	races int
}

// freshness is how old the facts of a restart may be (docs/decisions/facts-of-a-restart.md).
const freshness = 5 * time.Second

// truth is the true state at one moment, regardless of what the roller could read.
type truth struct {
	at     time.Time
	topics []roller.Topic
	quorum roller.Fact[roller.Quorum]
	// idle are the nodes whose brokers do not serve. down are these, and the ones that are stopping.
	idle, down map[roller.NodeID]bool
	// held are the nodes on hold that have been down, or have refused the roller, for longer than patience: no rule waits for them.
	held map[roller.NodeID]bool
}

// truth returns the present state.
func (o *oracle) truth() truth {
	t := truth{at: o.w.now, topics: o.w.observeAll(), idle: map[roller.NodeID]bool{}, down: map[roller.NodeID]bool{},
		held: map[roller.NodeID]bool{}}
	var q roller.Quorum
	if all := o.w.quorum(); len(all.Voters) > 0 {
		q = all
	}
	for _, n := range o.w.nodes {
		going := n.pod == podStopping || n.ours
		t.idle[n.ID] = n.Roles.Broker && !n.up
		t.down[n.ID] = going || t.idle[n.ID]
		since := n.expired
		if n.pod != podReady {
			since = n.readyAt
		}
		long := func(since time.Time) bool { return !since.IsZero() && o.w.now.Sub(since) >= o.w.policy.Patience }
		t.held[n.ID] = n.hold && !o.w.unreadable(n) && (long(since) || long(o.evidence.expired[n.ID]))
		for i := range q.Voters {
			if q.Voters[i].ID == n.ID && (going || !n.votes()) {
				q.Voters[i].LastCaughtUp = -1
			}
		}
	}
	t.quorum = roller.Known(succeeded(q))
	return t
}

// succeeded returns the quorum with its next leader if the present one is stopping: the voter that is caught up the furthest.
func succeeded(q roller.Quorum) roller.Quorum {
	best := -1
	for i, v := range q.Voters {
		if v.ID == q.Leader && v.LastCaughtUp >= 0 {
			return q
		}
		if v.LastCaughtUp >= 0 && (best < 0 || v.LastCaughtUp > q.Voters[best].LastCaughtUp) {
			best = i
		}
	}
	if q.Leader >= 0 && best >= 0 {
		q.Leader = q.Voters[best].ID
	}
	return q
}

// looks records the true state when the facts of the pods are read.
func (o *oracle) looks() {
	o.before, o.untold = o.truth(), map[string]bool{}
	for _, t := range o.w.topics {
		o.untold[t.name] = t.hidden && !slices.ContainsFunc(o.w.nodes, func(n *node) bool {
			return o.w.answers(n) && slices.ContainsFunc(n.hosted, func(p *partition) bool { return p.topic == t })
		})
	}
}

// hears records the topics that Kafka reported.
func (o *oracle) hears(slow bool) {
	o.slow = slow
	o.before.topics = o.w.observeAll()
	for i := range o.before.topics {
		partitions := o.before.topics[i].Partitions
		for p := range partitions { // later events change these slices
			partitions[p].Replicas, partitions[p].ISR = slices.Clone(partitions[p].Replicas), slices.Clone(partitions[p].ISR)
		}
	}
}

func newOracle(w *world) *oracle {
	return &oracle{w: w, ended: map[string]bool{}, lastEnd: map[roller.NodeID]time.Time{}, served: map[roller.NodeID]map[string]bool{},
		meant: map[roller.NodeID]map[string]bool{}, earlier: map[roller.NodeID]map[string]bool{},
		wants: map[roller.NodeID]time.Time{}, kept: map[string]time.Time{},
		refused: map[[2]int]bool{}, denied: map[[2]int]int{}, waiting: map[[2]int][]time.Time{}, heardOf: map[[3]int][]time.Time{}}
}

func (o *oracle) fail(format string, args ...any) {
	if o.broken == "" {
		o.broken = fmt.Sprintf(format, args...)
		o.w.tell("VIOLATION %s", o.broken)
	}
}

// judge checks one decision.
func (o *oracle) judge(seen *roller.Snapshot, complete bool, d roller.Decision) {
	o.seen, o.complete, o.policy = seen, complete && seen.Topics.IsKnown(), o.w.policy
	o.witness()
	for i := range seen.Nodes {
		o.remember(&seen.Nodes[i])
	}
	o.done(d)
	o.advises(d)
	var chosen []*node
	var restarts []roller.Action
	for _, a := range d.Actions {
		switch a.Kind {
		case roller.ActionRestart:
			restarts = append(restarts, a)
			chosen = append(chosen, o.w.byID[a.Node])
		case roller.ActionElectLeaders:
			o.mayElect(a, d)
		case roller.ActionReconfigure:
			o.reconfigures(seen.Node(a.Node))
		}
	}
	if len(restarts) == 0 {
		return
	}
	for i, a := range restarts {
		o.restart(a, chosen[i], chosen[:i])
		o.meant[a.Node], o.earlier[a.Node] = o.serve(seen.Node(a.Node), a), o.served[a.Node]
	}
	for i := 1; i < len(chosen); i++ {
		if before, then := o.rank(chosen[i-1]), o.rank(chosen[i]); before > then {
			o.fail("order: node %d goes before node %d", chosen[i-1].ID, chosen[i].ID)
		}
	}
}

// advises fails if a user is told to delete a pod that somebody put on hold, or that nobody would make anew.
func (o *oracle) advises(d roller.Decision) {
	for _, a := range d.Nodes {
		for _, b := range a.Blocks {
			if n := o.seen.Node(podToDelete(b.Why)); n != nil && (n.Hold != "" || n.Foreign != "") {
				o.fail("standstill: a user is to delete the pod of node %d, which is kept: %s", n.ID, n.Hold+n.Foreign)
			}
		}
	}
}

// podToDelete returns the node whose pod a message tells users to delete; negative if it does not.
func podToDelete(message string) roller.NodeID {
	_, name, told := strings.Cut(message, "(kubectl delete pod kafka-")
	if !told {
		return -1
	}
	var id roller.NodeID
	if _, err := fmt.Sscanf(name, "%d", &id); err != nil {
		return -1
	}
	return id
}

// done fails if the roller finishes while a fact is unknown (docs/decisions/facts-of-a-restart.md).
func (o *oracle) done(d roller.Decision) {
	if d.Phase != roller.PhaseDone {
		return
	}
	if o.seen.Unread != "" {
		o.fail("unknown: all is done, and %s", o.seen.Unread)
	}
	for _, n := range o.w.nodes {
		if o.seen.Node(n.ID) == nil && o.seen.Topics.IsKnown() && o.seen.Quorum.IsKnown() {
			o.fail("unknown: all is done, and nobody saw node %d, which Kafka lists", n.ID)
		}
	}
	for i := range o.seen.Nodes {
		if n := &o.seen.Nodes[i]; !n.Revision.IsKnown() || !n.Ready.IsKnown() || !n.Config.IsKnown() && !o.policy.NoReconfiguration {
			o.fail("unknown: all is done, and node %d is not known", n.ID)
		} else if keys := o.illegal(n); len(keys) > 0 {
			o.fail("illegal value: all is done, and node %d should have an illegal %s", n.ID, keyNames[keys[0]])
		}
	}
}

// restart checks one restart, given the ones chosen before it in the same decision.
func (o *oracle) restart(a roller.Action, n *node, before []*node) {
	seen := o.seen.Node(a.Node)
	instance, known := seen.Instance.Get()
	switch {
	case !known || instance == "" || instance != a.Instance:
		o.fail("node %d is restarted as instance %q, and was seen as %q (known: %t)", a.Node, a.Instance, instance, known)
	case seen.Hold != "":
		o.fail("node %d is restarted while it is on hold", a.Node)
	case seen.Foreign != "":
		o.fail("node %d is restarted although nobody would make it anew", a.Node)
	case o.policy.Paused != "" || o.policy.Closed != "":
		o.fail("node %d is restarted although it is paused or no window is open", a.Node)
	}
	o.cause(seen)
	o.patience(seen)
	o.settled(n)
	o.halt(n)
	o.order(n, before)
}

// deletes checks a restart by the true state when the pod is deleted.
func (o *oracle) deletes(n *node, a roller.Action) {
	now := o.truth()
	if o.ended[a.Instance] {
		o.fail("instance %s is ended twice", a.Instance)
	}
	o.recovers(n, a)
	o.silent(n)
	o.starts(n)
	raced := n.Roles.Broker && n.up && o.data(n, a, now)
	raced = n.Roles.Controller && n.process && o.quorum(n, a, now) || raced
	if raced = o.losses(n, a, now) || raced; raced {
		o.races++
		o.w.hurt(n) // what the race breaks is no fault of the roller
	}
	if age := o.w.now.Sub(o.before.at); age > freshness {
		o.fail("old facts: node %d is restarted on facts that are %s old", n.ID, age)
	}
	o.topics = now.topics
	if !o.wayOut(n, a) {
		o.caps([]*node{n})
	}
}

// raced fails if the rule is broken now, unless that is a race: the facts were read a moment ago, the rule was kept in truth then, and what
// has broken it since was not the roller. No program can avoid that. It reports such a race.
func (o *oracle) raced(rule func(t truth) string, now truth) bool {
	why := rule(now)
	if why == "" {
		return false
	}
	ours := slices.ContainsFunc(o.w.nodes, func(n *node) bool { return n.ours && o.lastEnd[n.ID].After(o.before.at) })
	if ours || now.at.Sub(o.before.at) > freshness || rule(o.before) != "" {
		o.fail("%s", why)
		return false
	}
	o.w.tell("a race that no program can avoid: %s", why)
	return true
}

// recovers fails if a node is restarted while it recovers its logs. If that can't be known, the node has to get the time that any node
// gets, and be restarted alone (docs/decisions/facts-of-a-restart.md).
func (o *oracle) recovers(n *node, a roller.Action) {
	seen := o.seen.Node(n.ID)
	switch {
	case n.pod == podRecovering && seen.Recovery.IsKnown():
		o.fail("node %d is restarted while it recovers its logs", n.ID)
	case seen.Recovery.IsKnown() || seen.Ready.Or(true) || seen.Stuck.Or("") != "":
	case o.seen.At.Sub(seen.ReadyChanged) < o.policy.Patience || a.Forced == "":
		o.fail("unknown: node %d is restarted, and nobody could know whether it recovers its logs", n.ID)
	default:
		o.alone(n)
	}
}

// patience fails if an unready node is restarted before patience has passed, unless it is stuck, or a broker that is fenced.
func (o *oracle) patience(seen *roller.Node) {
	down := seen.Stuck.Or("") != "" || seen.Fenced.Or(false) && !seen.Roles.Controller
	since := seen.ReadyChanged
	if at := o.lastEnd[seen.ID]; o.w.byID[seen.ID].ours || at.Before(since) && !at.IsZero() {
		since = at
	}
	if !seen.Ready.Or(true) && !down && o.seen.At.Sub(since) < o.policy.Patience {
		o.fail("node %d is restarted before it had the time to get ready", seen.ID)
	}
}
