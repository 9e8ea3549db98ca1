package simulator

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// Cluster is the initial state of a history: all nodes are healthy, and all replicas in sync. It is a plain value, so that it can be
// printed and shrunk.
type Cluster struct {
	// Nodes are ordered by id.
	Nodes  []Node
	Topics []Topic
	Policy roller.Policy
	// Dynamic: controllers become voters, and others, while the quorum has a leader (KIP-853).
	Dynamic bool
	// Old: the brokers don't report which of them are fenced, as before Kafka 4.0.
	Old bool
}

// Node is the initial state of a node.
type Node struct {
	ID    roller.NodeID
	Roles roller.Roles
	Rack  string
	// Place is the node's Kubernetes cluster.
	Place string
	// Outdated: its pod has to be replaced.
	Outdated bool
	// Observes: it is a controller that does not vote.
	Observes bool
	// Stop and Boot are the durations of a stop and a start. Rate is how many replicas catch up per second.
	Stop, Boot time.Duration
	Rate       int
}

// Topic is the initial state of a topic.
type Topic struct {
	Name   string
	MinISR int
	// Partitions are the replicas of each partition. The first replica leads.
	Partitions [][]roller.NodeID
}

// Shape describes a random cluster.
type Shape struct {
	// Nodes is the number of nodes. Partitions is about how many replicas each broker has.
	Nodes, Partitions int
	// Combined: up to five nodes are combined ones, and the rest are brokers. Otherwise Controllers is the number of controllers.
	Combined    bool
	Controllers int
	// Racks is the number of racks of the brokers. Aware: each partition's replicas are spread over the racks as well.
	Racks int
	Aware bool
	// Places is the number of Kubernetes clusters; 0 and 1 stand for one.
	Places int
}

// randomShape returns a small shape for a random history.
func randomShape(r *rand.Rand) Shape {
	s := Shape{Nodes: 1 + r.IntN(8), Partitions: 1 + r.IntN(6), Combined: r.IntN(3) == 0, Controllers: []int{0, 1, 2, 3, 3, 3, 5}[r.IntN(7)],
		Racks: r.IntN(4), Aware: r.IntN(2) == 0}
	if r.IntN(20) == 0 {
		s.Nodes += r.IntN(40)
	}
	if s.Places = []int{1, 1, 2, 3, 3}[r.IntN(5)]; s.Places > 1 {
		s.Nodes, s.Controllers = max(s.Nodes, s.Places)+r.IntN(3), []int{0, 3, 3, 5, 7, 9, 9}[r.IntN(7)]
	}
	return s
}

// randomCluster returns a random cluster of a shape.
func randomCluster(r *rand.Rand, s Shape) Cluster {
	c := Cluster{Policy: randomPolicy(r), Old: r.IntN(3) == 0}
	controllers := s.Controllers
	if s.Combined {
		controllers = min(5, s.Nodes)
	}
	for id := range roller.NodeID(s.Nodes) {
		n := Node{ID: id, Roles: roller.Roles{Broker: true}, Outdated: r.IntN(4) > 0}
		n.Roles.Controller = s.Combined && int(id) < controllers
		if s.Racks > 0 {
			n.Rack = fmt.Sprint("r", int(id)%s.Racks)
		}
		n.Place = s.place(int(id))
		c.Nodes = append(c.Nodes, n)
	}
	for i := range controllers {
		if !s.Combined {
			c.Nodes = append(c.Nodes, Node{ID: roller.NodeID(s.Nodes + i), Roles: roller.Roles{Controller: true}, Place: s.place(i),
				Outdated: r.IntN(4) > 0})
		}
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		n.Stop, n.Boot, n.Rate = time.Duration(1+r.IntN(10))*time.Second, time.Duration(3+r.IntN(50))*time.Second, 1+r.IntN(20)
	}
	for left := s.Nodes * s.Partitions; left > 0; {
		t := Topic{Name: fmt.Sprint("t", len(c.Topics)), MinISR: 1 + r.IntN(3)}
		rf := min([]int{1, 2, 3, 3, 3, 3, 4}[r.IntN(7)], s.Nodes)
		if s.Places > 1 {
			rf = min([]int{2, 3, 3, 4, 4, 5, 6}[r.IntN(7)], s.Nodes)
		}
		for range 1 + r.IntN(3) {
			t.Partitions = append(t.Partitions, placement(r, s, rf))
			left -= rf
		}
		c.Topics = append(c.Topics, t)
	}
	return c
}

// place returns the Kubernetes cluster of a node.
func (s Shape) place(of int) string {
	if s.Places <= 1 {
		return ""
	}
	return []string{"", "east", "west"}[of%s.Places]
}

// placement chooses replicas among the brokers.
func placement(r *rand.Rand, s Shape, rf int) []roller.NodeID {
	replicas := make([]roller.NodeID, 0, rf)
	for tries := 0; len(replicas) < rf; tries++ {
		id := roller.NodeID(r.IntN(s.Nodes))
		taken := s.Aware && s.Racks > 0 && tries < 20 && slices.ContainsFunc(replicas,
			func(o roller.NodeID) bool { return int(o)%s.Racks == int(id)%s.Racks })
		if !taken && !slices.Contains(replicas, id) {
			replicas = append(replicas, id)
		}
	}
	return replicas
}

func randomPolicy(r *rand.Rand) roller.Policy {
	p := roller.DefaultPolicy()
	p.MaxUnavailable = []int{1, 1, 1, 2, 3, 10}[r.IntN(6)]
	p.MaxPerRack = []int{0, 0, 1, 2}[r.IntN(4)]
	p.MaxLeaderShare = []float64{0, 0, 0.2, 0.5}[r.IntN(4)]
	p.Settle = []time.Duration{0, 0, 10 * time.Second, time.Minute}[r.IntN(4)]
	return p
}

// without returns the cluster without a node and its replicas.
func (c Cluster) without(id roller.NodeID) Cluster {
	c.Nodes = slices.DeleteFunc(slices.Clone(c.Nodes), func(n Node) bool { return n.ID == id })
	c.Topics = slices.Clone(c.Topics)
	for i, t := range c.Topics {
		t.Partitions = slices.Clone(t.Partitions)
		for p := range t.Partitions {
			t.Partitions[p] = slices.DeleteFunc(slices.Clone(t.Partitions[p]), func(o roller.NodeID) bool { return o == id })
		}
		t.Partitions = slices.DeleteFunc(t.Partitions, func(replicas []roller.NodeID) bool { return len(replicas) == 0 })
		c.Topics[i] = t
	}
	c.Topics = slices.DeleteFunc(c.Topics, func(t Topic) bool { return len(t.Partitions) == 0 })
	return c
}
