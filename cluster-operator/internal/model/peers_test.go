package model

import (
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

func TestWhichAddressesNodesAdvertiseToEachOther(t *testing.T) {
	kafka := &v1.Kafka{Spec: &v1.KafkaSpec{}}
	controller := topology.Node{ID: 0, Roles: topology.Roles{Controller: true}}
	broker := topology.Node{ID: 1, Roles: topology.Roles{Broker: true}}
	at := func(port, host string) map[string]Endpoint { return map[string]Endpoint{port: {host, 30000}} }
	c := func(host string) map[string]Endpoint { return at(ControllerPortName, host) }
	b := func(host string) map[string]Endpoint { return at(ReplicationPortName, host) }
	for _, test := range []struct {
		name  string
		inUse Peers
		found map[int32]Found
		peers Peers
		hold  []int32
	}{
		{name: "nothing is known yet: nobody starts", found: map[int32]Found{}, peers: Peers{}, hold: []int32{0, 1}},
		{
			name:  "a broker's address is known, a controller's is not: nobody starts",
			found: map[int32]Found{1: {Endpoints: b("b")}}, peers: Peers{}, hold: []int32{0, 1},
		},
		{
			name:  "a new broker waits for its own address alone",
			found: map[int32]Found{0: {Endpoints: c("a")}}, peers: Peers{0: c("a")}, hold: []int32{1},
		},
		{
			name:  "all are known at first: all start",
			found: map[int32]Found{0: {Endpoints: c("a")}, 1: {Endpoints: b("b")}}, peers: Peers{0: c("a"), 1: b("b")},
		},
		{
			name: "an address that is not known now stays in use", inUse: Peers{0: c("a"), 1: b("b")},
			found: map[int32]Found{0: {Exists: true}, 1: {Exists: true, Endpoints: b("b")}}, peers: Peers{0: c("a"), 1: b("b")},
		},
		{
			name: "an address that no certificate is for is not taken over, nor is any other", inUse: Peers{0: c("a"), 1: b("b")},
			found: map[int32]Found{0: {Exists: true, Endpoints: c("new")}, 1: {Exists: true, Certified: true, Endpoints: b("new")}},
			peers: Peers{0: c("a"), 1: b("b")},
		},
		{
			name: "all changes are taken over together", inUse: Peers{0: c("a"), 1: b("b")},
			found: map[int32]Found{0: {Exists: true, Certified: true, Endpoints: c("new")}, 1: {Exists: true, Certified: true, Endpoints: b("new")}},
			peers: Peers{0: c("new"), 1: b("new")},
		},
		{
			name:  "a node that runs and has no address for others keeps all from changing",
			found: map[int32]Found{0: {Exists: true, Certified: true, Endpoints: c("a")}, 1: {Exists: true}}, peers: Peers{}, hold: []int32{0, 1},
		},
		{
			name: "an endpoint for only some of the ports is none", inUse: Peers{0: c("a")},
			found: map[int32]Found{0: {Exists: true, Endpoints: c("a")}, 1: {Endpoints: at("tcp-other", "b")}}, peers: Peers{0: c("a")},
			hold: []int32{1},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			r := ResolvePeers(kafka, []topology.Node{controller, broker}, test.inUse, test.found)
			g.Expect(r.Peers).To(Equal(test.peers))
			var hold []int32
			for _, n := range []int32{0, 1} {
				if _, held := r.Hold[n]; held {
					hold = append(hold, n)
				}
			}
			g.Expect(hold).To(Equal(test.hold))
			// The certificate has a node's host before the node advertises it.
			for id, f := range test.found {
				for _, e := range f.Endpoints {
					if complete(kafka, []topology.Node{controller, broker}[id], f.Endpoints) != nil {
						g.Expect(r.Names[id]).To(ContainElement(e.Host))
					}
				}
			}
		})
	}
}

// TestOperatorsFindTheBrokersInAllKubernetesClusters checks the bootstrap addresses of operators. The bootstrap Service of the central
// Kubernetes cluster leads only to the brokers there, and there may be none.
func TestOperatorsFindTheBrokersInAllKubernetesClusters(t *testing.T) {
	kafka := &v1.Kafka{Spec: &v1.KafkaSpec{}}
	kafka.Namespace, kafka.Name = "ns", "my-cluster"
	broker := func(id int32, cluster string) topology.Pool {
		return topology.Pool{Name: cluster, Cluster: cluster,
			Nodes: []topology.Node{{ID: id, Cluster: cluster, Pool: cluster, Roles: topology.Roles{Broker: true}}}}
	}
	in := Input{Kafka: kafka, Topology: topology.Topology{Namespace: "ns", Name: "my-cluster",
		Pools: []topology.Pool{broker(0, "east"), broker(1, "west")}}}
	g := NewWithT(t)
	g.Expect(Bootstrap(in)).To(HaveExactElements("my-cluster-kafka-bootstrap.ns.svc:9091"))
	in.Stretch = &Stretch{Central: "central", Peers: Peers{0: {ReplicationPortName: {"a", 31000}}, 1: {ReplicationPortName: {"b", 32000}}}}
	g.Expect(Bootstrap(in)).To(HaveExactElements("a:31000", "b:32000"))
}
