package podset

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	kafka "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
)

func TestLifeOfASet(t *testing.T) {
	w := newWorld(t)
	stop := w.start()
	set := w.set("c-p-0", "c-p-1", "c-p-2")
	w.Eventually(w.names).Should(ConsistOf("c-p-0", "c-p-1", "c-p-2"))
	w.Eventually(w.status).Should(Equal("generation +0: 3 0 3"))
	for _, name := range w.names() {
		w.is(name, corev1.PodRunning, true)
	}
	w.Eventually(w.status).Should(Equal("generation +0: 3 3 3"))

	// Out of date: left to the roller, which deletes them.
	before := w.pod("c-p-0").UID
	edit(w, set, func(s *core.StrimziPodSet) { list(s, "r2", "c-p-0", "c-p-1", "c-p-2") })
	w.Eventually(w.status).Should(Equal("generation +0: 3 3 0"))
	w.Consistently(func() types.UID { return w.pod("c-p-0").UID }).Should(Equal(before))
	w.Expect(w.admin.Delete(t.Context(), w.pod("c-p-0"))).To(Succeed())
	w.Eventually(w.status).Should(Equal("generation +0: 3 2 1"))
	w.Expect(core.Revision(w.pod("c-p-0"))).To(Equal("r2"))

	// It ended: created again.
	before = w.pod("c-p-1").UID
	w.is("c-p-1", corev1.PodFailed, false)
	w.Eventually(func() bool { p := w.pod("c-p-1"); return p != nil && p.UID != before }).Should(BeTrue())
	w.Eventually(w.status).Should(Equal("generation +0: 3 1 2"))

	// Listed no more, while nobody looked: deleted.
	stop()
	edit(w, set, func(s *core.StrimziPodSet) { list(s, "r2", "c-p-0", "c-p-3") })
	w.Expect(w.admin.Delete(t.Context(), w.pod("c-p-0"))).To(Succeed())
	w.start()
	w.Eventually(w.names).Should(ConsistOf("c-p-0", "c-p-3"))
	w.Eventually(w.status).Should(Equal("generation +0: 2 0 2"))
}

func TestForeignPod(t *testing.T) {
	w := newWorld(t)
	w.start()
	stranger := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "c-p-0", Labels: map[string]string{"mine": "yes"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}},
	}
	w.Expect(w.admin.Create(t.Context(), stranger)).To(Succeed())
	w.is("c-p-0", corev1.PodFailed, false)
	w.set("c-p-0", "c-p-1")
	w.Eventually(w.status).
		Should(And(HavePrefix("generation +0: 2 0 1; Error=true pod c-p-0 exists and belongs to no known owner, not to "+
			"StrimziPodSet c-p with uid "), ContainSubstring("The operator does not change it")))
	w.Expect(w.names()).To(ConsistOf("c-p-0", "c-p-1"))
	w.Consistently(func() map[string]string { return w.pod("c-p-0").Labels }).Should(HaveKey("mine"))
	w.Expect(w.pod("c-p-0").OwnerReferences).To(BeEmpty())

	w.Expect(w.admin.Delete(t.Context(), stranger)).To(Succeed())
	w.Eventually(w.status).Should(Equal("generation +0: 2 0 2"))
}

// A set that was deleted without its pods, and restored, gets them back as they run.
func TestAdoption(t *testing.T) {
	w := newWorld(t)
	stop := w.start()
	set := w.set("c-p-0")
	w.Eventually(w.status).Should(Equal("generation +0: 1 0 1"))
	uid := w.pod("c-p-0").UID
	stop()
	pod := w.pod("c-p-0")
	pod.OwnerReferences = nil // what the garbage collector does with --cascade=orphan
	w.Expect(w.admin.Update(t.Context(), pod)).To(Succeed())
	w.Expect(w.admin.Delete(t.Context(), set)).To(Succeed())
	set = w.set("c-p-0")
	w.start()
	w.Eventually(w.status).Should(Equal("generation +0: 1 0 1"))
	w.Expect(w.pod("c-p-0").UID).To(Equal(uid))
	w.Expect(metav1.GetControllerOf(w.pod("c-p-0")).UID).To(Equal(set.UID))
}

