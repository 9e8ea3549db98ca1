package controller

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// drained is a Kafka without evictions whose only pod runs on the first of two Kubernetes nodes.
type drained struct {
	*world
	first, second *corev1.Node
	volume        *corev1.PersistentVolume
}

func newDrained(t *testing.T) *drained {
	w := &drained{world: newWorld(t)}
	k := newKafka()
	k.Spec.Kafka.Template = &v1.KafkaClusterTemplate{PodDisruptionBudget: &v1.PodDisruptionBudgetTemplate{MaxUnavailable: new(int32(0))}}
	w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.first, w.second = w.machine("first"), w.machine("second")
	w.volume = &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Spec: corev1.PersistentVolumeSpec{
		Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "a", VolumeHandle: "b"}},
	}}
	w.Expect(w.k8s.Create(t.Context(), w.volume)).To(Succeed())
	t.Cleanup(func() { _ = w.k8s.Delete(context.Background(), w.volume) })
	claim := &corev1.PersistentVolumeClaim{}
	w.get(claim, "data-my-cluster-pool-0")
	claim.Spec.VolumeName = w.volume.Name
	w.Expect(w.k8s.Update(t.Context(), claim)).To(Succeed())
	w.start()
	return w
}

// machine makes a Kubernetes node. Nodes have no namespace: other tests would find it, and a selector keeps pods off those of others.
func (w *drained) machine(name string) *corev1.Node {
	w.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-" + name, Labels: map[string]string{"test": w.namespace}}}
	w.Expect(w.k8s.Create(w.t.Context(), node)).To(Succeed())
	w.t.Cleanup(func() { _ = w.k8s.Delete(context.Background(), node) })
	node.Spec.Taints = nil // it is not ready, says the API server
	w.Expect(w.k8s.Update(w.t.Context(), node)).To(Succeed())
	return node
}

// start makes the pod on the first Kubernetes node.
func (w *drained) start() {
	w.t.Helper()
	set := w.set("pool")
	pod := w.pods("pool")["my-cluster-pool-0"]
	pod.Spec.ServiceAccountName, pod.Spec.NodeName, pod.Spec.NodeSelector = "", w.first.Name, map[string]string{"test": w.namespace}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, core.GroupVersion.WithKind("StrimziPodSet"))}
	w.Expect(w.k8s.Create(w.t.Context(), &pod)).To(Succeed())
}

// cordon marks a Kubernetes node as one that takes no pods, or as one that does.
func (w *drained) cordon(node *corev1.Node, cordoned bool) {
	w.t.Helper()
	node.Spec.Unschedulable = cordoned
	w.Expect(w.k8s.Update(w.t.Context(), node)).To(Succeed())
}

// asked runs a pass, and returns whether the roller is to restart the pod then.
func (w *drained) asked() bool {
	w.t.Helper()
	w.reconcile()
	pod := &corev1.Pod{}
	w.get(pod, "my-cluster-pool-0")
	return v1.IsTrue(pod.Annotations, core.AnnotationManualRollingUpdate)
}

func (w *drained) blocked(why string) OmegaMatcher {
	return ContainElement(And(HaveField("Reason", "DrainBlocked"),
		HaveField("Message", "Pod my-cluster-pool-0 stays on Kubernetes node "+w.first.Name+", which is cordoned: "+why)))
}

func TestThePodsOnACordonedMachineAreToBeRestartedElsewhere(t *testing.T) {
	w := newDrained(t)
	w.Expect(w.asked()).To(BeFalse())
	w.cordon(w.first, true)
	w.Expect(w.asked()).To(BeTrue())
	w.Expect(w.asked()).To(BeTrue())
	w.cordon(w.first, false)
	w.Expect(w.asked()).To(BeFalse(), "the request is taken back")

	w.cordon(w.first, true)
	w.Expect(w.asked()).To(BeTrue())
	w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Template.PodDisruptionBudget = nil })
	w.Expect(w.asked()).To(BeFalse(), "kubectl drain does without")
}

func TestAPodThatCannotLeaveACordonedMachineIsNamed(t *testing.T) {
	w := newDrained(t)
	w.cordon(w.first, true)
	w.cordon(w.second, true)
	w.Expect(w.asked()).To(BeFalse())
	w.Expect(w.conditions()).To(w.blocked("no other Kubernetes node may run it"))

	w.cordon(w.second, false)
	w.Expect(w.asked()).To(BeTrue())
	w.Expect(w.conditions()).NotTo(ContainElement(HaveField("Reason", "DrainBlocked")))

	w.volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
		{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"another"}}}}}}}
	w.Expect(w.k8s.Update(t.Context(), w.volume)).To(Succeed())
	w.Expect(w.asked()).To(BeFalse(), "its data would not follow")
	w.Expect(w.conditions()).To(w.blocked("no other Kubernetes node that may run it reaches PersistentVolume " + w.volume.Name))
}

func TestTheRequestOfSomebodyElseToRestartAPodStays(t *testing.T) {
	w := newDrained(t)
	w.patch(&corev1.Pod{}, "my-cluster-pool-0", `{"metadata":{"annotations":{"strimzi.io/manual-rolling-update":"true"}}}`, false)
	w.cordon(w.first, true)
	w.Expect(w.asked()).To(BeTrue())
	w.cordon(w.first, false)
	w.Expect(w.asked()).To(BeTrue())
}

// A stretched Kafka permits no evictions, because no Kubernetes cluster knows of those in the others.
func TestThePodsOnACordonedMachineElsewhereAreToBeRestarted(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	h.rest()
	east := h.servers[2].client()
	asked := func() (names []string) {
		_, _ = h.pass(h.leader(), -1)
		for _, server := range h.servers {
			var pods corev1.PodList
			h.must(server.client().List(t.Context(), &pods))
			for _, pod := range pods.Items {
				if v1.IsTrue(pod.Annotations, core.AnnotationManualRollingUpdate) {
					names = append(names, pod.Name)
				}
			}
		}
		return names
	}
	cordon := func(cordoned bool) {
		node := &corev1.Node{}
		h.must(east.Get(t.Context(), client.ObjectKey{Name: "node"}, node))
		node.Spec.Unschedulable = cordoned
		h.must(east.Update(t.Context(), node))
	}
	cordon(true)
	g.Expect(asked()).To(BeEmpty())
	g.Expect(h.centrals[0].kafka().Status.Conditions).To(ContainElement(HaveField("Reason", "DrainBlocked")))

	claim := &corev1.PersistentVolumeClaim{}
	h.must(east.Get(t.Context(), client.ObjectKey{Namespace: historyNamespace, Name: "data-my-cluster-east-1"}, claim))
	claim.Spec.VolumeName = "volume"
	h.must(east.Update(t.Context(), claim))
	h.must(east.Create(t.Context(), &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "volume"}}))
	h.must(east.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other"}}))
	g.Expect(asked()).To(ConsistOf("my-cluster-east-1"))
	g.Expect(h.centrals[0].kafka().Status.Conditions).NotTo(ContainElement(HaveField("Reason", "DrainBlocked")))
	cordon(false)
	g.Expect(asked()).To(BeEmpty())
}
