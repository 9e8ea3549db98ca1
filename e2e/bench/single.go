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
	for name, all := range map[string][]time.Duration{"create_latency": creates, "change_latency": changes} {
		slices.Sort(all)
		r.add(name+"_p50", millis(all[len(all)/2]), "ms")
		r.add(name+"_p99", millis(all[len(all)*99/100]), "ms")
	}
	return nil
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
