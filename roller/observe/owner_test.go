package observe_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// The controller of StrimziPodSets makes no pods for a set that is paused or deleted.
func TestASetWhosePodsAreNotMadeAnew(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*podset.StrimziPodSet)
		want   string
	}{
		{"followed", func(*podset.StrimziPodSet) {}, ""},
		{"paused", func(s *podset.StrimziPodSet) {
			s.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "true"}
		}, "StrimziPodSet my-cluster-kafka is annotated with strimzi.io/pause-reconciliation, so that its pods are not made anew"},
		{"not paused", func(s *podset.StrimziPodSet) {
			s.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "false"}
		}, ""},
		{"deleted", func(s *podset.StrimziPodSet) {
			now := metav1.Now()
			s.DeletionTimestamp, s.Finalizers = &now, []string{"example.com/late"}
		}, "StrimziPodSet my-cluster-kafka is being deleted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(corev1.AddToScheme(scheme)).To(Succeed())
			g.Expect(podset.AddToScheme(scheme)).To(Succeed())
			made := &podset.StrimziPodSet{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "my-cluster-kafka", UID: "set", Labels: map[string]string{v1.LabelCluster: "my-cluster"}},
				Spec:       &podset.StrimziPodSetSpec{},
			}
			g.Expect(made.SetDesiredPods([]corev1.Pod{pod(0)})).To(Succeed())
			c.change(made)
			p := pod(0)
			owner, yes := metav1.OwnerReference{Kind: "StrimziPodSet", Name: made.Name, UID: made.UID}, true
			owner.Controller = &yes
			p.Namespace, p.OwnerReferences, p.Labels[v1.LabelCluster] = "ns", []metav1.OwnerReference{owner}, "my-cluster"
			reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects([]client.Object{made, &p}...).Build()
			place := observe.ReadPlace(t.Context(), "", reader, "ns", "my-cluster")
			g.Expect(place.Err).NotTo(HaveOccurred())
			g.Expect(observe.Assemble(seen(place)).Nodes[0].Foreign).To(Equal(c.want))
		})
	}
}
