package nodeport_test

import (
	"fmt"
	"hash/fnv"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/conformance"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/nodeport"
)

// machine returns a Kubernetes node.
func machine(cluster, name string, ready bool, labels map[string]string, addresses ...corev1.NodeAddress) network.Object {
	n := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	n.Status = corev1.NodeStatus{Addresses: addresses, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(n)
	if err != nil {
		panic(err)
	}
	return network.Object{Cluster: cluster, Object: unstructured.Unstructured{Object: content}}
}

func internal(ip string) corev1.NodeAddress {
	return corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip}
}

func machines(clusters []network.Cluster) []network.Object {
	var all []network.Object
	for i, c := range clusters {
		for j := range 2 {
			all = append(all, machine(c.ID, fmt.Sprintf("node-%d", j), true, nil, internal(fmt.Sprintf("10.21.%d.%d", i, j+1))))
		}
	}
	return all
}

// allocate gives the ports of a Service node ports, as the API server does.
func allocate(o *network.Object) {
	ports, _, _ := unstructured.NestedSlice(o.Object.Object, "spec", "ports")
	for _, entry := range ports {
		port, ok := entry.(map[string]any)
		if !ok {
			panic("no port")
		}
		if _, asked := port["nodePort"]; asked {
			continue
		}
		h := fnv.New32()
		fmt.Fprint(h, o.Cluster, o.Object.GetName(), port["name"])
		port["nodePort"] = int64(30000 + h.Sum32()%2768)
	}
	_ = unstructured.SetNestedSlice(o.Object.Object, ports, "spec", "ports")
}

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Subject{New: func() (network.Provider, error) { return nodeport.New(nil) }, World: machines,
		Settle: allocate})
}

func TestAddressOfACluster(t *testing.T) {
	plane := map[string]string{"node-role.kubernetes.io/control-plane": ""}
	external := corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "198.51.100.7"}
	for _, c := range []struct {
		name     string
		settings map[string]string
		nodes    []network.Object
		known    string
		want     string
	}{
		{"the first ready node", nil, []network.Object{machine("east", "b", true, nil, internal("10.0.0.2")),
			machine("east", "a", false, nil, internal("10.0.0.1"))}, "", "10.0.0.2"},
		{"an external address comes first", nil, []network.Object{machine("east", "a", true, nil, internal("10.0.0.1"), external)}, "",
			"198.51.100.7"},
		{"workers come first", nil, []network.Object{machine("east", "a", true, plane, internal("10.0.0.1")),
			machine("east", "b", true, nil, internal("10.0.0.2"))}, "", "10.0.0.2"},
		{"the control plane if there is nothing else", nil, []network.Object{machine("east", "a", true, plane, internal("10.0.0.1"))}, "",
			"10.0.0.1"},
		{"not one that leads to nothing elsewhere", nil, []network.Object{machine("east", "a", true, nil, internal("127.0.0.1")),
			machine("east", "b", true, nil, internal("10.0.0.2"))}, "", "10.0.0.2"},
		{
			"the address in use while its node exists, ready or not", nil,
			[]network.Object{machine("east", "a", true, nil, internal("10.0.0.1")), machine("east", "b", false, nil, internal("10.0.0.2"))},
			"10.0.0.2", "10.0.0.2",
		},
		{"another one when that node is gone", nil, []network.Object{machine("east", "a", true, nil, internal("10.0.0.1"))}, "10.0.0.2",
			"10.0.0.1"},
		{"not the node of another cluster", nil, []network.Object{machine("west", "a", true, nil, internal("10.0.0.1"))}, "", ""},
		{
			"what the user set", map[string]string{"nodeAddress.east": "vip.example.com"},
			[]network.Object{machine("east", "a", true, nil, internal("10.0.0.1"))}, "10.0.0.1", "vip.example.com",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			p, err := nodeport.New(c.settings)
			g.Expect(err).NotTo(HaveOccurred())
			r := network.Request{
				Namespace: "kafka", Kafka: "my-cluster", Clusters: []network.Cluster{{ID: "east"}},
				Nodes: []network.Node{{ID: 3, Pod: "my-cluster-east-3", Cluster: "east", Ports: []network.Port{{Name: "tcp-replication", Port: 9091}}}},
			}
			objects, err := p.Plan(t.Context(), r)
			g.Expect(err).NotTo(HaveOccurred())
			for i := range objects {
				allocate(&objects[i])
			}
			if c.known != "" {
				r.Known = network.Endpoints{3: {"tcp-replication": {Host: c.known, Port: 31001}}}
			}
			got, err := p.Resolve(t.Context(), r, append(objects, c.nodes...))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Endpoints[3]["tcp-replication"].Host).To(Equal(c.want))
			pending := got.Pending[3] != ""
			g.Expect(pending).To(Equal(c.want == ""), got.Pending[3])
		})
	}
}

