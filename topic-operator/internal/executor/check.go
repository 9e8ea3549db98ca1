package executor

import (
	"context"
	"sync"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// Check returns an error if a change is no longer allowed; the call then returns this error, and does not send the change. It runs right
// before the request is sent, and before each further attempt, so it has to read its facts itself. Nil allows everything.
type Check func(ctx context.Context) error

// change is one item of a batch of changes.
type change[I any] struct {
	item    I
	allowed Check
}

// keyOf returns the key of a change by that of its item.
func keyOf[K comparable, I any](key func(I) K) func(change[I]) K {
	return func(c change[I]) K { return key(c.item) }
}

// items returns the items of the changes.
func items[I any](changes []change[I]) []I {
	all := make([]I, len(changes))
	for i, c := range changes {
		all[i] = c.item
	}
	return all
}

// gated returns a context with which the port runs the checks of the changes, all at once.
func gated[K comparable, I any](ctx context.Context, changes []change[I], key func(I) K) context.Context {
	checks := make(map[K]Check, len(changes))
	for _, c := range changes {
		if c.allowed != nil {
			checks[key(c.item)] = c.allowed
		}
	}
	if len(checks) == 0 {
		return ctx
	}
	return kafka.WithGate(ctx, func(ctx context.Context, keys []K) map[K]error {
		refused := map[K]error{}
		var mu sync.Mutex
		var asked sync.WaitGroup
		for _, k := range keys {
			if checks[k] == nil {
				continue
			}
			asked.Go(func() {
				err := checks[k](ctx)
				if err == nil {
					err = ctx.Err() // too late to send
				}
				if err != nil {
					mu.Lock()
					defer mu.Unlock()
					refused[k] = err
				}
			})
		}
		asked.Wait()
		return refused
	})
}
