package podset

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	kafka "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/placement"
)

// Pods may be made at any time, whatever is wrong with their Kafka, and while the operator of another Kubernetes cluster that wrote the set
// is away.
func TestPodsAreToldWhereTheyRun(t *testing.T) {
	w := newWorld(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.namespace, Labels: map[string]string{"zone": "a"}}}
	w.Expect(w.admin.Create(t.Context(), node)).To(Succeed())
	t.Cleanup(func() { _ = w.admin.Delete(context.Background(), node) })
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"},
		{Type: corev1.NodeHostName, Address: "n"}}
	w.Expect(w.admin.Status().Update(t.Context(), node)).To(Succeed())
	waits := func(set *core.StrimziPodSet, facts ...placement.Fact) {
		pods, err := set.DesiredPods()
		w.Expect(err).NotTo(HaveOccurred())
		pods[0].Annotations[placement.AnnotationWaits] = placement.Write(facts)
		w.Expect(set.SetDesiredPods(pods)).To(Succeed())
	}
	stranger := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "stranger"},
		Spec: corev1.PodSpec{NodeName: node.Name, Containers: []corev1.Container{{Name: "kafka", Image: "kafka"}}}}
	w.start()
	set := w.set()
	rack := placement.Fact{File: "rack", Annotation: placement.AnnotationRack, Label: "zone"}
	address := placement.Fact{File: "address-hostname", Annotation: placement.AnnotationAddress + "-hostname",
		AddressType: corev1.NodeHostName}
	absent := placement.Fact{File: "other", Annotation: "kafka-operators.io/other", Label: "absent"}
	edit(w, set, func(s *core.StrimziPodSet) {
		list(s, "r1", "c-p-0", "c-p-1")
		waits(s, rack, address, absent)
	})
	w.Eventually(w.names).Should(ConsistOf("c-p-0", "c-p-1"))
	stranger.Labels, stranger.Annotations = w.pod("c-p-0").Labels, w.pod("c-p-0").Annotations
	stranger.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "a", UID: "a", Controller: new(true)}}
	w.Expect(w.admin.Create(t.Context(), stranger)).To(Succeed())
	edit(w, set, func(s *core.StrimziPodSet) {
		s.Annotations = map[string]string{kafka.AnnotationPauseReconciliation: "true"}
	})
	w.Consistently(func() map[string]string { return w.pod("c-p-0").Annotations }).
		ShouldNot(HaveKey(placement.AnnotationRack), "on no node yet")
	for _, name := range []string{"c-p-0", "c-p-1"} {
		to := &corev1.Binding{Target: corev1.ObjectReference{Name: node.Name}}
		w.Expect(w.admin.SubResource("binding").Create(t.Context(), w.pod(name), to)).To(Succeed())
	}
	w.Eventually(func() map[string]string { return w.pod("c-p-0").Annotations }).Should(And(
		HaveKeyWithValue(placement.AnnotationRack, "a"), HaveKeyWithValue(address.Annotation, "n"), Not(HaveKey(absent.Annotation))))
	w.Eventually(w.status).Should(ContainSubstring("Pod c-p-0 waits: Kubernetes node " + node.Name + " has no label absent"))
	w.Expect(w.pod("c-p-1").Annotations).NotTo(HaveKey(placement.AnnotationRack), "it does not wait for it")
	w.Expect(w.pod("stranger").Annotations).NotTo(HaveKey(placement.AnnotationRack), "the set does not own it")

	// A running node has read what was true when it started.
	edit(w, node, func(n *corev1.Node) { n.Labels = map[string]string{"zone": "b", "absent": "c"} })
	w.Eventually(func() map[string]string { return w.pod("c-p-0").Annotations }, "15s").Should(HaveKeyWithValue(absent.Annotation, "c"))
	w.Expect(w.pod("c-p-0").Annotations).To(HaveKeyWithValue(placement.AnnotationRack, "a"))
	w.Eventually(w.status).ShouldNot(ContainSubstring("waits"))
}
