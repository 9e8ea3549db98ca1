package controller

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/operator/events"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/schedule"
)

const interval = 2 * time.Minute

// world is a reconciler with a real API server and an in-memory Kafka. No pass runs unless the test makes it.
type world struct {
	*WithT
	t        *testing.T
	admin    client.Client
	ns       string
	kafka    *fakeKafka
	cluster  *ownCluster
	clock    *clock
	sink     *sink
	metrics  *metrics.Metrics
	registry *prometheus.Registry
	requests *requests
	logged   *logged
	recorder *events.Recorder
	setup    setup
	r        *Reconciler
}

// setup holds the options that a test may change.
type setup struct {
	Options
	metrics metrics.Options
	// server is the API server, and config returns the operator's configuration for it; nil has all rights.
	server *envtest.Environment
	config func() *rest.Config
}

func newWorld(t *testing.T, changes ...func(*setup)) *world {
	t.Helper()
	needServer(t)
	w := &world{WithT: NewWithT(t), t: t, kafka: newFakeKafka(), clock: newClock(),
		sink: newSink(), registry: prometheus.NewRegistry(), requests: &requests{}, logged: &logged{}}
	s := setup{
		Options: Options{Selects: func(map[string]string) bool { return true }, Interval: interval, UseFinalizers: true, Now: w.clock.now},
		server:  server,
	}
	for _, change := range changes {
		change(&s)
	}
	w.admin = clientOf(t, s.server.Config)
	w.ns = newNamespace(t, w.admin)
	s.Namespaces = []string{w.ns}
	w.cluster = &ownCluster{Cluster: ownership.Cluster{ID: ownID}}
	if s.Identity == nil {
		s.Identity = w.cluster
	}
	w.metrics = metrics.New(w.registry, s.metrics)
	w.setup = s
	w.recorder = events.New(w.sink, events.Limits{PerSecond: 1e6, Burst: 1e6, Waiting: 1e4}, w.metrics.EventDropped)
	w.sink.flush = func() { w.recorder.Normal(nil, mark, mark, mark) }
	go func() { _ = w.recorder.Start(t.Context()) }()
	o := s.Options
	if o.Claims == nil {
		o.Claims = &listedClaims{w}
	}
	w.r = NewReconciler(clientOf(t, w.config()), w.kafka, w.recorder, w.metrics, o)
	return w
}

// config returns the reconciler's configuration for the API server.
func (w *world) config() *rest.Config {
	config := rest.CopyConfig(w.setup.server.Config)
	if w.setup.config != nil {
		config = rest.CopyConfig(w.setup.config())
	}
	config.QPS = -1
	config.Wrap(w.requests.wrap)
	return config
}

func withoutFinalizers(s *setup) { s.UseFinalizers = false }

func (w *world) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: w.ns, Name: name}
}

// pass runs one pass, and fails the test if the pass returns an error.
func (w *world) pass(name string) reconcile.Result {
	w.t.Helper()
	result, err := w.tryPass(w.t.Context(), name)
	w.Expect(err).NotTo(HaveOccurred())
	return result
}

func (w *world) tryPass(ctx context.Context, name string) (reconcile.Result, error) {
	ctx = log.IntoContext(ctx, logging.New(w.logged, logging.Options{Level: -10}))
	return w.r.Reconcile(ctx, reconcile.Request{NamespacedName: w.key(name)})
}

// create creates an object in the API server.
func (w *world) create(name string, changes ...change) {
	w.t.Helper()
	w.Expect(w.admin.Create(w.t.Context(), kafkaTopic(w.ns, name, changes...))).To(Succeed())
}

// update changes an object in the API server.
func (w *world) update(name string, changes ...change) {
	w.t.Helper()
	w.Expect(updateTopic(w.t.Context(), w.admin, w.key(name), changes...)).To(Succeed())
}

// delete requests an object's deletion.
func (w *world) delete(name string) {
	w.t.Helper()
	w.Expect(w.admin.Delete(w.t.Context(), w.get(name))).To(Succeed())
}

// get reads an object from the API server.
func (w *world) get(name string) *v1.KafkaTopic {
	w.t.Helper()
	kt := &v1.KafkaTopic{}
	w.Expect(w.admin.Get(w.t.Context(), w.key(name), kt)).To(Succeed())
	return kt
}

func (w *world) exists(name string) bool {
	w.t.Helper()
	err := w.admin.Get(w.t.Context(), w.key(name), &v1.KafkaTopic{})
	w.Expect(client.IgnoreNotFound(err)).NotTo(HaveOccurred())
	return !apierrors.IsNotFound(err)
}

