package controller

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/placement"
)

// A machine may come back with another address before its pods are evicted.
func TestAPodThatAdvertisesALostAddressIsRestarted(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners, v1.Listener{Name: "out", Port: 9095, Type: v1.ListenerNodePort})
	w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.reconcile()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	w.Expect(w.k8s.Create(t.Context(), node)).To(Succeed())
	// Nodes have no namespace: other tests would find it.
	t.Cleanup(func() { _ = w.k8s.Delete(context.Background(), node) })
	has := func(addresses ...string) {
		node.Status.Addresses = nil
		for _, a := range addresses {
			node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
		}
		w.Expect(w.k8s.Status().Update(t.Context(), node)).To(Succeed())
	}
	has("192.0.2.1")
	set := &core.StrimziPodSet{}
	w.get(set, "my-cluster-pool")
	pod := w.pods("pool")["my-cluster-pool-0"]
	pod.Spec.ServiceAccountName, pod.Spec.NodeName = "", node.Name
	pod.Annotations[placement.AnnotationAddress] = "192.0.2.1"
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, core.GroupVersion.WithKind("StrimziPodSet"))}
	w.Expect(w.k8s.Create(t.Context(), &pod)).To(Succeed())
	warned := ContainElement(And(HaveField("Reason", "NodeAddressChanged"), HaveField("Message", ContainSubstring(
		"Pod my-cluster-pool-0 advertises the address 192.0.2.1, which Kubernetes node "+node.Name+" does not have any more"))))
	asked := func() bool {
		running := &corev1.Pod{}
		w.get(running, pod.Name)
		return v1.IsTrue(running.Annotations, core.AnnotationManualRollingUpdate)
	}
	for _, addresses := range [][]string{{"192.0.2.1"}, {"192.0.2.7", "192.0.2.1"}, {}} {
		has(addresses...)
		w.now = w.now.Add(2 * time.Minute)
		w.reconcile()
		w.Expect(w.conditions()).NotTo(warned)
	}
	has("192.0.2.2")
	w.reconcile()
	w.Expect(w.conditions()).To(warned)
	w.Expect(asked()).To(BeFalse(), "it may come back")
	w.now = w.now.Add(2 * time.Minute)
	w.reconcile()
	w.Expect(w.conditions()).To(warned)
	w.Expect(asked()).To(BeTrue())
}
