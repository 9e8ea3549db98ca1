package mcs_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/conformance"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/mcs"
)

// judge gives an export the condition that implementations of the API give it.
func judge(status, message string) func(o *network.Object) {
	return func(o *network.Object) {
		condition := []any{map[string]any{"type": "Valid", "status": status, "message": message}}
		_ = unstructured.SetNestedSlice(o.Object.Object, condition, "status", "conditions")
	}
}

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Subject{New: func() (network.Provider, error) { return mcs.New(nil) }, Settle: judge("True", "")})
}

func one(versions ...string) network.Request {
	return network.Request{
		Namespace: "kafka", Kafka: "my-cluster", Service: "my-cluster-kafka-brokers",
		Clusters: []network.Cluster{{ID: "east", APIVersions: versions}},
		Nodes:    []network.Node{{ID: 3, Pod: "my-cluster-east-3", Cluster: "east", Ports: []network.Port{{Name: "tcp-ctrlplane", Port: 9090}}}},
	}
}

func TestNames(t *testing.T) {
	g := NewWithT(t)
	p, err := mcs.New(map[string]string{"clustersetDomain": "set.example", "requireNamespaceSameness": "true"})
	g.Expect(err).NotTo(HaveOccurred())
	r := one("multicluster.x-k8s.io/v1alpha1", "multicluster.x-k8s.io/v1beta1")
	objects, err := p.Plan(t.Context(), r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects).To(HaveLen(1))
	g.Expect(objects[0].Object.GetAPIVersion()).To(Equal("multicluster.x-k8s.io/v1beta1"))
	got, err := p.Resolve(t.Context(), r, objects)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.Endpoints[3]["tcp-ctrlplane"]).To(Equal(
		network.Endpoint{Host: "my-cluster-east-3.east.my-cluster-kafka-brokers.kafka.svc.set.example", Port: 9090}))
	g.Expect(got.Names[3]).To(Equal([]string{"east.my-cluster-kafka-brokers.kafka.svc.set.example",
		"my-cluster-kafka-brokers.kafka.svc.set.example"}))
}

func TestWhatANodeWaitsFor(t *testing.T) {
	g := NewWithT(t)
	p, err := mcs.New(nil)
	g.Expect(err).NotTo(HaveOccurred())
	served := one("multicluster.x-k8s.io/v1alpha1")
	exported, err := p.Plan(t.Context(), served)
	g.Expect(err).NotTo(HaveOccurred())
	judge("False", "no such Service")(&exported[0])
	for _, c := range []struct {
		name     string
		request  network.Request
		observed []network.Object
		want     string
	}{
		{"the API is not served", one("v1"), nil,
			"cluster east does not serve multicluster.x-k8s.io: install an implementation of the Multi-Cluster Services API there"},
		{"not exported yet", served, nil, "ServiceExport my-cluster-kafka-brokers does not exist yet in cluster east"},
		{"the export is refused", served, exported, "ServiceExport my-cluster-kafka-brokers in cluster east is not valid: no such Service"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := p.Resolve(t.Context(), c.request, c.observed)
			g := NewWithT(t)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Pending[3]).To(Equal(c.want))
		})
	}
}

func TestSettings(t *testing.T) {
	for key, want := range map[string]string{"clustersetDomain": `"a b" is not a DNS domain`,
		"requireNamespaceSameness": "is not supported: the namespace is the same in all clusters",
		"domain":                   "unknown setting domain: want clustersetDomain or requireNamespaceSameness"} {
		_, err := mcs.New(map[string]string{key: "a b"})
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(want)))
	}
}
