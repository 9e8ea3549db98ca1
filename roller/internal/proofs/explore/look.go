package explore

import (
	"fmt"
	"slices"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/internal/proofs/simulator"
)

// looks returns the roller's possible next looks: with all facts, with some facts unknown, and with each fault of its actions.
func (c *Cluster) looks(s *state) (all []move, done bool, broken string) {
	d := c.decide(c.snapshot(s), s)
	if why := c.judge(s, d, true); why != "" {
		return nil, false, why
	}
	all = append(all, move{tellLook(d), c.act(s, d, len(d.Actions), -1), true})
	if s.faults == 0 {
		return all, d.Phase == roller.PhaseDone, ""
	}
	fault := func(name string, next *state) {
		next.faults--
		all = append(all, move{name, next, false})
	}
	for n := range d.Actions {
		fault(fmt.Sprintf("%s, crashes after %d", tellLook(d), n), c.act(s, d, n, -1))
		fault(fmt.Sprintf("%s, is refused %d", tellLook(d), n), c.act(s, d, len(d.Actions), n))
	}
	for name, hide := range c.blinds() {
		seen := c.snapshot(s)
		hide(seen)
		d := c.decide(seen, s)
		if why := c.judge(s, d, false); why != "" {
			return nil, false, name + ": " + why
		}
		if why := unseen(seen, d); why != "" {
			return nil, false, name + ": " + why
		}
		fault(name+" and "+tellLook(d), c.act(s, d, len(d.Actions), -1))
	}
	return all, d.Phase == roller.PhaseDone, ""
}

// blinds returns the facts that a look may lack, by name.
func (c *Cluster) blinds() map[string]func(*roller.Snapshot) {
	all := map[string]func(*roller.Snapshot){
		"the topics are not known": func(s *roller.Snapshot) { s.Topics = roller.Unknown[[]roller.Topic]("timed out") },
		"the quorum is not known":  func(s *roller.Snapshot) { s.Quorum = roller.Unknown[roller.Quorum]("timed out") },
	}
	for id := range c.Nodes {
		all[fmt.Sprintf("the pod of node %d is not known", id)] = func(s *roller.Snapshot) {
			n := &s.Nodes[id]
			n.Instance, n.Ready, n.Stuck = roller.Unknown[string]("timed out"), roller.Unknown[bool]("timed out"),
				roller.Unknown[string]("timed out")
			n.Revision, n.Terminating = roller.Unknown[roller.Revision]("timed out"), false
		}
	}
	return all
}

// unseen fails if the roller restarts a node in spite of an unknown fact that the restart depends on.
func unseen(seen *roller.Snapshot, d roller.Decision) string {
	for _, a := range d.Actions {
		n := seen.Node(a.Node)
		q, known := seen.Quorum.Get()
		switch {
		case n.Roles.Controller && known && q.Leader < 0 && a.Forced != "": // see wayOut
		case !n.Instance.IsKnown():
			return fmt.Sprintf("node %d is restarted, and its pod is not known", a.Node)
		case n.Roles.Broker && !seen.Topics.IsKnown() && n.Ready.Or(true):
			return fmt.Sprintf("node %d is restarted, and nobody knows what is in sync", a.Node)
		case n.Roles.Controller && !seen.Quorum.IsKnown() && (a.Forced == "" || n.Ready.Or(true)):
			return fmt.Sprintf("voter %d is restarted, and the quorum is not known", a.Node)
		}
	}
	return ""
}

// act stores the progress and carries out the first n actions. The API server rejects the action numbered refused.
func (c *Cluster) act(s *state, d roller.Decision, n, refused int) *state {
	next := s.clone()
	next.progress = d.Progress
	for i, a := range d.Actions[:n] {
		if i == refused {
			next.progress = next.progress.NotCarriedOut(a.Node)
			continue
		}
		target := &next.nodes[a.Node]
		target.served = true
		if target.runs() {
			target.phase, target.ours, target.ended, target.lastWay = stopping, true, 0, c.wayOut(s, a)
			continue
		}
		target.phase, target.age, target.dead = gone, 0, false
		next.progress = replaced(next.progress, a.Node)
		c.lose(next, int(a.Node))
	}
	next.progress = aged(next.progress, 0)
	return next
}

