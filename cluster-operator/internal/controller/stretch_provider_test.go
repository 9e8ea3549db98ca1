package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/loadbalancer"
)

// liar is a provider with other answers to Plan and Resolve.
type liar struct {
	network.Provider
	plan    func([]network.Object) []network.Object
	resolve func(network.Resolution) network.Resolution
}

func (l liar) Plan(ctx context.Context, r network.Request) ([]network.Object, error) {
	o, err := l.Provider.Plan(ctx, r)
	if l.plan != nil {
		o = l.plan(o)
	}
	return o, err
}

func (l liar) Resolve(ctx context.Context, r network.Request, observed []network.Object) (network.Resolution, error) {
	found, err := l.Provider.Resolve(ctx, r, observed)
	if l.resolve != nil {
		found = l.resolve(found)
	}
	return found, err
}

// failing is a provider that fails.
type failing struct{ network.Provider }

func (failing) Plan(context.Context, network.Request) ([]network.Object, error) {
	return nil, errors.New("out of order")
}

func TestAProviderThatLiesChangesNothing(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	before, honest := w.all(), w.r.Stretching.Provider
	planned := func(apiVersion, kind, name string) network.Object {
		o := network.Object{Cluster: "east"}
		o.Object.SetAPIVersion(apiVersion)
		o.Object.SetKind(kind)
		o.Object.SetName(name)
		return o
	}
	for what, l := range map[string]liar{
		"a provider does not plan /v1, Kind=Secret": {plan: func(o []network.Object) []network.Object {
			return append(o, planned("v1", "Secret", "my-cluster-cluster-ca-cert"))
		}},
		"which the operator creates itself": {plan: func(o []network.Object) []network.Object {
			return append(o, planned("v1", "Service", "my-cluster-kafka-brokers"))
		}},
		"Service mine in cluster east: metadata.uid: a provider sets": {plan: func(o []network.Object) []network.Object {
			mine := planned("v1", "Service", "mine")
			mine.Object.SetUID("abc")
			return append(o, mine)
		}},
		"does not plan networking.k8s.io/v1, Kind=NetworkPolicy": {plan: func(o []network.Object) []network.Object {
			open := planned("networking.k8s.io/v1", "NetworkPolicy", "my-cluster-network-policy-kafka")
			open.Object.Object["spec"] = map[string]any{"podSelector": map[string]any{}, "ingress": []any{map[string]any{}}}
			return append(o, open)
		}},
		"is not a DNS name or an IP address": {resolve: func(r network.Resolution) network.Resolution {
			for _, at := range r.Endpoints {
				for name := range at {
					at[name] = network.Endpoint{Host: "x\nsuper.users=User:ANONYMOUS", Port: 1}
				}
			}
			return r
		}},
		`"0.0.0.0" can't be reached from other machines`: {resolve: func(r network.Resolution) network.Resolution {
			for id, at := range r.Endpoints {
				for name, e := range at {
					at[name] = network.Endpoint{Host: "0.0.0.0", Port: e.Port + id*100}
				}
			}
			return r
		}},
	} {
		l.Provider = honest
		w.r.Stretching.Provider = l
		w.pass()
		w.Expect(w.kafka().Status.Conditions).
			To(ContainElement(And(HaveField("Reason", "NetworkProviderFailed"), HaveField("Message", ContainSubstring(what)))))
		w.Expect(w.all()["east"]).To(Equal(before["east"]), what)
		w.Expect(w.all()["west"]).To(Equal(before["west"]), what)
	}
	w.r.Stretching.Provider = honest
	w.pass()
	w.Expect(w.kafka().Status.Conditions).NotTo(ContainElement(HaveField("Reason", "NetworkProviderFailed")))
}

