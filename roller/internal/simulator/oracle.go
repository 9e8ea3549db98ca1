package simulator

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// oracle holds what the roller decides against the rules of docs/decisions, by the world as it is. It knows of the roller only what it was shown, what it
// decided, and what of that was done.
type oracle struct {
	w      *world
	broken string
	// ended are all instances that were deleted because of the roller. lastEnd is when by node.
	ended   map[string]bool
	lastEnd map[roller.NodeID]time.Time
	// served are, by node, the reasons that it was restarted for, and that were there each time anybody could see.
	served map[roller.NodeID]map[string]bool
	// meant are the same of the last restart of each node that was decided on, whatever became of it.
	meant map[roller.NodeID]map[string]bool
	// wants is since when a controller shows a reason that it was not restarted for.
	wants map[roller.NodeID]time.Time
	// tries are how often a value was given to a node, and denied what Kafka refused.
	tries  map[roller.NodeID]attempts
	denied map[int]bool
	// policy is the roller's at the time.
	policy roller.Policy
	seen   *roller.Snapshot
	// complete: nothing was unknown in it that can be known.
	complete bool
	topics   []roller.Topic
	// before is how the world was when the look began that is on its way.
	before truth
}

// freshness is how old facts may be on which a node is restarted (docs/decisions/facts-of-a-restart.md).
const freshness = 5 * time.Second

// truth is how the world is at one moment, whoever sees it.
type truth struct {
	at     time.Time
	topics []roller.Topic
	quorum roller.Fact[roller.Quorum]
	// down are the nodes whose brokers serve nobody, or are on their way out.
	down map[roller.NodeID]bool
}

// truth is that of now.
func (o *oracle) truth() truth {
	t := truth{at: o.w.now, topics: o.w.observeAll(), down: map[roller.NodeID]bool{}}
	var q roller.Quorum
	if all := o.w.quorum(); len(all.Voters) > 0 {
		q = all
	}
	for _, n := range o.w.nodes {
		going := n.pod == podStopping || n.ours
		t.down[n.ID] = going || n.Roles.Broker && !n.up
		for i := range q.Voters {
			if q.Voters[i].ID == n.ID && (going || !n.votes()) {
				q.Voters[i].LastCaughtUp = -1
			}
		}
	}
	t.quorum = roller.Known(q)
	return t
}

// looks notes how the world is when a look begins.
func (o *oracle) looks() { o.before = o.truth() }

type attempts struct{ value, n int }

func newOracle(w *world) *oracle {
	return &oracle{w: w, ended: map[string]bool{}, lastEnd: map[roller.NodeID]time.Time{}, served: map[roller.NodeID]map[string]bool{}, meant: map[roller.NodeID]map[string]bool{}, wants: map[roller.NodeID]time.Time{}, tries: map[roller.NodeID]attempts{}, denied: map[int]bool{}}
}

func (o *oracle) fail(format string, args ...any) {
	if o.broken == "" {
		o.broken = fmt.Sprintf(format, args...)
		o.w.tell("VIOLATION %s", o.broken)
	}
}

// judge looks at one decision.
func (o *oracle) judge(seen *roller.Snapshot, complete bool, d roller.Decision) {
	o.seen, o.complete, o.policy = seen, complete && seen.Topics.IsKnown(), o.w.policy
	for i := range seen.Nodes {
		o.remember(&seen.Nodes[i])
	}
	o.done(d)
	var chosen []*node
	var restarts []roller.Action
	for _, a := range d.Actions {
		if a.Kind == roller.ActionRestart {
			restarts = append(restarts, a)
			chosen = append(chosen, o.w.byID[a.Node])
		} else if o.policy.Closed != "" || o.policy.Paused != "" {
			o.fail("a configuration is changed although it is paused or no window is open")
		}
	}
	if len(restarts) == 0 {
		return
	}
	for i, a := range restarts {
		o.restart(a, chosen[i], chosen[:i])
		o.meant[a.Node] = o.serve(seen.Node(a.Node))
	}
	for i := 1; i < len(chosen); i++ {
		if before, then := o.rank(chosen[i-1]), o.rank(chosen[i]); before > then {
			o.fail("order: node %d goes before node %d", chosen[i-1].ID, chosen[i].ID)
		}
	}
}

