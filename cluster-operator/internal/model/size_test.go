package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

func TestTooLarge(t *testing.T) {
	const prefix = "the StrimziPodSet c-a of KafkaNodePool a would have "
	for _, c := range []struct {
		nodes, size int
		want        string
	}{
		{nodes: 0, size: 1000},
		{nodes: 300, size: maxPodSet - 1},
		{nodes: 300, size: maxPodSet, want: prefix + "1300 kB with its 300 nodes; Kubernetes can't store objects much larger than 1300 kB: " +
			"split the KafkaNodePool into several, of up to 300 nodes each"},
		{nodes: 400, size: 2 * maxPodSet, want: prefix + "2600 kB with its 400 nodes; Kubernetes can't store objects much larger than " +
			"1300 kB: split the KafkaNodePool into several, of up to 200 nodes each"},
		{nodes: 1, size: maxPodSet, want: prefix + "1300 kB with its 1 nodes; Kubernetes can't store objects much larger than 1300 kB: a " +
			"single node is too large: make the template of its pod smaller"},
	} {
		t.Run(fmt.Sprint(c.nodes, c.size), func(t *testing.T) {
			err := tooLarge("a", "c-a", c.nodes, c.size)
			if c.want == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
			} else {
				NewWithT(t).Expect(err).To(MatchError(c.want))
			}
		})
	}
}

func TestAStrimziPodSetThatKubernetesWouldNotStoreIsRefused(t *testing.T) {
	g := NewWithT(t)
	in := rich(t)
	g.Expect(CheckSizes(in, nil)).To(Succeed())
	pool := &in.Topology.Pools[0]
	const large = 400
	for id := int32(1000); len(pool.Nodes) < large; id++ {
		pool.Nodes = append(pool.Nodes, topology.Node{ID: id, Pool: pool.Name, Roles: pool.Nodes[0].Roles})
	}
	refused := MatchError(MatchRegexp(`^the StrimziPodSet %s of KafkaNodePool %s would have \d+ kB with its 400 nodes`,
		in.Topology.PodSetName(pool.Name), pool.Name))
	g.Expect(CheckSizes(in, nil)).To(refused)
	_, err := Render(in, nil)
	g.Expect(err).To(refused)

	// An existing StrimziPodSet was stored, however large it is, and is accepted. It gets no more nodes.
	live := map[string]Live{}
	for _, n := range pool.Nodes {
		raw, err := json.Marshal(strings.Repeat("x", maxPodSet/large))
		g.Expect(err).NotTo(HaveOccurred())
		live[in.Topology.PodName(n)] = Live{Pod: raw}
	}
	g.Expect(CheckSizes(in, live)).To(Succeed())
	delete(live, in.Topology.PodName(pool.Nodes[large-1]))
	g.Expect(CheckSizes(in, live)).To(refused)

	stored := &core.StrimziPodSet{Spec: &core.StrimziPodSetSpec{}}
	for _, raw := range live {
		stored.Spec.Pods = append(stored.Spec.Pods, runtime.RawExtension{Raw: raw.Pod})
	}
	in.Sets = map[string]*core.StrimziPodSet{in.Topology.PodSetName(pool.Name): stored}
	g.Expect(CheckSizes(in, live)).To(refused, "it grows")
	stored.Spec.Pods = append(stored.Spec.Pods, runtime.RawExtension{Raw: bytes.Repeat([]byte{'x'}, maxPodSet/10)})
	g.Expect(CheckSizes(in, live)).To(Succeed(), "it does not grow")

	pool.Removed = true
	g.Expect(CheckSizes(in, nil)).To(Succeed(), "nobody wants anything of a pool that is gone")
}
