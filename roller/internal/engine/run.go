package engine

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kafka-operators/kafka-operators/roller"
)

// Run calls Look until done returns true, ctx ends, another roller works on the cluster, the Kafka was deleted, a right is missing, or
// no node has been seen for the patience. It waits between two looks as the decision requests.
func (e *Engine) Run(ctx context.Context, idle time.Duration, done func(roller.Decision) bool) error {
	const firstPause, longestPause = time.Second, 30 * time.Second
	pause := firstPause
	var failing failure
	for {
		d, err := e.Look(ctx)
		wait := d.Again
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case failing.lasts(err, e.now(), e.Policy(e.now()).Patience):
			return err
		case err != nil:
			e.Log.Error(err, "Failed to decide, retrying", "in", pause.String())
			wait, pause = pause, min(2*pause, longestPause)
		case e.held != nil:
			return e.held
		case done(d):
			return nil
		default:
			pause = firstPause
		}
		if wait == 0 {
			wait = idle
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// unsynced is how long an API server that has just started may reject requests because it does not know its roles yet.
const unsynced = 30 * time.Second

// failure tracks since when looks have failed in the same way.
type failure struct {
	// looked means that a look succeeded before.
	looked bool
	// way is how; empty if they succeed, or fail in a way that is worth further attempts.
	way   string
	since time.Time
}

// lasts reports whether looks have failed in the same way for so long that another attempt is unlikely to help.
func (f *failure) lasts(err error, now time.Time, patience time.Duration) bool {
	way, limit := "", patience
	switch {
	case err == nil:
		f.looked = true
	case apierrors.IsForbidden(err):
		if way, limit = "forbidden", unsynced; !f.looked {
			limit = 0
		}
	case errors.Is(err, ErrNoNodes):
		way = "no nodes"
	}
	if way != f.way {
		f.way, f.since = way, now
	}
	return way != "" && now.Sub(f.since) >= limit
}
