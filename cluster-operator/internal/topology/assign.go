package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Input determines the nodes.
type Input struct {
	// Namespace and Name identify the Kafka object.
	Namespace, Name string
	// Pools are the KafkaNodePools that there are, in any order.
	Pools []PoolSpec
	// Running are the nodes that exist, whether or not their pools still do.
	Running []Node
	// Reserved are ids that no new node gets: volumes have them that are, or may be, another Kafka's.
	Reserved []int32
	// Voters are the ids of the controllers that existing nodes are configured with; none if no node exists, or none says so.
	Voters []int32
	// Volumes are the PersistentVolumeClaims of nodes, including those of nodes that are gone.
	Volumes []Volume
	// Strays are the ids of brokers that run and are none of the nodes. Kafka refuses a second broker of an id, so no new node gets them.
	Strays []int32
	// Holdings are the partitions of brokers; nil while Kafka does not answer.
	Holdings *Holdings
	// Force removes brokers even if they have partitions: annotation strimzi.io/skip-broker-scaledown-check.
	Force bool
	// Away are the ids of the Kubernetes clusters that can't be reached. Running and Volumes hold what was last known of them; nothing there
	// changes, and no id is given that might belong to a volume there.
	Away []string
}

// PoolSpec is the desired state of one pool.
type PoolSpec struct {
	// Name is that of the KafkaNodePool.
	Name string
	// Cluster is the id of the Kubernetes cluster that the nodes are to run in; Home is the one of the Kafka object.
	Cluster string
	// Replicas is how many nodes there should be.
	Replicas int32
	// Roles are the roles of these.
	Roles Roles
	// Known are the ids in the pool's status, which is lost when the object is recreated.
	Known []int32
	// NextIDs and RemoveIDs are the annotations strimzi.io/next-node-ids and strimzi.io/remove-node-ids as written.
	NextIDs, RemoveIDs string
}

// Volume is a PersistentVolumeClaim of a node.
type Volume struct {
	// Node is the node's id.
	Node int32
	// Pool names the pool that it belonged to.
	Pool string
	// Removed reports that the node left, so that nobody needs its volumes.
	Removed bool `json:",omitempty"`
	// Unmounted reports that the node left with a volume that its pool does not have any more. It may have data.
	Unmounted bool `json:",omitempty"`
}

// Assign gives each pool its nodes. Ids that run, ids in a status, and ids whose volumes exist belong to their pool, in
// this order, and are never given to another one.
//
// It fails if two pools have the same id. Nothing may be changed then.
func Assign(in Input) (Topology, error) {
	in.Pools = slices.SortedFunc(slices.Values(in.Pools), func(a, b PoolSpec) int { return cmp.Compare(a.Name, b.Name) })
	a := assignment{Input: in, owner: map[int32]string{}, running: map[int32]Node{}, removed: map[int32]bool{},
		unmounted: map[int32]bool{}}
	if err := a.recordOwners(); err != nil {
		return Topology{}, err
	}
	a.result = Topology{Namespace: in.Namespace, Name: in.Name}
	for _, spec := range in.Pools {
		a.result.Pools = append(a.result.Pools, a.pool(spec))
	}
	a.removedPools()
	a.keepBrokers()
	slices.SortFunc(a.result.Pools, func(x, y Pool) int { return cmp.Compare(x.Name, y.Name) })
	return a.result, nil
}

// untouched returns the last known state of a pool whose Kubernetes cluster can't be reached.
func (a *assignment) untouched(spec PoolSpec) Pool {
	p := Pool{Name: spec.Name, Cluster: spec.Cluster}
	for _, n := range a.Running {
		if n.Pool == spec.Name {
			p.Nodes = append(p.Nodes, n)
		}
	}
	slices.SortFunc(p.Nodes, func(x, y Node) int { return cmp.Compare(x.ID, y.ID) })
	if others := slices.ContainsFunc(p.Nodes, func(n Node) bool { return n.Roles != spec.Roles }); others ||
		len(p.Nodes) != int(spec.Replicas) {
		a.result.Blocked = append(a.result.Blocked, Blocked{Pool: spec.Name, Message: fmt.Sprintf(
			"The change of KafkaNodePool %s is blocked: Kubernetes cluster %s can't be reached", spec.Name, spec.Cluster)})
	}
	return p
}

type assignment struct {
	Input
	// owner maps each id that is taken to its pool.
	owner   map[int32]string
	running map[int32]Node
	// removed are the ids of nodes that left, and whose volumes exist.
	removed map[int32]bool
	// unmounted are the ids of nodes that left with volumes that their pools do not have any more.
	unmounted map[int32]bool
	result    Topology
}

