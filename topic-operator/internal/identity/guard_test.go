package identity

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

// admin is a Kafka that returns its id or an error.
type admin struct {
	mu     sync.Mutex
	id     string
	err    error
	asked  int
	pinned []string
	pinErr error
	wait   chan struct{}
}

func (a *admin) DescribeCluster(ctx context.Context) (kafka.Cluster, error) {
	a.mu.Lock()
	a.asked++
	id, err, wait := a.id, a.err, a.wait
	a.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return kafka.Cluster{}, ctx.Err()
		}
	}
	return kafka.Cluster{ID: id}, err
}

func (a *admin) Pin(id string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pinErr != nil {
		return a.pinErr
	}
	a.pinned = append(a.pinned, id)
	return nil
}

func (a *admin) set(id string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.id, a.err = id, err
}

func (a *admin) times() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

// watched is a guard, with records of everything that it reports.
type watched struct {
	*Guard
	*admin
	mu             sync.Mutex
	now            time.Time
	armed, changed bool
	restored       int
	log            bytes.Buffer
}

func guard(a *admin) *watched {
	w := &watched{admin: a, now: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)}
	tell := func(at *bool) func(bool) {
		return func(v bool) { w.mu.Lock(); defer w.mu.Unlock(); *at = v }
	}
	w.Guard = New(a, Options{CallTimeout: 5 * time.Second, Interval: time.Hour, Armed: tell(&w.armed), Changed: tell(&w.changed),
		Restored: func() { w.mu.Lock(); defer w.mu.Unlock(); w.restored++ },
		Now:      func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now },
		Log:      logging.New(w, logging.Options{})})
	return w
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

func (w *watched) step(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *watched) reported() (armed, changed bool, restored int, log string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.armed, w.changed, w.restored, w.log.String()
}

var away = kafka.NewTransportError("no broker answered", nil)

func TestTheFirstPassFindsOutTheClusterAndArmsProtection(t *testing.T) {
	g := NewWithT(t)
	w := guard(&admin{id: "A"})
	g.Expect(w.Current()).To(Equal(ownership.Cluster{}))
	g.Expect(w.Own(t.Context())).To(Equal(ownership.Cluster{ID: "A"}))
	g.Expect(w.Own(t.Context())).To(Equal(ownership.Cluster{ID: "A"}))
	g.Expect(w.times()).To(Equal(1), "what is known is not asked again")
	g.Expect(w.pinned).To(Equal([]string{"A"}))
	armed, changed, _, log := w.reported()
	g.Expect(armed).To(BeTrue())
	g.Expect(changed).To(BeFalse())
	g.Expect(log).NotTo(ContainSubstring("level=WARN"))
}

// docs/decisions/another-cluster.md.
func TestWithoutAnIDTheOperatorRunsOnUnprotectedAndArmsLater(t *testing.T) {
	g := NewWithT(t)
	w := guard(&admin{err: away})
	g.Expect(w.Own(t.Context())).To(Equal(ownership.Cluster{}))
	armed, _, _, log := w.reported()
	g.Expect(armed).To(BeFalse())
	g.Expect(log).To(And(ContainSubstring("level=WARN"),
		ContainSubstring(`msg="Unable to retrieve Kafka cluster ID. Cluster ID protection will be disabled"`),
		ContainSubstring("no broker answered")))

	w.Own(t.Context())
	g.Expect(w.times()).To(Equal(1), "a pass does not wait for what has just failed")
	for range 20 {
		w.step(lastRetry)
		w.Own(t.Context())
	}
	g.Expect(w.times()).To(Equal(21))
	_, _, _, log = w.reported()
	g.Expect(strings.Count(log, "level=WARN")).To(Equal(1), "told once")

	w.set("A", nil)
	w.step(lastRetry)
	g.Expect(w.Own(t.Context())).To(Equal(ownership.Cluster{ID: "A"}))
	armed, _, restored, log := w.reported()
	g.Expect(armed).To(BeTrue())
	g.Expect(restored).To(Equal(1), "what waited for the id goes on at once")
	g.Expect(log).To(ContainSubstring("Cluster id protection is armed"))
}

// A Kafka that is reachable again may be another cluster: the guard asks for its id before anybody acts on its answers.
func TestWhoGotAnAnswerAsksAgainAtOnce(t *testing.T) {
	g := NewWithT(t)
	w := guard(&admin{err: away})
	w.Own(t.Context())
	w.step(time.Millisecond)
	answered := w.options.Now()
	w.set("B", nil)
	g.Expect(w.Own(t.Context())).To(Equal(ownership.Cluster{}), "it waits after a failure")
	g.Expect(w.Ask(t.Context(), answered)).To(Equal(ownership.Cluster{ID: "B"}))
	g.Expect(w.times()).To(Equal(2))
}

func TestManyWhoGotAnAnswerAskOnce(t *testing.T) {
	g := NewWithT(t)
	w := guard(&admin{err: away})
	answered := w.options.Now()
	w.step(time.Millisecond)
	for range 3 {
		g.Expect(w.Ask(t.Context(), answered)).To(Equal(ownership.Cluster{}))
	}
	g.Expect(w.times()).To(Equal(1))
	g.Expect(w.Ask(t.Context(), w.options.Now())).To(Equal(ownership.Cluster{}))
	g.Expect(w.times()).To(Equal(2), "this answer is younger than the attempt")
}

