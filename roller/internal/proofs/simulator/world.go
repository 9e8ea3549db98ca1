package simulator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// began is the time at which each history begins.
var began = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// podState is the state of a pod.
type podState int

const (
	podGone podState = iota
	podStopping
	podStarting
	podRecovering
	podReady
	podStuck
)

// world is a simulated cluster in virtual time: its true state, not what the roller knows of it.
type world struct {
	now    time.Time
	nodes  []*node
	byID   map[roller.NodeID]*node
	topics []*topic
	policy roller.Policy

	// old: the brokers don't report which of them are fenced. cut: the roller can reach no node, since cutAt.
	old, cut bool
	// dynamic: voters are added and removed.
	dynamic bool
	cutAt   time.Time
	// lost are the Kubernetes clusters that are down. unread are those that the roller can't read.
	lost, unread map[string]bool
	// dark is since when the roller can't read a Kubernetes cluster.
	dark map[string]time.Time
	// doomed is the Kubernetes cluster that is lost when the roller next restarts one of its nodes, for good: vanished then.
	doomed, vanished string
	// refused: every node refuses the roller, and nobody else, since cutAt: the brokers do not accept its certificate.
	refused bool
	// distrusting: the roller rejects the certificate of every node, and nobody else does, since cutAt: a CA that only the roller checks has
	// expired, or its clock is slow. trustAt is when that ends; zero: not by itself.
	distrusting bool
	trustAt     time.Time
	// mum: the roller can't read the logs of pods.
	mum bool
	// clogged: the API server answers no request for the log of a pod, for good.
	clogged bool
	// leaderless is the time since when there is no active controller; zero if there is one.
	leaderless time.Time
	// leader is the active controller; negative if there is none. electAt is the time of the next election.
	leader  roller.NodeID
	electAt time.Time
	// By key: stored are the values that Kafka stores for all nodes, wished counts the changes of the desired value, and untaken how often
	// a desired value was stored that some running node did not apply. forbidden are keys with values that a policy forbids.
	stored, wished, untaken [keyCount]int
	forbidden               map[[2]int]bool
	// made counts topics that were created during the history.
	made int
	// revision is the desired revision of all pods.
	revision int
	// changed counts observable events.
	changed int
	// broken is the first broken rule about partitions.
	broken string
	// story records the history for a reader; nil if nobody reads it.
	story *strings.Builder
}

// node is one node and its pod.
type node struct {
	Node
	made    int // number of instances; the last one is present unless the pod is gone
	pod     podState
	next    time.Time // when the pod's state changes; zero: not by itself
	readyAt time.Time // when its readiness last changed
	// createdAt is when the pod was created, and lastReady until when it was ready; zero if it never was.
	createdAt, lastReady time.Time
	// kills is how often the container was killed since the pod was last ready, or created, and unready since when the pod is unready then.
	kills   int
	unready time.Time
	// wasReady: the stopping pod was ready, and stays ready until it has stopped.
	wasReady bool
	// process: Kafka runs, so that a controller votes. up: the broker is registered, so that its replicas can be in sync.
	process, up bool
	// fenceAt is when the active controller notices that the broker is down. fenced: the controller has noticed.
	fenceAt time.Time
	fenced  bool
	catchAt time.Time
	// improved is when a replica of the node last caught up.
	improved time.Time
	// slow: no replica catches up. mute: the node does not respond to the roller, since silent.
	slow, mute bool
	silent     time.Time
	// shut: until then, what is between the roller and the node refuses the roller's connections, and nobody else's.
	shut time.Time
	// lagsSince is when the voter was last caught up; zero if it is caught up. voteAt is when it will be.
	lagsSince time.Time
	voteAt    time.Time
	lags      bool // cut off from the leader, so it does not catch up
	fate      fate // of the next start
	killed    bool // something kills its container again and again, before it is ready

	revision, wanted int
	request          string // the mark of a requested restart
	sticky           bool   // the request, or the old revision, survives a restart
	hold, foreign    bool
	// unlisted: the roller looks nowhere where the node is, because its Kubernetes cluster is not configured or its pod lost its labels.
	unlisted bool
	// expired: since then no client can connect to the node, because its certificate has expired. wedged: its controller takes part in no
	// election. A restart ends both.
	expired time.Time
	wedged  bool
	// flapping: a disk fails with the next stop. Then the replica of dead does not come back, and that of wavering comes and goes at flapAt.
	flapping       bool
	dead, wavering *partition
	flapAt         time.Time
	// sidecar: another container of the pod crashes repeatedly.
	sidecar bool
	// abandoned: the node does not come back, and is on hold unless it is unnoticed.
	abandoned, unnoticed bool
	// dies: its machine is lost when its pod is next deleted, so that nothing ends the pod, and its status stays as it was.
	dies bool
	// kept: the API server does not delete the pod for the roller. It rejects the request or, if fails, answers with an error.
	kept, fails bool
	// deleted is when the pod was deleted.
	deleted time.Time
	config  settings
	// spoilt: an illegal value keeps the node from starting.
	spoilt bool
	hosted []*partition
	// ours reports whether the roller stopped the node while it served, and it is not back yet. backAt is its last return from that.
	ours   bool
	backAt time.Time
	// seen is the state of the pod that an informer still shows until seenUntil.
	seen      *roller.Node
	seenUntil time.Time
}

