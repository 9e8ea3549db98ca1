package simulator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// run runs the roller against a simulated cluster. It does what the engine does around Step.
type run struct {
	w        *world
	decide   decider
	oracle   *oracle
	progress roller.Progress
	// stale is the delay with which the informer shows deletions of the roller. marks makes requests distinct.
	stale           time.Duration
	marks           int
	count, restarts int
	// probe is how long a look waits for the log of a pod.
	probe  time.Duration
	memory *memory
	// unread are the nodes that the last look asked about, if it carried out nothing because its decision changed with each further fact.
	unread   []roller.NodeID
	unreadAt time.Time
	// peers counts how often a node was asked because the restart of another one depended on it.
	peers int
	// elected is whether the last look requested an election.
	elected bool
	// asked counts the requests to change a configuration.
	asked   int
	last    roller.Decision
	failure string
	// told is the description of the last decision.
	told string
	// kept is the last stored progress as JSON, and restored the same as it was read again.
	kept     []byte
	restored roller.Progress
}

// decider is roller.Step, or a variant with a planted fault.
type decider func(*roller.Snapshot, roller.Progress, roller.Policy) roller.Decision

func newRun(c Cluster, story *strings.Builder) *run {
	w := newWorld(c, story)
	return &run{w: w, oracle: newOracle(w), decide: roller.Step, memory: newMemory(observe.DefaultRecall), probe: observe.LongestProbe}
}

// broken returns the first broken rule.
func (r *run) broken() string {
	if r.failure == "" {
		r.failure = r.oracle.broken
	}
	if r.failure == "" {
		r.failure = r.w.broken
	}
	return r.failure
}

// look is one pass of the roller: observe, decide, store, act.
func (r *run) look(s Step) {
	r.count++
	seen, d, asked := r.decideAnew(s)
	if len(seen.Nodes) == 0 {
		return // engine.ErrNoNodes
	}
	r.last = d
	r.tellDecision(d)
	evidence := r.oracle.evidence.clone()
	r.oracle.judge(seen, complete(s, seen), d)
	if s.Fault == faultCrashBeforeStore {
		r.oracle.evidence = evidence // what this look showed is forgotten
		return
	}
	r.starves(d, asked)
	r.progress = r.stored(d.Progress)
	if len(d.Actions) == 0 || s.Fault == faultCrashBeforeActs {
		return
	}
	r.delay(s)
	r.elected = false
	for i, a := range d.Actions {
		if s.Fault == faultCrashMidway && i == s.Arg%len(d.Actions) {
			return
		}
		if !asked.Suffice(a) {
			r.progress = r.notBegun(a, false)
			continue
		}
		r.act(a, s.Fault == faultRefused && i == s.Arg%len(d.Actions), s.Fault == faultLost || s.Fault == faultSleep)
		if s.Fault == faultSlowActs && a.Kind != roller.ActionRestart {
			r.w.pass(slowly(s.Arg))
		}
	}
}

// delay passes the time between the storing of the progress and the actions.
func (r *run) delay(s Step) {
	switch s.Fault {
	case faultSlowStore:
		r.w.pass(slowly(s.Arg))
	case faultMeanwhile:
		r.meanwhile(s)
	case faultSleep:
		r.sleep(s.Arg)
	}
}

// meanwhile lets something happen to a node before the actions are carried out, in less or more time than the facts may be old.
func (r *run) meanwhile(s Step) {
	events := []string{"crash", "evict", "hang", "lag", "leader", "create", "slow", "reassign"}
	r.w.pass(time.Duration(s.Arg%3) * time.Second)
	r.apply(Step{Do: events[s.Arg/3%len(events)], Node: s.Node, Arg: s.Arg / 24})
	r.w.pass(time.Duration(s.Arg/24%8) * time.Second)
}

// sleep lets another program look while this one does nothing. That one's clock may be ahead.
func (r *run) sleep(arg int) {
	seen, before, slow := r.oracle.seen, r.oracle.before, r.oracle.slow
	r.w.pass(slowly(arg))
	r.look(Step{}) // the other program
	if arg%3 == 0 {
		r.progress = r.elsewhere(2 * time.Hour)
	}
	r.oracle.seen, r.oracle.before, r.oracle.slow = seen, before, slow
	r.w.pass(slowly(arg / 40))
}