func TestAClusterWithoutAnIDIsUnknown(t *testing.T) {
	g := NewWithT(t)
	w := guard(&admin{})
	g.Expect(w.Own(t.Context())).To(Equal(ownership.Cluster{}))
	g.Expect(w.pinned).To(BeEmpty())
}

func TestWhatCannotBePinnedIsNotArmed(t *testing.T) {
	g := NewWithT(t)
	w := guard(&admin{id: "A", pinErr: errors.New("no")})
	g.Expect(w.Own(t.Context())).To(Equal(ownership.Cluster{}))
	armed, _, _, _ := w.reported()
	g.Expect(armed).To(BeFalse())
}

func TestManyPassesAskOnce(t *testing.T) {
	g := NewWithT(t)
	a := &admin{id: "A", wait: make(chan struct{})}
	w := guard(a)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { g.Expect(w.Own(t.Context())).To(Equal(ownership.Cluster{ID: "A"})) })
	}
	g.Eventually(w.times).Should(Equal(1))
	close(a.wait)
	wg.Wait()
	g.Expect(w.times()).To(Equal(1))
}

func TestAPassThatEndsWaitsNoLonger(t *testing.T) {
	g := NewWithT(t)
	a := &admin{id: "A", wait: make(chan struct{})}
	w := guard(a)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan ownership.Cluster, 2)
	for range 2 {
		go func() { ended <- w.Own(ctx) }()
	}
	g.Eventually(w.times).Should(Equal(1))
	cancel()
	g.Eventually(ended).Should(Receive(Equal(ownership.Cluster{})))
	g.Eventually(ended).Should(Receive(Equal(ownership.Cluster{})))
	_, _, _, log := w.reported()
	g.Expect(log).To(BeEmpty(), "an end of the caller's is no failure of Kafka's")
	close(a.wait)
}

// docs/decisions/another-cluster.md.
func TestAClusterThatChangesIsToldOnceAndNeverTakenForTheOwn(t *testing.T) {
	g := NewWithT(t)
	w := guard(&admin{id: "A"})
	w.Own(t.Context())
	for range 3 {
		w.Answered("B")
	}
	g.Expect(w.Own(t.Context())).To(Equal(ownership.Cluster{ID: "A", Answering: "B"}))
	_, changed, _, log := w.reported()
	g.Expect(changed).To(BeTrue())
	g.Expect(strings.Count(log, "level=ERROR")).To(Equal(1))
	g.Expect(log).To(And(ContainSubstring("the brokers answer as cluster 'B', not as 'A'"), ContainSubstring("Check the bootstrap address")))
	g.Expect(w.pinned).To(Equal([]string{"A"}), "the client stays bound to the first")

	w.Answered("C")
	g.Expect(w.Current().Answering).To(Equal("C"))

	w.ask(t.Context())
	g.Expect(w.Current()).To(Equal(ownership.Cluster{ID: "A"}))
	_, changed, restored, log := w.reported()
	g.Expect(changed).To(BeFalse())
	g.Expect(restored).To(Equal(1))
	g.Expect(log).To(ContainSubstring("The operator's own Kafka cluster answers again"))
}

func TestAFailureToAskIsNoNews(t *testing.T) {
	g := NewWithT(t)
	w := guard(&admin{id: "A"})
	w.Own(t.Context())
	w.set("", away)
	w.ask(t.Context())
	g.Expect(w.Current()).To(Equal(ownership.Cluster{ID: "A"}))
	w.Answered("B")
	w.ask(t.Context())
	g.Expect(w.Current()).To(Equal(ownership.Cluster{ID: "A", Answering: "B"}))
}

func TestTheGuardLooksByItself(t *testing.T) {
	g := NewWithT(t)
	w := guard(&admin{id: "A"})
	g.Expect(w.NeedLeaderElection()).To(BeFalse(), "a standby knows its cluster when it is elected")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Start(ctx) }()
	g.Eventually(w.Current).Should(Equal(ownership.Cluster{ID: "A"}))
	w.set("B", nil)
	w.Answered("B")
	g.Eventually(w.times).Should(Equal(2), "news wake it up")
	g.Expect(w.Current().Answering).To(Equal("B"))
	cancel()
	g.Eventually(ended).Should(Receive(BeNil()))
}

func TestThePausesGrow(t *testing.T) {
	g := NewWithT(t)
	w := guard(&admin{err: away})
	var pauses []time.Duration
	for range 7 {
		w.ask(t.Context())
		pauses = append(pauses, w.pause())
	}
	g.Expect(pauses).To(Equal([]time.Duration{1 * time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, lastRetry,
		lastRetry}))
	w.set("A", nil)
	w.ask(t.Context())
	g.Expect(w.pause()).To(Equal(time.Hour))
	w.Answered("B")
	g.Expect(w.pause()).To(BeNumerically("<", time.Minute))
}