func TestWhatNodesAreReachedByStaysThoughAProviderPlansLess(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	honest := w.r.Stretching.Provider
	west := &v1.KafkaNodePool{}
	w.get(west, "west")
	west.Spec.Replicas = 2
	w.Expect(w.k8s.Update(t.Context(), west)).To(Succeed())
	w.settle()
	before := w.all()
	for what, plan := range map[string]func([]network.Object) []network.Object{
		"nothing":          func([]network.Object) []network.Object { return nil },
		"an empty list":    func([]network.Object) []network.Object { return []network.Object{} },
		"all but the last": func(o []network.Object) []network.Object { return o[:len(o)-1] },
		"the last alone":   func(o []network.Object) []network.Object { return o[len(o)-1:] },
	} {
		w.r.Stretching.Provider = liar{Provider: honest, plan: plan}
		w.pass()
		w.Expect(w.all()).To(Equal(before), what)
	}
	w.r.Stretching.Provider = honest
	w.pass()
	w.Expect(w.all()).To(Equal(before))
}

func TestTheStatusSaysWhichAddressNodesWaitFor(t *testing.T) {
	w := newStretchedWorld(t)
	w.r.Stretching.Provider = liar{w.r.Stretching.Provider, nil, func(r network.Resolution) network.Resolution {
		for id := range r.Endpoints {
			delete(r.Endpoints, id)
			r.Pending[id] = "Service x has no load balancer address yet"
		}
		return r
	}}
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController))
	w.settle()
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Message",
		HaveSuffix("Waiting: node 0 (Service x has no load balancer address yet)"))))
}

// endpointSlices makes a provider plan EndpointSlices in clusters, a kind that the operator itself does not make.
func endpointSlices(clusters ...string) func([]network.Object) []network.Object {
	return func(o []network.Object) []network.Object {
		for _, id := range clusters {
			slice := network.Object{Cluster: id, Object: unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": map[string]any{"name": "nodes"},
				"addressType": "IPv4", "endpoints": []any{},
			}}}
			o = append(o, slice)
		}
		return o
	}
}

func TestWhatAProviderDoesNotPlanAnyMoreIsDeleted(t *testing.T) {
	w := newStretchedWorld(t)
	served := []string{"v1", "discovery.k8s.io/v1"}
	first := map[string]bool{} // of these clusters, what they serve is not known when it is asked for the first time
	w.r.Stretching.APIVersions = func(_ context.Context, m Member) []string {
		if first[m.ID()] {
			delete(first, m.ID())
			return nil
		}
		return served
	}
	honest := w.r.Stretching.Provider
	slicesIn := func(id string) []string {
		var list discoveryv1.EndpointSliceList
		w.Expect(w.members[id].List(t.Context(), &list, client.InNamespace(w.namespace))).To(Succeed())
		var names []string
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names
	}
	plan := func(clusters ...string) {
		w.r.Stretching.Provider = liar{Provider: honest, plan: endpointSlices(clusters...)}
		w.settle()
	}
	w.form()
	plan("central", "east")
	w.Expect(slicesIn("central")).To(ConsistOf("nodes"))
	w.Expect(slicesIn("east")).To(ConsistOf("nodes"))

	w.r.Stretching.Provider = liar{Provider: honest, plan: endpointSlices("central")}
	first["east"] = true
	w.pass()
	w.Expect(first).To(BeEmpty())
	w.Expect(slicesIn("east")).To(ConsistOf("nodes"), "the API versions were not known when the provider planned, and are now")

	api := served
	served = nil
	plan("central")
	w.Expect(slicesIn("east")).To(ConsistOf("nodes"), "the provider may not have planned it because the API versions are not known")
	served = api
	w.settle()
	w.Expect(slicesIn("central")).To(ConsistOf("nodes"))
	w.Expect(slicesIn("east")).To(BeEmpty())

	mine := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "nodes"}, AddressType: "IPv4"}
	w.Expect(w.members["central"].Delete(t.Context(), mine.DeepCopy())).To(Succeed())
	w.Expect(w.members["central"].Create(t.Context(), mine)).To(Succeed())
	plan()
	w.Expect(slicesIn("central")).To(ConsistOf("nodes"), "somebody else made it")
	w.Expect(w.members["central"].Delete(t.Context(), mine)).To(Succeed())
}

