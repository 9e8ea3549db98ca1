package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
)

// A running node keeps its addresses though what had them is gone.

// balance gives load balancers their addresses, all of them unless it gets names.
func (w *world) balance(names ...string) {
	w.t.Helper()
	services := &corev1.ServiceList{}
	w.Expect(w.k8s.List(w.t.Context(), services, client.InNamespace(w.namespace))).To(Succeed())
	for _, s := range services.Items {
		if s.Spec.Type == corev1.ServiceTypeLoadBalancer && (len(names) == 0 || slices.Contains(names, s.Name)) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: s.Name + ".example.com"}}
			w.Expect(w.k8s.Status().Update(w.t.Context(), &s)).To(Succeed())
		}
	}
}

// newBalanced returns a world with a Kafka that runs with a load balancer.
func newBalanced(t *testing.T, nodes int32) *world {
	w := newWorld(t)
	k := newKafka()
	k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners,
		v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerLoadBalancer, TLS: true})
	w.create(k, nodePool("pool", nodes, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.balance()
	w.reconcile()
	w.start("pool")
	w.reconcile()
	return w
}

func TestANodeKeepsItsListenerThoughServiceAndConfigMapAreDeleted(t *testing.T) {
	w := newBalanced(t, 1)
	const advertised = "my-cluster-pool-out-0.example.com"
	w.Expect(w.config("my-cluster-pool-0")).To(ContainSubstring(advertised))
	pods, secret := w.pods("pool"), &corev1.Secret{}
	w.get(secret, "my-cluster-pool-0")
	certificate := secret.Data["my-cluster-pool-0.crt"]

	w.Expect(w.k8s.Delete(t.Context(), &corev1.Service{ObjectMeta: w.named("my-cluster-pool-out-0")})).To(Succeed())
	w.Expect(w.k8s.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: w.named("my-cluster-pool-0")})).To(Succeed())
	w.reconcile()
	w.reconcile()
	w.Expect(w.pods("pool")).To(Equal(pods))
	w.get(secret, "my-cluster-pool-0")
	w.Expect(secret.Data["my-cluster-pool-0.crt"]).To(Equal(certificate))
	w.Expect(w.ready().Message).To(ContainSubstring("node 0 (Service my-cluster-pool-out-0 has no load balancer address yet)"))

	w.balance()
	w.reconcile()
	w.Expect(w.pods("pool")).To(Equal(pods))
	w.Expect(w.config("my-cluster-pool-0")).To(ContainSubstring(advertised))
}

// A request to restart waits for the node that is kept, and restarts no other one again and again meanwhile.
func TestARestartIsAskedForOnceThoughANodeIsKept(t *testing.T) {
	w := newBalanced(t, 2)
	before := w.pods("pool")
	w.Expect(w.k8s.Delete(t.Context(), &corev1.Service{ObjectMeta: w.named("my-cluster-pool-out-0")})).To(Succeed())
	w.Expect(w.k8s.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: w.named("my-cluster-pool-0")})).To(Succeed())
	w.request("pool")
	for range 2 {
		w.reconcile()
		w.Expect(w.pods("pool")).To(Equal(before))
		w.start("pool")
	}
	w.balance()
	w.reconcile()
	after := w.pods("pool")
	for name := range after {
		w.Expect(after[name]).NotTo(Equal(before[name]))
	}
	w.start("pool")
	w.reconcile()
	w.Expect(w.pods("pool")).To(Equal(after))
}

// A pod that is created again can't start without its ConfigMap.
func TestANodeThatDoesNotRunGetsItsConfigMapAtOnce(t *testing.T) {
	w := newBalanced(t, 1)
	pod := &corev1.Pod{}
	w.get(pod, "my-cluster-pool-0")
	w.Expect(w.k8s.Delete(t.Context(), &corev1.Service{ObjectMeta: w.named("my-cluster-pool-out-0")})).To(Succeed())
	w.Expect(w.k8s.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: w.named("my-cluster-pool-0")})).To(Succeed())
	w.Expect(w.k8s.Delete(t.Context(), pod, client.GracePeriodSeconds(0))).To(Succeed())
	w.reconcile()
	w.Expect(w.config("my-cluster-pool-0")).To(ContainSubstring("PLAIN-9092"))
}

