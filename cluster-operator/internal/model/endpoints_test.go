package model

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// noted makes the ConfigMaps of the nodes that a world sees.
func noted(t *testing.T, in Input, world World) World {
	world.Configs = map[string]*corev1.ConfigMap{}
	for _, m := range render(t, in, nil).Manifests {
		world.Configs[m.Config.Name] = m.Config
	}
	return world
}

// The certificates of all nodes are for the load balancer where clients begin, so its address must not come and go.
func TestTheBootstrapAddressOfALoadBalancer(t *testing.T) {
	const service = "my-cluster-kafka-lb-bootstrap"
	lose := func(w World) { w.Services[topology.Home][service].Status.LoadBalancer.Ingress = nil }
	sans := func(in Input) [][]string {
		var all [][]string
		for _, n := range in.Topology.Brokers() {
			all = append(all, SANs(in, n))
		}
		return all
	}
	t.Run("it stays while the Service has none", func(t *testing.T) {
		g, in := NewWithT(t), rich(t)
		world := noted(t, in, richWorld(in))
		in.Endpoints = ResolveEndpoints(in, world)
		before := sans(in)
		for name, how := range map[string]func(World){"lost": lose, "deleted": func(w World) { delete(w.Services[topology.Home], service) }} {
			without := noted(t, in, richWorld(in))
			how(without)
			after := in
			after.Endpoints = ResolveEndpoints(in, without)
			g.Expect(after.Endpoints.Bootstrap["lb"]).To(Equal(in.Endpoints.Bootstrap["lb"]), name)
			g.Expect(after.Endpoints.Waiting["lb"]).To(Equal("Service "+service+" has no load balancer address yet"), name)
			g.Expect(after.Endpoints.Delayed).To(BeEmpty(), name)
			g.Expect(sans(after)).To(Equal(before), name)
		}
	})
	t.Run("nodes get the listener together with it", func(t *testing.T) {
		g, in := NewWithT(t), rich(t)
		world := richWorld(in)
		lose(world)
		e := ResolveEndpoints(in, world)
		g.Expect(e.Delayed).To(HaveLen(len(in.Topology.Brokers())))
		g.Expect(e.Listeners["lb"]).To(BeEmpty())
		g.Expect(e.Bootstrap["lb"]).To(BeEmpty(), "the brokers' own addresses are not for all nodes")
	})
	t.Run("a load balancer that never comes holds up nothing for long", func(t *testing.T) {
		g, in := NewWithT(t), rich(t)
		world := richWorld(in)
		lose(world)
		world.Now = world.Now.Add(2 * time.Minute)
		e := ResolveEndpoints(in, world)
		g.Expect(e.Delayed).To(BeEmpty())
		g.Expect(e.Listeners["lb"]).To(HaveLen(len(in.Topology.Brokers())))
		g.Expect(e.Waiting).To(HaveKey("lb"))
	})
	t.Run("there need not be any", func(t *testing.T) {
		g, in := NewWithT(t), rich(t)
		for i := range in.Kafka.Spec.Kafka.Listeners {
			if l := &in.Kafka.Spec.Kafka.Listeners[i]; l.Name == "lb" {
				l.Configuration.CreateBootstrapService = new(false)
			}
		}
		world := richWorld(in)
		delete(world.Services[topology.Home], service)
		in.Endpoints = ResolveEndpoints(in, world)
		g.Expect(in.Endpoints.Waiting).NotTo(HaveKey("lb"))
		g.Expect(in.Endpoints.Bootstrap["lb"]).To(HaveLen(len(in.Topology.Brokers())))
		other := in.Endpoints.Listeners["lb"][in.Topology.Brokers()[1].ID].Host
		g.Expect(SANs(in, in.Topology.Brokers()[0])).NotTo(ContainElement(other), "clients begin at each broker by its own name")
	})
}