func TestWhatAProviderPlannedGoesOnTheWayBack(t *testing.T) {
	w := newStretchedWorld(t)
	w.r.Stretching.APIVersions = func(context.Context, Member) []string { return []string{"v1", "discovery.k8s.io/v1"} }
	w.r.Stretching.Provider = liar{Provider: w.r.Stretching.Provider, plan: endpointSlices("central")}
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController))
	w.settle()
	slice := &discoveryv1.EndpointSlice{}
	w.in("central", slice, "nodes")
	w.unstretch("a")
	w.settle()
	w.Expect(w.kafka().Finalizers).To(BeEmpty())
	w.Expect(w.k8s.Get(t.Context(), client.ObjectKeyFromObject(slice), slice)).To(MatchError(apierrors.IsNotFound, "NotFound"))
}

// certificates returns the versions of the Secrets of nodes, which change with their certificates.
func (w *stretchedWorld) certificates() map[string]string {
	w.t.Helper()
	versions := map[string]string{}
	for _, pod := range []string{"my-cluster-central-0", "my-cluster-east-1", "my-cluster-west-2"} {
		secret := &corev1.Secret{}
		w.get(secret, pod)
		versions[pod] = secret.ResourceVersion
	}
	return versions
}

func TestNamesFromTheProviderStayWhileTheyAreUnknown(t *testing.T) {
	w := newStretchedWorld(t)
	var pending map[int32]string
	w.r.Stretching.Provider = liar{Provider: w.r.Stretching.Provider, resolve: func(r network.Resolution) network.Resolution {
		pending = r.Pending
		for id := range r.Endpoints {
			r.Names[id] = []string{fmt.Sprintf("node-%d.example.com", id), "all.example.com"}
		}
		return r
	}}
	w.form()
	secret := &corev1.Secret{}
	w.get(secret, "my-cluster-west-2")
	_, named := pki.Certifies(secret, "my-cluster-west-2", []string{"node-2.example.com", "all.example.com"})
	w.Expect(named).To(BeTrue())
	before := w.certificates()

	west := w.members["west"]
	west.lost = true
	w.pass()
	w.Expect(w.certificates()).To(Equal(before), "west is away")
	west.lost = false
	w.settle()
	w.Expect(w.certificates()).To(Equal(before), "west is back")

	service := &corev1.Service{ObjectMeta: w.named("my-cluster-east-1-nodeport")}
	w.Expect(w.members["east"].Delete(t.Context(), service)).To(Succeed())
	w.pass()
	w.Expect(w.certificates()).To(Equal(before), "a planned object was deleted")
	w.Expect(pending).To(BeEmpty(), "the pass that creates a planned object shows it to the provider")

	w.r.Stretching.Provider = failing{w.r.Stretching.Provider}
	w.pass()
	w.Expect(w.kafka().Status.Conditions).To(ContainElement(HaveField("Reason", "NetworkProviderFailed")))
	w.Expect(w.certificates()).To(Equal(before), "the provider fails")

	w.Expect(w.k8s.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: w.named(model.RecordName("my-cluster"))})).To(Succeed())
	w.pass()
	w.Expect(w.certificates()).To(Equal(before), "the record is lost, too")
}

func TestANewListenerIsReachedFromOtherKubernetesClusters(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	add := func(name string, port int32) {
		k := w.kafka()
		k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners, v1.Listener{Name: name, Port: port, Type: v1.ListenerInternal})
		w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	}
	advertised := func(id, pod string) string { return w.setting(id, pod, "advertised.listeners") }
	w.members["west"].lost = true
	add("one", 9095)
	w.pass()
	w.Expect(advertised("central", "my-cluster-central-0")).To(MatchRegexp(`ONE-9095://192\.0\.2\.1:3\d{4}`))
	w.Expect(advertised("east", "my-cluster-east-1")).To(MatchRegexp(`ONE-9095://192\.0\.2\.2:3\d{4}`))
	w.Expect(w.kafka().Status.Conditions).NotTo(ContainElement(HaveField("Reason", "ListenerNotReady")))
	now := advertised("central", "my-cluster-central-0")
	w.members["west"].lost = false
	w.settle()
	w.Expect(advertised("central", "my-cluster-central-0")).To(Equal(now), "it is restarted once")
	w.Expect(advertised("west", "my-cluster-west-2")).To(MatchRegexp(`ONE-9095://192\.0\.2\.3:3\d{4}`))

	honest := w.r.Stretching.Provider
	w.r.Stretching.Provider = failing{honest}
	add("two", 9096)
	w.settle()
	w.Expect(advertised("central", "my-cluster-central-0")).To(Equal(now), "the listener waits, and no node is restarted")
	w.Expect(w.kafka().Status.Conditions).To(ContainElement(And(HaveField("Reason", "ListenerNotReady"),
		HaveField("Message", ContainSubstring("Listener two is not reachable yet: ")))))
	w.r.Stretching.Provider = honest
	w.settle()
	w.Expect(advertised("central", "my-cluster-central-0")).To(MatchRegexp(`TWO-9096://192\.0\.2\.1:3\d{4}`))
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