// judge checks a decision against the rules. If facts are unknown, it does not check the order.
func (c *Cluster) judge(s *state, d roller.Decision, complete bool) string {
	down := map[roller.NodeID]bool{}
	brokers := 0
	for id, n := range s.nodes {
		// Nodes that the roller stopped and that are not back count as down, and so do stopping nodes. A node that crashed counts if the
		// roller has all facts.
		down[roller.NodeID(id)] = n.ours || n.phase == stopping || n.dead && complete
		if n.ours && c.Nodes[id].Broker {
			brokers++
		}
	}
	for _, a := range d.Actions {
		n := s.nodes[a.Node]
		if why := c.judgeNode(s, a, down); why != "" {
			return why
		}
		if why := c.judgeOrder(s, d, a.Node); why != "" && complete {
			return why
		}
		if !n.runs() {
			continue
		}
		down[a.Node] = true
		if c.Nodes[a.Node].Broker {
			brokers++
		}
		if brokers > c.MaxUnavailable && !c.exempt(s, a) {
			return fmt.Sprintf("too many at once: %d brokers are down because of us", brokers)
		}
	}
	return ""
}

// exempt reports whether a restart may exceed the number of brokers that may be down at once.
func (c *Cluster) exempt(s *state, a roller.Action) bool { return c.lost(s, a.Node) || c.wayOut(s, a) }

// lost reports whether a broker is restarted while some node has been away for longer than patience: such a node stops no broker
// (docs/decisions/restart-order.md).
func (c *Cluster) lost(s *state, id roller.NodeID) bool {
	return !c.Nodes[id].Controller && slices.ContainsFunc(s.nodes, func(n node) bool { return n.ours && n.age >= oldest })
}

// wayOut reports whether the restart is a forced one of a voter to repair a lost quorum (docs/decisions/lost-clusters.md). It has to be
// alone: no other node may have been stopped recently.
func (c *Cluster) wayOut(s *state, a roller.Action) bool {
	recent := slices.ContainsFunc(s.nodes, func(n node) bool { return n.ours && n.ended < oldest })
	return c.Nodes[a.Node].Controller && s.leader < 0 && a.Forced != "" && !recent
}

// judgeNode checks one restart against the rules, given the nodes that are down.
func (c *Cluster) judgeNode(s *state, a roller.Action, down map[roller.NodeID]bool) string {
	n, roles := s.nodes[a.Node], c.Nodes[a.Node]
	switch {
	case n.phase == stopping || n.phase == gone || a.Instance != thisOne:
		return fmt.Sprintf("node %d is ended twice", a.Node)
	case !n.outdated || n.served:
		return fmt.Sprintf("node %d is restarted for nothing", a.Node)
	case !n.runs():
		return "" // the node does not run
	case c.wayOut(s, a):
		return ""
	}
	if why := c.judgeData(s, a.Node, down); why != "" || !roles.Controller {
		return why
	}
	for id, other := range c.Nodes {
		if other.Controller && roller.NodeID(id) != a.Node && down[roller.NodeID(id)] {
			return fmt.Sprintf("voters %d and %d are down at once", id, a.Node)
		}
	}
	return simulator.KeepsQuorum(roller.Known(c.quorum(s)), a.Node, c.policy().QuorumFetchTimeout)
}

// judgeData checks what replicas need, now and if a Kubernetes cluster is lost.
func (c *Cluster) judgeData(s *state, id roller.NodeID, down map[roller.NodeID]bool) string {
	if c.Nodes[id].Broker {
		if why := simulator.KeepsData(c.topics(s), id, down); why != "" {
			return why
		}
	}
	return c.losses(s, id)
}

