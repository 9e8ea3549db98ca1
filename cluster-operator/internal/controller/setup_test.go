package controller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/podset"
)

func TestAPassThatFailsIsRepeatedNoLaterThanOneThatDoesNot(t *testing.T) {
	for interval, latest := range map[time.Duration]time.Duration{time.Second: time.Second, 2 * time.Minute: podset.LongestRetry} {
		g, delay := NewWithT(t), time.Duration(0)
		retries := (&Reconciler{Interval: interval}).retries()
		g.Expect(retries.When(reconcile.Request{})).To(BeNumerically("<", time.Second))
		for range 100 {
			delay = retries.When(reconcile.Request{})
		}
		g.Expect(delay).To(Equal(latest))
	}
}

func TestAKubernetesClusterThatReturnsWakesWhoMayWaitForIt(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(v1.AddToScheme(scheme)).To(Succeed())
	kafka := func(name, status string, annotations map[string]string) *v1.Kafka {
		k := newKafka()
		k.Name, k.Annotations = name, annotations
		k.Status.Conditions = []v1.Condition{{Type: v1.ConditionReady, Status: status}}
		return k
	}
	k8s := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		kafka("ready", v1.ConditionTrue, nil), kafka("waits", v1.ConditionFalse, nil),
		kafka("stretched", v1.ConditionTrue, map[string]string{v1.AnnotationStretch: "true"})).Build()
	woken := make(chan event.GenericEvent, 3)
	g.Expect((&Reconciler{Cache: k8s}).wakeStretched(t.Context(), woken)).To(Succeed())
	close(woken)
	var names []string
	for e := range woken {
		names = append(names, e.Object.GetName())
	}
	g.Expect(names).To(ConsistOf("stretched", "waits"))
}

// TestWhatOfPodsBeginsAPass checks which changes of a pod wake its Kafka.
func TestWhatOfPodsBeginsAPass(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*corev1.Pod)
		wakes  bool
	}{
		"nothing":            {func(*corev1.Pod) {}, false},
		"another annotation": {func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }, false},
		"an unsupported annotation": {
			func(p *corev1.Pod) { p.Annotations = map[string]string{v1.AnnotationDeletePodAndPVC: "true"} }, true},
		"a node": {func(p *corev1.Pod) { p.Spec.NodeName = "n" }, true},
	} {
		before, after := &corev1.Pod{}, &corev1.Pod{}
		c.change(after)
		g := NewWithT(t)
		g.Expect(placed().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(c.wakes), what)
		g.Expect(placed().Update(event.UpdateEvent{ObjectOld: after, ObjectNew: before})).To(Equal(c.wakes), "without %s", what)
	}
}

// The roller writes its progress often, which is no matter of a pass.
func TestWhatOfTheRollersConfigMapBeginsAPass(t *testing.T) {
	says := func(status string) func(*corev1.ConfigMap) {
		return func(c *corev1.ConfigMap) { c.Data[core.RollerStatusKey] = status }
	}
	for what, c := range map[string]struct {
		change func(*corev1.ConfigMap)
		wakes  bool
	}{
		"progress":             {func(c *corev1.ConfigMap) { c.Data["progress"], c.ResourceVersion = "{}", "2" }, false},
		"a phase":              {says(`{"conditions":[],"phase":"Blocked"}`), false},
		"how much is missing":  {says(`{"conditions":[{"type":"Ready","status":"False","message":"3 of 6"}]}`), false},
		"why a node waits":     {says(`{"conditions":[{"type":"Blocked","status":"True","message":"node 1"}]}`), true},
		"a configuration":      {says(`{"conditions":[],"configurations":{"a":"b"}}`), true},
		"nothing valid":        {says(`{`), false},
		"a label":              {func(c *corev1.ConfigMap) { c.Labels["a"] = "b" }, true},
		"the label of another": {func(c *corev1.ConfigMap) { c.Labels[core.LabelManagedBy] = "ann" }, true},
		"an owner":             {func(c *corev1.ConfigMap) { c.OwnerReferences = []metav1.OwnerReference{{Name: "a"}} }, true},
		"its deletion":         {func(c *corev1.ConfigMap) { c.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, true},
	} {
		before := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{core.LabelManagedBy: core.ManagedByRoller}},
			Data: map[string]string{core.RollerStatusKey: `{"conditions":[]}`}}
		after := before.DeepCopy()
		c.change(after)
		g := NewWithT(t)
		g.Expect(read().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(c.wakes), what)
		g.Expect(read().Update(event.UpdateEvent{ObjectOld: after, ObjectNew: before})).To(Equal(c.wakes), "without %s", what)
	}
	g, other := NewWithT(t), &corev1.ConfigMap{}
	g.Expect(read().Update(event.UpdateEvent{ObjectOld: other, ObjectNew: other})).To(BeTrue())
	g.Expect(read().Update(event.UpdateEvent{ObjectOld: &corev1.Secret{}, ObjectNew: &corev1.Secret{}})).To(BeTrue())
	g.Expect(read().Create(event.CreateEvent{Object: other})).To(BeTrue())
	g.Expect(read().Delete(event.DeleteEvent{Object: other})).To(BeTrue())
}