// done: what is not known is not as it should be (docs/decisions/facts-of-a-restart.md).
func (o *oracle) done(d roller.Decision) {
	if d.Phase != roller.PhaseDone {
		return
	}
	if o.seen.Unread != "" {
		o.fail("unknown: all is done, and %s", o.seen.Unread)
	}
	for i := range o.seen.Nodes {
		if n := &o.seen.Nodes[i]; !n.Revision.IsKnown() || !n.Ready.IsKnown() || !n.Config.IsKnown() && !o.policy.NoReconfiguration {
			o.fail("unknown: all is done, and node %d is not known", n.ID)
		}
	}
}

// remember forgets reasons that are seen to be gone, and notes since when a controller waits.
func (o *oracle) remember(n *roller.Node) {
	served := o.served[n.ID]
	for key := range served {
		if o.vanished(n, key) {
			delete(served, key)
		}
	}
	since, waits := o.wants[n.ID]
	givenUp := waits && o.seen.At.Sub(since) >= o.policy.Patience
	if gone := len(o.reasons(n)) == 0 && n.Revision.IsKnown() && n.Config.IsKnown(); !n.Roles.Controller || gone || !givenUp && o.queues(n) {
		delete(o.wants, n.ID)
	} else if !waits && len(o.reasons(n)) > 0 {
		o.wants[n.ID] = o.seen.At
	}
}

// queues reports whether a controller that is well only waits for another one that was restarted not long ago: it is not given up for that.
func (o *oracle) queues(n *roller.Node) bool {
	well := o.complete && n.Ready.Or(false) && KeepsQuorum(o.seen.Quorum, n.ID, o.policy.QuorumFetchTimeout) == "" && KeepsData(o.seen.Topics.Or(nil), n.ID, nil) == ""
	return well && slices.ContainsFunc(o.w.nodes, func(c *node) bool {
		return c.Roles.Controller && c.ID != n.ID && c.ours && o.w.now.Sub(o.lastEnd[c.ID]) < o.policy.Patience
	}) && !slices.ContainsFunc(o.w.nodes, func(c *node) bool {
		return c.pod == podStuck || c.ours && o.w.now.Sub(o.lastEnd[c.ID]) >= o.policy.Patience
	})
}

// all are the reasons that a node shows, each with what tells it from a later one.
func (o *oracle) all(n *roller.Node) []string {
	var all []string
	for _, r := range n.Requests {
		all = append(all, "request "+r.Mark)
	}
	if r, known := n.Revision.Get(); known && r.Current != r.Desired {
		all = append(all, "revision "+r.Desired)
	}
	quiet := n.Silent
	if n.ReadyChanged.After(quiet) {
		quiet = n.ReadyChanged
	}
	if answers, known := n.Answers.Get(); o.seen != nil && n.Roles.Broker && known && !answers && !n.Silent.IsZero() && o.seen.At.Sub(quiet) >= o.silence(n) && o.witnessed(n) {
		all = append(all, "silence")
	}
	if c, known := n.Config.Get(); known && c.Desired[staticKey] != c.Live[staticKey].Value {
		all = append(all, "config "+c.Desired[staticKey])
	}
	return all
}

// witnessed: that a node does not answer is about the node, and not about us, if another one answers, or Kubernetes finds it not ready, or it refuses to
// (docs/decisions/lost-clusters.md).
func (o *oracle) witnessed(n *roller.Node) bool {
	return o.anybodyAnswers() || !n.Ready.Or(true) || n.Failing != ""
}

// silence is how long a node may be silent: one that is not ready as long as it may take to get ready.
func (o *oracle) silence(n *roller.Node) time.Duration {
	if n.Ready.Or(true) {
		return o.policy.Silence
	}
	return o.policy.Patience
}

// reasons are those that it was not restarted for.
func (o *oracle) reasons(n *roller.Node) []string {
	return slices.DeleteFunc(o.all(n), func(key string) bool { return o.served[n.ID][key] })
}

// vanished reports whether a reason is seen to be gone; not seeing it is not that.
func (o *oracle) vanished(n *roller.Node, key string) bool {
	switch {
	case slices.Contains(o.all(n), key):
		return false
	case key == "silence":
		return n.Answers.Or(false) || n.Answers.IsKnown() && n.Silent.After(n.ReadyChanged) // it did answer before
	case key[:3] == "req":
		return true
	case key[:3] == "rev":
		return n.Revision.IsKnown()
	}
	return n.Config.IsKnown()
}

// restart looks at one restart, beside those that were chosen before it in the same decision.
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

