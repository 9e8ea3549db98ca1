package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
)

// A running node keeps its addresses though what had them is gone.

func TestANodeKeepsItsListenerThoughServiceAndConfigMapAreDeleted(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners,
		v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerLoadBalancer, TLS: true})
	w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	address := func() {
		for _, name := range []string{"my-cluster-kafka-out-bootstrap", "my-cluster-pool-out-0"} {
			s := &corev1.Service{}
			w.get(s, name)
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: name + ".example.com"}}
			w.Expect(w.k8s.Status().Update(t.Context(), s)).To(Succeed())
		}
	}
	w.reconcile()
	address()
	w.reconcile()
	w.start("pool")
	w.reconcile()
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

	address()
	w.reconcile()
	w.Expect(w.pods("pool")).To(Equal(pods))
	w.Expect(w.config("my-cluster-pool-0")).To(ContainSubstring(advertised))
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
