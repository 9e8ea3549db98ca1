package batch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// gate is a batch function that announces each call on began, and returns what it receives from goOn.
type gate struct {
	began chan []string
	goOn  chan error
}

func newGate() *gate { return &gate{began: make(chan []string, 100), goOn: make(chan error, 100)} }

func (g *gate) do(ctx context.Context, items []string) ([]Result[string], error) {
	g.began <- items
	select {
	case err := <-g.goOn:
		if err != nil {
			return nil, err
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	results := make([]Result[string], len(items))
	for i, item := range items {
		results[i].Value = "done " + item
		if item == "bad" {
			results[i].Err = errors.New("bad item")
		}
	}
	return results, nil
}

func newTestBatcher(t *testing.T, g *gate, o Options) *Batcher[string, string, string] {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return New(ctx, func(s string) string { return s }, g.do, o)
}

func start(t *testing.T, b *Batcher[string, string, string], item string) <-chan Result[string] {
	c := make(chan Result[string], 1)
	go func() {
		v, err := b.Do(t.Context(), item)
		c <- Result[string]{v, err}
	}()
	return c
}

func (b *Batcher[K, I, O]) waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.pending)
}

func TestALoneCallLeavesAtOnce(t *testing.T) {
	g := NewWithT(t)
	gt := newGate()
	b := newTestBatcher(t, gt, Options{})
	c := start(t, b, "a")
	g.Expect(<-gt.began).To(Equal([]string{"a"}))
	gt.goOn <- nil
	g.Expect((<-c).Value).To(Equal("done a"))
}

func TestWhatIsAskedMeanwhileTravelsTogether(t *testing.T) {
	g := NewWithT(t)
	gt := newGate()
	sizes := make(chan int, 10)
	b := newTestBatcher(t, gt, Options{Observe: func(n int) { sizes <- n }})
	first := start(t, b, "first")
	<-gt.began
	var rest []<-chan Result[string]
	for i := range 50 {
		rest = append(rest, start(t, b, fmt.Sprint(i)))
	}
	g.Eventually(b.waiting).Should(Equal(50))
	gt.goOn <- nil
	g.Expect((<-first).Err).NotTo(HaveOccurred())
	g.Expect(<-gt.began).To(HaveLen(50))
	gt.goOn <- nil
	for i, c := range rest {
		g.Expect((<-c).Value).To(Equal(fmt.Sprint("done ", i)))
	}
	g.Expect([]int{<-sizes, <-sizes}).To(Equal([]int{1, 50}))
}

func TestOneKeyIsInABatchOnce(t *testing.T) {
	g := NewWithT(t)
	gt := newGate()
	b := newTestBatcher(t, gt, Options{})
	start(t, b, "first")
	<-gt.began
	var same []<-chan Result[string]
	for range 3 {
		same = append(same, start(t, b, "same"))
	}
	g.Eventually(b.waiting).Should(Equal(3))
	for range 3 {
		gt.goOn <- nil
		g.Expect(<-gt.began).To(Equal([]string{"same"}))
	}
	gt.goOn <- nil
	for _, c := range same {
		g.Expect((<-c).Value).To(Equal("done same"))
	}
}

func TestABatchIsNotLargerThanAllowed(t *testing.T) {
	g := NewWithT(t)
	gt := newGate()
	b := newTestBatcher(t, gt, Options{MaxItems: 4})
	start(t, b, "first")
	<-gt.began
	for i := range 10 {
		start(t, b, fmt.Sprint(i))
	}
	g.Eventually(b.waiting).Should(Equal(10))
	for _, want := range []int{4, 4, 2} {
		gt.goOn <- nil
		g.Expect(<-gt.began).To(HaveLen(want))
	}
	gt.goOn <- nil
}

func TestABadItemIsItsOwnProblem(t *testing.T) {
	g := NewWithT(t)
	gt := newGate()
	b := newTestBatcher(t, gt, Options{})
	start(t, b, "first")
	<-gt.began
	good, bad := start(t, b, "good"), start(t, b, "bad")
	g.Eventually(b.waiting).Should(Equal(2))
	gt.goOn <- nil
	<-gt.began
	gt.goOn <- nil
	g.Expect((<-good).Err).NotTo(HaveOccurred())
	g.Expect((<-bad).Err).To(MatchError("bad item"))
}

func TestAFailedBatchFailsItsItemsAndTheNextOneGoesOn(t *testing.T) {
	g := NewWithT(t)
	gt := newGate()
	b := newTestBatcher(t, gt, Options{})
	a := start(t, b, "a")
	<-gt.began
	c := start(t, b, "c")
	g.Eventually(b.waiting).Should(Equal(1))
	gt.goOn <- errors.New("no broker")
	g.Expect((<-a).Err).To(MatchError("no broker"))
	<-gt.began
	gt.goOn <- nil
	g.Expect((<-c).Value).To(Equal("done c"))
}

