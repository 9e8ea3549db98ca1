package providers

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
)

func TestNamesOfBuiltInProviders(t *testing.T) {
	g := NewWithT(t)
	for name, want := range map[string]string{
		"nodeport": "nodeport", "NodePort": "nodeport", "io.strimzi.plugin.stretch.NodePortNetworkingProvider": "nodeport",
		"loadbalancer": "loadbalancer", "lb": "loadbalancer", "load-balancer": "loadbalancer",
		"io.strimzi.plugin.stretch.LoadBalancerNetworkingProvider": "loadbalancer",
		"mcs": "mcs", "multicluster": "mcs", "com.example.McsNetworkingProvider": "mcs",
	} {
		provider, end, err := Open(t.Context(), Options{Name: name, Path: "/opt/strimzi/plugins/*", Operator: "1.0.0"})
		g.Expect(err).NotTo(HaveOccurred(), name)
		about, err := provider.Info(t.Context())
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(about.Name).To(Equal(want), name)
		end()
	}
}

func TestWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) {
		NewWithT(t).Expect(os.WriteFile(filepath.Join(dir, name), nil, mode)).To(Succeed())
	}
	write("network-provider-a", 0o700)
	write("network-provider-b", 0o600) // can't be executed
	write("provider.jar", 0o700)
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"unknown provider", Options{Name: "com.example.Mine", Path: "/nowhere/*"},
			`unknown network provider "com.example.Mine": loadbalancer, mcs, nodeport are built in, and no program network-provider-... was ` +
				`found in /nowhere/*`},
		{"no such program", Options{Name: "b", Path: dir + "/*"}, "and the programs for a were found in"},
		{"a program that is no provider", Options{Name: "a", Path: "/nowhere/*:" + dir + "/network-provider-a"},
			"network-provider-a: "},
		{"a wrong setting", Options{Name: "mcs", Settings: map[string]string{"x": "y"}}, "network provider mcs: unknown setting x"},
		{"a wrong path", Options{Name: "mcs", Path: "["}, `path "[" of network providers`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := Open(t.Context(), c.o)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
}

func TestAProgramComesFirst(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "network-provider-dns")
	g.Expect(assets.Build(t.Context(), path, ".", "../../network/example")).To(Succeed())
	// By its own name alone, a Kafka's record tells which provider made its addresses.
	g.Expect(os.Link(path, filepath.Join(filepath.Dir(path), "network-provider-mcs"))).To(Succeed())
	o := Options{Name: "mcs", Path: filepath.Dir(path) + "/*", Settings: map[string]string{"domain": "example.com"}, Operator: "1.0.0"}
	_, _, err := Open(t.Context(), o)
	g.Expect(err).To(MatchError("program network-provider-mcs says that it is the network provider dns: name it network-provider-dns, and " +
		"set STRIMZI_STRETCH_PLUGIN_CLASS_NAME to dns"))
	o.Name = "dns"
	provider, end, err := Open(t.Context(), o)
	g.Expect(err).NotTo(HaveOccurred())
	defer end()
	about, err := provider.Info(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(about.Name).To(Equal("dns"), "the provider of the program")
}