// fate is the outcome of a start.
type fate int

const (
	fateWell fate = iota
	fateStuck
	fateNever
	fateRecovery
)

func newWorld(c Cluster, story *strings.Builder) *world {
	w := &world{now: began, byID: map[roller.NodeID]*node{}, lost: map[string]bool{}, unread: map[string]bool{},
		dark: map[string]time.Time{}, forbidden: map[[2]int]bool{}, policy: c.Policy, old: c.Old, dynamic: c.Dynamic,
		doomed: none, vanished: none,
		leader: -1, leaderless: began, revision: 1, story: story}
	for _, n := range c.Nodes {
		made := &node{Node: n, made: 1, pod: podReady, readyAt: began.Add(-time.Hour), process: true, up: n.Roles.Broker, revision: 1,
			wanted: 1, config: first()}
		if n.Outdated {
			made.revision = 0
		}
		w.nodes = append(w.nodes, made)
		w.byID[n.ID] = made
	}
	for _, t := range c.Topics {
		w.addTopic(t)
	}
	w.elect()
	for _, n := range w.voters() {
		n.lagsSince, n.voteAt = time.Time{}, time.Time{}
	}
	return w
}

func (w *world) tell(format string, args ...any) {
	w.changed++
	if w.story != nil {
		fmt.Fprintf(w.story, w.now.Format("15:04:05.0 ")+format+"\n", args...)
	}
}

// after returns a time from now.
func (w *world) after(d time.Duration) time.Time { return w.now.Add(d) }