// starves fails if a look decides on actions, reads no facts that allow any, and asks the same nodes as the look before: then the others
// never get their turn.
func (r *run) starves(d roller.Decision, asked roller.Asked) {
	var unread []roller.NodeID
	if len(d.Actions) > 0 && !slices.ContainsFunc(d.Actions, asked.Suffice) {
		unread = asked.Restarts
	}
	if len(unread) > 1 && slices.Equal(unread, r.unread) && r.w.now.Sub(r.unreadAt) < r.memory.within && r.failure == "" {
		r.failure = fmt.Sprintf("starvation: two looks asked nodes %v, and did nothing", unread)
	}
	r.unread, r.unreadAt = unread, r.w.now
}

// stamps are the times in a stored progress.
var stamps = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[^"]*Z"`)

// elsewhere returns the progress as a roller stores it whose clock is fast.
func (r *run) elsewhere(by time.Duration) roller.Progress {
	data, _ := json.Marshal(r.progress)
	data = stamps.ReplaceAllFunc(data, func(text []byte) []byte {
		var at time.Time
		_ = json.Unmarshal(text, &at)
		text, _ = json.Marshal(at.Add(by))
		return text
	})
	var p roller.Progress
	_ = json.Unmarshal(data, &p)
	r.w.tell("its clock is fast by %s", by)
	return p
}

// complete reports whether the look had all facts, read at one time.
func complete(s Step, seen *roller.Snapshot) bool {
	return s.Blind == 0 && s.Fault != faultSlowLook && seen.Unread == ""
}

// slowly returns the duration of a slow operation.
func slowly(arg int) time.Duration { return time.Duration(1+arg%40) * time.Second }

// stored writes the progress to a store and reads it back, which must not change it.
func (r *run) stored(p roller.Progress) roller.Progress {
	data, err := json.Marshal(p)
	if err == nil && bytes.Equal(data, r.kept) {
		return r.restored // a Progress is immutable
	}
	var restored roller.Progress
	if err == nil {
		err = json.Unmarshal(data, &restored)
	}
	again, _ := json.Marshal(restored)
	if (err != nil || !bytes.Equal(data, again)) && r.failure == "" {
		r.failure = fmt.Sprintf("the progress does not survive its store: %v: %s became %s", err, data, again)
	}
	r.kept, r.restored = data, restored
	return restored
}

// act carries out an action. lost: the answer does not arrive.
func (r *run) act(a roller.Action, refused, lost bool) {
	n := r.w.byID[a.Node]
	old := !a.Until.IsZero() && r.w.now.After(a.Until)
	switch {
	case old:
		r.w.tell("the facts are too old to %s node %d", a.Kind, a.Node)
		if !lost {
			r.progress = r.notBegun(a, r.elected)
		}
		return
	case a.Kind == roller.ActionElectLeaders:
		r.elected = true
		r.oracle.elects(a)
		if !refused {
			r.w.electPreferred(a)
		}
		return
	case a.Kind == roller.ActionReconfigure:
		o := r.reconfigure(n, a, refused)
		if lost {
			return
		}
		r.oracle.heard(o.Refusals)
		r.progress = r.progress.Refused(o.Refusals...)
		if o.Result == actuate.Done || o.Result == actuate.Refused {
			r.progress = r.progress.Taken(a.Node)
		} else {
			r.progress = r.progress.NotTaken(a.Node, o.Err.Error())
		}
		return
	}
	if refused || n.kept || n.instance() != a.Instance {
		r.w.tell("the API server refuses to delete the pod of node %d", a.Node)
		r.denied(a, n, lost)
		return
	}
	r.restarts++
	r.oracle.deletes(n, a)
	r.oracle.accepted(n, a)
	if r.stale > 0 {
		shown := r.w.look(n)
		n.seen, n.seenUntil = &shown, r.w.after(r.stale)
	}
	r.w.end(n, true)
	r.w.vanish(n)
}

// denied records that the API server did not delete a pod. lost: its answer does not arrive.
func (r *run) denied(a roller.Action, n *node, lost bool) {
	if lost {
		return
	}
	r.oracle.denies(a)
	if n.kept && n.fails {
		r.progress = r.progress.Unclear(a.Node, "a webhook fails")
	} else {
		r.progress = r.progress.Deny(a.Node, r.w.now, "forbidden")
	}
}

// notBegun returns the progress without an action that was not begun, late reports after elections.
func (r *run) notBegun(a roller.Action, late bool) roller.Progress {
	switch a.Kind {
	case roller.ActionRestart:
		p := r.progress.NotCarriedOut(a.Node)
		r.oracle.served[a.Node] = r.oracle.earlier[a.Node] // the roller knows that it did not end the pod, whoever did
		if late {
			p = p.ElectionsTookLong(r.oracle.seen.At)
		}
		return p
	case roller.ActionElectLeaders:
		return r.progress.NotElected(a.Node)
	case roller.ActionReconfigure:
	}
	return r.progress
}

// tellDecision describes a decision in the story, and what blocks each node, unless the description is the same as the last one.
func (r *run) tellDecision(d roller.Decision) {
	if r.w.story == nil {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the roller: %s", d.Phase)
	for _, a := range d.Actions {
		fmt.Fprintf(&b, "; %s node %d: %s", a.Kind, a.Node, roller.Reasons(a.Reasons))
		for _, c := range slices.Concat(a.Changes.Node, a.Changes.Global, a.Changes.StoredGlobal) {
			fmt.Fprintf(&b, " %s", c.Key)
		}
		if a.Forced != "" {
			fmt.Fprintf(&b, ", forced: %s", a.Forced)
		}
	}
	for _, a := range d.Nodes {
		if len(a.Blocks) > 0 {
			fmt.Fprintf(&b, "\n             node %d %s, %s: %s", a.Node, a.State, a.Blocks[0].Rule, a.Blocks[0].Why)
		}
	}
	if text := b.String(); text != r.told {
		fmt.Fprintf(r.w.story, "%s%s\n", r.w.now.Format("15:04:05.0 "), text)
		r.told = text
	}
}

// heal ends all faults, except for those that only a restart can repair, an abandoned node, and pods that serve and are not deleted.
func (r *run) heal() {
	w := r.w
	r.stale = 0
	w.cut, w.refused = false, false
	if w.distrusting {
		w.trustAt = w.after(10 * time.Minute) // long enough to count as evidence
	}
	clear(w.unread)
	maps.DeleteFunc(w.dark, func(place string, _ time.Time) bool { return !w.lost[place] })
	for _, place := range slices.Sorted(maps.Keys(w.lost)) {
		if place != w.vanished {
			w.restore(place)
		}
	}
	w.policy.Paused, w.policy.Closed = "", ""
	w.tell("all gets well")
	for _, t := range w.topics {
		t.hidden = false
	}
	r.marks++
	lost := false
	for _, n := range w.nodes {
		lost = lost || !n.expired.IsZero() || n.wedged || n.failed()
		w.mend(n)
	}
	r.correct(lost)
	if lost {
		r.revises(Step{}) // new certificates, or requested restarts
	}
	w.pass(3 * time.Second) // until the quorum is back, if only a crash had lost it
	for _, n := range w.nodes {
		if n.mute {
			w.unhang(n)
		}
		w.follow(n)
	}
}

// mend ends the faults of a node.
func (w *world) mend(n *node) {
	n.kept = n.kept && n.serves()
	n.hold, n.foreign, n.slow, n.sidecar, n.unlisted = n.abandoned && !n.unnoticed, false, false, false, false
	if !n.shut.IsZero() {
		n.shut = w.after(10 * time.Minute) // long enough to count as evidence
	}
	if n.lags {
		n.lags = false
		if n.process {
			n.voteAt = w.after(fetched)
		}
	}
	if n.hold || w.lost[n.Place] {
		return
	}
	n.fate, n.killed = fateWell, false
	if n.pod == podStuck || n.pod == podStarting && n.next.IsZero() {
		w.start(n)
	}
}

// serves reports whether a node serves clients from all its log directories, and is not abandoned.
func (n *node) serves() bool {
	return !n.abandoned && n.pod == podReady && n.process && (n.up || !n.Roles.Broker) && n.expired.IsZero() && !n.wedged && !n.failed()
}

// finish waits until everything is rolled, and fails if that takes too long.
func (r *run) finish() {
	w := r.w
	limit := time.Hour
	for _, n := range w.nodes {
		limit += n.Stop + n.Boot + w.policy.Settle + w.policy.Patience + time.Duration(len(n.hosted)/max(1, n.Rate)+10)*time.Second
	}
	for deadline := w.after(limit); r.broken() == ""; {
		seen := w.changed
		r.look(Step{})
		r.heeds()
		switch {
		case r.rolled() == "" && (r.last.Phase == roller.PhaseDone || r.given() || r.keeps() || r.rejection() != ""):
			return
		case w.now.After(deadline):
			why := r.rolled()
			if why == "" {
				why = "nobody is told of all that is illegal"
			}
			r.failure = fmt.Sprintf("termination: %s after all got well it is %s, and %s", limit, r.last.Phase, why)
			w.tell("VIOLATION %s", r.failure)
			return
		}
		w.pass(r.pace(w.changed == seen))
	}
}

// heeds lets a user delete the pod that a message names because brokers with failed log directories wait for one another. That fails if the
// availability rule would allow the roller to do it.
func (r *run) heeds() {
	for _, a := range r.last.Nodes {
		for _, b := range a.Blocks {
			id := podToDelete(b.Why)
			if id < 0 {
				continue
			}
			n, t := r.w.byID[id], r.oracle.truth()
			if KeepsData(t.topics, n.ID, t.down) == "" && r.failure == "" {
				r.failure = fmt.Sprintf("standstill: a user is to delete the pod of node %d, which the roller may restart", id)
			}
			if n.pod == podReady {
				r.evicts(Step{Node: int(id)})
			}
			return
		}
	}
}

// pace returns the time until the next look. If nothing happened, only time can change the decision, and looks in between would read the
// same.
func (r *run) pace(quiet bool) time.Duration {
	const grid = 2 * time.Second
	if !quiet {
		return grid
	}
	at := r.w.next()
	if at.IsZero() || at.Sub(r.w.now) > 30*time.Second {
		return 30 * time.Second
	}
	return max(grid, at.Sub(r.w.now).Truncate(grid)+grid)
}

// gone reports whether a node does not come back.
func (r *run) gone(n *node) bool { return n.abandoned || n.Place == r.w.vanished }

// given reports whether a node is gone. The others are rolled all the same, but the roller does not finish.
func (r *run) given() bool { return slices.ContainsFunc(r.w.nodes, r.gone) }

// keeps reports whether the API server does not delete a pod. The others are rolled all the same, but the roller does not finish.
func (r *run) keeps() bool {
	return slices.ContainsFunc(r.w.nodes, func(n *node) bool { return n.kept })
}

// rolled returns why the first node that is not rolled yet is not; empty if all are.
func (r *run) rolled() string {
	for _, n := range r.w.nodes {
		if r.gone(n) || n.kept || r.given() && r.excusedBy(n) != "" {
			continue
		}
		if why := cmp.Or(r.configured(n), n.lacks()); why != "" {
			return why
		}
		for _, p := range n.hosted {
			if !r.given() && len(p.ISR) < len(p.Replicas) {
				return fmt.Sprintf("%s is not in sync everywhere: %v of %v", p, p.ISR, p.Replicas)
			}
		}
	}
	return ""
}

// lacks describes what a restart of the node should have achieved. A node with an illegal desired value is not restarted.
func (n *node) lacks() string {
	switch {
	case n.pod != podReady:
		return fmt.Sprintf("node %d is %s", n.ID, n)
	case n.config.illegal() >= 0:
	case n.revision != n.wanted && !n.sticky:
		return fmt.Sprintf("node %d has an old revision", n.ID)
	case n.request != "" && !n.sticky:
		return fmt.Sprintf("nobody heard of the request to restart node %d", n.ID)
	case n.config.live[requests] != n.config.wanted[requests]:
		return fmt.Sprintf("node %d has the wrong %s", n.ID, keyNames[requests])
	}
	return ""
}

// lostVoters counts the voters that do not come back.
func (r *run) lostVoters(t truth) int {
	lost := 0
	for _, v := range r.w.voters() {
		wedged := v.wedged && v.Roles.Broker && KeepsData(t.topics, v.ID, t.down) != "" // its repair is forbidden
		if r.gone(v) || wedged {
			lost++
		}
	}
	return lost
}

// excusedBy explains why a node may stay outdated: another one is still down. It returns "" if nothing excuses it.
func (r *run) excusedBy(n *node) string {
	t := r.oracle.truth()
	lost := r.lostVoters(t)
	switch why := KeepsData(t.topics, n.ID, t.down); {
	case lost > 0 && !r.w.governed():
		return "there is no quorum, and a voter that is needed for one is lost"
	case !r.w.governed() && !r.oracle.seen.Quorum.IsKnown() &&
		slices.ContainsFunc(r.w.nodes, func(n *node) bool { return n.Observes && r.gone(n) }):
		return "a lost controller that does not vote may be the leader, as far as anybody answers"
	case n.Roles.Broker && why != "":
		return why
	case lost > 0 && r.w.vanished == none && (n.Roles.Controller || lost*2 >= len(r.w.voters())):
		return "a voter is lost"
	case n.Roles.Controller && KeepsQuorum(t.quorum, n.ID, r.w.policy.QuorumFetchTimeout) != "":
		return "a majority of the voters would be lost"
	}
	return KeepsLosses(t.topics, t.quorum, r.w.placed(), n.ID, t.down, t.held, r.w.policy.QuorumFetchTimeout)
}
