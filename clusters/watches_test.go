package clusters

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// bench is a record of an informer, with a server whose watch events the test sends.
type bench struct {
	*WithT
	t       *testing.T
	all     *watches
	one     *informer
	server  *watch.FakeWatcher
	store   toolscache.Store
	list    corev1.PodList
	asked   metav1.ListOptions
	failed  error
	told    atomic.Int32
	dropped int
}

func newBench(t *testing.T) *bench {
	b := &bench{WithT: NewWithT(t), t: t}
	b.all = newWatches(func() { b.told.Add(1) })
	inner := &toolscache.ListWatch{
		ListWithContextFunc: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
			if b.asked = o; b.failed != nil {
				return nil, b.failed
			}
			return b.list.DeepCopy(), nil
		},
		WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if b.asked = o; b.failed != nil {
				return nil, b.failed
			}
			b.server = watch.NewFake()
			return b.server, nil
		},
	}
	b.Expect(b.all.newInformer(inner, &corev1.Pod{}, 0, nil)).NotTo(BeNil())
	b.one = b.all.informers[0]
	b.store = toolscache.NewStore(toolscache.MetaNamespaceKeyFunc)
	b.one.store = b.store
	return b
}

func (b *bench) pass(open bool) { b.all.pass(open, func() { b.dropped++ }) }

func (b *bench) watch(initial bool) watch.Interface {
	b.t.Helper()
	options := metav1.ListOptions{}
	if initial {
		options.SendInitialEvents = &initial
	}
	w, err := b.one.watch(b.t.Context(), options)
	b.Expect(err).NotTo(HaveOccurred())
	b.t.Cleanup(w.Stop)
	return w
}

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, ResourceVersion: version}}
}

func endOfInitial() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9",
		Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
}

// lost simulates an outage of an informer that was in sync. During the outage, pod a changed and pod gone was deleted.
func (b *bench) lost() {
	b.t.Helper()
	b.pass(true)
	b.watch(false)
	b.Expect(b.store.Add(pod("a", "1"))).To(Succeed())
	b.Expect(b.store.Add(pod("gone", "1"))).To(Succeed())
	b.pass(false)
	b.pass(true)
	b.Expect(b.all.pending()).To(Equal([]string{"*v1.Pod"}))
}

func TestInformersAreAccountedForFromTheirFirstSync(t *testing.T) {
	b := newBench(t)
	b.pass(true)
	b.Expect(b.dropped).To(BeZero())
	b.Expect(b.all.pending()).To(BeEmpty(), "what was never in sync makes its readers wait by itself")
	b.watch(false)
	b.Expect(b.told.Load()).To(BeEquivalentTo(1))
	b.pass(true)
	b.pass(false)
	b.Expect(b.dropped).To(Equal(1), "what is under way is broken off")
	b.Expect(b.all.pending()).To(HaveLen(1))
	b.pass(false)
	b.pass(true)
	b.Expect(b.dropped).To(Equal(2), "and what was begun while the gate was closing")
	b.Expect(b.all.pending()).To(HaveLen(1))
}

func TestAWatchIsNotJustTakenUpAfterAnOutage(t *testing.T) {
	b := newBench(t)
	b.lost()
	e := watch.Event{}
	b.Eventually(b.watch(false).ResultChan()).Should(Receive(&e))
	b.Expect(forgotten(e.Object)).To(BeTrue(), "the informer is told to list")
	b.Expect(b.all.pending()).To(HaveLen(1))
}

func TestAWatchThatBeginsWithAListIsUpToDateWhenTheStoreHoldsIt(t *testing.T) {
	b := newBench(t)
	b.lost()
	w := b.watch(true)
	b.Expect(b.asked.ResourceVersion).To(BeEmpty(), "what is there now is asked for")
	b.server.Add(pod("a", "2"))
	b.Eventually(w.ResultChan()).Should(Receive())
	b.server.Action(watch.Bookmark, pod("a", "8"))
	b.Eventually(w.ResultChan()).Should(Receive())
	b.server.Action(watch.Bookmark, endOfInitial())
	b.Eventually(w.ResultChan()).Should(Receive())
	go b.server.Modify(pod("a", "10"))
	held := func() {
		b.t.Helper()
		b.Consistently(w.ResultChan(), 50*time.Millisecond).ShouldNot(Receive())
		b.Expect(b.all.pending()).To(HaveLen(1))
	}
	held()
	b.Expect(b.store.Update(pod("a", "2"))).To(Succeed())
	held()
	b.Expect(b.store.Delete(pod("gone", "1"))).To(Succeed())
	b.Eventually(b.all.pending).Should(BeEmpty())
	b.Eventually(w.ResultChan()).Should(Receive(), "and then it goes on")
}

