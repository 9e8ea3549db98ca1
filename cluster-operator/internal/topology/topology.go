package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Roles are what a node does. Source: process.roles (KIP-500).
type Roles struct {
	Controller, Broker bool
}

// String returns the roles as process.roles has them.
func (r Roles) String() string {
	var roles []string
	if r.Broker {
		roles = append(roles, "broker")
	}
	if r.Controller {
		roles = append(roles, "controller")
	}
	return strings.Join(roles, ",")
}

// Home is the Kubernetes cluster of the Kafka object.
const Home = ""

// Node is one Kafka node.
type Node struct {
	// ID is the node.id, unique in the Kafka cluster.
	ID int32
	// Pool names the KafkaNodePool that the node belongs to.
	Pool string
	// Cluster is the id of the Kubernetes cluster that the node runs in; Home is the one of the Kafka object.
	Cluster string `json:",omitempty"`
	// Roles are the roles that the node has, which differ from its pool's while a change of roles is blocked.
	Roles Roles
	// Leaving reports that the node is not wanted any more. It runs until Leave allows it to go.
	Leaving bool
}

// Pool is a group of nodes that are alike.
type Pool struct {
	// Name is that of the KafkaNodePool.
	Name string
	// Cluster is the id of the Kubernetes cluster that new nodes run in; Home is the one of the Kafka object.
	Cluster string
	// Nodes are the nodes in ascending order of their ids, those that are leaving included.
	Nodes []Node
	// Removed reports that the KafkaNodePool is gone while nodes of it still run.
	Removed bool
}

// Topology is all nodes of one Kafka cluster.
type Topology struct {
	// Namespace and Name identify the Kafka object.
	Namespace, Name string
	// Pools are sorted by name.
	Pools []Pool
	// Blocked are the changes that wait, and what each waits for.
	Blocked []Blocked
	// Notes are remarks on input that was ignored, such as a range that can't be read.
	Notes []Note
}

// Note is a remark on input that was ignored.
type Note struct {
	// Pool names the pool that it is about.
	Pool string
	// Message describes what was ignored.
	Message string
}

// Blocked is a change that waits.
type Blocked struct {
	// Pool names the pool that was changed.
	Pool string
	// Nodes are the nodes that stay unchanged until then.
	Nodes []int32
	// Message describes what waits, for what, and what the user can do.
	Message string
	// ScaleUp reports that the change adds nodes.
	ScaleUp bool
	// Stalled reports that waiting does not help: the user has to undo the change, or to change something else.
	Stalled bool
}

// Staying returns the ids of the brokers that neither leave nor lose the role, also not once what blocks that is over.
func (t Topology) Staying() []int32 {
	var stay []int32
	for _, n := range t.Brokers() {
		if !slices.ContainsFunc(t.Blocked, func(b Blocked) bool { return slices.Contains(b.Nodes, n.ID) }) {
			stay = append(stay, n.ID)
		}
	}
	return stay
}

// Nodes returns all nodes in ascending order of their ids.
func (t Topology) Nodes() []Node {
	var nodes []Node
	for _, p := range t.Pools {
		nodes = append(nodes, p.Nodes...)
	}
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	return nodes
}

// Controllers returns the nodes with the controller role, in ascending order of their ids.
func (t Topology) Controllers() []Node {
	return slices.DeleteFunc(t.Nodes(), func(n Node) bool { return !n.Roles.Controller })
}

// Brokers returns the nodes with the broker role, in ascending order of their ids.
func (t Topology) Brokers() []Node {
	return slices.DeleteFunc(t.Nodes(), func(n Node) bool { return !n.Roles.Broker })
}

// In returns the nodes in one Kubernetes cluster, in ascending order of their ids.
func (t Topology) In(cluster string) []Node {
	return slices.DeleteFunc(t.Nodes(), func(n Node) bool { return n.Cluster != cluster })
}

// PodName returns the name of a node's pod.
func (t Topology) PodName(n Node) string {
	return fmt.Sprintf("%s-%s-%d", t.Name, n.Pool, n.ID)
}

// PodSetName returns the name of a pool's StrimziPodSet.
func (t Topology) PodSetName(pool string) string { return t.Name + "-" + pool }
