package simulator

import (
	"fmt"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// apply carries out a step.
func (r *run) apply(s Step) {
	if r.w.byID[roller.NodeID(s.Node)] == nil && !slices.Contains([]string{"look", "pass", "pause", "limit", "stale", "revise", "delete",
		"cancel", "expire", "wedge", "cut", "refuse", "distrust", "clog", "doom", "mum", "hide", "lose", "unread"}, s.Do) {
		return // shrinking removed the node
	}
	all := stepKinds()
	at := slices.IndexFunc(all, func(d stepKind) bool { return d.name == s.Do })
	all[at].run(r, s)
}

// node returns the step's node.
func (r *run) node(s Step) *node { return r.w.byID[roller.NodeID(s.Node)] }

func (r *run) passes(s Step) {
	times := []time.Duration{time.Second, 3 * time.Second, 3 * time.Second, 10 * time.Second, 10 * time.Second, 31 * time.Second, time.Minute,
		2 * time.Minute, 6 * time.Minute}
	r.w.pass(times[s.Arg%len(times)])
}

func (r *run) crashes(s Step) { r.w.crash(r.node(s)) }

// evicts lets another client delete a pod. If the roller had stored this restart and then crashed, nobody can tell which of them deleted
// the pod: it counts as the stored restart, with its reasons.
func (r *run) evicts(s Step) {
	n := r.node(s)
	if n.pod != podGone && n.pod != podStopping && r.progress.Restarts[n.ID].Instance == n.instance() {
		r.oracle.served[n.ID], r.oracle.lastEnd[n.ID] = r.oracle.meant[n.ID], r.w.now
		delete(r.oracle.wants, n.ID)
	}
	r.w.end(n, false)
}

// fates sets how the next start of a node ends.
func (r *run) fates(s Step) {
	n := r.node(s)
	n.fate = fate(s.Arg % 4)
	r.w.tell("the next start of node %d: %d", n.ID, n.fate)
}

// frees lets a stuck pod start.
func (r *run) frees(s Step) {
	n := r.node(s)
	n.fate = fateWell
	if n.pod == podStuck || n.pod == podStarting && n.next.IsZero() {
		r.w.start(n)
		r.w.tell("node %d can start: %s", n.ID, n)
	}
}

// slows stops the replicas of a broker from catching up, or ends that.
func (r *run) slows(s Step) {
	n := r.node(s)
	n.slow = !n.slow
	if n.slow {
		n.catchAt = time.Time{}
	}
	r.w.follow(n)
	r.w.tell("broker %d is slow: %t", n.ID, n.slow)
}

// hangs makes a broker hang while its pod stays ready, or ends that.
func (r *run) hangs(s Step) {
	n, w := r.node(s), r.w
	if n.pod != podReady || !n.Roles.Broker {
		return
	}
	if n.up {
		w.hurt(n)
		n.up, n.catchAt, n.fenceAt = false, time.Time{}, w.after(session)
		n.mute, n.silent = true, w.now
		w.tell("broker %d hangs", n.ID)
		return
	}
	w.unhang(n)
}

func (w *world) unhang(n *node) {
	n.mute = false
	if !n.expired.IsZero() {
		return // only a restart helps
	}
	n.silent = time.Time{}
	if n.pod == podReady && n.Roles.Broker && !n.up {
		n.pod, n.next, n.readyAt, n.lastReady = podStarting, w.after(retry), w.now, w.now // it registers again
	}
	w.tell("node %d answers again", n.ID)
}

// mutes prevents the roller, and nobody else, from reaching a node, or sometimes all nodes of its Kubernetes cluster, or ends that.
func (r *run) mutes(s Step) {
	n, w := r.node(s), r.w
	ends := n.mute
	for _, other := range w.nodes {
		switch {
		case other != n && (s.Arg%3 > 0 || other.Place != n.Place):
		case ends && other.mute:
			w.unhang(other)
		case !ends && !other.mute:
			other.mute, other.silent = true, w.now
			w.tell("node %d can't be reached by us", other.ID)
		}
	}
}

// leads makes another caught-up voter the leader.
func (r *run) leads(s Step) {
	if n := r.node(s); n.Roles.Controller && !n.Observes && n.process && n.lagsSince.IsZero() && r.w.leader >= 0 && r.w.leader != n.ID {
		r.w.lead(n)
	}
}

// lags cuts a voter off from its leader, or ends that.
func (r *run) lags(s Step) {
	n := r.node(s)
	if !n.Roles.Controller || n.ID == r.w.leader {
		return
	}
	n.lags = !n.lags
	if n.lags && n.lagsSince.IsZero() {
		n.lagsSince = r.w.now
	}
	if !n.lags && n.process {
		n.voteAt = r.w.after(fetched)
	}
	r.w.tell("voter %d lags: %t", n.ID, n.lags)
}

// enlists lets a controller vote that did not, or the other way round, as the leader of a dynamic quorum does.
func (r *run) enlists(s Step) {
	n, w := r.node(s), r.w
	if !n.Roles.Controller || !w.dynamic || w.leader < 0 || n.ID == w.leader || n.Observes && !n.process {
		return
	}
	if n.Observes = !n.Observes; !n.Observes {
		n.lagsSince, n.voteAt = never, w.after(fetched)
	}
	w.tell("controller %d votes: %t", n.ID, !n.Observes)
	w.reconsider()
}

// partition returns the step's partition; nil if there is none.
func (r *run) partition(s Step) *partition {
	if len(r.w.topics) == 0 {
		return nil
	}
	t := r.w.topics[s.Arg%len(r.w.topics)]
	return t.partitions[s.Arg/7%len(t.partitions)]
}

func (r *run) reassigns(s Step) {
	p, to := r.partition(s), r.node(s)
	if p != nil && to.up && to.pod == podReady {
		r.w.reassign(p, r.w.byID[p.Replicas[s.Arg/3%len(p.Replicas)]], to)
	}
}

// cancels cancels a reassignment, if a replica in sync remains.
func (r *run) cancels(s Step) {
	p := r.partition(s)
	if p != nil && r.w.governed() && slices.ContainsFunc(p.ISR, func(id roller.NodeID) bool { return !slices.Contains(p.Adding, id) }) {
		r.w.leave(p, slices.Clone(p.Adding))
	}
}

// creates creates a topic on brokers that are up, or changes the min.insync.replicas of one.
func (r *run) creates(s Step) {
	w := r.w
	if p := r.partition(s); p != nil && s.Arg%2 == 0 {
		w.limit(p.topic, 1+s.Arg/2%3)
		return
	}
	var replicas []roller.NodeID
	for i := range w.nodes {
		if n := w.nodes[(i+s.Node)%len(w.nodes)]; n.up && len(replicas) < 1+s.Arg%3 {
			replicas = append(replicas, n.ID)
		}
	}
	if len(replicas) == 0 || !w.governed() {
		return
	}
	w.made++
	w.addTopic(Topic{Name: fmt.Sprintf("made%d", w.made), MinISR: 1 + s.Arg/3%3, Partitions: [][]roller.NodeID{replicas}})
	w.tell("topic made%d is made on %v", w.made, replicas)
}

func (r *run) deletes(s Step) {
	if p := r.partition(s); p != nil && r.w.governed() {
		r.w.dropTopic(p.topic)
	}
}

// revises changes the desired revision of all pods.
func (r *run) revises(Step) {
	r.w.revision++
	for _, n := range r.w.nodes {
		n.wanted = r.w.revision
	}
	r.w.tell("revision %d is wanted", r.w.revision)
}

func (r *run) requests(s Step) {
	n := r.node(s)
	r.marks++
	n.request = fmt.Sprint(r.marks)
	r.w.tell("somebody asks for a restart of node %d", n.ID)
}

// sticks makes the reasons of a node survive its restarts.
func (r *run) sticks(s Step) {
	n := r.node(s)
	n.sticky = true
	r.w.tell("restarts of node %d change nothing", n.ID)
}

// configures changes the desired configuration: the keys that nodes apply at runtime for all nodes, or the other key for one node. Some
// values are illegal, some are rejected at runtime, some are forbidden by a policy, and some are accepted but not applied.
func (r *run) configures(s Step) {
	w := r.w
	r.marks++
	pick := s.Arg / 3
	if s.Arg%3 == 0 {
		value := 1000 + r.marks
		if pick%4 == 0 {
			value = -r.marks
		}
		w.wish([]*node{r.node(s)}, requests, value)
		return
	}
	if pick%3 != 0 {
		w.wish(w.nodes, threads, []int{2, 4, 8, 12, 16, 30, 100, -r.marks}[pick/3%8])
	}
	if pick%3 != 1 {
		w.wish(w.nodes, connections, []int{1000 + r.marks, 1000 + r.marks, 1000 + r.marks, -r.marks}[pick/24%4])
	}
	if s.Arg%5 == 0 {
		key := pick % 2
		value := w.nodes[0].config.wanted[key]
		w.forbidden[[2]int{key, value}] = true
		w.tell("a policy forbids %s=%d", keyNames[key], value)
	}
	for _, n := range w.nodes {
		if n.config.deaf = s.Arg%7 == 0; n.config.deaf {
			w.tell("node %d takes nothing up while it runs", n.ID)
		}
	}
}

func (r *run) holds(s Step) {
	n := r.node(s)
	n.hold = !n.hold
	r.w.tell("node %d is on hold: %t", n.ID, n.hold)
}

// disowns removes the owner of a pod, which then would not be recreated, or restores it.
func (r *run) disowns(s Step) {
	n := r.node(s)
	n.foreign = !n.foreign
	r.w.tell("nobody owns node %d: %t", n.ID, n.foreign)
}

// pauses pauses the roller or closes the window, or ends either.
func (r *run) pauses(s Step) {
	switch p := &r.w.policy; {
	case p.Paused+p.Closed != "":
		p.Paused, p.Closed = "", ""
	case s.Arg%2 == 0:
		p.Paused = "somebody wants it"
	default:
		p.Closed = "no window is open"
	}
	r.w.tell("paused %q, closed %q", r.w.policy.Paused, r.w.policy.Closed)
}

func (r *run) limits(s Step) {
	r.w.policy.MaxUnavailable = 1 + s.Arg%4
	r.w.tell("at most %d may be away", r.w.policy.MaxUnavailable)
}

// stales delays from now on the informer's view of pods that the roller deletes. The delay is shorter than the time after which the core
// assumes that the deletion did not happen.
func (r *run) stales(s Step) {
	r.stale = time.Duration(s.Arg%29) * time.Second
	r.w.tell("pods are shown %s late", r.stale)
}

// expires lets the certificates of all nodes expire: no client can connect to any of them. Connections that brokers have may end, or keep
// them in sync.
func (r *run) expires(s Step) {
	w := r.w
	for _, n := range w.nodes {
		if !n.process || !n.expired.IsZero() {
			continue
		}
		n.expired, n.silent = w.now, w.now
		if n.up {
			w.hurt(n)
			n.up, n.catchAt, n.fenceAt = false, time.Time{}, w.after(session)
			if s.Arg%2 == 1 {
				n.fenceAt = time.Time{}
			}
		}
	}
	w.tell("all certificates expire")
	w.reconsider()
}

// wedges makes the controllers lose their leader and elect none, although all of them run.
func (r *run) wedges(Step) {
	w := r.w
	for _, n := range w.voters() {
		n.wedged = n.process
	}
	w.tell("the controllers are wedged")
	w.reconsider()
}

// cuts prevents the roller from reaching any node, or ends that.
func (r *run) cuts(Step) {
	w := r.w
	w.cut, w.cutAt = !w.cut, w.now
	w.tell("the roller can reach nobody: %t", w.cut)
}

// refuses begins or ends a refusal that only the roller meets. The step's Arg selects who refuses: one node, the API server for one node's
// pod, or all nodes.
func (r *run) refuses(s Step) {
	w := r.w
	if n := r.node(s); n != nil && s.Arg%4 == 1 {
		if !n.shut.IsZero() {
			w.open(n)
			return
		}
		n.shut, n.silent = w.after(1000*time.Hour), w.now
		w.tell("node %d refuses the roller", n.ID)
		return
	}
	if n := r.node(s); n != nil && s.Arg%4 == 2 {
		n.kept, n.fails = !n.kept, s.Arg%8 == 2
		w.tell("the API server does not delete the pod of node %d: %t", n.ID, n.kept)
		return
	}
	w.refused, w.cutAt = !w.refused, w.now
	w.tell("everybody refuses the roller: %t", w.refused)
}

// distrusts makes the roller reject the certificates of all nodes, which everybody else accepts, or ends that.
func (r *run) distrusts(Step) { r.w.distrust(!r.w.distrusting) }

func (w *world) distrust(is bool) {
	w.distrusting, w.cutAt, w.trustAt = is, w.now, time.Time{}
	w.tell("the roller rejects everybody's certificate: %t", is)
}

// clogs keeps the API server from answering requests for logs, as if it dialled kubelets that are gone, and makes a node stay away.
func (r *run) clogs(s Step) {
	r.w.clogged = true
	r.w.tell("requests for logs are not answered")
	if r.node(s) != nil {
		r.abandons(s)
	}
}

// kills lets something kill the container of a node again and again before it is ready, from its next start on.
func (r *run) kills(s Step) {
	r.node(s).killed = true
	r.w.tell("node %d will be killed again and again", s.Node)
}

// flaps lets a disk of a broker fail with its next stop, for good: one of its replicas does not come back, and another one comes and goes.
func (r *run) flaps(s Step) {
	n := r.node(s)
	if !n.Roles.Broker || len(n.hosted) < 2 || r.given() || !n.up {
		return
	}
	n.abandoned, n.unnoticed, n.flapping = true, true, true
	r.w.tell("a disk of broker %d will fail", n.ID)
}

// offlines lets a log directory of a broker that runs fail.
func (r *run) offlines(s Step) {
	if n := r.node(s); n.up && r.w.governed() {
		r.w.fail(n, func(i int) bool { return s.Arg>>(i%8)&1 == 1 })
	}
}

// open ends that a node refuses the roller.
func (w *world) open(n *node) {
	n.shut = time.Time{}
	if !n.mute && n.expired.IsZero() {
		n.silent = time.Time{}
	}
	w.tell("node %d does not refuse the roller any more", n.ID)
}

// sidecars makes another container of the pod crash repeatedly, or ends that.
func (r *run) sidecars(s Step) {
	n := r.node(s)
	n.sidecar = !n.sidecar
	r.w.tell("a sidecar of node %d crashes: %t", n.ID, n.sidecar)
}

// abandons makes a node fail permanently at its next start, or its machine be lost with its pod. A user puts it on hold, or does not notice
// that its machine is lost.
func (r *run) abandons(s Step) {
	if slices.ContainsFunc(r.w.nodes, func(n *node) bool { return n.abandoned }) {
		return
	}
	n := r.node(s)
	n.abandoned, n.dies, n.unnoticed = true, s.Arg%2 == 0, s.Arg%4 == 2
	if !n.unnoticed {
		n.fate = fateNever
	}
	r.w.tell("node %d will not come back from its next restart", n.ID)
}

// hushes prevents the roller from reading the logs of pods, or ends that.
func (r *run) hushes(Step) {
	r.w.mum = !r.w.mum
	r.w.tell("logs can't be read: %t", r.w.mum)
}

// hides removes the roller's right to describe a topic, or restores it.
func (r *run) hides(s Step) {
	if p := r.partition(s); p != nil {
		p.topic.hidden = !p.topic.hidden
		r.w.tell("the roller may not describe topic %s: %t", p.topic.name, p.topic.hidden)
	}
}
