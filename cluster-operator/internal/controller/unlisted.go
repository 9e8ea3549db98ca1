package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// existing returns the nodes that exist, each once: those that StrimziPodSets list, those of Kubernetes clusters that are away, and those
// that only lack their StrimziPodSet. A node is among several of these if its cluster was read, and is left out since then.
func (p *pass) existing() []topology.Node {
	seen := map[int32]bool{}
	return slices.DeleteFunc(slices.Concat(p.known(), p.unlisted), func(n topology.Node) bool {
		again := seen[n.ID]
		seen[n.ID] = true
		return again
	})
}

// known returns the nodes that StrimziPodSets list, those without an owner among them, and those of Kubernetes clusters that are away.
func (p *pass) known() []topology.Node {
	var nodes []topology.Node
	for _, l := range p.listed {
		nodes = append(nodes, l.Node)
	}
	return slices.Concat(nodes, p.remembered)
}

// existingIDs returns the ids of the nodes that exist.
func (p *pass) existingIDs() map[int32]bool {
	ids := map[int32]bool{}
	for _, n := range p.existing() {
		ids[n.ID] = true
	}
	return ids
}

// findUnlisted returns the nodes that were made and that no StrimziPodSet lists, because somebody deleted the set or edited its list. A
// change that is rejected for a running node, such as the removal of a broker with partitions, is rejected for these as well.
func (p *pass) findUnlisted() []topology.Node {
	if p.new {
		return nil
	}
	known := p.existingIDs()
	var nodes []topology.Node
	for _, s := range p.sites {
		nodes = append(nodes, p.madeIn(s, known)...)
	}
	slices.SortFunc(nodes, func(a, b topology.Node) int { return int(a.ID) - int(b.ID) })
	return nodes
}

// madeIn returns nodes that exist in a Kubernetes cluster but are in no StrimziPodSet, and adds them to known: nodes in the status of their
// pool, and nodes of pools that were deleted, or created again and have no status yet.
func (p *pass) madeIn(s *site, known map[int32]bool) (nodes []topology.Node) {
	add := func(n topology.Node) {
		if n.Cluster = s.cluster; known[n.ID] {
			return
		}
		if made, found := p.rolesMade(s, p.podName(n), n.Roles); found {
			known[n.ID], n.Roles = true, made
			nodes = append(nodes, n)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.pools)) {
		for _, id := range p.knownIDs(p.pools[name]) {
			add(topology.Node{ID: id, Pool: name, Roles: rolesOf(p.pools[name].Status.Roles)})
		}
	}
	for _, used := range p.kafka.Status.KafkaNodePools {
		if pool := p.pools[used.Name]; pool == nil || pool.Status.LabelSelector == "" {
			for _, n := range p.tracesOf(s, used.Name) {
				add(n)
			}
		}
	}
	return nodes
}

// tracesOf returns the nodes that a pool without a status seems to have, with the roles that are known. In another Kubernetes cluster,
// volumes of an earlier Kafka may be there, so the record tells.
func (p *pass) tracesOf(s *site, pool string) (nodes []topology.Node) {
	if s.cluster != topology.Home {
		for _, n := range p.record.Clusters[s.cluster].Nodes {
			if n.Pool == pool {
				nodes = append(nodes, topology.Node{ID: n.ID, Pool: pool, Roles: n.Roles})
			}
		}
		return nodes
	}
	for name, pod := range s.facts.Pods {
		if id, ok := core.NodeID(name); ok && pod.Labels[core.LabelPoolName] == pool {
			nodes = append(nodes, topology.Node{ID: id, Pool: pool})
		}
	}
	for _, v := range s.facts.Volumes(p.kafka.Name) {
		if v.Pool == pool { // a broker, so that it is asked what the node holds
			nodes = append(nodes, topology.Node{ID: v.Node, Pool: pool, Roles: topology.Roles{Broker: true}})
		}
	}
	return nodes
}

// knownIDs returns the ids in a pool's status, none if the status is about another Kafka.
func (p *pass) knownIDs(pool *v1.KafkaNodePool) []int32 {
	if !p.ofThisKafka(pool) {
		return nil
	}
	return pool.Status.NodeIDs
}

// ofThisKafka reports whether a pool's status is about this Kafka, and not about one that the pool belonged to before.
func (p *pass) ofThisKafka(pool *v1.KafkaNodePool) bool {
	selector := pool.Status.LabelSelector
	return selector == "" || strings.HasPrefix(selector, v1.LabelCluster+"="+p.kafka.Name+",")
}

// rolesMade returns the roles of a node by what exists of it: its ConfigMap, its pod, or a volume and the roles that it is known to
// have had.
func (p *pass) rolesMade(s *site, name string, roles topology.Roles) (topology.Roles, bool) {
	if config := s.nodeConfig(name); config != nil {
		if made := model.RolesIn(config); made != (topology.Roles{}) {
			return made, true
		}
	}
	if pod := s.facts.Pods[name]; pod != nil && pod.Labels[core.LabelPoolName] != "" {
		return topology.Roles(core.RolesIn(pod.Labels)), true
	}
	hasVolume := slices.ContainsFunc(s.claims, func(claim string) bool { return strings.HasSuffix(claim, "-"+name) })
	return roles, hasVolume && roles != (topology.Roles{})
}