// losses checks the cluster-loss budget, given the nodes that run.
func (c *Cluster) losses(s *state, id roller.NodeID) string {
	place, down, q := map[roller.NodeID]string{}, map[roller.NodeID]bool{}, c.quorum(s)
	for i, at := range c.Places {
		place[roller.NodeID(i)] = at
		down[roller.NodeID(i)] = !s.nodes[i].runs() || s.nodes[i].phase == stopping
	}
	for i := range q.Voters {
		if down[q.Voters[i].ID] {
			q.Voters[i].LastCaughtUp = -1
		}
	}
	return simulator.KeepsLosses(c.topics(s), roller.Known(q), place, id, down, nil, c.policy().QuorumFetchTimeout)
}

// judgeOrder fails if a broker or the active controller is restarted before a controller that could be restarted, or while one is away and
// not given up.
func (c *Cluster) judgeOrder(s *state, d roller.Decision, id roller.NodeID) string {
	if c.Nodes[id].Controller && s.leader != int8(id) {
		return ""
	}
	for other, n := range s.nodes {
		if !c.Nodes[other].Controller || roller.NodeID(other) == id || int8(other) == s.leader && c.Nodes[id].Controller {
			continue
		}
		also := slices.ContainsFunc(d.Actions, func(a roller.Action) bool { return a.Node == roller.NodeID(other) })
		switch {
		case also:
			return fmt.Sprintf("order: node %d goes together with controller %d", id, other)
		case n.ours && s.progress.Restarts[roller.NodeID(other)].At.Equal(noon):
			return fmt.Sprintf("order: node %d goes, and controller %d was restarted just now", id, other)
		case c.couldGo(s, other):
			return fmt.Sprintf("order: node %d goes, and controller %d could", id, other)
		}
	}
	return ""
}

// couldGo reports whether the roller could restart an outdated controller now, because no rule forbids it.
func (c *Cluster) couldGo(s *state, id int) bool {
	n := s.nodes[id]
	if !n.outdated || n.served || n.phase != up || n.dead || len(s.progress.Restarts) > 0 || s.behind != 0 {
		return false
	}
	for _, other := range s.nodes {
		if other.phase != up || other.dead {
			return false
		}
	}
	clear := simulator.KeepsQuorum(roller.Known(c.quorum(s)), roller.NodeID(id), c.policy().QuorumFetchTimeout) == ""
	return clear && int8(id) != s.leader && (!c.Nodes[id].Broker || simulator.KeepsData(c.topics(s), roller.NodeID(id), nil) == "")
}

// standing checks a state itself: without crashes, each partition has the replicas in sync that the availability rule requires, and the
// quorum its majority. States after the repair of a lost quorum are exempt.
func (c *Cluster) standing(s *state) string {
	if int(s.crashes) < c.Crashes || slices.ContainsFunc(s.nodes, func(n node) bool { return n.lastWay }) {
		return ""
	}
	for i, p := range s.partitions {
		in := 0
		for _, id := range ids(p.isr) {
			if s.nodes[id].serves() {
				in++
			}
		}
		rf := len(ids(p.replicas &^ p.adding))
		if rf > 1 && (in < 1 || in < min(c.Partitions[i].MinISR, rf-1)) {
			return fmt.Sprintf("availability rule, seen in the data: partition %d has %d of %d replicas in sync, and nobody but us took any down", i,
				in, rf)
		}
	}
	if voters, alive := c.voters(s); voters > 2 && alive*2 <= voters {
		return fmt.Sprintf("%d of %d voters are left, and nobody but us took any down", alive, voters)
	}
	return ""
}

func tellLook(d roller.Decision) string {
	text := "the roller looks"
	for _, a := range d.Actions {
		text += fmt.Sprintf(", restarts %d", a.Node)
	}
	return text
}
