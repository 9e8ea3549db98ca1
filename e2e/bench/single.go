package bench

import (
	"context"
	"errors"
	"slices"
	"time"
)

// latency measures one change at a time on an idle operator, from the user's request until a watch shows the object ready.
func (w *world) latency(ctx context.Context, r *Report, n int) (err error) {
	const namespace = "latency"
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := w.createNamespace(ctx, namespace); err != nil {
		return err
	}
	o, err := w.observe(ctx, namespace)
	if err != nil {
		return err
	}
	p, err := w.startOperator(ctx, namespace, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	one := func(i int, generation int64, f func() error) (time.Duration, error) {
		began := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		at, err := o.ready(ctx, newTopic(namespace, namespace, i).Name, generation)
		return at.Sub(began), err
	}
	var creates, changes []time.Duration
	for i := range n {
		took, err := one(i, 1, func() error { return w.client.Create(ctx, newTopic(namespace, namespace, i)) })
		if err != nil {
			return err
		}
		creates = append(creates, took)
	}
	for i := range n {
		took, err := one(i, 2, func() error { return (&floor{world: w}).patch(ctx, newTopic(namespace, namespace, i), changedSpec) })
		if err != nil {
			return err
		}
		changes = append(changes, took)
	}
	floorCreates, floorChanges, err := w.latencyFloor(ctx, n)
	if err != nil {
		return err
	}
	addLatency(r, "create_latency", creates, floorCreates)
	addLatency(r, "change_latency", changes, floorChanges)
	return nil
}

// latencyFloor makes the same requests one after the other, with bare clients.
func (w *world) latencyFloor(ctx context.Context, n int) (creates, changes []time.Duration, err error) {
	const namespace = "latency-floor"
	if err := w.createNamespace(ctx, namespace); err != nil {
		return nil, nil, err
	}
	for i := range n {
		f := &floor{world: w, namespace: namespace, n: 1, first: i}
		took, err := timed(func() error { return f.createOneByOne(ctx) })
		if err != nil {
			return nil, nil, err
		}
		creates = append(creates, took)
		if took, err = timed(func() error { return f.changeOneByOne(ctx) }); err != nil {
			return nil, nil, err
		}
		changes = append(changes, took)
	}
	return creates, changes, nil
}

func addLatency(r *Report, name string, operator, floor []time.Duration) {
	slices.Sort(operator)
	slices.Sort(floor)
	half, most := len(operator)/2, len(operator)*99/100
	r.addBeside(name+"_p50", millis(operator[half]), millis(floor[half]), "ms")
	r.addBeside(name+"_p99", millis(operator[most]), millis(floor[most]), "ms")
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