// deletes holds a restart against the world as it is when the pod is deleted. What happened within the last moments, after the look began, nobody can know.
func (o *oracle) deletes(n *node, a roller.Action) {
	now := o.truth()
	if o.ended[a.Instance] {
		o.fail("instance %s is ended twice", a.Instance)
	}
	if age := o.w.now.Sub(from(o.seen)); age > freshness {
		o.fail("old facts: node %d is restarted on facts that are %s old", n.ID, age)
	}
	o.recovers(n, a)
	if n.Roles.Broker && n.up {
		o.data(n, a, now)
	}
	if n.Roles.Controller && n.process {
		o.quorum(n, a, now)
	}
	o.topics = now.topics
	if !o.wayOut(n, a) {
		o.caps([]*node{n})
	}
}

// from is when the oldest fact was read.
func from(s *roller.Snapshot) time.Time {
	if s.From.IsZero() {
		return s.At
	}
	return s.From
}

// either is what a rule that is broken says of the world as it is, if it was broken when the look began, too.
func (o *oracle) either(rule func(t truth) string, now truth) {
	if why := rule(now); why != "" && rule(o.before) != "" {
		o.fail("%s", why)
	}
}

// recovers: nobody restarts a node that recovers its logs. Where that can't be known, it is given the time that any node gets (docs/decisions/facts-of-a-restart.md).
func (o *oracle) recovers(n *node, a roller.Action) {
	seen := o.seen.Node(n.ID)
	switch {
	case n.pod != podRecovering:
	case seen.Recovery.IsKnown():
		o.fail("node %d is restarted while it recovers its logs", n.ID)
	case o.w.now.Sub(n.readyAt) < o.policy.Patience || a.Forced == "":
		o.fail("unknown: node %d is restarted while it recovers its logs, which nobody could know", n.ID)
	}
}

// cause: there is a reason, and what it needs is known.
func (o *oracle) cause(seen *roller.Node) {
	reasons := o.reasons(seen)
	switch {
	case len(reasons) == 0:
		o.fail("node %d is restarted for nothing: it shows %v, and was restarted for %v", seen.ID, o.all(seen), o.served[seen.ID])
	case !seen.Ready.IsKnown() && seen.Stuck.Or("") == "":
		o.fail("node %d is restarted, and its readiness is not known", seen.ID)
	case seen.Stuck.Or("") != "" && !slices.ContainsFunc(reasons, func(key string) bool { return key[:3] == "rev" }):
		o.fail("node %d is stuck and up to date, and is restarted", seen.ID)
	}
}

// patience is had with what is not ready, unless it can't get ready or a broker that is out of service.
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

// settled: nothing that works goes too soon after another one came back.
func (o *oracle) settled(n *node) {
	for _, other := range o.w.nodes {
		if other.seen != nil || !o.complete {
			continue // nobody may have seen that it is back
		}
		if back := other.backAt; o.serves(n) && other.pod == podReady && !other.behind() && !back.IsZero() && o.w.now.Sub(back) < o.policy.Settle {
			o.fail("node %d goes, and node %d is back since %s only", n.ID, other.ID, back.Format("15:04:05"))
		}
	}
}

// serves reports whether somebody would miss the node.
func (o *oracle) serves(n *node) bool {
	return n.up || n.process && !n.Roles.Broker || n.process && n.Roles.Controller
}

// halt: a node that is stuck and up to date, and that nobody holds, stops all that work (docs/decisions/restart-order.md).
func (o *oracle) halt(n *node) {
	for i := range o.seen.Nodes {
		other := &o.seen.Nodes[i]
		r, known := other.Revision.Get()
		if other.ID != n.ID && other.Hold == "" && !o.ended[other.Instance.Or("")] && other.Stuck.Or("") != "" && known && r.Current == r.Desired && o.serves(n) {
			o.fail("node %d is restarted although node %d is stuck and up to date", n.ID, other.ID)
		}
	}
}

// data is the availability rule. Who does not answer is not in sync, whoever says so (docs/decisions/facts-of-a-restart.md).
func (o *oracle) data(n *node, a roller.Action, now truth) {
	if o.wayOut(n, a) {
		o.alone(n)
		o.w.hurt(n)
		return
	}
	if q, known := o.seen.Quorum.Get(); known && q.Leader < 0 {
		o.fail("broker %d is restarted, and there is no quorum with which it could come back", n.ID)
	}
	topics, known := o.seen.Topics.Get()
	if !known {
		o.fail("node %d is restarted, and nobody knows what is in sync", n.ID)
	}
	if slices.ContainsFunc(topics, func(t roller.Topic) bool { return !t.MinISR.IsKnown() && hosts(t, n.ID) }) {
		o.fail("node %d is restarted, and min.insync.replicas is not known", n.ID)
	}
	o.either(func(t truth) string {
		down := maps.Clone(t.down)
		for i := range o.seen.Nodes {
			down[o.seen.Nodes[i].ID] = down[o.seen.Nodes[i].ID] || !o.seen.Nodes[i].Answers.Or(true)
		}
		return KeepsData(t.topics, n.ID, down)
	}, now)
}

