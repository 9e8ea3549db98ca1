package controller

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
)

func TestServicesChangeTogetherWithTheNodes(t *testing.T) {
	port := func(w *world) int32 {
		s := &corev1.Service{}
		w.get(s, "my-cluster-kafka-bootstrap")
		for _, p := range s.Spec.Ports {
			if p.Name == "tcp-plain" || p.Name == "tcp-clients" {
				return p.Port
			}
		}
		return 0
	}
	for name, breaks := range map[string]struct {
		reason   string
		do, undo func(*v1.Kafka)
		does     func(*world)
	}{
		"a pod that Kubernetes rejects": {reason: "PodInvalid",
			do: func(k *v1.Kafka) {
				k.Spec.Kafka.Template = &v1.KafkaClusterTemplate{Pod: &v1.PodTemplate{
					Tolerations: []corev1.Toleration{{Key: "a", Operator: "Is"}}}}
			},
			undo: func(k *v1.Kafka) { k.Spec.Kafka.Template = nil }},
		"a CA without its key": {reason: "CAKeyLost", does: func(w *world) {
			w.Expect(w.k8s.Delete(w.t.Context(), &corev1.Secret{ObjectMeta: w.named(pki.ClusterCAKeySecret("my-cluster"))})).To(Succeed())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			k := newKafka()
			k.Spec.Kafka.Listeners = []v1.Listener{{Name: "plain", Port: 9092, Type: v1.ListenerInternal}}
			w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
			w.reconcile()
			w.Expect(port(w)).To(Equal(int32(9092)))
			if breaks.does != nil {
				breaks.does(w)
			}
			w.edit(func(k *v1.Kafka) {
				k.Spec.Kafka.Listeners[0].Port = 9095
				if breaks.do != nil {
					breaks.do(k)
				}
			})
			w.reconcile()
			w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", breaks.reason)))
			w.Expect(port(w)).To(Equal(int32(9092)), "the nodes listen there")
			if breaks.undo != nil {
				w.edit(breaks.undo)
				w.reconcile()
				w.Expect(port(w)).To(Equal(int32(9095)))
			}
		})
	}
}

func TestALoadBalancerKeepsItsClass(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners, v1.Listener{Name: "lb", Port: 9095, Type: v1.ListenerLoadBalancer, TLS: true,
		Configuration: &v1.ListenerConfiguration{Class: "example.com/a"}})
	w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	changed := ContainElement(And(HaveField("Reason", "LoadBalancerClass"),
		HaveField("Message", HaveSuffix("again: my-cluster-kafka-lb-bootstrap, my-cluster-pool-lb-0"))))
	for _, class := range []string{"example.com/b", ""} {
		w.edit(func(k *v1.Kafka) {
			k.Spec.Kafka.Listeners[len(k.Spec.Kafka.Listeners)-1].Configuration.Class = class
		})
		w.reconcile()
		s := &corev1.Service{}
		w.get(s, "my-cluster-kafka-lb-bootstrap")
		w.Expect(s.Spec.LoadBalancerClass).To(HaveValue(Equal("example.com/a")))
		w.Expect(w.ready().Reason).NotTo(Equal("ReconciliationFailed"))
		if class == "" {
			w.Expect(w.conditions()).NotTo(changed)
		} else {
			w.Expect(w.conditions()).To(changed)
		}
	}
}

func TestAPauseEndsThoughThePassFails(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.edit(func(k *v1.Kafka) { k.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "true"} })
	w.reconcile()
	w.Expect(w.hold("pool")).NotTo(BeEmpty())
	w.Expect(w.k8s.Delete(t.Context(), &corev1.Secret{ObjectMeta: w.named(pki.ClusterCAKeySecret("my-cluster"))})).To(Succeed())
	w.edit(func(k *v1.Kafka) { k.Annotations = nil })
	w.reconcile()
	w.Expect(w.ready().Reason).To(Equal("CAKeyLost"))
	set := &core.StrimziPodSet{}
	w.get(set, "my-cluster-pool")
	w.Expect(set.Annotations).NotTo(HaveKey(core.AnnotationHold))
}