// starts passes until all is done, and returns how often the pod of each node was started meanwhile.
func (w *stretchedWorld) starts(was map[string]types.UID) map[string]int {
	w.t.Helper()
	count := map[string]int{}
	for range 12 {
		w.pass()
		w.pods()
		for _, m := range w.members {
			var pods corev1.PodList
			w.Expect(m.List(w.t.Context(), &pods, client.InNamespace(w.namespace))).To(Succeed())
			for i := range pods.Items {
				if pod := &pods.Items[i]; was[pod.Name] != pod.UID {
					was[pod.Name] = pod.UID
					count[pod.Name]++
				}
			}
		}
	}
	return count
}

func TestHowOftenAddressesRestartNodes(t *testing.T) {
	w := newStretchedWorld(t)
	known, moved := int32(0), false
	w.r.Stretching.Provider = liar{Provider: w.r.Stretching.Provider, resolve: func(found network.Resolution) network.Resolution {
		for id, at := range found.Endpoints {
			if id >= known {
				delete(found.Endpoints, id)
				found.Pending[id] = "its address is not there yet"
				continue
			}
			for port, e := range at {
				if moved {
					e.Host = fmt.Sprintf("198.51.100.%d", id)
				}
				at[port] = e
			}
		}
		return found
	}}
	w.create(stretchedKafka(), poolIn("central", "central", 1, v1.RoleBroker, v1.RoleController),
		poolIn("east", "east", 1, v1.RoleBroker, v1.RoleController), poolIn("west", "west", 1, v1.RoleBroker, v1.RoleController))
	pods := map[string]types.UID{}
	all := map[string]int{}
	for ; known < 3; known++ {
		for pod, n := range w.starts(pods) {
			all[pod] += n
		}
	}
	for pod, n := range w.starts(pods) {
		all[pod] += n
	}
	once := map[string]int{"my-cluster-central-0": 1, "my-cluster-east-1": 1, "my-cluster-west-2": 1}
	w.Expect(all).To(Equal(once), "addresses that arrive one by one restart nothing")

	moved = true
	w.Expect(w.starts(pods)).To(Equal(map[string]int{"my-cluster-central-0": 2, "my-cluster-east-1": 2, "my-cluster-west-2": 2}),
		"one roll for the certificates, and one for the addresses")
	w.Expect(w.setting("central", "my-cluster-central-0", "controller.quorum.voters")).
		To(MatchRegexp(`^0@198\.51\.100\.0:3\d{4},1@198\.51\.100\.1:3\d{4},2@198\.51\.100\.2:3\d{4}$`))
	w.Expect(w.starts(pods)).To(BeEmpty())
}

// A load balancer may have an address for each machine that serves it.
func TestAddressesOfALoadBalancerThatAreNotAdvertisedRestartNothing(t *testing.T) {
	w := newStretchedWorld(t)
	w.r.Stretching.ProviderName = "loadbalancer"
	w.r.Stretching.Provider, _ = loadbalancer.New(nil)
	w.form()
	pods := map[string]types.UID{}
	w.starts(pods)
	first := corev1.LoadBalancerIngress{Hostname: "my-cluster-east-1-lb.east.example.com"}
	for _, ingress := range [][]corev1.LoadBalancerIngress{{{IP: "192.0.2.7"}, first}, {first, {IP: "192.0.2.8"}}, {first}} {
		service := &corev1.Service{}
		w.in("east", service, "my-cluster-east-1-lb")
		service.Status.LoadBalancer.Ingress = ingress
		w.Expect(w.members["east"].Client.Status().Update(t.Context(), service)).To(Succeed())
		w.Expect(w.starts(pods)).To(BeEmpty(), "%v", ingress)
	}
}