// A pod that loses the label of its Kafka is not in the cache any more, as if it were gone.
func TestAPodThatLosesItsLabelsGetsThemBack(t *testing.T) {
	w := newWorld(t)
	w.set("c-p-0", "c-p-1")
	var notes recorder
	r := w.reconciler(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList,
		opts ...client.ListOption) error {
		return c.List(ctx, l, append(opts, client.HasLabels{kafka.LabelCluster})...)
	}})
	pass := func() {
		_, err := w.pass(r)
		w.Expect(err).NotTo(HaveOccurred())
	}
	pass()
	r.Recorder = &notes
	before, foreign := w.pod("c-p-0"), w.pod("c-p-1")
	edit(w, w.pod("c-p-0"), func(p *corev1.Pod) { p.Labels = map[string]string{"strimzi.io/name": "other", "mine": "yes"} })
	edit(w, foreign, func(p *corev1.Pod) { foreignPod(p); p.Labels = nil })
	pass()
	w.Expect(w.pod("c-p-0")).To(HaveField("Labels", map[string]string{kafka.LabelCluster: "c", "strimzi.io/name": "c-kafka", "mine": "yes"}))
	w.Expect(w.pod("c-p-0").UID).To(Equal(before.UID))
	w.Expect(w.pod("c-p-1")).To(Equal(foreign))
	pass()
	w.Expect(w.status()).To(And(HavePrefix("generation +0: 2 0 1; Error=true"), ContainSubstring("pod c-p-1 exists")))
	w.Expect(notes).To(HaveExactElements("PodLabelled: Pod c-p-0 had lost its labels and got them back"))
}

// The labels that only nodes have which are made from now on, such as those of roles, tell what a node runs with.
func TestAPodOfAnotherRevisionGetsBackWhatItIs(t *testing.T) {
	g := NewWithT(t)
	declared := livePod("c-p-0", func(p *corev1.Pod) {
		p.Labels = map[string]string{kafka.LabelCluster: "c", core.LabelName: "c-kafka", core.LabelKind: core.KindKafka,
			"strimzi.io/broker-role": "true"}
	})
	same := livePod("c-p-0")
	g.Expect(lost(&same, &declared)).To(ConsistOf(kafka.LabelCluster, core.LabelName, core.LabelKind, "strimzi.io/broker-role"))
	earlier := livePod("c-p-0", func(p *corev1.Pod) { p.Annotations[core.AnnotationRevision] = "r0" })
	g.Expect(lost(&earlier, &declared)).To(ConsistOf(kafka.LabelCluster, core.LabelName, core.LabelKind))
}

// The cache has sets without the label of a Kafka, because those of the operator are known by their owner. Others are nobody's.
func TestASetWithoutTheLabelIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	set := w.set("c-p-0")
	edit(w, set, func(s *core.StrimziPodSet) { s.Labels = nil })
	_, err := w.pass(w.reconciler(interceptor.Funcs{}))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.names()).To(BeEmpty())
	w.Expect(w.status()).To(Equal("generation -1: 0 0 0"))
}

func TestPausedSet(t *testing.T) {
	w := newWorld(t)
	w.start()
	set := w.set("c-p-0", "c-p-1")
	w.Eventually(w.status).Should(Equal("generation +0: 2 0 2"))
	edit(w, set, func(s *core.StrimziPodSet) {
		s.Annotations = map[string]string{kafka.AnnotationPauseReconciliation: "true"}
		list(s, "r1", "c-p-0", "c-p-2")
	})
	w.Eventually(w.status).Should(Equal("generation -1: 3 0 1; ReconciliationPaused=True "))
	w.Consistently(w.names).Should(ConsistOf("c-p-0", "c-p-1"))
	edit(w, set, func(s *core.StrimziPodSet) { s.Annotations = nil })
	w.Eventually(w.names).Should(ConsistOf("c-p-0", "c-p-2"))
	w.Eventually(w.status).Should(Equal("generation +0: 2 0 2"))
}

func TestHibernatedSet(t *testing.T) {
	w := newWorld(t)
	w.start()
	set := w.set("c-p-0", "c-p-1")
	w.Eventually(w.status).Should(Equal("generation +0: 2 0 2"))
	edit(w, set, func(s *core.StrimziPodSet) { s.Annotations = map[string]string{core.AnnotationHibernate: "true"} })
	w.Eventually(w.names).Should(BeEmpty())
	w.Eventually(w.status).Should(Equal("generation +0: 2 0 0"))
	w.Consistently(w.names).Should(BeEmpty())
	edit(w, set, func(s *core.StrimziPodSet) { s.Annotations = nil })
	w.Eventually(w.names).Should(ConsistOf("c-p-0", "c-p-1"))
}