func TestANodePortMovesToANewBroker(t *testing.T) {
	const one, two = 30_011, 30_012 // of those that Kubernetes gives to nobody who does not ask for them
	w := newWorld(t)
	k := newKafka()
	ports := func(of ...int32) *v1.ListenerConfiguration {
		c := &v1.ListenerConfiguration{}
		for id, port := range of {
			c.Brokers = append(c.Brokers, v1.ListenerBroker{Broker: int32(id), NodePort: &port})
		}
		return c
	}
	out := v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerNodePort, Configuration: ports(one)}
	k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners, out)
	w.create(k, nodePool("brokers", 1, v1.RoleBroker), nodePool("controllers", 1, v1.RoleController))
	w.reconcile()
	w.change("brokers", func(p *v1.KafkaNodePool) {
		p.Annotations = map[string]string{v1.AnnotationNextNodeIDs: "[2]"}
		p.Spec.Replicas = 2
	})
	w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Listeners[2].Configuration = ports(two, 30_013, one) })
	w.reconcile()
	w.reconcile()
	w.Expect(w.podNames("brokers")).To(HaveLen(2))
	w.Expect(w.config("my-cluster-brokers-0")).To(ContainSubstring(fmt.Sprint(two)))
	w.Expect(w.config("my-cluster-brokers-2")).To(ContainSubstring(fmt.Sprint(one)))
}

// The Service that has the node port is obsolete, and would be deleted after the nodes.
func TestANodePortMovesToARenamedListener(t *testing.T) {
	const bootstrap, node = 30_021, 30_022 // of those that Kubernetes gives to nobody who does not ask for them
	w := newWorld(t)
	k := newKafka()
	k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners, v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerNodePort,
		Configuration: &v1.ListenerConfiguration{Bootstrap: &v1.ListenerBootstrap{NodePort: new(int32(bootstrap))},
			Brokers: []v1.ListenerBroker{{Broker: 0, NodePort: new(int32(node))}}}})
	w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.reconcile()
	w.start("pool")
	w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Listeners[2].Name = "out2" })
	w.reconcile()
	w.reconcile()
	w.Expect(w.config("my-cluster-pool-0")).To(And(ContainSubstring("OUT2-9095"), ContainSubstring(fmt.Sprint(node))))
	w.Expect(w.serviceNames()).To(And(ContainElements("my-cluster-kafka-out2-bootstrap", "my-cluster-pool-out2-0"),
		Not(ContainElement(HaveSuffix("out-bootstrap"))), Not(ContainElement("my-cluster-pool-out-0"))))
}

func TestAQuotaWithoutRoomForOldAndNewServices(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners, v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerNodePort})
	w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	two := corev1.ResourceList{corev1.ResourceServicesNodePorts: resource.MustParse("2")}
	q := &corev1.ResourceQuota{ObjectMeta: w.named("ports"), Spec: corev1.ResourceQuotaSpec{Hard: two}}
	w.Expect(w.k8s.Create(t.Context(), q)).To(Succeed())
	used := func(n string) { // as Kubernetes' controller counts
		q.Status = corev1.ResourceQuotaStatus{Hard: two, Used: corev1.ResourceList{corev1.ResourceServicesNodePorts: resource.MustParse(n)}}
		w.Expect(w.k8s.Status().Update(t.Context(), q)).To(Succeed())
	}
	used("2")
	w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Listeners[2].Name = "out2" })
	w.pass("exceeded quota")
	w.Expect(w.serviceNames()).NotTo(ContainElement(HavePrefix("my-cluster-kafka-out")))
	w.get(q, "ports")
	used("0")
	w.reconcile()
	w.Expect(w.serviceNames()).To(ContainElements("my-cluster-kafka-out2-bootstrap", "my-cluster-pool-out2-0"))
}

// serviceNames returns the names of all Services.
func (w *world) serviceNames() (names []string) {
	w.t.Helper()
	services := &corev1.ServiceList{}
	w.Expect(w.k8s.List(w.t.Context(), services, client.InNamespace(w.namespace))).To(Succeed())
	for _, s := range services.Items {
		names = append(names, s.Name)
	}
	return names
}

func TestKubernetesNodesThatMayNotBeListedAtHomeHangNoPass(t *testing.T) {
	h := newHistory(t, 1)
	k := newKafka()
	k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners, v1.Listener{Name: "nodes", Port: 9095, Type: v1.ListenerNodePort})
	h.runs(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	h.r.WatchTimeout = time.Millisecond
	h.r.Cache = unlistable{h.r.Cache, "Node"}
	_, err := h.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(k)})
	NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring("*v1.Node Informer"),
		ContainSubstring("the operator's account is not permitted to list and watch it, apply your overlay of the "+
			"current config/cluster-operator again"))))
}