// Kubernetes does not let anybody change the class of a load balancer. All else of it can still be changed.
func TestAnotherClassOfLoadBalancersIsRefusedAlone(t *testing.T) {
	w := newStretchedWorld(t)
	w.r.Stretching.ProviderName = "loadbalancer"
	w.r.Stretching.Provider, _ = loadbalancer.New(map[string]string{"loadBalancerClass": "example.com/old"})
	w.form()
	add := func(name string, port int32) {
		k := w.kafka()
		k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners, v1.Listener{Name: name, Port: port, Type: v1.ListenerInternal})
		w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
		w.settle()
		w.Expect(w.setting("east", "my-cluster-east-1", "advertised.listeners")).
			To(ContainSubstring("%s-%d://my-cluster-east-1-lb.east.example.com:%d", strings.ToUpper(name), port, port))
		service := &corev1.Service{}
		w.in("east", service, "my-cluster-east-1-lb")
		w.Expect(service.Spec.LoadBalancerClass).To(HaveValue(Equal("example.com/old")))
		w.Expect(service.Spec.Ports).To(ContainElement(HaveField("Port", port)))
		w.Expect(w.kafka().Status.Conditions).NotTo(ContainElement(HaveField("Reason", "PlannedObjectRefused")))
	}
	w.r.Stretching.Provider, _ = loadbalancer.New(map[string]string{"loadBalancerClass": "example.com/new"})
	add("one", 9095)
	w.Expect(w.kafka().Status.Conditions).To(ContainElements(
		And(HaveField("Reason", "LoadBalancerClass"), HaveField("Message", And(
			HavePrefix(`In cluster 'east': Services do not get the class "example.com/new": `), HaveSuffix(": my-cluster-east-1-lb")))),
		And(HaveField("Reason", "LoadBalancerClass"), HaveField("Message", HavePrefix("In cluster 'central': ")))))
	w.r.Stretching.Provider, _ = loadbalancer.New(nil)
	add("two", 9096)
}

func TestOnePlannedObjectThatIsRefusedStopsNothingElse(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	honest := w.r.Stretching.Provider
	voters := w.setting("central", "my-cluster-central-0", "controller.quorum.voters")
	for i, c := range []struct{ id, pod string }{{"east", "my-cluster-east-1"}, {"central", "my-cluster-central-0"}} {
		t.Run(c.id, func(t *testing.T) {
			service := &corev1.Service{}
			w.in(c.id, service, c.pod+"-nodeport")
			w.Expect(w.members[c.id].Delete(t.Context(), service)).To(Succeed())
			w.r.Stretching.Provider = liar{Provider: honest, plan: func(all []network.Object) []network.Object {
				for _, o := range all {
					if o.Object.GetName() == service.Name {
						w.Expect(unstructured.SetNestedField(o.Object.Object, "Sometimes", "spec", "sessionAffinity")).To(Succeed())
					}
				}
				return all
			}}
			hours := fmt.Sprint(i + 1)
			w.configure("log.retention.hours", hours)
			w.pass()
			w.Expect(w.kafka().Status.Conditions).To(ContainElement(And(HaveField("Reason", "PlannedObjectRefused"), HaveField("Message",
				And(ContainSubstring("In cluster '"+c.id+"': Service "+c.pod+"-nodeport"), ContainSubstring("spec.sessionAffinity"))))))
			w.Expect(w.kafka().Status.Conditions).NotTo(ContainElement(HaveField("Type", "Degraded")))
			for id, pod := range map[string]string{"central": "my-cluster-central-0", "east": "my-cluster-east-1", "west": "my-cluster-west-2"} {
				w.Expect(w.setting(id, pod, "log.retention.hours")).To(Equal(hours), id)
				w.Expect(w.setting(id, pod, "controller.quorum.voters")).To(Equal(voters), id)
			}
			w.r.Stretching.Provider = honest
			w.settle()
			w.Expect(w.ready()).To(HaveField("Status", "True"))
			w.in(c.id, &corev1.Service{}, c.pod+"-nodeport")
			w.Expect(w.setting("central", "my-cluster-central-0", "controller.quorum.voters")).To(Equal(voters))
		})
	}
}