// A pass that has not seen the annotation yet makes no pod, and one that has not seen its end deletes none.
func TestWhatHibernatesIsReadRightBeforeAWrite(t *testing.T) {
	for _, asleep := range []bool{false, true} {
		t.Run(fmt.Sprint(asleep), func(t *testing.T) {
			w := newWorld(t)
			set := w.set("c-p-0")
			annotated := func(is bool) {
				edit(w, set, func(s *core.StrimziPodSet) {
					s.Annotations = map[string]string{core.AnnotationHibernate: fmt.Sprint(is)}
				})
			}
			annotated(asleep)
			stale := &core.StrimziPodSet{}
			w.Expect(w.admin.Get(t.Context(), client.ObjectKeyFromObject(set), stale)).To(Succeed())
			annotated(!asleep)
			same, err := w.reconciler(interceptor.Funcs{}).confirm(t.Context(), stale)
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(same).To(BeFalse())
		})
	}
}

// Sets that Strimzi's own operator follows, copies of sets, and those that are being deleted, are left alone.
func TestNotFollowed(t *testing.T) {
	w := newWorld(t)
	w.start()
	set := testSet("c-p-0")
	set.ObjectMeta = metav1.ObjectMeta{Namespace: w.namespace, Name: "c-p",
		Labels: map[string]string{core.LabelManagedBy: core.ManagedByStrimzi}}
	w.Expect(w.admin.Create(t.Context(), set)).To(Succeed())
	copied := testSet("c-q-0")
	copied.ObjectMeta = metav1.ObjectMeta{Namespace: w.namespace, Name: "copy",
		Annotations: map[string]string{ownership.MarkSelf: "StrimziPodSet/" + w.namespace + "/c-q"}}
	w.Expect(w.admin.Create(t.Context(), copied)).To(Succeed())
	w.Consistently(w.names).Should(BeEmpty())
	edit(w, set, func(s *core.StrimziPodSet) { s.Finalizers = []string{"example.com/hold"} })
	w.Expect(w.admin.Delete(t.Context(), set)).To(Succeed())
	edit(w, set, func(s *core.StrimziPodSet) { s.Labels = nil })
	w.Consistently(w.names).Should(BeEmpty())
	edit(w, set, func(s *core.StrimziPodSet) { s.Finalizers = nil })
}

// TestNoPodIsMadeFromASetOfAnotherNamespace checks that a backup which is restored into another namespace starts no second nodes, and says
// why.
func TestNoPodIsMadeFromASetOfAnotherNamespace(t *testing.T) {
	w := newWorld(t)
	w.start()
	set := testSet("c-p-0")
	set.ObjectMeta = metav1.ObjectMeta{Namespace: w.namespace, Name: "c-p", Labels: map[string]string{kafka.LabelCluster: "c"},
		Annotations: map[string]string{ownership.MarkSelf: "StrimziPodSet/production/c-p"}}
	w.Expect(w.admin.Create(t.Context(), set)).To(Succeed())
	w.Eventually(w.status).Should(ContainSubstring("restored from another namespace"))
	w.Expect(w.names()).To(BeEmpty())
	edit(w, set, func(s *core.StrimziPodSet) { s.Annotations = nil })
	w.Eventually(w.names).Should(ConsistOf("c-p-0"))
	w.Eventually(w.status).ShouldNot(ContainSubstring("restored"))
}

func TestInvalidSpec(t *testing.T) {
	w := newWorld(t)
	w.start()
	set := w.set("c-p-0")
	w.Eventually(w.status).Should(Equal("generation +0: 1 0 1"))
	edit(w, set, func(s *core.StrimziPodSet) { s.Spec.Pods[0].Raw = []byte(`{"metadata":{"name":""}}`) })
	w.Eventually(w.status).Should(Equal(fmt.Sprintf("generation -1: 1 0 1; Error=true StrimziPodSet %s/c-p: spec.pods[0] has no name",
		w.namespace)))
	w.Expect(w.names()).To(ConsistOf("c-p-0"))
}

// reconciler is one that reads the API server, through calls that a test may change.
func (w *world) reconciler(change interceptor.Funcs) *Reconciler {
	return &Reconciler{Client: interceptor.NewClient(w.admin, change), Live: w.admin, Now: time.Now}
}

func (w *world) pass(r *Reconciler) (reconcile.Result, error) {
	return r.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "c-p"}})
}

