package explore

import (
	"fmt"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// elsewhere is the voter of clusters that have no controller among their nodes.
const elsewhere = 100

// The revisions.
const (
	oldRevision = "old"
	newRevision = "new"
)

// snapshot returns what the roller observes of a state if it can read everything.
func (c *Cluster) snapshot(s *state) *roller.Snapshot {
	snapshot := &roller.Snapshot{At: noon, Topics: roller.Known(c.topics(s)), Quorum: roller.Known(c.quorum(s))}
	for id := range s.nodes {
		snapshot.Nodes = append(snapshot.Nodes, c.node(s, id))
	}
	return snapshot
}

func (c *Cluster) node(s *state, id int) roller.Node {
	n := s.nodes[id]
	seen := roller.Node{
		ID: roller.NodeID(id), Roles: c.Nodes[id], Instance: roller.Known(thisOne), Terminating: n.phase == stopping,
		Ready: roller.Known(n.serves() && !n.dead), ReadyChanged: noon.Add(-time.Duration(n.age) * tick), Stuck: roller.Known(""),
		Recovery: roller.Known[*roller.Recovery](nil), Answers: roller.Known(n.runs()), Config: roller.Known(brokerconfig.Config{}),
		Revision: roller.Known(roller.Revision{Current: newRevision, Desired: newRevision}),
	}
	if len(c.Places) > 0 {
		seen.Place = c.Places[id]
	}
	if n.outdated {
		seen.Revision = roller.Known(roller.Revision{Current: oldRevision, Desired: newRevision})
	}
	if n.phase == gone {
		seen.Instance, seen.Revision = roller.Known(""), roller.Unknown[roller.Revision]("there is no pod")
	}
	if c.Nodes[id].Broker && c.governed(s) {
		seen.Fenced = roller.Known(!n.serves() && !n.dead)
	}
	return seen
}

func (c *Cluster) topics(s *state) []roller.Topic {
	topics := make([]roller.Topic, len(s.partitions))
	for i, p := range s.partitions {
		topics[i] = roller.Topic{
			Name: fmt.Sprint("t", i), MinISR: roller.Known(c.Partitions[i].MinISR),
			Partitions: []roller.Partition{{Leader: roller.NodeID(p.leader), Replicas: ids(p.replicas), ISR: ids(p.isr), Adding: ids(p.adding),
				Removing: ids(p.removing)}},
		}
	}
	return topics
}

// quorum returns the quorum as its leader reports it: a voter that has just stopped still counts as caught up.
func (c *Cluster) quorum(s *state) roller.Quorum {
	const now = 1_000_000
	q := roller.Quorum{Leader: roller.NodeID(s.leader)}
	for id, roles := range c.Nodes {
		v := roller.Voter{ID: roller.NodeID(id), LastCaughtUp: now - 100}
		switch {
		case !roles.Controller:
			continue
		case int8(id) == s.leader:
			v.LastCaughtUp = now
		case s.behind&(1<<id) != 0:
			v.LastCaughtUp = now - 60_000
		}
		q.Voters = append(q.Voters, v)
	}
	if len(q.Voters) == 0 {
		return roller.Quorum{Leader: elsewhere, Voters: []roller.Voter{{ID: elsewhere, LastCaughtUp: now}}}
	}
	return q
}

// voters returns the number of voters, and how many of them run.
func (c *Cluster) voters(s *state) (all, alive int) {
	for id, roles := range c.Nodes {
		if roles.Controller {
			all++
			if s.nodes[id].runs() {
				alive++
			}
		}
	}
	return all, alive
}

// governed reports whether there is an active controller to change the replicas in sync.
func (c *Cluster) governed(s *state) bool {
	all, _ := c.voters(s)
	return all == 0 || s.leader >= 0
}

// serves reports whether the node is registered. runs reports whether it is registered and has not crashed.
func (n node) serves() bool { return n.phase == up || n.phase == stopping }

func (n node) runs() bool { return n.serves() && !n.dead }

// ids returns the nodes of a bit set.
func ids(set uint8) []roller.NodeID {
	var all []roller.NodeID
	for id := range roller.NodeID(8) {
		if set&(1<<id) != 0 {
			all = append(all, id)
		}
	}
	return all
}