func TestNodesKeepTheirAddressesThoughTheRecordIsLost(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	settings := func() map[string]map[string]string {
		now := map[string]map[string]string{}
		for id, pod := range map[string]string{"central": "my-cluster-central-0", "east": "my-cluster-east-1", "west": "my-cluster-west-2"} {
			now[id] = map[string]string{}
			for _, key := range []string{"controller.quorum.voters", "advertised.listeners"} {
				now[id][key] = w.setting(id, pod, key)
			}
		}
		return now
	}
	before := settings()
	honest := w.r.Stretching.Provider
	w.r.Stretching.Provider = liar{honest, nil, func(r network.Resolution) network.Resolution {
		delete(r.Endpoints, 1)
		r.Pending[1] = "Service my-cluster-east-1-nodeport has no node port yet"
		return r
	}}
	w.Expect(w.k8s.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: w.named(model.RecordName("my-cluster"))})).To(Succeed())
	w.settle()
	w.Expect(settings()).To(Equal(before))
	w.r.Stretching.Provider = honest
	w.settle()
	w.Expect(settings()).To(Equal(before))
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

// A listener that becomes one with load balancers is served as before until all of these have addresses.
func TestAListenerChangesItsTypeInOneRestart(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners, v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerNodePort, TLS: true})
	w.create(k, nodePool("pool", 2, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.reconcile()
	w.start("pool")
	before := w.pods("pool")
	w.Expect(w.config("my-cluster-pool-1")).To(ContainSubstring("OUT-9095"))
	w.now = w.now.Add(2 * time.Minute) // the Services are older than nodes wait for their addresses
	w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Listeners[2].Type = v1.ListenerLoadBalancer })
	for range 3 {
		w.reconcile()
		w.Expect(w.pods("pool")).To(Equal(before))
	}
	w.balance("my-cluster-kafka-out-bootstrap")
	w.balance("my-cluster-pool-out-0")
	w.reconcile()
	w.Expect(w.pods("pool")).To(Equal(before))
	w.balance()
	w.reconcile()
	after := w.pods("pool")
	for name := range after {
		w.Expect(after[name]).NotTo(Equal(before[name]))
		w.Expect(w.config(name)).To(ContainSubstring("-out-%s.example.com", name[len(name)-1:]))
	}
	w.now = w.now.Add(2 * time.Minute)
	w.reconcile()
	w.Expect(w.pods("pool")).To(Equal(after))
}

// A listener that is replaced by one of another name, or whose Services get other names, is served as before until its successor can be.
func TestAListenerIsReplacedInOneRestart(t *testing.T) {
	type edit = func(l *v1.Listener)
	for name, c := range map[string]struct {
		from       v1.Listener
		do         edit
		id, oldest string
	}{
		"another name and type": {v1.Listener{Name: "nodes", Port: 9095, Type: v1.ListenerNodePort},
			func(l *v1.Listener) { l.Name, l.Type = "lb", v1.ListenerLoadBalancer }, "LB-9095", "my-cluster-pool-nodes-0"},
		"another name": {v1.Listener{Name: "one", Port: 9095, Type: v1.ListenerLoadBalancer},
			func(l *v1.Listener) { l.Name = "two" }, "TWO-9095", "my-cluster-pool-one-0"},
		"another name of a node port": {v1.Listener{Name: "one", Port: 9095, Type: v1.ListenerNodePort},
			func(l *v1.Listener) { l.Name = "two" }, "TWO-9095", "my-cluster-pool-one-0"},
		"another port of the first external one": {v1.Listener{Name: "external", Port: 9094, Type: v1.ListenerLoadBalancer},
			func(l *v1.Listener) { l.Port = 9095 }, "EXTERNAL-9095", "my-cluster-pool-0"},
		"another port and type of the first external one": {v1.Listener{Name: "external", Port: 9094, Type: v1.ListenerNodePort},
			func(l *v1.Listener) { l.Port, l.Type = 9095, v1.ListenerLoadBalancer }, "EXTERNAL-9095", "my-cluster-pool-0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			k := newKafka()
			k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners, c.from)
			w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
			w.reconcile()
			w.balance()
			w.reconcile()
			w.start("pool")
			w.reconcile()
			before, listens := w.pods("pool"), strings.ToUpper(c.from.Name)+fmt.Sprintf("-%d", c.from.Port)
			w.Expect(w.config("my-cluster-pool-0")).To(ContainSubstring(listens))
			ports := func() []networkingv1.NetworkPolicyIngressRule {
				policy := &networkingv1.NetworkPolicy{}
				w.get(policy, "my-cluster-network-policy-kafka")
				return policy.Spec.Ingress
			}
			lets := ports()
			w.edit(func(k *v1.Kafka) { c.do(&k.Spec.Kafka.Listeners[2]) })
			w.reconcile()
			w.Expect(w.pods("pool")).To(Equal(before))
			w.Expect(w.config("my-cluster-pool-0")).To(ContainSubstring(listens))
			w.Expect(w.serviceNames()).To(ContainElement(c.oldest))
			w.Expect(ports()).To(Equal(lets))
			w.balance()
			w.reconcile()
			after := w.pods("pool")
			w.Expect(after).NotTo(Equal(before))
			w.Expect(w.config("my-cluster-pool-0")).To(And(ContainSubstring(c.id), Not(ContainSubstring(c.oldest+".example.com"))))
			w.start("pool")
			w.reconcile()
			w.Expect(w.serviceNames()).NotTo(ContainElement(c.oldest))
			w.now = w.now.Add(2 * time.Minute)
			w.reconcile()
			w.Expect(w.pods("pool")).To(Equal(after))
		})
	}
}

