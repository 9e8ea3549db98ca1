package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
)

// steadyInterval is short enough for two timed passes in a benchmark.
const steadyInterval = 20 * time.Second

// filling is a namespace with an operator and a growing number of objects.
type filling struct {
	*world
	namespace string
	observer  *observer
	operator  *operatorproc.Process
	have      int
}

func (w *world) fill(ctx context.Context, namespace string, env map[string]string) (*filling, error) {
	if err := w.createNamespace(ctx, namespace); err != nil {
		return nil, err
	}
	o, err := w.observe(ctx, namespace)
	if err != nil {
		return nil, err
	}
	p, err := w.startOperator(ctx, namespace, env)
	return &filling{world: w, namespace: namespace, observer: o, operator: p}, err
}

// grow applies objects until there are to of them, and waits until the last one is ready.
func (f *filling) grow(ctx context.Context, to int) (time.Duration, error) {
	took, err := timed(func() error {
		if err := f.post(ctx, f.namespace, f.namespace, f.have, to); err != nil {
			return err
		}
		return f.observer.allReady(ctx, to, 1)
	})
	f.have = to
	if err != nil {
		err = fmt.Errorf("growing to %d: %w; the operator's last words:\n%s", to, err, f.operator.LogTail(20))
	}
	return took, err
}

// scale fills one namespace step by step. It measures resident memory at each step, and at the first step two timed passes over a converged
// set.
func (w *world) scale(ctx context.Context, r *Report, steps []int) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	f, err := w.fill(ctx, "scale",
		map[string]string{"STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": strconv.FormatInt(steadyInterval.Milliseconds(), 10)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.operator.Close()) }()
	for i, step := range steps {
		r.logf("scale: %d topics", step)
		if _, err := f.grow(ctx, step); err != nil {
			return err
		}
		if i == 0 {
			if err := w.steady(ctx, r, f.operator, step); err != nil {
				return err
			}
		}
		if err := addMemory(r, f.operator, step); err != nil {
			return err
		}
	}
	return w.removeAll(ctx, f.observer, f.namespace, f.have)
}

// burstBrokers is the number of brokers that share the open files of the topics: a broker keeps at least one for each, and the usual limit
// is 20,000.
const burstBrokers = 2

// burst applies n objects at once, and then counts the results on both sides.
func (w *world) burst(ctx context.Context, r *Report, n int) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := w.startKafka(ctx, burstBrokers, r.progress); err != nil {
		return err
	}
	f, err := w.fill(ctx, "burst", nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.operator.Close()) }()
	took, err := f.grow(ctx, n)
	if err != nil {
		return err
	}
	r.add(fmt.Sprintf("burst_%d", n), took.Seconds(), "s")
	if err := addMemory(r, f.operator, n); err != nil {
		return err
	}
	m, err := f.operator.Metrics(ctx)
	if err != nil {
		return err
	}
	r.add(fmt.Sprintf("burst_longest_queue_%d", n), m.Sum("strimzi_reconciliations_max_queue_size"), "objects")
	return w.countAll(ctx, r, f.namespace, n)
}

func addMemory(r *Report, p *operatorproc.Process, n int) error {
	used, err := p.Usage()
	if err != nil {
		return err
	}
	r.add(fmt.Sprintf("resident_%d", n), float64(used.RSS)/1e6, "MB")
	r.add(fmt.Sprintf("resident_peak_%d", n), float64(used.PeakRSS)/1e6, "MB")
	return nil
}

// countAll compares the wanted number of topics with the existing ones, on both sides.
func (w *world) countAll(ctx context.Context, r *Report, namespace string, want int) error {
	ready, all, err := w.countReady(ctx, namespace)
	if err != nil {
		return err
	}
	topics, err := w.admin.ListTopics(ctx)
	if err != nil {
		return err
	}
	inKafka := 0
	for _, t := range topics {
		if strings.HasPrefix(t.Name, namespace+"-") {
			inKafka++
		}
	}
	r.add(fmt.Sprintf("burst_lost_objects_%d", want), float64(want-ready), "objects")
	r.add(fmt.Sprintf("burst_lost_topics_%d", want), float64(want-inKafka), "topics")
	if all != want || inKafka != want || ready != want {
		return fmt.Errorf("of %d objects %d exist and %d are ready, and Kafka has %d of their topics", want, all, ready, inKafka)
	}
	return nil
}

// steady measures a converged set over two timed passes.
func (w *world) steady(ctx context.Context, r *Report, p *operatorproc.Process, n int) error {
	r.logf("scale: a converged set of %d over two timed passes of %s", n, steadyInterval)
	// The first interval completes the remaining work of the creation, Events included: every object has had its timed pass since.
	if err := pause(ctx, steadyInterval+steadyInterval/4); err != nil {
		return err
	}
	type reading struct{ kubernetes, kafka, passes float64 }
	read := func() (v reading, err error) {
		if v.kubernetes, err = w.kafkaTopicRequests(ctx); err != nil {
			return v, err
		}
		m, err := p.Metrics(ctx)
		v.kafka, v.passes = m.Sum("strimzi_kafka_request_duration_seconds_count"), m.Sum("strimzi_reconciliations_total")
		return v, err
	}
	before, err := read()
	if err != nil {
		return err
	}
	usedBefore, err := p.Usage()
	if err != nil {
		return err
	}
	if err := pause(ctx, 2*steadyInterval); err != nil {
		return err
	}
	usedAfter, err := p.Usage()
	if err != nil {
		return err
	}
	after, err := read()
	if err != nil {
		return err
	}
	r.add(fmt.Sprintf("converged_%d_passes", n), after.passes-before.passes, "passes")
	r.add(fmt.Sprintf("converged_%d_kubernetes_requests", n), after.kubernetes-before.kubernetes, "requests")
	r.add(fmt.Sprintf("converged_%d_kafka_requests", n), after.kafka-before.kafka, "requests")
	r.add(fmt.Sprintf("converged_%d_cpu", n), (usedAfter.CPU - usedBefore.CPU).Seconds(), "cpu-s")
	return nil
}

// kafkaTopicRequests returns the number of requests for KafkaTopics that the API server has served, for all clients. Only the operator
// makes any between two calls.
func (w *world) kafkaTopicRequests(ctx context.Context) (float64, error) {
	clients, err := kubernetes.NewForConfig(w.config)
	if err != nil {
		return 0, err
	}
	text, err := clients.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "apiserver_request_total{") || !strings.Contains(line, `resource="kafkatopics"`) {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]), 64)
		if err != nil {
			return 0, fmt.Errorf("read %q: %w", line, err)
		}
		sum += value
	}
	return sum, nil
}

// pause waits. The caller measures what happens meanwhile.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// until polls ask, for at most five minutes.
func until(ctx context.Context, what string, ask func() (bool, error)) error {
	return within(ctx, 5*time.Minute, what, ask)
}

// within polls ask, for at most that long.
func within(ctx context.Context, limit time.Duration, what string, ask func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		if there, err := ask(); err != nil || there {
			return err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
}