func TestAPanicOrAMiscountFailsOneBatchOnly(t *testing.T) {
	g := NewWithT(t)
	var calls atomic.Int32
	b := New(t.Context(), func(s string) string { return s }, func(context.Context, []string) ([]Result[string], error) {
		switch calls.Add(1) {
		case 1:
			panic("out of luck")
		case 2:
			return nil, nil
		}
		return []Result[string]{{Value: "fine"}}, nil
	}, Options{})
	_, err := b.Do(t.Context(), "a")
	g.Expect(err).To(MatchError(ContainSubstring("out of luck")))
	_, err = b.Do(t.Context(), "a")
	g.Expect(err).To(MatchError(errMiscounted))
	v, err := b.Do(t.Context(), "a")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(v).To(Equal("fine"))
}

func TestACallerThatGivesUpIsWithdrawn(t *testing.T) {
	g := NewWithT(t)
	gt := newGate()
	b := newTestBatcher(t, gt, Options{})
	start(t, b, "first")
	<-gt.began
	ctx, cancel := context.WithCancel(t.Context())
	quit := make(chan error, 1)
	go func() {
		_, err := b.Do(ctx, "quitter")
		quit <- err
	}()
	start(t, b, "other")
	g.Eventually(b.waiting).Should(Equal(2))
	cancel()
	g.Expect(<-quit).To(MatchError(context.Canceled))
	gt.goOn <- nil
	g.Expect(<-gt.began).To(Equal([]string{"other"}))
	gt.goOn <- nil
}

func TestPatientCallsWaitForCompanyAndHurriedOnesTakeThemAlong(t *testing.T) {
	g := NewWithT(t)
	gt := newGate()
	b := newTestBatcher(t, gt, Options{PatientLinger: time.Hour})
	for i := range 3 {
		go b.DoPatiently(t.Context(), fmt.Sprint(i)) //nolint:errcheck // its batch is what matters here
	}
	g.Eventually(b.waiting).Should(Equal(3))
	g.Expect(gt.began).NotTo(Receive())
	start(t, b, "hurried")
	g.Eventually(gt.began).Should(Receive(HaveLen(4)))
	gt.goOn <- nil
}

func TestPatienceEnds(t *testing.T) {
	g := NewWithT(t)
	gt := newGate()
	b := newTestBatcher(t, gt, Options{PatientLinger: time.Millisecond})
	go b.DoPatiently(t.Context(), "a") //nolint:errcheck // its batch is what matters here
	g.Eventually(gt.began).Should(Receive(Equal([]string{"a"})))
	gt.goOn <- nil
}

func TestEveryCallIsAnsweredExactlyOnceUnderLoad(t *testing.T) {
	g := NewWithT(t)
	var carried sync.Map
	b := New(t.Context(), func(i int) int { return i }, func(_ context.Context, items []int) ([]Result[int], error) {
		results := make([]Result[int], len(items))
		for i, item := range items {
			if _, twice := carried.LoadOrStore(item, true); twice {
				return nil, fmt.Errorf("%d was carried out twice", item)
			}
			results[i].Value = item * 2
		}
		return results, nil
	}, Options{MaxItems: 64, MaxInFlight: 3, PatientLinger: time.Millisecond})
	var wg sync.WaitGroup
	var wrong atomic.Int32
	for i := range 5000 {
		wg.Go(func() {
			do := b.Do
			if i%3 == 0 {
				do = b.DoPatiently
			}
			if v, err := do(t.Context(), i); err != nil || v != i*2 {
				wrong.Add(1)
			}
		})
	}
	wg.Wait()
	g.Expect(wrong.Load()).To(BeZero())
}

// Under sustained load the time between two batches grows, so that each batch carries more calls. When the load ends, a lone call is sent
// without delay again.
func TestBatchesGrowUnderSustainedLoad(t *testing.T) {
	g := NewWithT(t)
	gt := newGate()
	b := newTestBatcher(t, gt, Options{BusyLinger: time.Hour, BusyEnough: 3})
	start(t, b, "lone")
	g.Expect(<-gt.began).To(Equal([]string{"lone"}))
	start(t, b, "company")
	g.Eventually(b.waiting).Should(Equal(1))
	gt.goOn <- nil
	g.Consistently(gt.began, "50ms").ShouldNot(Receive(), "it found company, so that the next batch waits for more")
	start(t, b, "more")
	g.Eventually(b.waiting).Should(Equal(2))
	g.Expect(gt.began).NotTo(Receive())
	start(t, b, "enough")
	g.Expect(<-gt.began).To(ConsistOf("company", "more", "enough"))
	gt.goOn <- nil
	g.Eventually(func() int { b.mu.Lock(); defer b.mu.Unlock(); return b.streak }).Should(BeZero())
	start(t, b, "alone again")
	g.Expect(<-gt.began).To(Equal([]string{"alone again"}))
	gt.goOn <- nil
}

func TestTheTimeBetweenBatchesIsBounded(t *testing.T) {
	g := NewWithT(t)
	gt := newGate()
	b := newTestBatcher(t, gt, Options{BusyLinger: 20 * time.Millisecond})
	start(t, b, "lone")
	<-gt.began
	start(t, b, "company")
	g.Eventually(b.waiting).Should(Equal(1))
	gt.goOn <- nil
	g.Eventually(gt.began).Should(Receive(Equal([]string{"company"})))
	gt.goOn <- nil
}