// ready creates an object, runs the pass that creates its topic, steps the clock past the settling time, and clears all records.
func (w *world) ready(name string, changes ...change) {
	w.t.Helper()
	w.create(name, changes...)
	w.pass(name)
	w.Expect(w.get(name)).To(beReady())
	w.clock.step(settle)
	w.forget()
}

// moment returns the time until the object's next timed pass.
func (w *world) moment(name string) time.Duration {
	return schedule.Next(w.key(name).String(), interval, w.clock.now())
}

// settled returns the time until the pass that follows a write: after settle, or at the object's timed pass if that comes first.
func (w *world) settled(name string) time.Duration { return min(settle, w.moment(name)) }

func (w *world) forget() {
	w.kafka.took()
	w.requests.took()
	w.sink.took()
	w.logged.took()
}

// clock is a clock that only moves when a test steps it.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// mark is the reason of an Event that sink sends last, to know that all others have arrived.
const mark = "Mark"

// sink records Events.
type sink struct {
	mu      sync.Mutex
	events  []string
	actions []string // of all Events so far
	marks   chan struct{}
	flush   func()
	// deaf is the reason of Events that it does not record.
	deaf string
}

func newSink() *sink { return &sink{marks: make(chan struct{}, 1)} }

func (s *sink) Eventf(_, _ runtime.Object, kind, reason, action, _ string, args ...any) {
	if reason == mark {
		s.marks <- struct{}{}
		return
	}
	if reason == s.deaf {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, kind+" "+reason+": "+args[0].(string))
	s.actions = append(s.actions, action)
}

// took returns the Events since its last call. Events are sent in the background, warnings first; flush sends a last one behind them.
func (s *sink) took() []string {
	s.flush()
	<-s.marks
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.events
	s.events = nil
	return events
}

// requests records the write requests to the API server. before may interfere with them.
type requests struct {
	mu     sync.Mutex
	writes []string
	before func(write string)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (q *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/kafkatopics") {
			_, what, _ := strings.Cut(r.URL.Path, "/kafkatopics/")
			write := r.Method + " " + what
			q.mu.Lock()
			q.writes = append(q.writes, write)
			before := q.before
			q.mu.Unlock()
			if before != nil {
				before(write)
			}
		}
		return next.RoundTrip(r)
	})
}

// once calls f before the next write of the given kind.
func (q *requests) once(write string, f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var once sync.Once
	q.before = func(w string) {
		if w == write {
			once.Do(f)
		}
	}
}

// took returns the writes since its last call.
func (q *requests) took() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	writes := q.writes
	q.writes = nil
	return writes
}

// logged records the log.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// took returns the lines of level WARN and ERROR since the last call.
func (l *logged) took() []string {
	return slices.DeleteFunc(l.all(), func(line string) bool {
		return !strings.Contains(line, "level=WARN") && !strings.Contains(line, "level=ERROR")
	})
}

// all returns the lines since the last call, without those of level DEBUG.
func (l *logged) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(l.b.String()), "\n")
	l.b.Reset()
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" || strings.Contains(line, "level=DEBUG") })
}

// updateTopic changes a stored object, and retries on conflicts.
func updateTopic(ctx context.Context, c client.Client, key types.NamespacedName, changes ...change) error {
	for range 20 {
		kt := &v1.KafkaTopic{}
		if err := c.Get(ctx, key, kt); err != nil {
			return err
		}
		for _, change := range changes {
			change(kt)
		}
		if err := c.Update(ctx, kt); !apierrors.IsConflict(err) {
			return err
		}
	}
	return errors.New("always a conflict")
}

// count returns a counter or gauge, summed over all series that have the labels.
func (w *world) count(name string, labels ...string) float64 {
	w.t.Helper()
	return sum(w.t, w.registry, name, labels...)
}

// sum adds up the samples of a metric that have the labels, given as name=value. A histogram counts its observations.
func sum(t *testing.T, registry prometheus.Gatherer, name string, labels ...string) float64 {
	t.Helper()
	families, err := registry.Gather()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	total := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var has []string
			for _, l := range m.GetLabel() {
				has = append(has, l.GetName()+"="+l.GetValue())
			}
			if slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(has, l) }) {
				continue
			}
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return total
}

// status writes an object's status as another client.
func (w *world) status(name string, change func(*v1.KafkaTopicStatus)) {
	w.t.Helper()
	kt := w.get(name)
	change(&kt.Status)
	w.Expect(w.admin.Status().Update(w.t.Context(), kt)).To(Succeed())
}