// A namespace that is being deleted takes no new pods: that is no error, nothing is tried again and again, and what has to go goes.
func TestTerminatingNamespace(t *testing.T) {
	w := newWorld(t)
	set := w.set("c-p-0", "c-p-1")
	created := 0
	r := w.reconciler(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object,
		opts ...client.CreateOption) error {
		created++
		return c.Create(ctx, o, opts...)
	}})
	_, err := w.pass(r)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.admin.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})).To(Succeed())
	w.Expect(w.admin.Delete(t.Context(), w.pod("c-p-0"))).To(Succeed())
	edit(w, set, func(s *core.StrimziPodSet) { list(s, "r1", "c-p-0", "c-p-2") })
	created = 0
	result, err := w.pass(r)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result).To(Equal(reconcile.Result{}))
	w.Expect(created).To(Equal(1))
	w.Expect(w.names()).To(BeEmpty())
}

// What the cache says may be old. Nothing is deleted or created by a set that says otherwise by now, and no pod that changed since it was
// read.
func TestStaleCache(t *testing.T) {
	w := newWorld(t)
	set := w.set("c-p-0", "c-p-1")
	_, err := w.pass(w.reconciler(interceptor.Funcs{}))
	w.Expect(err).NotTo(HaveOccurred())

	stale := set.DeepCopy()
	stale.Spec.Pods = stale.Spec.Pods[:1]
	edit(w, set, func(s *core.StrimziPodSet) { list(s, "r2", "c-p-0", "c-p-1") })
	oldSet := interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
		opts ...client.GetOption) error {
		if s, ok := o.(*core.StrimziPodSet); ok {
			stale.DeepCopyInto(s)
			return nil
		}
		return c.Get(ctx, key, o, opts...)
	}}
	result, err := w.pass(w.reconciler(oldSet))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result.RequeueAfter).To(Equal(soon))
	w.Expect(w.names()).To(ConsistOf("c-p-0", "c-p-1"))
	w.Expect(w.status()).NotTo(HavePrefix("generation +0")) // nor does the status claim anything about the new one

	// A pod is taken for ended, or for the set's, that is not any more.
	edit(w, set, func(s *core.StrimziPodSet) { list(s, "r1", "c-p-0") })
	var old corev1.PodList
	w.Expect(w.admin.List(t.Context(), &old, client.InNamespace(w.namespace))).To(Succeed())
	pod := w.pod("c-p-1")
	pod.OwnerReferences[0].UID = "somebody"
	w.Expect(w.admin.Update(t.Context(), pod)).To(Succeed())
	oldPods := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
		if pods, ok := l.(*corev1.PodList); ok {
			old.DeepCopyInto(pods)
			return nil
		}
		return c.List(ctx, l, opts...)
	}}
	_, err = w.pass(w.reconciler(oldPods))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.names()).To(ConsistOf("c-p-0", "c-p-1"))

	// A pod that the cache does not know, or knows no more.
	old.Items = nil
	_, err = w.pass(w.reconciler(oldPods))
	w.Expect(err).NotTo(HaveOccurred())
	edit(w, set, func(s *core.StrimziPodSet) { list(s, "r1", "c-p-0", "c-p-1") })
	_, err = w.pass(w.reconciler(oldPods))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.status()).To(ContainSubstring("pod c-p-1 exists and belongs to StrimziPodSet c-p with uid somebody"))
}

// A status that only a cache without the last write shows is written once the cache has caught up, though no event says so.
func TestAStatusThatTheCacheLacksIsWrittenLater(t *testing.T) {
	w := newWorld(t)
	set := w.set("c-p-0")
	var stale *core.StrimziPodSet
	r := w.reconciler(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
		opts ...client.GetOption) error {
		if s, ok := o.(*core.StrimziPodSet); ok && stale != nil {
			stale.DeepCopyInto(s)
			return nil
		}
		return c.Get(ctx, key, o, opts...)
	}})
	pass := func() reconcile.Result {
		result, err := w.pass(r)
		w.Expect(err).NotTo(HaveOccurred())
		return result
	}
	pass()
	pass()
	before := set.DeepCopy()
	w.Expect(w.admin.Get(t.Context(), client.ObjectKeyFromObject(set), before)).To(Succeed())
	w.is("c-p-0", corev1.PodRunning, true)
	pass()
	w.is("c-p-0", corev1.PodRunning, false)
	stale = before
	w.Expect(pass().RequeueAfter).To(Equal(soon))
	w.Expect(w.status()).To(HavePrefix("generation +0: 1 1 1"))
	stale = nil
	pass()
	w.Expect(w.status()).To(HavePrefix("generation +0: 1 0 1"))
}

