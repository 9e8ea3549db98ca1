package topology

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestNothingChangesInAKubernetesClusterThatIsAway(t *testing.T) {
	both := Roles{Controller: true, Broker: true}
	running := []Node{{ID: 0, Pool: "here", Roles: both}, {ID: 1, Pool: "there", Cluster: "east", Roles: both},
		{ID: 2, Pool: "brokers", Cluster: "east", Roles: Roles{Broker: true}}}
	here := PoolSpec{Name: "here", Replicas: 1, Roles: both, Known: []int32{0}}
	there := PoolSpec{Name: "there", Cluster: "east", Replicas: 1, Roles: both, Known: []int32{1}}
	brokers := PoolSpec{Name: "brokers", Cluster: "east", Replicas: 1, Roles: Roles{Broker: true}, Known: []int32{2}}
	with := func(p PoolSpec, change func(*PoolSpec)) PoolSpec { change(&p); return p }
	for _, c := range []struct {
		name    string
		pools   []PoolSpec
		nodes   []int32
		blocked []string
	}{
		{name: "as they are", pools: []PoolSpec{here, there, brokers}, nodes: []int32{0, 1, 2}},
		{
			name:  "more and fewer nodes there",
			pools: []PoolSpec{here, with(there, func(p *PoolSpec) { p.Replicas = 0 }), with(brokers, func(p *PoolSpec) { p.Replicas = 3 })},
			nodes: []int32{0, 1, 2},
			blocked: []string{"The change of KafkaNodePool brokers is blocked: Kubernetes cluster east can't be reached",
				"The change of KafkaNodePool there is blocked: Kubernetes cluster east can't be reached"},
		},
		{
			name: "other roles there", pools: []PoolSpec{here, with(there, func(p *PoolSpec) { p.Roles = Roles{Broker: true} }), brokers},
			nodes:   []int32{0, 1, 2},
			blocked: []string{"The change of KafkaNodePool there is blocked: Kubernetes cluster east can't be reached"},
		},
		{
			name: "its pools are deleted, and their brokers are empty", pools: []PoolSpec{here}, nodes: []int32{0, 1, 2},
			blocked: []string{"Removal of KafkaNodePool brokers is blocked: Kubernetes cluster east, where node 2 runs, can't be reached",
				"Removal of KafkaNodePool there is blocked: the voters of the controller quorum can't change while the cluster runs (nodes 1)"},
		},
		{
			name:  "a new node elsewhere might get the id of a volume there",
			pools: []PoolSpec{here, there, brokers, {Name: "more", Replicas: 2, Roles: Roles{Broker: true}}}, nodes: []int32{0, 1, 2},
			blocked: []string{"Scale-up of KafkaNodePool more is blocked: Kubernetes cluster east can't be reached, and may have volumes of " +
				"nodes. To continue without it, annotate the pool with strimzi.io/next-node-ids and ids that were never used"},
		},
		{
			name:  "a new node elsewhere whose id the user names",
			pools: []PoolSpec{here, there, brokers, {Name: "more", Replicas: 1, NextIDs: "[10]", Roles: Roles{Broker: true}}},
			nodes: []int32{0, 1, 2, 10},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := Assign(Input{Namespace: "ns", Name: "c", Pools: c.pools, Running: running, Away: []string{"east"},
				Holdings: held(map[int32]int{0: 0, 1: 0, 2: 0})})
			g.Expect(err).NotTo(HaveOccurred())
			var ids []int32
			for _, n := range got.Nodes() {
				ids = append(ids, n.ID)
				for _, r := range running {
					if r.ID == n.ID {
						n.Leaving = false
						g.Expect(n).To(Equal(r))
					}
				}
			}
			g.Expect(ids).To(Equal(c.nodes))
			var messages []string
			for _, b := range got.Blocked {
				messages = append(messages, b.Message)
			}
			g.Expect(messages).To(Equal(c.blocked))
		})
	}
}