// recordOwners records the pool of each id that is taken. It fails if two pools have the same id.
func (a *assignment) recordOwners() error {
	for _, n := range a.Running {
		if other, taken := a.owner[n.ID]; taken && other != n.Pool {
			return fmt.Errorf("Found duplicate node ID %d in node pool %s", n.ID, n.Pool) //nolint:staticcheck // Strimzi's message
		}
		a.owner[n.ID], a.running[n.ID] = n.Pool, n
	}
	for _, p := range a.Pools {
		for _, id := range p.Known {
			if other, taken := a.owner[id]; taken && other != p.Name {
				return fmt.Errorf("Found duplicate node ID %d in node pool %s", id, p.Name) //nolint:staticcheck // Strimzi's message
			}
			a.owner[id] = p.Name
		}
	}
	for _, v := range a.Volumes {
		a.removed[v.Node], a.unmounted[v.Node] = v.Removed, v.Unmounted
		owner, taken := a.owner[v.Node]
		if !taken {
			a.owner[v.Node] = v.Pool
		} else if _, runs := a.running[v.Node]; owner != v.Pool && !runs {
			return fmt.Errorf("node ID %d is in the status of KafkaNodePool %s, where it does not run, but a volume of KafkaNodePool %s has it "+
				"too: it is unknown which has "+
				"the node's data. Delete the PersistentVolumeClaims of %s-%s-%d if they are not needed; otherwise recreate KafkaNodePool %s",
				v.Node, owner, v.Pool, a.Name, v.Pool, v.Node, owner)
		}
	}
	for _, id := range a.Reserved {
		if _, taken := a.owner[id]; !taken {
			a.owner[id] = "" // no pool's
		}
	}
	return nil
}

// pool gives a pool the nodes that it is to have, and those that it has and can't let go yet.
func (a *assignment) pool(spec PoolSpec) Pool {
	if slices.Contains(a.Away, spec.Cluster) {
		return a.untouched(spec)
	}
	current := a.mayStay(spec, a.current(spec))
	wanted := a.scale(spec, current)
	p := Pool{Name: spec.Name, Cluster: spec.Cluster}
	for _, id := range wanted {
		p.Nodes = append(p.Nodes, Node{ID: id, Pool: spec.Name, Cluster: spec.Cluster, Roles: spec.Roles})
	}
	a.keepRoles(spec, p.Nodes)
	reverting := func(stay int) string { // Strimzi's text
		return fmt.Sprintf("Reverting scale-down of KafkaNodePool %s by changing number of replicas to %d", spec.Name, len(wanted)+stay)
	}
	p.Nodes = append(p.Nodes, a.leaving(spec.Name, reverting, func(id int32) bool { return slices.Contains(wanted, id) })...)
	slices.SortFunc(p.Nodes, func(x, y Node) int { return cmp.Compare(x.ID, y.ID) })
	return p
}

// current returns the ids that the pool has, in ascending order. Where none is known, volumes tell which it had.
func (a *assignment) current(spec PoolSpec) []int32 {
	var current []int32
	for _, n := range a.Running {
		if n.Pool == spec.Name {
			current = append(current, n.ID)
		}
	}
	current = append(current, spec.Known...)
	slices.Sort(current)
	return slices.Compact(current)
}

// mayStay takes the ids of a pool that may not become controllers out of those that it has: they were given to nodes that were never made,
// and are not among the voters of the nodes that were.
func (a *assignment) mayStay(spec PoolSpec, current []int32) []int32 {
	if !spec.Roles.Controller || len(a.Voters) == 0 {
		return current
	}
	return slices.DeleteFunc(current, func(id int32) bool {
		_, runs := a.running[id]
		return !runs && !slices.Contains(a.Voters, id)
	})
}

// scale returns the ids that the pool is to have.
func (a *assignment) scale(spec PoolSpec, current []int32) []int32 {
	wanted := slices.Clone(current)
	missing := int(spec.Replicas) - len(current)
	for ; missing > 0; missing-- {
		id, found := a.lostVoter(spec, wanted)
		if !found {
			break
		}
		a.owner[id] = spec.Name
		wanted = append(wanted, id)
	}
	if missing > 0 && a.mayJoin(spec, missing) {
		next := a.annotation(spec, "next", spec.NextIDs)
		for range missing {
			id, found := a.newID(spec.Name, wanted, next)
			if !found {
				a.result.Blocked = append(a.result.Blocked, Blocked{Pool: spec.Name, ScaleUp: true,
					Message: fmt.Sprintf("Scale-up of KafkaNodePool %s is blocked: Kubernetes "+
						"cluster %s can't be reached, and may have volumes of nodes. To continue without it, annotate the pool with "+
						"strimzi.io/next-node-ids and "+
						"ids that "+
						"were never used", spec.Name, strings.Join(a.Away, ", "))})
				break
			}
			a.owner[id] = spec.Name
			wanted = append(wanted, id)
		}
	}
	if surplus := len(current) - int(spec.Replicas); surplus > 0 {
		remove := a.annotation(spec, "remove", spec.RemoveIDs)
		for range surplus {
			id, found := remove.first(func(id int32) bool { return slices.Contains(wanted, id) })
			if !found {
				id = slices.Max(wanted)
			}
			wanted = slices.DeleteFunc(wanted, func(w int32) bool { return w == id })
		}
	}
	return wanted
}