func TestAWatchAfterAListIsUpToDateWhenTheStoreHoldsIt(t *testing.T) {
	b := newBench(t)
	b.lost()
	read := func(next string, pods ...corev1.Pod) {
		b.list = corev1.PodList{ListMeta: metav1.ListMeta{Continue: next}, Items: pods}
		from := map[bool]string{true: "", false: "more"}[len(b.one.listed) == 0]
		_, err := b.one.list(t.Context(), metav1.ListOptions{ResourceVersion: "1", Continue: from})
		b.Expect(err).NotTo(HaveOccurred())
	}
	read("more", *pod("a", "2"))
	b.Expect(b.asked.ResourceVersion).To(BeEmpty(), "what is there now is asked for")
	b.Eventually(b.watch(false).ResultChan()).Should(Receive(), "half a list is none")
	read("", *pod("b", "3"))
	taken := make(chan watch.Interface)
	go func() { w, _ := b.one.watch(t.Context(), metav1.ListOptions{}); taken <- w }()
	b.Consistently(taken, 50*time.Millisecond).ShouldNot(Receive())
	b.Expect(b.store.Replace([]any{pod("a", "2"), pod("b", "3")}, "4")).To(Succeed())
	w := watch.Interface(nil)
	b.Eventually(taken).Should(Receive(&w))
	t.Cleanup(w.Stop)
	b.Expect(b.all.pending()).To(BeEmpty())
}

func TestAnotherOutageMeanwhileIsNotForgotten(t *testing.T) {
	b := newBench(t)
	b.lost()
	w := b.watch(true)
	b.server.Action(watch.Bookmark, endOfInitial())
	b.Eventually(w.ResultChan()).Should(Receive())
	b.pass(false)
	b.pass(true)
	b.Expect(b.store.Replace(nil, "1")).To(Succeed())
	b.Eventually(func() int { b.all.mu.Lock(); defer b.all.mu.Unlock(); return b.one.current }).Should(Equal(2))
	b.Expect(b.all.pending()).To(HaveLen(1), "it was up to date after the outage before")
}

func TestAWatchWhosePastIsForgottenIsNotUpToDate(t *testing.T) {
	b := newBench(t)
	b.pass(true)
	w := b.watch(false)
	b.server.Error(&metav1.Status{Reason: metav1.StatusReasonInternalError}) // as client-go reports a closed connection
	b.Eventually(w.ResultChan()).Should(Receive())
	b.Expect(b.all.pending()).To(BeEmpty())
	b.server.Error(&metav1.Status{Reason: metav1.StatusReasonExpired})
	b.Eventually(w.ResultChan()).Should(Receive())
	b.Expect(b.all.pending()).To(HaveLen(1))
}

func TestWithoutAConnectionInformersWait(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { _, err := b.one.list(ctx, metav1.ListOptions{}); ended <- err }()
	go func() { _, err := b.one.watch(ctx, metav1.ListOptions{}); ended <- err }()
	b.Consistently(ended, 50*time.Millisecond).ShouldNot(Receive())
	cancel()
	b.Eventually(ended).Should(Receive(MatchError(context.Canceled)))
	b.Eventually(ended).Should(Receive(MatchError(context.Canceled)))
	go func() { _, err := b.one.list(t.Context(), metav1.ListOptions{}); ended <- err }()
	b.Consistently(ended, 50*time.Millisecond).ShouldNot(Receive())
	b.pass(true)
	b.Eventually(ended).Should(Receive(BeNil()))
}

func TestAWatchThatIsStoppedHoldsNothingBack(t *testing.T) {
	b := newBench(t)
	b.pass(true)
	w := b.watch(false)
	b.server.Add(&corev1.Pod{}) // the observer receives the event, and no reader receives it from the observer
	w.Stop()
	b.Eventually(w.ResultChan()).Should(BeClosed())
	w.Stop()
}

func TestAnInformerThatWasTakenAwayIsNotWaitedFor(t *testing.T) {
	b := newBench(t)
	b.pass(true)
	b.watch(false)
	b.pass(false)
	b.one.stopped = func() bool { return true }
	b.Expect(b.all.pending()).To(BeEmpty())
}