// podName returns the name of a node's pod, also before it is decided which nodes there are.
func (p *pass) podName(n topology.Node) string {
	return topology.Topology{Name: p.kafka.Name}.PodName(n)
}

// nodeConfig returns the ConfigMap of a node, nil if there is none that is the Kafka's.
func (s *site) nodeConfig(pod string) *corev1.ConfigMap {
	if config := s.facts.ConfigMap(pod); config != nil && s.applier.Owns(config) {
		return config
	}
	return nil
}

// checkRemoved stops a pass in which a node of a removed pool is needed and has lost its StrimziPodSet: nothing else says how its pod is
// made.
func (p *pass) checkRemoved() error {
	for _, pool := range p.input.Topology.Pools {
		for _, n := range pool.Nodes {
			if pool.Removed && slices.ContainsFunc(p.unlisted, func(u topology.Node) bool { return u.ID == n.ID }) {
				return stalled("InvalidResourceException", "StrimziPodSet %s/%s-%s was deleted, and node %d of the removed KafkaNodePool %s is "+
					"still needed: create the KafkaNodePool again. It can be deleted when its nodes hold no partitions", p.kafka.Namespace, p.kafka.Name,
					pool.Name, n.ID, pool.Name)
			}
		}
	}
	return nil
}

// findClaims returns the names of the PersistentVolumeClaims in a Kubernetes cluster that are the Kafka's.
func (s *site) findClaims() []string {
	var names []string
	for key, o := range s.facts.Objects {
		if claim, is := o.(*corev1.PersistentVolumeClaim); is && s.applier.Owns(claim) {
			names = append(names, key.Name)
		}
	}
	slices.Sort(names)
	return names
}

// voters returns the ids of the controllers that the existing nodes are configured with.
func (p *pass) voters() []int32 {
	if p.new {
		return nil
	}
	var voters []int32
	for _, s := range p.sites {
		for _, o := range s.facts.Objects {
			if config, is := o.(*corev1.ConfigMap); is && s.applier.Owns(config) {
				voters = append(voters, model.VotersIn(config)...)
			}
		}
	}
	slices.Sort(voters)
	return slices.Compact(voters)
}

// checkVoters stops a pass that would take a voter out of the configuration of the others: it is not wanted any more, and nothing else is
// left of it, so that nobody keeps it. Two sets of voters would be in use, and a majority of the second one may lack what that of the first
// committed. voters are those that nodes are configured with.
func (p *pass) checkVoters(voters []int32) error {
	if p.mayLoseData() {
		return nil
	}
	wanted := map[int32]bool{}
	for _, n := range p.input.Topology.Controllers() {
		wanted[n.ID] = true
	}
	for _, id := range voters {
		if !wanted[id] {
			return stalled("InvalidResourceException", "controller %d is a voter by the configuration of the nodes, and nothing else is left of "+
				"it: nothing is changed, because the voters of the controller quorum can't change while the cluster runs. %s. It starts empty "+
				"then, once enough other controllers have caught up. If the other controllers certainly have all metadata, it can be given up by "+
				"annotating the Kafka %s: \"true\", until all nodes have been restarted", id, p.howToKeep(id), v1.AnnotationSkipScaleDownCheck)
		}
	}
	return nil
}

// howToKeep says how a user gets a controller back of which nothing is left.
func (p *pass) howToKeep(id int32) string {
	for _, name := range slices.Sorted(maps.Keys(p.pools)) {
		if slices.Contains(p.knownIDs(p.pools[name]), id) {
			return fmt.Sprintf("Give KafkaNodePool %s the role controller and its earlier .spec.replicas again", name)
		}
	}
	again := "Create its KafkaNodePool again"
	for _, cluster := range slices.Sorted(maps.Keys(p.record.Clusters)) {
		for _, n := range p.record.Clusters[cluster].Nodes {
			if n.ID == id {
				again = fmt.Sprintf("Create KafkaNodePool %s again, in cluster '%s'", n.Pool, cluster)
			}
		}
	}
	return again + ", with the role controller"
}

// checkUnlisted stops a pass in which the pod of a node without a StrimziPodSet would be made without one of its volumes. A set has the
// storage of its nodes; without it nothing else says whether the user changed .spec.storage meanwhile.
func (p *pass) checkUnlisted(pool *v1.KafkaNodePool) error {
	for _, n := range p.unlisted {
		if n.Pool != pool.Name {
			continue
		}
		s := p.site(n.Cluster)
		if s == nil {
			continue // it is away by now, and nothing changes there
		}
		if volumes := model.Unmounted(p.podName(n), s.nodeConfig(p.podName(n)), s.needed, pool.Spec.Storage); len(volumes) > 0 {
			return stalled("KafkaStorage", "StrimziPodSet %s/%s-%s was deleted, and node %d has a volume %s that .spec.storage of KafkaNodePool "+
				"%s does not have: set .spec.storage to the storage of the existing nodes; change it when they run again", p.kafka.Namespace,
				p.kafka.Name, n.Pool, n.ID, strings.Join(volumes, ", "), pool.Name)
		}
	}
	return nil
}
