package roller_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// scene is a cluster in which each restart succeeds within one step, unless the test changes that. Its clock advances only when nothing
// else happens.
type scene struct {
	*WithT
	s        roller.Snapshot
	progress roller.Progress
	policy   roller.Policy
	restarts []roller.NodeID
	altered  []roller.Action
	last     roller.Decision
	// after is called for each restarted node; if it is nil, the node is ready and up to date at once.
	after func(n *roller.Node)
	// before is called before each step.
	before func()
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

var (
	broker     = roller.Roles{Broker: true}
	controller = roller.Roles{Controller: true}
	combined   = roller.Roles{Controller: true, Broker: true}
)

func newScene(t *testing.T) *scene {
	sc := &scene{WithT: NewWithT(t), policy: roller.DefaultPolicy()}
	sc.s = roller.Snapshot{At: noon, Topics: roller.Known[[]roller.Topic](nil),
		Quorum: roller.Known(roller.Quorum{Leader: 1000, Voters: []roller.Voter{{ID: 1000, LastCaughtUp: 1}}})}
	return sc
}

// with adds nodes that are healthy and outdated.
func (sc *scene) with(roles roller.Roles, nodes ...roller.NodeID) *scene {
	for _, id := range nodes {
		sc.s.Nodes = append(sc.s.Nodes, roller.Node{
			ID: id, Name: fmt.Sprintf("my-cluster-kafka-%d", id), Roles: roles, Instance: roller.Known("first"),
			Ready: roller.Known(true), ReadyChanged: noon.Add(-time.Hour), Stuck: roller.Known(""), Recovery: roller.Known[*roller.Recovery](nil),
			Answers: roller.Known(true), Fenced: roller.Known(false), Config: roller.Known(brokerconfig.Config{}),
			Revision: roller.Known(roller.Revision{Current: "old", Desired: "new"}),
		})
	}
	slices.SortFunc(sc.s.Nodes, func(a, b roller.Node) int { return int(a.ID - b.ID) })
	return sc
}

// beside adds brokers that are healthy and up to date, so that nothing is to be done with them.
func (sc *scene) beside(nodes ...roller.NodeID) *scene {
	return sc.with(broker, nodes...).current(nodes...)
}

// led makes all controllers caught-up voters.
func (sc *scene) led(leader roller.NodeID) *scene {
	q := roller.Quorum{Leader: leader}
	for _, n := range sc.s.Nodes {
		if n.Roles.Controller && leader >= 0 { // only a leader lists the voters
			q.Voters = append(q.Voters, roller.Voter{ID: n.ID, LastCaughtUp: 10_000})
		}
	}
	sc.s.Quorum = roller.Known(q)
	return sc
}

func (sc *scene) topics(topics ...roller.Topic) *scene {
	sc.s.Topics = roller.Known(topics)
	return sc
}

func (sc *scene) node(id roller.NodeID) *roller.Node { return sc.s.Node(id) }

func (sc *scene) current(nodes ...roller.NodeID) *scene {
	for _, id := range nodes {
		sc.node(id).Revision = roller.Known(roller.Revision{Current: "new", Desired: "new"})
	}
	return sc
}

func (sc *scene) unready(since time.Duration, nodes ...roller.NodeID) *scene {
	for _, id := range nodes {
		sc.node(id).Ready, sc.node(id).ReadyChanged = roller.Known(false), sc.s.At.Add(-since)
	}
	return sc
}

// step makes one decision and carries it out.
func (sc *scene) step() roller.Decision {
	if sc.before != nil {
		sc.before()
	}
	sc.last = roller.Step(&sc.s, sc.progress, sc.policy)
	sc.progress = sc.last.Progress
	for _, a := range sc.last.Actions {
		if a.Kind != roller.ActionRestart {
			sc.altered = append(sc.altered, a)
			sc.progress = sc.progress.Taken(a.Node)
			continue
		}
		n := sc.node(a.Node)
		sc.Expect(n.Instance.Or("")).To(Equal(a.Instance))
		sc.restarts = append(sc.restarts, a.Node)
		n.Instance = roller.Known(fmt.Sprintf("%s after %d restarts", n.Name, len(sc.restarts)))
		n.Ready, n.ReadyChanged = roller.Known(true), sc.s.At
		n.Stuck = roller.Known("")
		sc.current(a.Node)
		if sc.after != nil {
			sc.after(n)
		}
	}
	sc.s.At = sc.s.At.Add(time.Second)
	return sc.last
}

// roll steps until nothing happens for a quarter of an hour, and returns the nodes in the order of their restarts.
func (sc *scene) roll() []roller.NodeID {
	for idle := 0; idle < 900; idle++ {
		before := len(sc.restarts) + len(sc.altered)
		if sc.step(); sc.last.Phase == roller.PhaseDone {
			break
		}
		if len(sc.restarts)+len(sc.altered) > before {
			idle = 0
		}
	}
	return sc.restarts
}

// of returns the last assessment of a node.
func (sc *scene) of(id roller.NodeID) roller.Assessment {
	i := slices.IndexFunc(sc.last.Nodes, func(a roller.Assessment) bool { return a.Node == id })
	return sc.last.Nodes[i]
}

// blocked returns the rules that block a node.
func (sc *scene) blocked(id roller.NodeID) []roller.Rule {
	var rules []roller.Rule
	for _, b := range sc.of(id).Blocks {
		rules = append(rules, b.Rule)
	}
	return rules
}
