package clusters

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// bench is an informer's account with a watch that the test plays.
type bench struct {
	*WithT
	t       *testing.T
	all     *watches
	one     *informer
	server  *watch.FakeWatcher
	told    atomic.Int32
	dropped int
}

func newBench(t *testing.T) *bench {
	b := &bench{WithT: NewWithT(t), t: t}
	b.all = newWatches(func() { b.told.Add(1) })
	inner := &toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return &corev1.PodList{}, nil },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			b.server = watch.NewFake()
			return b.server, nil
		},
	}
	b.Expect(b.all.newInformer(inner, &corev1.Pod{}, 0, nil)).NotTo(BeNil())
	b.one = b.all.informers[0]
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

func TestAWatchHasToBeTakenUpAgainAfterAnOutage(t *testing.T) {
	b := newBench(t)
	b.pass(true)
	b.Expect(b.all.pending()).To(BeEmpty(), "what was never in sync makes its readers wait by itself")
	b.watch(false)
	b.Expect(b.told.Load()).To(BeEquivalentTo(1))
	b.pass(true)
	b.Expect(b.dropped).To(BeZero())
	b.pass(false)
	b.Expect(b.dropped).To(Equal(1), "what is under way is broken off")
	b.Expect(b.all.pending()).To(Equal([]string{"*v1.Pod"}))
	b.pass(false)
	b.pass(true)
	b.Expect(b.dropped).To(Equal(2), "and what was begun while the gate was closing")
	b.Expect(b.all.pending()).To(HaveLen(1))
	b.watch(false)
	b.Expect(b.all.pending()).To(BeEmpty())
	b.Expect(b.told.Load()).To(BeEquivalentTo(2))
}

func TestAWatchThatSendsThePresentStateIsUpToDateAfterThat(t *testing.T) {
	b := newBench(t)
	b.pass(true)
	b.watch(false)
	b.pass(false)
	b.pass(true)
	w := b.watch(true)
	b.server.Add(&corev1.Pod{})
	b.Eventually(w.ResultChan()).Should(Receive())
	b.server.Action(watch.Bookmark, &corev1.Pod{})
	b.Eventually(w.ResultChan()).Should(Receive())
	b.Expect(b.all.pending()).To(HaveLen(1))
	b.server.Action(watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}})
	b.Eventually(w.ResultChan()).Should(Receive())
	b.Expect(b.all.pending()).To(BeEmpty())
}

func TestAWatchWhosePastIsForgottenIsNotUpToDate(t *testing.T) {
	b := newBench(t)
	b.pass(true)
	w := b.watch(false)
	b.server.Error(&metav1.Status{Reason: metav1.StatusReasonInternalError}) // as client-go words a connection that was closed
	b.Eventually(w.ResultChan()).Should(Receive())
	b.Expect(b.all.pending()).To(BeEmpty())
	b.server.Error(&metav1.Status{Reason: metav1.StatusReasonExpired})
	b.Eventually(w.ResultChan()).Should(Receive())
	b.Expect(b.all.pending()).To(HaveLen(1))
	b.watch(false)
	b.Expect(b.all.pending()).To(BeEmpty())
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
	b.server.Add(&corev1.Pod{}) // taken by the observer, and by nobody after it
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