// An API server that fails between any two writes, with an operator that starts again each time: the pods come to be as listed, and nothing
// else is touched.
func TestFaults(t *testing.T) {
	w := newWorld(t)
	stranger := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "stranger", Labels: map[string]string{"strimzi.io/name": "c-kafka"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}},
	}
	w.Expect(w.admin.Create(t.Context(), stranger)).To(Succeed())
	set := w.set("c-p-0")
	names := []string{"c-p-0", "c-p-1", "c-p-2", "c-p-3"}
	first := randomtest.Seed(t)
	for seed := first; seed < first+40; seed++ {
		r := rand.New(rand.NewPCG(seed, 2))
		var listed []string
		for _, name := range names {
			if r.IntN(3) > 0 {
				listed = append(listed, name)
			}
		}
		edit(w, set, func(s *core.StrimziPodSet) { list(s, "r1", listed...) })
		running := map[string]types.UID{}
		for _, name := range names {
			switch pod := w.pod(name); {
			case pod == nil:
			case r.IntN(4) == 0:
				w.is(name, corev1.PodFailed, false)
			case r.IntN(4) == 0:
				w.Expect(w.admin.Delete(t.Context(), pod)).To(Succeed())
			default:
				running[name] = pod.UID
			}
		}
		for passes := 0; ; passes++ {
			w.Expect(passes).To(BeNumerically("<", 200))
			if _, err := w.pass(w.reconciler(failing(r.IntN(5), r.IntN(2) == 0))); err == nil &&
				w.status() == fmt.Sprintf("generation +0: %d 0 %d", len(listed), len(listed)) {
				break
			}
		}
		w.Expect(w.names()).To(ConsistOf(append([]string{"stranger"}, listed...)))
		for _, name := range listed {
			if uid, was := running[name]; was {
				w.Expect(w.pod(name).UID).To(Equal(uid), "pod %s was restarted", name)
			}
		}
	}
	w.Expect(w.pod("stranger").ResourceVersion).To(Equal(stranger.ResourceVersion))
}

// failing makes all writes after the first n fail: before they reach the API server, or with the answer lost.
func failing(n int, late bool) interceptor.Funcs {
	lost := errors.New("connection lost")
	write := func(do func() error) error {
		n--
		if n >= 0 {
			return do()
		}
		if late {
			return errors.Join(do(), lost)
		}
		return lost
	}
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return write(func() error { return c.Create(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return write(func() error { return c.Delete(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return write(func() error { return c.Patch(ctx, o, p, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
			opts ...client.SubResourcePatchOption) error {
			return write(func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
	}
}

// A converged set costs no write.
func TestNothingToDo(t *testing.T) {
	w := newWorld(t)
	w.set("c-p-0", "c-p-1")
	for range 3 {
		_, err := w.pass(w.reconciler(interceptor.Funcs{}))
		w.Expect(err).NotTo(HaveOccurred())
	}
	_, err := w.pass(w.reconciler(failing(0, false)))
	w.Expect(err).NotTo(HaveOccurred())
}

// Each act is an Event.
func TestEvents(t *testing.T) {
	w := newWorld(t)
	set := w.set("c-p-0")
	var notes recorder
	r := w.reconciler(interceptor.Funcs{})
	r.Recorder = &notes
	_, err := w.pass(r)
	w.Expect(err).NotTo(HaveOccurred())
	edit(w, set, func(s *core.StrimziPodSet) { list(s, "r1") })
	_, err = w.pass(r)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(notes).To(HaveExactElements("PodCreated: Created pod c-p-0",
		"PodDeleted: Deleted pod c-p-0: the StrimziPodSet no longer lists it"))
}

type recorder []string

func (r *recorder) Normal(_ runtime.Object, reason, _, note string) {
	*r = append(*r, reason+": "+note)
}

func TestEachPassIsTold(t *testing.T) {
	w := newWorld(t)
	broken := errors.New("no answer")
	var failed error
	get := func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return failed
	}
	r := w.reconciler(interceptor.Funcs{Get: get})
	var told []string
	r.Passed = func(namespace string, took time.Duration, err error) {
		w.Expect(took).To(BeNumerically(">=", 0))
		told = append(told, fmt.Sprint(namespace == w.namespace, err))
	}
	_, _ = w.pass(r) // the set is no Kafka's
	failed = broken
	_, _ = w.pass(r)
	w.Expect(told).To(Equal([]string{"true <nil>", "true no answer"}))
}