// lostVoter returns the id of a voter of which nothing else is left, for a pool of controllers that has too few nodes. It changes no
// voters.
func (a *assignment) lostVoter(spec PoolSpec, taken []int32) (id int32, found bool) {
	if !spec.Roles.Controller || len(a.Away) > 0 {
		return 0, false
	}
	lost := slices.DeleteFunc(slices.Clone(a.Voters), func(id int32) bool {
		_, runs := a.running[id]
		owner, owned := a.owner[id]
		return runs || slices.Contains(taken, id) || owned && owner != "" && owner != spec.Name
	})
	if len(lost) == 0 {
		return 0, false
	}
	next, _ := parseIDs(spec.NextIDs) // mayJoin, or the next pass, notes what is wrong with it
	if id, found := next.first(func(id int32) bool { return slices.Contains(lost, id) }); found {
		return id, true
	}
	if own := slices.IndexFunc(lost, func(id int32) bool { return a.owner[id] == spec.Name }); own >= 0 {
		return lost[own], true
	}
	return slices.Min(lost), true
}

// mayJoin reports whether nodes can be added to a pool. Voters are fixed once controllers run: with two sets of voters in use, two
// majorities could elect a leader each.
func (a *assignment) mayJoin(spec PoolSpec, missing int) bool {
	formed := len(a.Voters) > 0 || slices.ContainsFunc(a.Running, func(n Node) bool { return n.Roles.Controller })
	if !spec.Roles.Controller || !formed {
		return true
	}
	a.result.Blocked = append(a.result.Blocked, Blocked{Pool: spec.Name, ScaleUp: true, Stalled: true,
		Message: fmt.Sprintf("Scale-up of KafkaNodePool %s by %d is blocked: "+
			"the voters of the controller quorum can't change while the cluster runs. Add brokers in a pool without the controller role",
			spec.Name, missing)})
	return false
}

// newID returns an id for one more node: the first free one that the user names, else one whose volumes the pool still has (first of nodes
// that were not removed), else the smallest free one, and no voter's. Unless the user names it, no node would start without one of its
// volumes. While a Kubernetes cluster is away, it is unknown which ids are free.
func (a *assignment) newID(pool string, taken []int32, next ids) (id int32, found bool) {
	if id, found := next.first(func(id int32) bool { return a.free(pool, taken, id) }); found {
		return id, true
	}
	usable := func(id int32) bool { return !a.unmounted[id] && a.free(pool, taken, id) }
	owned := slices.Sorted(maps.Keys(a.owner))
	for _, removed := range []bool{false, true} {
		for _, id := range owned {
			if a.owner[id] == pool && a.removed[id] == removed && usable(id) {
				return id, true
			}
		}
	}
	if len(a.Away) > 0 {
		return 0, false
	}
	for id := int32(0); ; id++ {
		if usable(id) {
			return id, true
		}
	}
}

// free reports whether a new node of a pool may have an id.
func (a *assignment) free(pool string, taken []int32, id int32) bool {
	owner, owned := a.owner[id]
	return !slices.Contains(taken, id) && !slices.Contains(a.Strays, id) &&
		(owned && owner == pool || !owned && !slices.Contains(a.Voters, id))
}

func (a *assignment) annotation(spec PoolSpec, which, text string) ids {
	list, err := parseIDs(text)
	if err != nil {
		a.result.Notes = append(a.result.Notes, Note{Pool: spec.Name,
			Message: fmt.Sprintf("Invalid annotation strimzi.io/%s-node-ids on KafkaNodePool %s with value %s", which, spec.Name, text)})
	}
	return list
}

// removedPools keeps the nodes of pools that are gone until nothing depends on them.
func (a *assignment) removedPools() {
	gone := map[string]bool{}
	for _, n := range a.Running {
		if !slices.ContainsFunc(a.Pools, func(p PoolSpec) bool { return p.Name == n.Pool }) {
			gone[n.Pool] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		nodes := a.leaving(name, func(int) string { return fmt.Sprintf("Removal of KafkaNodePool %s is blocked", name) },
			func(int32) bool { return false })
		if len(nodes) > 0 {
			slices.SortFunc(nodes, func(x, y Node) int { return cmp.Compare(x.ID, y.ID) })
			a.result.Pools = append(a.result.Pools, Pool{Name: name, Cluster: nodes[0].Cluster, Nodes: nodes, Removed: true})
		}
	}
}