// due returns the time of the node's next event.
func (n *node) due() time.Time {
	var first time.Time
	for _, at := range []time.Time{n.next, n.fenceAt, n.catchAt, n.voteAt, n.seenUntil, n.shut, n.flapAt} {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// next returns the time of the next event; zero if there is none.
func (w *world) next() time.Time {
	first := w.electAt
	if !w.trustAt.IsZero() && (first.IsZero() || w.trustAt.Before(first)) {
		first = w.trustAt
	}
	for _, n := range w.nodes {
		if at := n.due(); !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// pass advances the time, and handles all events that become due.
func (w *world) pass(d time.Duration) {
	until := w.after(d)
	for {
		at := w.next()
		if at.IsZero() || at.After(until) {
			break
		}
		if at.After(w.now) {
			w.now = at
		}
		w.happen()
	}
	w.now = until
}

// happen handles the events that are due.
func (w *world) happen() {
	reached := func(at time.Time) bool { return !at.IsZero() && !at.After(w.now) }
	if reached(w.electAt) {
		w.electAt = time.Time{}
		w.elect()
	}
	if reached(w.trustAt) {
		w.distrust(false)
	}
	for _, n := range w.nodes {
		if reached(n.seenUntil) {
			n.seen, n.seenUntil = nil, time.Time{}
			w.changed++
		}
		if reached(n.shut) {
			w.open(n)
		}
		if reached(n.next) {
			n.next = time.Time{}
			w.proceed(n)
		}
		if reached(n.fenceAt) {
			n.fenceAt = time.Time{}
			w.fence(n)
		}
		if reached(n.voteAt) {
			n.voteAt = time.Time{}
			w.vote(n)
		}
		if reached(n.flapAt) {
			w.flap(n)
		}
		if reached(n.catchAt) {
			n.catchAt = time.Time{}
			w.catchUp(n)
		}
	}
}

// Durations that are the same for all nodes.
const (
	replacement = 2 * time.Second         // until a pod's owner creates a new one
	retry       = time.Second             // until an operation that needs a quorum is retried
	session     = 9 * time.Second         // broker.session.timeout.ms
	election    = 1500 * time.Millisecond // until a new leader of the quorum is elected
	fetched     = 700 * time.Millisecond  // until a voter follows a new leader
)

// proceed changes a pod to its next state.
func (w *world) proceed(n *node) {
	switch n.pod {
	case podStopping:
		w.stopped(n, true)
		n.pod, n.next = podGone, w.after(replacement)
	case podGone:
		n.made++
		n.createdAt, n.lastReady, n.kills = w.now, time.Time{}, 0
		if !n.sticky {
			n.revision, n.request = n.wanted, ""
		}
		w.start(n)
	case podStarting, podRecovering:
		if n.killed {
			if n.kills++; n.kills == 1 {
				n.unready = n.readyAt
			}
			w.start(n)
			break
		}
		w.started(n)
	}
	w.tell("pod of node %d is %s", n.ID, n)
}

// start starts Kafka in the pod.
func (w *world) start(n *node) {
	n.pod, n.next, n.readyAt = podStarting, w.after(n.Boot), w.now
	n.expired, n.wedged = time.Time{}, false
	n.repair()
	w.read(n)
	if n.mute = n.mute && n.sticky; !n.mute {
		n.silent = time.Time{}
	}
	if n.spoilt = n.config.illegal() >= 0; n.spoilt {
		n.pod, n.next = podStuck, time.Time{}
		return
	}
	if n.killed {
		n.next = w.after(4 * time.Minute)
		return
	}
	switch fate := n.fate; fate {
	case fateStuck:
		n.pod, n.next = podStuck, time.Time{}
	case fateNever:
		n.next = time.Time{}
	case fateRecovery:
		n.pod, n.next, n.fate = podRecovering, w.after(n.Boot*20), fateWell
	}
}

// started finishes a start, unless the node needs a quorum and there is none.
func (w *world) started(n *node) {
	n.process = true
	w.takeUp(n)
	w.reconsider()
	if n.Roles.Controller && n.voteAt.IsZero() && !n.lagsSince.IsZero() {
		n.voteAt = w.after(fetched)
	}
	if n.Roles.Broker && (!w.governed() || !n.expired.IsZero()) {
		n.pod, n.next = podStarting, w.after(retry) // it has recovered, if it had to
		return
	}
	n.pod, n.readyAt, n.kills = podReady, w.now, 0
	if n.Roles.Broker {
		w.register(n)
	}
	if n.ours {
		n.ours, n.backAt = false, w.now
	}
}

// stopped ends a run of Kafka. The controller learns of a clean stop at once.
func (w *world) stopped(n *node, clean bool) {
	wasUp := n.up
	if n.flapping && n.dead == nil && len(n.hosted) > 1 {
		n.dead, n.wavering, n.flapAt = n.hosted[0], n.hosted[1], w.after(time.Minute)
	}
	if n.pod == podReady {
		n.lastReady = w.now
	}
	n.process, n.up = false, false
	n.catchAt, n.voteAt = time.Time{}, time.Time{}
	n.readyAt = w.now
	if n.Roles.Controller && n.lagsSince.IsZero() {
		n.lagsSince = w.now
	}
	w.reconsider()
	switch {
	case !wasUp:
	case clean && w.governed():
		w.fence(n)
	default:
		n.fenceAt = w.after(session)
	}
}

// end deletes the pod. ours tells whether the roller deletes it, and not another client.
func (w *world) end(n *node, ours bool) {
	if n.pod == podGone || n.pod == podStopping {
		return
	}
	if ours && (n.up || n.process && !n.Roles.Broker) {
		n.ours = true
	}
	if !ours {
		w.hurt(n)
	}
	switch {
	case n.dies && n.process:
		n.deleted, n.wasReady = w.now, n.pod == podReady
		n.pod, n.next = podStopping, time.Time{}
		w.stopped(n, false)
	case !n.process:
		n.pod, n.next = podGone, w.after(replacement)
		n.readyAt = w.now
	default:
		n.deleted = w.now
		n.wasReady = n.pod == podReady
		n.pod, n.next = podStopping, w.after(n.Stop)
	}
	w.tell("pod of node %d is deleted: %s", n.ID, n)
}

// crash ends the container; the pod restarts it.
func (w *world) crash(n *node) {
	if n.pod != podReady && n.pod != podStarting {
		return
	}
	w.hurt(n)
	w.stopped(n, false)
	w.start(n)
	w.tell("node %d crashes: %s", n.ID, n)
}

// String describes the pod's state.
func (n *node) String() string {
	return fmt.Sprintf("%s %s", n.instance(), []string{"gone", "stopping", "starting", "recovering", "ready", "stuck"}[n.pod])
}

// instance is the uid of the pod; empty if there is none.
func (n *node) instance() string {
	if n.pod == podGone {
		return ""
	}
	return strconv.Itoa(int(n.ID)) + "#" + strconv.Itoa(n.made)
}

func (w *world) voters() []*node {
	var voters []*node
	for _, n := range w.nodes {
		if n.Roles.Controller && !n.Observes {
			voters = append(voters, n)
		}
	}
	return voters
}

// governed reports whether there is an active controller to change the replicas in sync. A cluster without voters has its controllers
// elsewhere.
func (w *world) governed() bool { return w.leader >= 0 || len(w.voters()) == 0 }

// votes reports whether the node takes part in the quorum.
func (n *node) votes() bool { return n.process && n.expired.IsZero() && !n.wedged }

// reconsider removes the quorum's leader if it can't stay.
func (w *world) reconsider() {
	alive := 0
	for _, n := range w.voters() {
		if n.votes() {
			alive++
		}
	}
	leader := w.byID[w.leader]
	if leader != nil && (!leader.votes() || alive*2 <= len(w.voters())) {
		w.tell("the quorum loses its leader %d", w.leader)
		w.leader, w.leaderless = -1, w.now
	}
	if w.leader < 0 && w.electAt.IsZero() && alive*2 > len(w.voters()) {
		w.electAt = w.after(election)
	}
}

// elect makes the voter that is caught up the furthest the leader. Among equals the time decides.
func (w *world) elect() {
	var alive []*node
	voters := w.voters()
	for _, n := range voters {
		if n.votes() {
			alive = append(alive, n)
		}
	}
	if w.leader >= 0 || len(alive)*2 <= len(voters) {
		return
	}
	best := slices.DeleteFunc(slices.Clone(alive), func(n *node) bool { return !n.lagsSince.IsZero() })
	if len(best) == 0 {
		best = alive
	}
	w.lead(best[int(w.now.Unix())%len(best)])
}

// lead makes a voter the leader; the others follow it after a moment.
func (w *world) lead(leader *node) {
	w.leader, w.leaderless = leader.ID, time.Time{}
	leader.lagsSince, leader.voteAt = time.Time{}, time.Time{}
	for _, n := range w.voters() {
		if n == leader {
			continue
		}
		n.lagsSince, n.voteAt = never, time.Time{}
		if n.votes() && !n.lags {
			n.voteAt = w.after(fetched)
		}
	}
	w.tell("node %d leads the quorum", leader.ID)
}

// never stands for a voter that the leader does not know to have been caught up.
var never = time.Unix(0, 0).UTC()

// vote lets a voter catch up with its leader.
func (w *world) vote(n *node) {
	if !n.votes() || n.lags || w.leader < 0 {
		if n.votes() && w.leader < 0 {
			n.voteAt = w.after(retry)
		}
		return
	}
	n.lagsSince, n.improved = time.Time{}, w.now
	w.tell("voter %d is caught up", n.ID)
}
