package conformance_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/conformance"
)

// named is a provider that needs a Service for each node, and takes names of pods for hosts.
type named struct{}

func (named) Info(context.Context) (network.Info, error) {
	return network.Info{Name: "named", Interface: network.Version}, nil
}

func (named) Plan(_ context.Context, r network.Request) ([]network.Object, error) {
	var objects []network.Object
	for _, n := range r.Nodes {
		objects = append(objects, network.NewObject(n.Cluster, &corev1.Service{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Name: n.Pod},
			Spec: corev1.ServiceSpec{Selector: map[string]string{network.LabelPod: n.Pod}},
		}))
	}
	return objects, nil
}

func (named) Resolve(_ context.Context, r network.Request, observed []network.Object) (network.Resolution, error) {
	out := network.NewResolution()
	for _, n := range r.Nodes {
		if _, found := network.Find[corev1.Service](observed, n.Cluster, "Service", n.Pod); !found {
			out.Pending[n.ID] = "no Service yet"
			continue
		}
		out.Endpoints[n.ID] = map[string]network.Endpoint{}
		for _, p := range n.Ports {
			out.Endpoints[n.ID][p.Name] = network.Endpoint{Host: n.Pod, Port: p.Port}
		}
	}
	return out, nil
}

// broken is that provider with a fault.
type broken struct {
	named
	name    string
	plan    func(network.Request, []network.Object) []network.Object
	resolve func(network.Request, []network.Object, network.Resolution) network.Resolution
}

func (b broken) Info(ctx context.Context) (network.Info, error) {
	about, err := b.named.Info(ctx)
	if b.name != "" {
		about.Name = b.name
	}
	return about, err
}

func (b broken) Plan(ctx context.Context, r network.Request) ([]network.Object, error) {
	objects, err := b.named.Plan(ctx, r)
	if b.plan != nil {
		objects = b.plan(r, objects)
	}
	return objects, err
}

func (b broken) Resolve(ctx context.Context, r network.Request, observed []network.Object) (network.Resolution, error) {
	out, err := b.named.Resolve(ctx, r, observed)
	if b.resolve != nil {
		out = b.resolve(r, observed, out)
	}
	return out, err
}

var calls atomic.Int32

// faults maps the name of a test of the suite to a fault that it must find.
var faults = map[string]broken{
	"it says what it is": {name: "x\n, central=x"},
	"it plans the same for the same request": {plan: func(_ network.Request, o []network.Object) []network.Object {
		o[0].Object.SetAnnotations(map[string]string{"call": strings.Repeat("x", int(calls.Add(1)))})
		return o
	}},
	"what it plans can be written": {plan: func(_ network.Request, o []network.Object) []network.Object {
		o[0].Object.SetName("Not_A_Name")
		return o
	}},
	"what it plans can be": {plan: func(_ network.Request, o []network.Object) []network.Object {
		o[0].Object.SetFinalizers([]string{"example.com/stay"})
		return o
	}},
	"what it plans": {plan: func(r network.Request, o []network.Object) []network.Object {
		policy := network.Object{Cluster: r.Clusters[0].ID}
		policy.Object.SetAPIVersion("networking.k8s.io/v1")
		policy.Object.SetKind("NetworkPolicy")
		policy.Object.SetName(r.Kafka + "-network-policy-kafka")
		return append(o, policy)
	}},
	"what it plans for a node is in that node's cluster": {plan: func(_ network.Request, o []network.Object) []network.Object {
		o[0].Cluster = "west"
		return o
	}},
	"it resolves nothing before anything exists": {resolve: func(r network.Request, _ []network.Object,
		out network.Resolution) network.Resolution {
		delete(out.Pending, 0)
		out.Endpoints[0] = map[string]network.Endpoint{"tcp-ctrlplane": {Host: r.Nodes[0].Pod, Port: 9090}}
		return out
	}},
	"it resolves each port of each node to an address of its own": {resolve: func(_ network.Request, _ []network.Object,
		out network.Resolution) network.Resolution {
		if out.Endpoints[2] != nil && out.Endpoints[3] != nil {
			out.Endpoints[3] = out.Endpoints[2]
		}
		return out
	}},
	"it resolves each port of each node": {resolve: func(_ network.Request, _ []network.Object, out network.Resolution) network.Resolution {
		for id, at := range out.Endpoints {
			for name := range at {
				at[name] = network.Endpoint{Host: fmt.Sprintf("127.0.0.%d", id+1), Port: at[name].Port}
			}
		}
		return out
	}},
	"the order of what is observed does not matter": {resolve: func(_ network.Request, observed []network.Object,
		out network.Resolution) network.Resolution {
		if out.Endpoints[0] != nil {
			out.Endpoints[0]["tcp-ctrlplane"] = network.Endpoint{Host: observed[0].Object.GetName(), Port: 9090}
		}
		return out
	}},
	"addresses stay when other nodes come and go": {resolve: func(r network.Request, _ []network.Object,
		out network.Resolution) network.Resolution {
		for i, n := range r.Nodes {
			for name, at := range out.Endpoints[n.ID] {
				at.Port += int32(100 * i)
				out.Endpoints[n.ID][name] = at
			}
		}
		return out
	}},
	"addresses that are advertised are kept": {resolve: func(r network.Request, _ []network.Object,
		out network.Resolution) network.Resolution {
		if r.Known != nil && out.Endpoints[0] != nil {
			out.Endpoints[0]["tcp-ctrlplane"] = network.Endpoint{Host: "new", Port: 9090}
		}
		return out
	}},
	"a cluster that is not observed holds up only its own nodes": {resolve: func(r network.Request, _ []network.Object,
		out network.Resolution) network.Resolution {
		if len(out.Pending) > 0 {
			out = network.NewResolution()
			for _, n := range r.Nodes {
				out.Pending[n.ID] = "not all there"
			}
		}
		return out
	}},
	"objects of somebody else do not matter": {resolve: func(_ network.Request, observed []network.Object,
		out network.Resolution) network.Resolution {
		if slices.ContainsFunc(observed, func(o network.Object) bool { return strings.HasPrefix(o.Object.GetName(), "foreign-") }) {
			out.Names[0] = []string{"foreign"}
		}
		return out
	}},
}

func TestNamed(t *testing.T) {
	conformance.Run(t, conformance.Subject{New: func() (network.Provider, error) { return named{}, nil }})
}

// TestFault runs the suite with the fault that the environment names, which is to fail; see TestEachTestFindsItsFault.
func TestFault(t *testing.T) {
	name := os.Getenv("CONFORMANCE_FAULT")
	if name == "" {
		return
	}
	conformance.Run(t, conformance.Subject{New: func() (network.Provider, error) { return faults[name], nil }})
}

func TestEachTestFindsItsFault(t *testing.T) {
	for name := range faults {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFault$", "-test.v")
			cmd.Env = append(os.Environ(), "CONFORMANCE_FAULT="+name)
			out, err := cmd.CombinedOutput()
			g := NewWithT(t)
			g.Expect(err).To(HaveOccurred(), "the suite did not find the fault")
			g.Expect(string(out)).To(ContainSubstring("--- FAIL: TestFault/" + strings.ReplaceAll(name, " ", "_")))
		})
	}
}
