// Package conformance has the tests that every network provider must pass. A provider's own tests call Run.
package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
)

// Subject is a provider under test, and the world that it lives in.
type Subject struct {
	// New makes the provider with its default settings.
	New func() (network.Provider, error)
	// World returns the objects of the kinds in Info.Observes, which are there before anything is planned. Nil: none.
	World func(clusters []network.Cluster) []network.Object
	// Settle is what the controllers of Kubernetes do to a planned object until it is ready: they set addresses, ports, conditions. It must be
	// deterministic. Nil changes nothing.
	Settle func(o *network.Object)
}

// Run runs all tests.
func Run(t *testing.T, s Subject) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *world)
	}{
		{"it says what it is", info},
		{"it plans the same for the same request, at the same time as well", deterministic},
		{"what it plans can be written", writable},
		{"what it plans for a node is in that node's cluster, and stays when other nodes come and go", separate},
		{"it resolves nothing before anything exists, and does not fail", pending},
		{"it resolves each port of each node to an address of its own", complete},
		{"the order of what is observed does not matter", unordered},
		{"addresses stay when other nodes come and go", stable},
		{"addresses that are advertised are kept", kept},
		{"a cluster that is not observed holds up only its own nodes", independent},
		{"objects of somebody else do not matter", foreign},
		{"it ends with its context or does not notice it", canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			provider, err := s.New()
			if err != nil {
				t.Fatal(err)
			}
			c.test(t, &world{Subject: s, provider: provider})
		})
	}
}

// world is a provider with the objects that surround it.
type world struct {
	Subject
	provider network.Provider
}

// request has three clusters with two nodes each: a controller, a broker, and nodes with both roles.
func request() network.Request {
	r := network.Request{Namespace: "kafka", Kafka: "my-cluster", Service: "my-cluster-kafka-brokers"}
	controller, broker := network.Port{Name: "tcp-ctrlplane", Port: 9090}, network.Port{Name: "tcp-replication", Port: 9091}
	client := network.Port{Name: "tcp-clientstls", Port: 9093}
	for i, id := range []string{"central", "east", "west"} {
		r.Clusters = append(r.Clusters, network.Cluster{ID: id, APIVersions: []string{"v1", "multicluster.x-k8s.io/v1alpha1"}})
		for j := range 2 {
			n := network.Node{ID: int32(2*i + j), Cluster: id, Ports: []network.Port{controller, broker, client}}
			n.Pod = fmt.Sprintf("my-cluster-%s-%d", id, n.ID)
			switch n.ID {
			case 0:
				n.Ports = n.Ports[:1]
			case 1:
				n.Ports = n.Ports[1:]
			}
			r.Nodes = append(r.Nodes, n)
		}
	}
	return r
}

// without returns the request without a node.
func without(r network.Request, id int32) network.Request {
	r.Nodes = slices.DeleteFunc(slices.Clone(r.Nodes), func(n network.Node) bool { return n.ID == id })
	return r
}

func (w *world) plan(t *testing.T, r network.Request) []network.Object {
	t.Helper()
	objects, err := w.provider.Plan(t.Context(), r)
	if err != nil {
		t.Fatalf("Plan: %v", err)
	}
	return objects
}

// observed returns what is there after the planned objects were written and their controllers had their time.
func (w *world) observed(t *testing.T, r network.Request) []network.Object {
	t.Helper()
	objects := w.surroundings(r)
	for _, o := range w.plan(t, r) {
		o.Object = *o.Object.DeepCopy()
		o.Object.SetNamespace(r.Namespace)
		if w.Settle != nil {
			w.Settle(&o)
		}
		objects = append(objects, o)
	}
	return objects
}

func (w *world) surroundings(r network.Request) []network.Object {
	if w.World == nil {
		return nil
	}
	return w.World(r.Clusters)
}

func (w *world) resolve(t *testing.T, r network.Request, observed []network.Object) network.Resolution {
	t.Helper()
	resolution, err := w.provider.Resolve(t.Context(), r, observed)
	if err != nil {
		t.Fatalf("Resolve: %v", err)
	}
	for _, n := range r.Nodes {
		_, known := resolution.Endpoints[n.ID]
		reason, waits := resolution.Pending[n.ID]
		if known == waits {
			t.Errorf("node %d: has endpoints is %t, and pending is %t; want exactly one of them", n.ID, known, waits)
		}
		if waits && reason == "" {
			t.Errorf("node %d is pending without a reason", n.ID)
		}
	}
	if err := r.CheckResolution(resolution); err != nil {
		t.Error(err)
	}
	return resolution
}

func info(t *testing.T, w *world) {
	about, err := w.provider.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := about.Check(""); err != nil {
		t.Error(err)
	}
}

func deterministic(t *testing.T, w *world) {
	want := w.plan(t, request())
	results := make(chan []network.Object)
	for range 8 {
		go func() {
			got, err := w.provider.Plan(context.WithoutCancel(t.Context()), request())
			if err != nil {
				got = nil
			}
			results <- got
		}()
	}
	for range 8 {
		if got := <-results; !reflect.DeepEqual(got, want) {
			t.Errorf("planned %v, and another time %v", want, got)
		}
	}
}