func TestAListenerThatNeverGetsAnAddressIsNotWaitedForForEver(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners, v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerNodePort})
	w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.reconcile()
	w.start("pool")
	before := w.pods("pool")
	w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Listeners[2].Type = v1.ListenerLoadBalancer })
	w.reconcile()
	w.Expect(w.pods("pool")).To(Equal(before))
	w.now = w.now.Add(2 * time.Minute)
	w.reconcile()
	w.Expect(w.pods("pool")).NotTo(Equal(before))
	w.Expect(w.config("my-cluster-pool-0")).NotTo(ContainSubstring("OUT-9095"))
}

// Nodes are started without a listener that nobody serves, so that other clients are served, but the Kafka is not ready.
func TestAKafkaWithAListenerThatIsNeverServedIsNotReady(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners, v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerLoadBalancer, TLS: true})
	w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.now = w.now.Add(time.Hour) // the Services are younger than the start of the test
	w.reconcile()
	w.kubelet("pool")
	w.reconcile()
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "ListenerNotReady"),
		HaveField("Message", HavePrefix("Listener out is not reachable yet: "))))
	w.get(k, "my-cluster")
	w.Expect(k.Status.KafkaVersion).To(Equal("4.3.1"), "the nodes are as they should be")
	w.Expect(status.PoolReady(w.pool("pool").Status)).To(BeTrue())
	w.balance()
	w.reconcile()
	w.kubelet("pool")
	w.reconcile()
	w.Expect(w.ready().Status).To(Equal("True"))
}

// A running node waits for a load balancer only for a short time, which may save a restart. What it waits for later, such as its restart,
// is another matter.
func TestARunningNodeWaitsForALoadBalancerForAShortTime(t *testing.T) {
	w := newWorld(t)
	w.r.AddressTimeout = 24 * time.Hour // much longer than firstAddresses
	w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.start("pool")
	w.reconcile()
	w.edit(func(k *v1.Kafka) {
		k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners,
			v1.Listener{Name: "in", Port: 9096, Type: v1.ListenerInternal},
			v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerLoadBalancer, TLS: true})
	})
	running := w.pods("pool")
	for range 2 {
		w.reconcile()
		w.Expect(w.config("my-cluster-pool-0")).NotTo(ContainSubstring("IN-9096"))
		w.Expect(w.pods("pool")).To(Equal(running))
		w.Expect(w.ready()).To(And(HaveField("Reason", "Updating"), HaveField("Message", ContainSubstring("load balancer"))))
	}
	w.now = w.now.Add(time.Hour) // the API server has another clock
	w.reconcile()
	w.Expect(w.config("my-cluster-pool-0")).To(And(ContainSubstring("IN-9096"), Not(ContainSubstring("OUT-9095"))))
	w.Expect(w.ready()).To(And(HaveField("Reason", "Updating"), HaveField("Message", Not(ContainSubstring("load balancer")))))
	w.start("pool")
	w.reconcile()
	w.Expect(w.ready()).To(And(HaveField("Reason", "ListenerNotReady"), HaveField("Message", ContainSubstring("load balancer"))))
}

func TestAListenerIsAddedWithOtherChangesByOneRestart(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.start("pool")
	w.reconcile()
	w.edit(func(k *v1.Kafka) {
		k.Spec.Kafka.JvmOptions = &v1.JvmOptions{Xmx: "1g"}
		k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners, v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerLoadBalancer, TLS: true})
	})
	running := w.pods("pool")
	w.reconcile()
	w.Expect(w.pods("pool")).To(Equal(running))
	w.balance()
	w.reconcile()
	w.Expect(w.config("my-cluster-pool-0")).To(ContainSubstring("OUT-9095"))
	changed := w.pods("pool")
	w.Expect(changed).NotTo(Equal(running))
	w.start("pool")
	w.reconcile()
	w.Expect(w.pods("pool")).To(Equal(changed))
}

// A node that is not ready may need the other changes.
func TestANodeThatIsNotReadyWaitsForNoLoadBalancer(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.edit(func(k *v1.Kafka) {
		k.Spec.Kafka.JvmOptions = &v1.JvmOptions{Xmx: "1g"}
		k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners, v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerLoadBalancer, TLS: true})
	})
	before := w.pods("pool")
	w.reconcile()
	w.Expect(w.pods("pool")).NotTo(Equal(before))
}