// A node port of a Service that was deleted may be somebody else's when it is made again.
func TestANodePortThatSomebodyElseGotIsReplaced(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	for id, pod := range map[string]string{"east": "my-cluster-east-1", "central": "my-cluster-central-0"} {
		t.Run(id, func(t *testing.T) {
			before, after := &corev1.Service{}, &corev1.Service{}
			w.in(id, before, pod+"-nodeport")
			w.Expect(w.members[id].Delete(t.Context(), before)).To(Succeed())
			other := &corev1.Service{ObjectMeta: w.named("other"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort}}
			for _, port := range before.Spec.Ports[:2] {
				other.Spec.Ports = append(other.Spec.Ports, corev1.ServicePort{Name: port.Name, Port: port.Port, NodePort: port.NodePort})
			}
			w.Expect(w.members[id].Create(t.Context(), other)).To(Succeed())
			w.settle()
			w.Expect(w.ready()).To(HaveField("Status", "True"))
			w.in(id, after, pod+"-nodeport")
			voters := w.setting("west", "my-cluster-west-2", "controller.quorum.voters")
			for i, port := range before.Spec.Ports {
				now := after.Spec.Ports[i]
				w.Expect(now.Name).To(Equal(port.Name))
				if i >= 2 {
					w.Expect(now.NodePort).To(Equal(port.NodePort), port.Name)
				} else {
					w.Expect(now.NodePort).NotTo(Equal(port.NodePort), port.Name)
				}
				if port.Name == model.ControllerPortName {
					w.Expect(voters).To(And(MatchRegexp(":%d(,|$)", now.NodePort), Not(MatchRegexp(":%d(,|$)", port.NodePort))))
				}
			}
			w.Expect(w.setting(id, pod, "advertised.listeners")).NotTo(ContainSubstring(":%d,", before.Spec.Ports[1].NodePort))
			w.Expect(w.kafka().Status.Conditions).NotTo(ContainElement(HaveField("Reason", "PlannedObjectRefused")))
		})
	}
}

// What else an API server may say of a planned object concerns no other object in that Kubernetes cluster either.
func TestOnePlannedObjectThatCanNotBeMadeStopsNothingElse(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	honest := w.r.Stretching.Provider
	hours := 0
	for _, c := range []struct {
		name, message string
		object        map[string]any
	}{
		{"of a kind that is not installed",
			`Thing x, which network provider nodeport planned, was refused: get Thing x: no matches for kind "Thing"`,
			map[string]any{"apiVersion": "nosuch.example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "x"}}},
		{"with a field of a wrong type", "Service x, which network provider nodeport planned, was refused: ",
			map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "x"}, "spec": map[string]any{"ports": "text"}}},
	} {
		for id, pod := range map[string]string{"central": "my-cluster-central-0", "east": "my-cluster-east-1"} {
			t.Run(c.name+", in "+id, func(t *testing.T) {
				w.r.Stretching.Provider = liar{Provider: honest, plan: func(all []network.Object) []network.Object {
					return append(all, network.Object{Cluster: id, Object: *(&unstructured.Unstructured{Object: c.object}).DeepCopy()})
				}}
				hours++
				w.configure("log.retention.hours", fmt.Sprint(hours))
				w.pass() // it ends once the record names the object, and is repeated at once
				w.pass()
				conditions := w.kafka().Status.Conditions
				w.Expect(conditions).To(ContainElement(And(HaveField("Reason", "PlannedObjectRefused"),
					HaveField("Message", HavePrefix("In cluster '"+id+"': "+c.message)))))
				w.Expect(conditions).NotTo(ContainElement(Or(HaveField("Type", "Degraded"), HaveField("Reason", "NetworkProviderFailed"))))
				w.Expect(w.setting(id, pod, "log.retention.hours")).To(Equal(fmt.Sprint(hours)))
			})
		}
	}
	w.r.Stretching.Provider = honest
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}