// wayOut reports whether a cluster is lost in a way that only this restart can repair (docs/decisions/lost-clusters.md): there has been no leader for long although its voters
// live, or nobody can connect to the node.
func (o *oracle) wayOut(n *node, a roller.Action) bool {
	lost := func(since time.Time) bool { return !since.IsZero() && o.w.now.Sub(since) >= o.policy.Patience }
	leaderless := n.Roles.Controller && lost(o.w.leaderless)
	outdated := slices.ContainsFunc(o.reasons(o.seen.Node(n.ID)), func(key string) bool { return key != "silence" })
	return a.Forced != "" && outdated && (leaderless || lost(n.expired))
}

// alone: whatever is restarted to repair a cluster goes by itself.
func (o *oracle) alone(n *node) {
	for _, other := range o.w.nodes {
		if end := o.lastEnd[other.ID]; other != n && other.ours && o.w.now.Sub(end) < o.policy.Patience {
			o.fail("one at a time: node %d is restarted beside node %d, which has only just gone", n.ID, other.ID)
		}
	}
}

func (o *oracle) anybodyAnswers() bool {
	return slices.ContainsFunc(o.seen.Nodes, func(n roller.Node) bool { return n.Roles.Broker && n.Answers.Or(false) })
}

func hosts(t roller.Topic, id roller.NodeID) bool {
	return slices.ContainsFunc(t.Partitions, func(p roller.Partition) bool { return slices.Contains(p.Replicas, id) })
}

// quorum: one voter at a time, and a majority stays.
func (o *oracle) quorum(n *node, a roller.Action, now truth) {
	if o.wayOut(n, a) {
		o.alone(n)
		return
	}
	for _, other := range o.w.nodes {
		lost := (other.pod == podStuck || other.hold) && o.w.now.Sub(o.lastEnd[other.ID]) >= o.policy.Patience // it is nobody's to wait for
		if other != n && other.Roles.Controller && other.ours && !lost {
			o.fail("voters %d and %d are down at once because of us", other.ID, n.ID)
		}
	}
	if !o.seen.Quorum.IsKnown() {
		o.fail("voter %d is restarted, and the quorum is not known", n.ID)
	}
	o.either(func(t truth) string { return KeepsQuorum(t.quorum, n.ID, o.policy.QuorumFetchTimeout) }, now)
}

// order: controllers before brokers, the active one last, and what can't go is waited for as long as patience lasts (docs/decisions/restart-order.md).
func (o *oracle) order(n *node, before []*node) {
	if n.Roles.Controller && o.w.leader != n.ID || n.pod == podStuck {
		return
	}
	for i := range o.seen.Nodes {
		other := &o.seen.Nodes[i]
		if other.ID == n.ID || !other.Roles.Controller {
			continue
		}
		c := o.w.byID[other.ID]
		if slices.Contains(before, c) || c.ours && o.w.now.Sub(o.lastEnd[c.ID]) < o.policy.Patience {
			o.fail("order: node %d goes although controller %d is not back", n.ID, c.ID)
		}
		if since, wants := o.wants[c.ID]; wants && !c.ours && o.couldGo(other, c) && o.w.now.Sub(since) < o.policy.Patience {
			o.fail("order: node %d goes before controller %d, which waits since %s", n.ID, c.ID, since.Format("15:04:05"))
		}
	}
}

// couldGo reports whether nothing about a controller itself keeps it from being restarted.
func (o *oracle) couldGo(seen *roller.Node, c *node) bool {
	end, restarted := o.lastEnd[c.ID]
	stalled := restarted && c.behind() && o.w.now.Sub(end) >= o.policy.Stall
	leaving := stalled || seen.Terminating || c.pod == podStopping || c.pod == podGone || o.ended[c.instance()]
	known := seen.Revision.IsKnown() && seen.Ready.IsKnown() && seen.Config.IsKnown()
	return known && seen.Hold == "" && seen.Foreign == "" && seen.Recovery.Or(nil) == nil && seen.Instance.Or("") != "" && seen.Stuck.Or("") == "" && !leaving
}

