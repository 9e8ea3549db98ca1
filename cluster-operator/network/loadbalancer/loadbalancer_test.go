package loadbalancer_test

import (
	"fmt"
	"hash/fnv"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/conformance"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/loadbalancer"
)

// balance gives a Service the address of a load balancer, as a cloud's controller does.
func balance(o *network.Object) {
	h := fnv.New32()
	fmt.Fprint(h, o.Cluster, o.Object.GetName())
	ingress := []any{map[string]any{"ip": fmt.Sprintf("10.%d.%d.%d", h.Sum32()>>16&255, h.Sum32()>>8&255, h.Sum32()&255)}}
	_ = unstructured.SetNestedSlice(o.Object.Object, ingress, "status", "loadBalancer", "ingress")
}

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Subject{New: func() (network.Provider, error) { return loadbalancer.New(nil) }, Settle: balance})
}

func one() network.Request {
	return network.Request{
		Namespace: "kafka", Kafka: "my-cluster", Service: "my-cluster-kafka-brokers", Clusters: []network.Cluster{{ID: "east"}},
		Nodes: []network.Node{{ID: 3, Pod: "my-cluster-east-3", Cluster: "east", Ports: []network.Port{{Name: "tcp-replication", Port: 9091}}}},
	}
}

func service(ingress ...corev1.LoadBalancerIngress) []network.Object {
	s := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: "my-cluster-east-3-lb", Namespace: "kafka"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "tcp-replication", Port: 9091}}},
	}
	o := network.NewObject("east", s)
	var list []any
	for _, i := range ingress {
		list = append(list, map[string]any{"ip": i.IP, "hostname": i.Hostname})
	}
	_ = unstructured.SetNestedSlice(o.Object.Object, list, "status", "loadBalancer", "ingress")
	return []network.Object{o}
}

func TestAddresses(t *testing.T) {
	name, ip := corev1.LoadBalancerIngress{Hostname: "lb.example.com"}, corev1.LoadBalancerIngress{IP: "10.21.50.10"}
	nowhere := corev1.LoadBalancerIngress{IP: "0.0.0.0"}
	for _, c := range []struct {
		name     string
		observed []network.Object
		known    string
		want     network.Endpoint
		waits    string
	}{
		{"an IP address", service(ip), "", network.Endpoint{Host: "10.21.50.10", Port: 9091}, ""},
		{"a name comes before an IP address", service(ip, name), "", network.Endpoint{Host: "lb.example.com", Port: 9091}, ""},
		{"the address in use is kept while the load balancer has it", service(ip, name), "10.21.50.10",
			network.Endpoint{Host: "10.21.50.10", Port: 9091}, ""},
		{"an address that is gone is given up", service(ip), "10.0.0.1", network.Endpoint{Host: "10.21.50.10", Port: 9091}, ""},
		{"an address that leads to nothing elsewhere is none", service(corev1.LoadBalancerIngress{Hostname: "localhost"}, nowhere, ip), "",
			network.Endpoint{Host: "10.21.50.10", Port: 9091}, ""},
		{"only such an address", service(nowhere), "", network.Endpoint{},
			"Service my-cluster-east-3-lb in cluster east has no load balancer address yet"},
		{"no address yet", service(), "", network.Endpoint{}, "Service my-cluster-east-3-lb in cluster east has no load balancer address yet"},
		{"no Service yet", nil, "", network.Endpoint{}, "Service my-cluster-east-3-lb does not exist yet in cluster east"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			p, err := loadbalancer.New(nil)
			g.Expect(err).NotTo(HaveOccurred())
			r := one()
			if c.known != "" {
				r.Known = network.Endpoints{3: {"tcp-replication": {Host: c.known, Port: 9091}}}
			}
			got, err := p.Resolve(t.Context(), r, c.observed)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Endpoints[3]["tcp-replication"]).To(Equal(c.want))
			g.Expect(got.Pending[3]).To(Equal(c.waits))
			g.Expect(got.Names[3]).To(BeEmpty(), "an address that comes or goes, and that it does not advertise, would restart the node")
		})
	}
}

func TestALoadBalancerWithoutAPortOfANodeIsWaitedFor(t *testing.T) {
	g := NewWithT(t)
	p, err := loadbalancer.New(nil)
	g.Expect(err).NotTo(HaveOccurred())
	r := one()
	r.Known = network.Endpoints{3: {"tcp-replication": {Host: "10.21.50.10", Port: 9091}}}
	r.Nodes[0].Ports = append(r.Nodes[0].Ports, network.Port{Name: "tcp-one", Port: 9095})
	got, err := p.Resolve(t.Context(), r, service(corev1.LoadBalancerIngress{IP: "10.21.50.10"}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.Endpoints).To(BeEmpty())
	g.Expect(got.Pending[3]).To(Equal("Service my-cluster-east-3-lb in cluster east has no port yet for tcp-one"))
}

func TestSettings(t *testing.T) {
	g := NewWithT(t)
	p, err := loadbalancer.New(map[string]string{"lbAnnotations": "example.com/internal=true, example.com/zone = a=b",
		"loadBalancerClass": "example.com/nlb"})
	g.Expect(err).NotTo(HaveOccurred())
	objects, err := p.Plan(t.Context(), one())
	g.Expect(err).NotTo(HaveOccurred())
	s, found := network.Find[corev1.Service](objects, "east", "Service", "my-cluster-east-3-lb")
	g.Expect(found).To(BeTrue(), "%+v", objects)
	g.Expect(s.Annotations).To(Equal(map[string]string{"example.com/internal": "true", "example.com/zone": "a=b"}))
	g.Expect(s.Spec.LoadBalancerClass).To(HaveValue(Equal("example.com/nlb")))
	for text, want := range map[string]map[string]string{
		"": nil, " ": nil, "a=b,": {"a": "b"}, "a=,b=c=d": {"a": "", "b": "c=d"}, `a=x\,y=z, b=c`: {"a": "x,y=z", "b": "c"},
	} {
		p, err := loadbalancer.New(map[string]string{"lbAnnotations": text, "loadBalancerClass": ""})
		g.Expect(err).NotTo(HaveOccurred(), text)
		objects, err := p.Plan(t.Context(), one())
		g.Expect(err).NotTo(HaveOccurred())
		s, _ := network.Find[corev1.Service](objects, "east", "Service", "my-cluster-east-3-lb")
		g.Expect(s.Annotations).To(Equal(want), text)
		g.Expect(s.Spec.LoadBalancerClass).To(BeNil(), "an empty value is none")
	}
	for settings, want := range map[string]string{
		"lbAnnotations": `setting lbAnnotations: "x" is not key=value`,
		"kind":          "unknown setting kind: want lbAnnotations or loadBalancerClass",
	} {
		_, err := loadbalancer.New(map[string]string{settings: "x"})
		g.Expect(err).To(MatchError(ContainSubstring(want)))
	}
}
