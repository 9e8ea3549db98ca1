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
		name    string
		inUse   Peers
		found   map[int32]Found
		peers   Peers
		delayed []int32
	}{
		{name: "nothing is known yet: nobody starts", found: map[int32]Found{}, peers: Peers{}, delayed: []int32{0, 1}},
		{
			name:  "a broker's address is known, a controller's is not: nobody starts",
			found: map[int32]Found{1: {Endpoints: b("b")}}, peers: Peers{}, delayed: []int32{0, 1},
		},
		{
			name:  "a new broker waits for its own address alone",
			found: map[int32]Found{0: {Endpoints: c("a")}}, peers: Peers{0: c("a")}, delayed: []int32{1},
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
			found: map[int32]Found{0: {Exists: true, Certified: true, Endpoints: c("a")}, 1: {Exists: true}}, peers: Peers{}, delayed: []int32{0, 1},
		},
		{
			name: "an endpoint for only some of the ports is none", inUse: Peers{0: c("a")},
			found: map[int32]Found{0: {Exists: true, Endpoints: c("a")}, 1: {Endpoints: at("tcp-other", "b")}}, peers: Peers{0: c("a")},
			delayed: []int32{1},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			r := ResolvePeers(kafka, []topology.Node{controller, broker}, test.inUse, test.found)
			g.Expect(r.Peers).To(Equal(test.peers))
			var delayed []int32
			for _, n := range []int32{0, 1} {
				if _, is := r.Delayed[n]; is {
					delayed = append(delayed, n)
				}
			}
			g.Expect(delayed).To(Equal(test.delayed))
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

func TestOnlyANewHostWaitsForCertificates(t *testing.T) {
	kafka := &v1.Kafka{Spec: &v1.KafkaSpec{Kafka: v1.KafkaClusterSpec{Listeners: []v1.Listener{
		{Name: "inside", Port: 9095, Type: v1.ListenerInternal}}}}}
	node := func(id int32, cluster string) topology.Node {
		return topology.Node{ID: id, Cluster: cluster, Pool: cluster, Roles: topology.Roles{Broker: true}}
	}
	nodes := []topology.Node{node(0, topology.Home), node(1, "east"), node(2, "west")}
	at := func(host string, replication, inside int32) map[string]Endpoint {
		ports := map[string]Endpoint{ReplicationPortName: {host, replication}}
		if inside != 0 {
			ports["tcp-inside"] = Endpoint{host, inside}
		}
		return ports
	}
	gone := map[string]Endpoint{ReplicationPortName: {"a", 1}, "tcp-inside": {"a", 2}, "tcp-gone": {"a", 3}}
	inUse := Peers{0: at("a", 1, 0), 1: at("b", 1, 0), 2: at("c", 1, 0)}
	for _, test := range []struct {
		name         string
		inUse, peers Peers
		found        map[int32]Found
	}{
		{
			name: "a new port of nodes whose address is known, while that of another one is not", inUse: inUse,
			found: map[int32]Found{0: {Exists: true, Endpoints: at("a", 1, 2)}, 1: {Exists: true, Endpoints: at("b", 1, 2)}, 2: {Exists: true}},
			peers: Peers{0: at("a", 1, 2), 1: at("b", 1, 2), 2: at("c", 1, 0)},
		},
		{
			name: "another port of a node that serves no certificate now", inUse: Peers{0: at("a", 1, 2), 1: at("b", 1, 2), 2: at("c", 1, 2)},
			found: map[int32]Found{0: {Exists: true, Endpoints: at("a", 1, 3)}, 1: {Exists: true, Endpoints: at("b", 1, 3), Certified: true},
				2: {Exists: true, Endpoints: at("c", 1, 3)}},
			peers: Peers{0: at("a", 1, 3), 1: at("b", 1, 3), 2: at("c", 1, 3)},
		},
		{
			name: "a new host waits, a new port of another node does not", inUse: inUse,
			found: map[int32]Found{0: {Exists: true, Endpoints: at("new", 1, 2)}, 1: {Exists: true, Endpoints: at("b", 4, 2)},
				2: {Exists: true, Endpoints: at("c", 1, 2)}},
			peers: Peers{0: at("a", 1, 0), 1: at("b", 4, 2), 2: at("c", 1, 2)},
		},
		{
			name: "a new port at a new host that the certificate is for", inUse: inUse,
			found: map[int32]Found{0: {Exists: true, Certified: true, Endpoints: map[string]Endpoint{ReplicationPortName: {"a", 1},
				"tcp-inside": {"new", 2}}}, 1: {Exists: true}, 2: {Exists: true}},
			peers: Peers{0: {ReplicationPortName: {"a", 1}, "tcp-inside": {"new", 2}}, 1: at("b", 1, 0), 2: at("c", 1, 0)},
		},
		{
			name: "a port that is gone", inUse: Peers{0: gone, 1: at("b", 1, 2), 2: at("c", 1, 0)},
			found: map[int32]Found{0: {Exists: true}, 1: {Exists: true}, 2: {Exists: true}},
			peers: Peers{0: at("a", 1, 2), 1: at("b", 1, 2), 2: at("c", 1, 0)},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(ResolvePeers(kafka, nodes, test.inUse, test.found).Peers).To(Equal(test.peers))

			// A listener whose address is not known waits, and the node is made without it.
			in := Input{Kafka: kafka, Stretch: &Stretch{Central: "central", Peers: test.peers}, Topology: topology.Topology{Name: "my-cluster"}}
			for _, n := range nodes {
				in.Topology.Pools = append(in.Topology.Pools, topology.Pool{Name: n.Pool, Cluster: n.Cluster, Nodes: []topology.Node{n}})
			}
			e := ResolveEndpoints(in, World{Away: []string{"west"}})
			waits := false
			for _, n := range nodes {
				wanted, known := test.peers[n.ID]["tcp-inside"]
				waits = waits || !known && n.Cluster != "west"
				advertised, does := e.Listeners["inside"][n.ID]
				g.Expect(does).To(Equal(known))
				g.Expect(advertised).To(Equal(wanted))
			}
			g.Expect(e.Delayed).To(BeEmpty())
			if waits {
				g.Expect(e.Waiting).To(HaveKeyWithValue("inside", ContainSubstring("its address for other clusters is unknown")))
			} else {
				g.Expect(e.Waiting).To(BeEmpty())
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
	in.Stretch.Peers[1] = map[string]Endpoint{ReplicationPortName: {"fd00::1", 32000}}
	g.Expect(Bootstrap(in)).To(HaveExactElements("a:31000", "[fd00::1]:32000"))
	// What only a node knows has colons as well.
	g.Expect(Endpoint{"${strimzidir:/opt/kafka/placement:address}", 1}.String()).To(Equal("${strimzidir:/opt/kafka/placement:address}:1"))
}

// The roller does not restart pods that no operator recreates, and is told where the one in their Kubernetes cluster shows that it runs.
func TestAStrimziPodSetNamesTheNamespaceOfItsAgent(t *testing.T) {
	g := NewWithT(t)
	kafka := &v1.Kafka{Spec: &v1.KafkaSpec{}}
	kafka.Namespace, kafka.Name = "ns", "my-cluster"
	in := Input{Kafka: kafka, Stretch: &Stretch{Central: "central"}, Settings: Settings{OperatorNamespace: "operators"}}
	in.Topology.Name = "my-cluster"
	agent := func(at string) string {
		return (&cluster{in}).podSet(topology.Pool{Name: "a", Cluster: at}, nil).Annotations["kafka-operators.io/agent-namespace"]
	}
	g.Expect(agent("east")).To(Equal("operators"))
	g.Expect(agent(topology.Home)).To(Equal("operators"))
	in.Stretch = nil
	g.Expect(agent(topology.Home)).To(Equal("operators"))
	in.Settings.OperatorNamespace = ""
	g.Expect(agent(topology.Home)).To(BeEmpty())
}