func TestAKindThatIsNotServedOrPermittedAnyMoreIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		err      error
		refusals func(*watches) []string
		told     string
	}{
		"not served": {apierrors.NewGenericServerResponse(http.StatusNotFound, "list", schema.GroupResource{Resource: "pods"}, "", "", 0, true),
			(*watches).unserved, "*v1.Pod"},
		"not permitted": {apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("cannot list")),
			(*watches).forbidden, "pods is forbidden: cannot list"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			refusals := func() []string { return c.refusals(b.all) }
			b.pass(true)
			b.failed = c.err
			_, err := b.one.list(t.Context(), metav1.ListOptions{})
			b.Expect(err).To(MatchError(c.err))
			b.Expect(refusals()).To(BeEmpty(), "what was never in sync makes its readers wait by itself")
			b.failed = nil
			b.watch(false)
			told := b.told.Load()
			for _, begin := range []func() error{
				func() error { _, err := b.one.list(t.Context(), metav1.ListOptions{}); return err },
				func() error {
					_, err := b.one.watch(t.Context(), metav1.ListOptions{SendInitialEvents: new(true)})
					return err
				},
			} {
				b.failed = apierrors.NewServiceUnavailable("busy")
				b.Expect(begin()).NotTo(Succeed())
				b.Expect(refusals()).To(BeEmpty())
				b.failed = c.err
				b.Expect(begin()).NotTo(Succeed())
				b.Expect(begin()).NotTo(Succeed())
				told++
				b.Expect(b.told.Load()).To(Equal(told))
				b.Expect(refusals()).To(Equal([]string{c.told}))
				b.failed = nil
				b.Expect(begin()).To(Succeed())
				told++
				b.Expect(b.told.Load()).To(Equal(told))
				b.Expect(refusals()).To(BeEmpty())
				b.Expect(b.all.pending()).To(HaveLen(1), "it has to list")
			}
		})
	}
}

// Of several namespaces, one was deleted with the rights in it.
func TestRightsThatAreLostInOneNamespaceHoldUpNoOther(t *testing.T) {
	b := newBench(t)
	b.pass(true)
	b.watch(false)
	other := &informer{name: b.one.name, current: b.one.current, refused: map[verb]error{}, all: b.all, stopped: func() bool { return false }}
	b.all.informers = append(b.all.informers, other)
	b.failed = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("cannot list"))
	_, err := b.one.list(t.Context(), metav1.ListOptions{})
	b.Expect(err).To(HaveOccurred())
	b.Expect(b.all.forbidden()).To(BeEmpty())
	b.Expect(b.all.pending()).To(BeEmpty())

	other.answered(toList, b.failed)
	b.Expect(b.all.forbidden()).To(Equal([]string{"pods is forbidden: cannot list"}))
	b.Expect(b.all.pending()).To(Equal([]string{b.one.name}))
}

func TestRightsToAnOptionalKindThatAreLostHoldUpNoOther(t *testing.T) {
	b := newBench(t)
	b.all.optional = []string{b.one.kind}
	b.pass(true)
	b.watch(false)
	b.Expect(b.all.outdated(b.one.kind, "")).To(Succeed())
	b.failed = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("cannot list"))
	_, err := b.one.list(t.Context(), metav1.ListOptions{})
	b.Expect(err).To(HaveOccurred())
	b.Expect(b.all.forbidden()).To(BeEmpty())
	b.Expect(b.all.pending()).To(BeEmpty())
	b.Expect(b.all.outdated(b.one.kind, "")).To(MatchError(apierrors.IsForbidden, "what the store has is from before"))
	b.Expect(b.all.outdated("Another", "")).To(Succeed())
}

func TestAListThatIsPermittedDoesNotHideAWatchThatIsNot(t *testing.T) {
	b := newBench(t)
	b.pass(true)
	b.watch(false)
	initial := metav1.ListOptions{SendInitialEvents: new(true)}
	b.failed = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("cannot watch"))
	_, err := b.one.watch(t.Context(), initial)
	b.Expect(err).To(HaveOccurred())
	b.failed = nil
	_, err = b.one.list(t.Context(), metav1.ListOptions{})
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.all.forbidden()).To(HaveLen(1), "the informer lists before each attempt to watch")
	b.failed = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("cannot list"))
	_, err = b.one.list(t.Context(), metav1.ListOptions{})
	b.Expect(err).To(HaveOccurred())
	b.Expect(b.all.forbidden()).To(Equal([]string{"pods is forbidden: cannot list", "pods is forbidden: cannot watch"}))
	b.failed = nil
	b.watch(true)
	b.Expect(b.all.forbidden()).To(BeEmpty())
}