// Node ports are open in the families of their Service alone.
func TestAnAddressOfAFamilyOfTheServices(t *testing.T) {
	external := corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "2001:db8::7"}
	for _, c := range []struct {
		families  []any
		addresses []corev1.NodeAddress
		known     string
		want      string
	}{
		{[]any{"IPv4"}, []corev1.NodeAddress{external, internal("10.0.0.1")}, "", "10.0.0.1"},
		{[]any{"IPv6"}, []corev1.NodeAddress{internal("10.0.0.1"), internal("fd00::1")}, "", "fd00::1"},
		{[]any{"IPv4", "IPv6"}, []corev1.NodeAddress{internal("10.0.0.1"), external}, "", "2001:db8::7"},
		{nil, []corev1.NodeAddress{internal("10.0.0.1"), external}, "", "2001:db8::7"},
		{[]any{"IPv4"}, []corev1.NodeAddress{external}, "", ""},
		{[]any{"IPv4"}, []corev1.NodeAddress{external, internal("10.0.0.1")}, "2001:db8::7", "2001:db8::7"},
	} {
		g := NewWithT(t)
		p, err := nodeport.New(nil)
		g.Expect(err).NotTo(HaveOccurred())
		r := network.Request{
			Namespace: "kafka", Kafka: "my-cluster", Clusters: []network.Cluster{{ID: "east"}},
			Nodes: []network.Node{{ID: 3, Pod: "my-cluster-east-3", Cluster: "east", Ports: []network.Port{{Name: "tcp-replication", Port: 9091}}}},
		}
		objects, err := p.Plan(t.Context(), r)
		g.Expect(err).NotTo(HaveOccurred())
		allocate(&objects[0])
		if c.families != nil {
			g.Expect(unstructured.SetNestedSlice(objects[0].Object.Object, c.families, "spec", "ipFamilies")).To(Succeed())
		}
		if c.known != "" {
			r.Known = network.Endpoints{3: {"tcp-replication": {Host: c.known, Port: 31001}}}
		}
		got, err := p.Resolve(t.Context(), r, append(objects, machine("east", "a", true, nil, c.addresses...)))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got.Endpoints[3]["tcp-replication"].Host).To(Equal(c.want), "%+v", c)
		if c.want == "" {
			g.Expect(got.Pending[3]).NotTo(BeEmpty(), "%+v", c)
		} else {
			g.Expect(got.Pending[3]).To(BeEmpty(), "%+v", c)
		}
	}
}

func TestOneOfSeveralAddressesInUseIsKept(t *testing.T) {
	g := NewWithT(t)
	p, err := nodeport.New(nil)
	g.Expect(err).NotTo(HaveOccurred())
	r := network.Request{
		Namespace: "kafka", Kafka: "my-cluster", Clusters: []network.Cluster{{ID: "east"}},
		Known: network.Endpoints{3: {"tcp-a": {Host: "10.0.0.2", Port: 31001}, "tcp-b": {Host: "10.0.0.1", Port: 31002}}},
		Nodes: []network.Node{{ID: 3, Pod: "my-cluster-east-3", Cluster: "east",
			Ports: []network.Port{{Name: "tcp-a", Port: 9091}, {Name: "tcp-b", Port: 9092}}}},
	}
	objects, err := p.Plan(t.Context(), r)
	g.Expect(err).NotTo(HaveOccurred())
	objects = append(objects, machine("east", "a", true, nil, internal("10.0.0.1")), machine("east", "b", true, nil, internal("10.0.0.2")))
	for range 50 {
		got, err := p.Resolve(t.Context(), r, objects)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got.Endpoints[3]["tcp-a"].Host).To(Equal("10.0.0.2"), "the same each time")
	}
}

func TestAServiceThatIsMadeAgainAsksForItsNodePorts(t *testing.T) {
	g := NewWithT(t)
	p, err := nodeport.New(nil)
	g.Expect(err).NotTo(HaveOccurred())
	r := network.Request{
		Namespace: "kafka", Kafka: "my-cluster", Clusters: []network.Cluster{{ID: "east"}},
		Known: network.Endpoints{3: {"tcp-replication": {Host: "10.0.0.1", Port: 31001}}},
		Nodes: []network.Node{{ID: 3, Pod: "my-cluster-east-3", Cluster: "east",
			Ports: []network.Port{{Name: "tcp-replication", Port: 9091}, {Name: "tcp-ctrlplane", Port: 9090}}}},
	}
	objects, err := p.Plan(t.Context(), r)
	g.Expect(err).NotTo(HaveOccurred())
	s, found := network.Find[corev1.Service](objects, "east", "Service", "my-cluster-east-3-nodeport")
	g.Expect(found).To(BeTrue(), "%+v", objects)
	g.Expect(s.Spec.Ports).To(HaveExactElements(HaveField("NodePort", int32(31001)), HaveField("NodePort", int32(0))))
}

func TestSettings(t *testing.T) {
	g := NewWithT(t)
	for key, want := range map[string]string{
		"nodeAddress.east": `setting nodeAddress.east: "no host" is not a DNS name or an IP address`, "nodeAddress.": "unknown setting",
		"address": "unknown setting address: want nodeAddress.<cluster id>",
	} {
		_, err := nodeport.New(map[string]string{key: "no host"})
		g.Expect(err).To(MatchError(ContainSubstring(want)), key)
	}
	for _, address := range []string{"0.0.0.0", "::1", "localhost"} {
		_, err := nodeport.New(map[string]string{"nodeAddress.east": address})
		g.Expect(err).To(MatchError(`setting nodeAddress.east: "` + address + `" can't be reached from other machines`))
	}
	for _, address := range []string{"10.0.0.1", "fd00::1", "vip.example.com"} {
		_, err := nodeport.New(map[string]string{"nodeAddress.east": address})
		g.Expect(err).NotTo(HaveOccurred(), address)
	}
}

func TestNodesOfAClusterWithAnAddressAreNotObserved(t *testing.T) {
	g := NewWithT(t)
	p, err := nodeport.New(map[string]string{"nodeAddress.west": "vip.example.com", "nodeAddress.east": "10.0.0.1"})
	g.Expect(err).NotTo(HaveOccurred())
	info, err := p.Info(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	for cluster, want := range map[string]int{"central": 1, "east": 0, "west": 0} {
		g.Expect(info.ObservesIn(cluster)).To(HaveLen(want), cluster)
	}
}