// behind reports whether a replica of the node, or its place in the quorum, is to catch up.
func (n *node) behind() bool {
	return !n.lagsSince.IsZero() || slices.ContainsFunc(n.hosted, func(p *partition) bool { return !slices.Contains(p.ISR, n.ID) })
}

// caps are those of the policy on how many brokers are down at once because of us.
func (o *oracle) caps(chosen []*node) {
	down, anew := o.downBrokers(chosen)
	if !anew || len(down) == 1 {
		return
	}
	if len(down) > max(1, o.policy.MaxUnavailable) {
		o.fail("too many at once: %d brokers are down because of us, and at most %d may be", len(down), o.policy.MaxUnavailable)
	}
	o.racks(down)
	if share := o.share(down); o.seen.Topics.IsKnown() && o.policy.MaxLeaderShare > 0 && share > o.policy.MaxLeaderShare+1e-9 {
		o.fail("%.3f of all partitions are led by those that go at once, and at most %.3f may be", share, o.policy.MaxLeaderShare)
	}
}

// downBrokers are the brokers that are down because of us, or go now; anew: one that serves somebody goes now. Combined nodes that did not come back do not
// stop brokers (docs/decisions/restart-order.md).
func (o *oracle) downBrokers(chosen []*node) (down []*node, anew bool) {
	onlyBrokers := !slices.ContainsFunc(chosen, func(n *node) bool { return n.Roles.Controller })
	for _, n := range o.w.nodes {
		fresh := slices.Contains(chosen, n) && o.serves(n)
		givenUp := onlyBrokers && n.Roles.Controller && o.w.now.Sub(o.lastEnd[n.ID]) >= o.policy.Patience
		held := n.hold && o.w.now.Sub(o.lastEnd[n.ID]) >= o.policy.Patience // somebody knows of it
		if n.Roles.Broker && (n.ours && !givenUp && !held || fresh) {
			down = append(down, n)
			anew = anew || fresh
		}
	}
	return down, anew
}

// racks is the policy's limit by rack.
func (o *oracle) racks(down []*node) {
	racks := map[string]int{}
	for _, n := range down {
		racks[n.Rack]++
		if n.Rack != "" && o.policy.MaxPerRack > 0 && racks[n.Rack] > o.policy.MaxPerRack {
			o.fail("%d brokers of rack %q are down because of us, and at most %d may be", racks[n.Rack], n.Rack, o.policy.MaxPerRack)
		}
	}
}

// share is how large a part of all partitions these brokers lead.
func (o *oracle) share(brokers []*node) float64 {
	led, total := 0, 0
	for _, t := range o.topics {
		for _, p := range t.Partitions {
			total++
			if slices.ContainsFunc(brokers, func(n *node) bool { return n.ID == p.Leader }) {
				led++
			}
		}
	}
	return float64(led) / float64(max(1, total))
}

// rank is the order of docs/decisions/restart-order.md.
func (o *oracle) rank(n *node) int {
	ready := o.seen.Node(n.ID).Ready.Or(false)
	q, known := o.seen.Quorum.Get()
	switch {
	case n.Roles.Controller && known && q.Leader == n.ID:
		return 3
	case n.Roles.Controller && ready:
		return 2
	case n.Roles.Controller:
		return 1
	case ready:
		return 5
	}
	return 4
}

// accepted notes a restart that was carried out.
func (o *oracle) accepted(n *node, a roller.Action) {
	o.ended[a.Instance] = true
	o.lastEnd[n.ID] = o.w.now
	delete(o.wants, n.ID)
	o.served[n.ID] = o.meant[n.ID]
}

// serve is what a node was restarted for once it has been restarted for all that it shows.
func (o *oracle) serve(n *roller.Node) map[string]bool {
	served := maps.Clone(o.served[n.ID])
	if served == nil {
		served = map[string]bool{}
	}
	for _, key := range o.all(n) {
		served[key] = true
	}
	return served
}

// reconfigured: what a node does not take up is tried three times, and what Kafka refuses is not tried again.
func (o *oracle) reconfigured(n *node, a roller.Action) {
	t := o.tries[n.ID]
	if t.value != n.config.wanted {
		t = attempts{value: n.config.wanted}
	}
	t.n++
	o.tries[n.ID] = t
	if o.denied[n.config.wanted] {
		o.fail("Kafka has refused %s=%d, and is asked again", dynamicKey, n.config.wanted)
	}
	if len(a.Changes.Restart) > 0 {
		o.fail("a change that needs a restart is made while node %d runs", n.ID)
	}
}

// refused notes that Kafka refused a value.
func (o *oracle) refused(n *node) { o.denied[n.config.wanted] = true }
