package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
)

// lap has the duration of each step of a round, and the operator's CPU time for it.
type lap struct {
	create, change, remove          time.Duration
	createCPU, changeCPU, removeCPU time.Duration
}

// bulk measures the creation, change and deletion of n KafkaTopics at once, alternating between floor and operator, and reports the
// medians.
func (w *world) bulk(ctx context.Context, r *Report, n, rounds int) error {
	var floors, laps []lap
	for round := range rounds {
		r.logf("bulk, round %d of %d: floor", round+1, rounds)
		f, err := w.floorLap(ctx, fmt.Sprintf("floor-%d", round), n)
		if err != nil {
			return fmt.Errorf("floor: %w", err)
		}
		r.logf("  create %.1f s, change %.1f s, delete %.1f s", f.create.Seconds(), f.change.Seconds(), f.remove.Seconds())
		r.logf("bulk, round %d of %d: operator", round+1, rounds)
		o, err := w.operatorLap(ctx, fmt.Sprintf("bulk-%d", round), n)
		if err != nil {
			return fmt.Errorf("operator: %w", err)
		}
		r.logf("  create %.1f s, change %.1f s, delete %.1f s", o.create.Seconds(), o.change.Seconds(), o.remove.Seconds())
		floors, laps = append(floors, f), append(laps, o)
	}
	for _, step := range []struct {
		name      string
		took, cpu func(lap) time.Duration
	}{
		{"create", func(l lap) time.Duration { return l.create }, func(l lap) time.Duration { return l.createCPU }},
		{"change", func(l lap) time.Duration { return l.change }, func(l lap) time.Duration { return l.changeCPU }},
		{"delete", func(l lap) time.Duration { return l.remove }, func(l lap) time.Duration { return l.removeCPU }},
	} {
		name := fmt.Sprintf("%s_%d", step.name, n)
		r.addBeside(name, median(laps, step.took).Seconds(), median(floors, step.took).Seconds(), "s")
		cpu := median(laps, step.cpu)
		r.add(name+"_cpu", cpu.Seconds(), "cpu-s")
		r.add(name+"_cpu_each", cpu.Seconds()*1000/float64(n), "cpu-ms")
	}
	return nil
}

func median(laps []lap, of func(lap) time.Duration) time.Duration {
	var all []time.Duration
	for _, l := range laps {
		all = append(all, of(l))
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

func timed(f func() error) (time.Duration, error) {
	began := time.Now()
	err := f()
	return time.Since(began), err
}

// floorLap measures the bare clients. An observer runs, as it does with the operator.
func (w *world) floorLap(ctx context.Context, namespace string, n int) (l lap, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err = w.createNamespace(ctx, namespace); err != nil {
		return l, err
	}
	if _, err = w.observe(ctx, namespace); err != nil {
		return l, err
	}
	f := &floor{world: w, namespace: namespace, n: n}
	if l.create, err = timed(func() error { return f.create(ctx) }); err != nil {
		return l, err
	}
	if l.change, err = timed(func() error { return f.change(ctx) }); err != nil {
		return l, err
	}
	l.remove, err = timed(func() error { return f.remove(ctx) })
	return l, err
}

// operatorLap measures the operator: from a user's first request until the last object is as wanted.
func (w *world) operatorLap(ctx context.Context, namespace string, n int) (l lap, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err = w.createNamespace(ctx, namespace); err != nil {
		return l, err
	}
	o, err := w.observe(ctx, namespace)
	if err != nil {
		return l, err
	}
	p, err := w.startOperator(ctx, namespace, nil)
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if l.create, l.createCPU, err = measured(p, func() error {
		if err := w.post(ctx, namespace, namespace, 0, n); err != nil {
			return err
		}
		return o.allReady(ctx, n, 1)
	}); err != nil {
		return l, err
	}
	if l.change, l.changeCPU, err = measured(p, func() error {
		if err := each(ctx, n, func(ctx context.Context, i int) error {
			return (&floor{world: w}).patch(ctx, newTopic(namespace, namespace, i), changedSpec)
		}); err != nil {
			return err
		}
		return o.allReady(ctx, n, 2)
	}); err != nil {
		return l, err
	}
	l.remove, l.removeCPU, err = measured(p, func() error { return w.removeAll(ctx, o, namespace, n) })
	return l, err
}

// removeAll deletes n objects one by one, as kubectl does, and waits until all are deleted.
func (w *world) removeAll(ctx context.Context, o *observer, namespace string, n int) error {
	if err := each(ctx, n, func(ctx context.Context, i int) error {
		return w.client.Delete(ctx, newTopic(namespace, namespace, i))
	}); err != nil {
		return err
	}
	return o.none(ctx)
}

// measured returns the duration of f, and the operator's CPU time during it.
func measured(p *operatorproc.Process, f func() error) (took, cpu time.Duration, err error) {
	before, err := p.Usage()
	if err != nil {
		return 0, 0, err
	}
	if took, err = timed(f); err != nil {
		return 0, 0, fmt.Errorf("%w; the operator's last words:\n%s", err, p.LogTail(20))
	}
	after, err := p.Usage()
	return took, after.CPU - before.CPU, err
}

// countReady returns the number of ready objects of a namespace, and of all objects.
func (w *world) countReady(ctx context.Context, namespace string) (ready, all int, err error) {
	list := &v1.KafkaTopicList{}
	if err := w.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return 0, 0, err
	}
	for _, kt := range list.Items {
		for _, c := range kt.Status.Conditions {
			if c.Type == v1.ConditionReady && c.Status == v1.ConditionTrue && kt.Status.TopicID != "" {
				ready++
			}
		}
	}
	return ready, len(list.Items), nil
}
