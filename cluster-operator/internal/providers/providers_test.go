package providers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestNamesOfBuiltInProviders(t *testing.T) {
	for name, want := range map[string]string{
		"nodeport": "nodeport", "NodePort": "nodeport", "io.strimzi.plugin.stretch.NodePortNetworkingProvider": "nodeport",
		"loadbalancer": "loadbalancer", "lb": "loadbalancer", "load-balancer": "loadbalancer",
		"io.strimzi.plugin.stretch.LoadBalancerNetworkingProvider": "loadbalancer",
		"mcs": "mcs", "multicluster": "mcs", "com.example.McsNetworkingProvider": "mcs",
	} {
		provider, end, err := Open(t.Context(), Options{Name: name, Path: "/opt/strimzi/plugins/*", Operator: "1.0.0"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if about, err := provider.Info(t.Context()); err != nil || about.Name != want {
			t.Errorf("%s: got %v, %v; want %s", name, about, err, want)
		}
		end()
	}
}

func TestWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
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
			if _, _, err := Open(t.Context(), c.o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestAProgramComesFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "network-provider-mcs")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../../network/example").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	provider, end, err := Open(t.Context(), Options{Name: "mcs", Path: filepath.Dir(path) + "/*",
		Settings: map[string]string{"domain": "example.com"}, Operator: "1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if about, err := provider.Info(t.Context()); err != nil || about.Name != "dns" {
		t.Errorf("got %v, %v; want the provider of the program", about, err)
	}
}
