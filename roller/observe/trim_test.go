package observe_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// Trimmed objects in a cache give the same observation as the whole ones, at a fraction of their size.
func TestTrimmedObjectsAreReadAsWhole(t *testing.T) {
	g := NewWithT(t)
	bulk := strings.Repeat("x", 10_000)
	metadata := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: "set", Labels: map[string]string{v1.LabelCluster: "my-cluster"},
		}
	}
	live := pod(0, waiting("CrashLoopBackOff", 0))
	live.Namespace, live.Labels[v1.LabelCluster] = "ns", "my-cluster"
	live.Spec.Containers = []corev1.Container{{Name: "kafka", Command: []string{bulk}}}
	desired := live
	desired.Annotations = map[string]string{core.AnnotationRevision: "r2", core.AnnotationHold: "true"}
	set := &core.StrimziPodSet{ObjectMeta: metadata("my-cluster-kafka")}
	g.Expect(set.SetDesiredPods([]corev1.Pod{desired})).To(Succeed())
	config := &corev1.ConfigMap{ObjectMeta: metadata(live.Name),
		Data: map[string]string{"server.config": "a=b", "cluster.id": "id\n", "log4j2.properties": bulk}}

	scheme := runtime.NewScheme()
	g.Expect(corev1.AddToScheme(scheme)).To(Succeed())
	g.Expect(core.AddToScheme(scheme)).To(Succeed())
	whole, trimmed := fake.NewClientBuilder().WithScheme(scheme), fake.NewClientBuilder().WithScheme(scheme)
	for _, object := range []client.Object{&live, set, config} {
		whole.WithObjects(object.DeepCopyObject().(client.Object))
		less, err := observe.Trim(object.DeepCopyObject())
		g.Expect(err).NotTo(HaveOccurred())
		text, err := json.Marshal(less)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(len(text)).To(BeNumerically("<", 2000))
		trimmed.WithObjects(less.(client.Object))
	}
	want := observe.ReadPlace(t.Context(), "", whole.Build(), "ns", "my-cluster")
	got := observe.ReadCache(t.Context(), "", trimmed.Build(), "ns", "my-cluster")
	g.Expect(want.Err).NotTo(HaveOccurred())
	g.Expect(observe.Assemble(seen(got))).To(Equal(observe.Assemble(seen(want))))
	g.Expect(want.Pods).To(HaveLen(1))
	g.Expect(want.ClusterIDs).To(HaveKeyWithValue(live.Name, "id"))
}

// Our cluster operator turns the annotation into another revision itself. No other owner does, also not of sets that are left to the
// roller, such as those of a paused Strimzi.
func TestAnAnnotatedSetOfOurOperatorAsksForNothing(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(corev1.AddToScheme(scheme)).To(Succeed())
	g.Expect(core.AddToScheme(scheme)).To(Succeed())
	for _, owner := range []string{"", core.ManagedByStrimzi, core.ManagedByClusterOperator} {
		set := &core.StrimziPodSet{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "my-cluster-kafka", Labels: map[string]string{v1.LabelCluster: "my-cluster", core.LabelManagedBy: owner},
			Annotations: map[string]string{core.AnnotationManualRollingUpdate: "true", core.AnnotationRolledBy: core.RolledByRoller},
		}}
		place := observe.ReadPlace(t.Context(), "", fake.NewClientBuilder().WithScheme(scheme).WithObjects(set).Build(), "ns", "my-cluster")
		g.Expect(place.Err).NotTo(HaveOccurred())
		g.Expect(place.Sets[0].Manual).To(Equal(owner != core.ManagedByClusterOperator), owner)
	}
}

// A copy of a StrimziPodSet lists the nodes as of the time of the copy.
func TestACopyOfASetIsNotRead(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(corev1.AddToScheme(scheme)).To(Succeed())
	g.Expect(core.AddToScheme(scheme)).To(Succeed())
	var sets []client.Object
	for _, name := range []string{"my-cluster-kafka", "copy"} {
		sets = append(sets, &core.StrimziPodSet{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, Labels: map[string]string{v1.LabelCluster: "my-cluster"},
			Annotations: map[string]string{ownership.MarkSelf: "StrimziPodSet/ns/my-cluster-kafka"},
		}})
	}
	sets = append(sets, &core.StrimziPodSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "restored", Labels: map[string]string{v1.LabelCluster: "my-cluster"},
		Annotations: map[string]string{ownership.MarkSelf: "StrimziPodSet/production/restored"},
	}})
	place := observe.ReadPlace(t.Context(), "", fake.NewClientBuilder().WithScheme(scheme).WithObjects(sets...).Build(), "ns", "my-cluster")
	g.Expect(place.Err).NotTo(HaveOccurred())
	g.Expect(place.Sets).To(HaveLen(1))
	g.Expect(place.Sets[0].Name).To(Equal("my-cluster-kafka"))
}