func writable(t *testing.T, w *world) {
	planned := w.plan(t, request())
	if err := request().CheckPlan(planned); err != nil {
		t.Error(err)
	}
	for _, o := range planned {
		name := o.Object.GetKind() + " " + o.Object.GetName() + " in " + o.Cluster
		if _, found := o.Object.Object["status"]; found {
			t.Errorf("%s: a status is not planned", name)
		}
	}
}

func separate(t *testing.T, w *world) {
	all := w.plan(t, request())
	for _, n := range request().Nodes {
		for _, o := range w.plan(t, without(request(), n.ID)) {
			if !slices.ContainsFunc(all, func(other network.Object) bool { return reflect.DeepEqual(o, other) }) {
				t.Errorf("without node %d, %s %s in %s is planned in another way", n.ID, o.Object.GetKind(), o.Object.GetName(), o.Cluster)
			}
		}
	}
	for _, o := range all {
		selector, _, _ := unstructured.NestedStringMap(o.Object.Object, "spec", "selector")
		pod := selector[network.LabelPod]
		for _, n := range request().Nodes {
			if n.Pod == pod && n.Cluster != o.Cluster {
				t.Errorf("%s %s selects pod %s of cluster %s in cluster %s", o.Object.GetKind(), o.Object.GetName(), pod, n.Cluster, o.Cluster)
			}
		}
	}
}

func pending(t *testing.T, w *world) {
	if planned := w.plan(t, request()); len(planned) == 0 {
		t.Skip("the provider needs no objects")
	}
	got := w.resolve(t, request(), w.surroundings(request()))
	if len(got.Endpoints) > 0 {
		t.Errorf("got endpoints %v before anything exists", got.Endpoints)
	}
}

func complete(t *testing.T, w *world) {
	r := request()
	got := w.resolve(t, r, w.observed(t, r))
	for _, n := range r.Nodes {
		if _, found := got.Endpoints[n.ID]; !found {
			t.Errorf("node %d has no endpoints (pending: %q)", n.ID, got.Pending[n.ID])
		}
	}
}

func unordered(t *testing.T, w *world) {
	r := request()
	observed := w.observed(t, r)
	want := w.resolve(t, r, observed)
	random := rand.New(rand.NewPCG(1, 2)) // an order, not a secret
	for range 20 {
		random.Shuffle(len(observed), func(i, j int) { observed[i], observed[j] = observed[j], observed[i] })
		if got := w.resolve(t, r, observed); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, and in another order %v", want, got)
		}
	}
}

func stable(t *testing.T, w *world) {
	r := request()
	want := w.resolve(t, r, w.observed(t, r))
	for _, gone := range r.Nodes {
		less := without(r, gone.ID)
		got := w.resolve(t, less, w.observed(t, less))
		for _, n := range less.Nodes {
			if !reflect.DeepEqual(got.Endpoints[n.ID], want.Endpoints[n.ID]) {
				t.Errorf("without node %d, node %d moves from %v to %v", gone.ID, n.ID, want.Endpoints[n.ID], got.Endpoints[n.ID])
			}
		}
	}
}

func kept(t *testing.T, w *world) {
	r := request()
	want := w.resolve(t, r, w.observed(t, r))
	r.Known = want.Endpoints
	if got := w.resolve(t, r, w.observed(t, r)); !reflect.DeepEqual(got.Endpoints, want.Endpoints) {
		t.Errorf("advertised are %v, and now %v", want.Endpoints, got.Endpoints)
	}
}

func independent(t *testing.T, w *world) {
	r := request()
	want := w.resolve(t, r, w.observed(t, r))
	for _, c := range r.Clusters {
		seen := slices.DeleteFunc(w.observed(t, r), func(o network.Object) bool { return o.Cluster == c.ID })
		got := w.resolve(t, r, seen)
		for _, n := range r.Nodes {
			if n.Cluster != c.ID && !reflect.DeepEqual(got.Endpoints[n.ID], want.Endpoints[n.ID]) {
				t.Errorf("without %s, node %d of %s resolves to %v instead of %v", c.ID, n.ID, n.Cluster, got.Endpoints[n.ID], want.Endpoints[n.ID])
			}
		}
	}
}

func foreign(t *testing.T, w *world) {
	r := request()
	observed := w.observed(t, r)
	want := w.resolve(t, r, observed)
	for _, o := range w.observed(t, r) {
		o.Object = *o.Object.DeepCopy()
		if o.Object.GetNamespace() == "" {
			continue
		}
		o.Object.SetName("foreign-" + o.Object.GetName())
		observed = append(observed, o)
		o.Object = *o.Object.DeepCopy()
		o.Cluster = "elsewhere"
		observed = append(observed, o)
	}
	if got := w.resolve(t, r, observed); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, and beside objects of others %v", want, got)
	}
}

func canceled(t *testing.T, w *world) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if objects, err := w.provider.Plan(ctx, request()); err != nil && len(objects) > 0 {
		t.Errorf("Plan returned objects beside the error %v", err)
	}
	if got, err := w.provider.Resolve(ctx, request(), w.surroundings(request())); err == nil &&
		len(got.Pending)+len(got.Endpoints) != len(request().Nodes) {
		t.Errorf("Resolve answered for %d nodes of %d without an error", len(got.Pending)+len(got.Endpoints), len(request().Nodes))
	}
}
