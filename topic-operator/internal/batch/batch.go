package batch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Result is the answer for one item.
type Result[O any] struct {
	Value O
	Err   error
}

// Func executes a batch. It returns one result for each item, in the same order; its error applies to all items.
type Func[I, O any] func(ctx context.Context, items []I) ([]Result[O], error)

// Options tune a Batcher.
type Options struct {
	// MaxItems is the largest batch; zero means 500.
	MaxItems int
	// MaxInFlight is the largest number of batches that run at once; zero means 1.
	MaxInFlight int
	// Linger is the longest that a call waits for others while no batch runs; zero sends a single call at once.
	Linger time.Duration
	// PatientLinger is the same for calls that can wait (DoPatiently).
	PatientLinger time.Duration
	// BusyLinger is the longest time between two batches under sustained load. The more batches in a row leave calls waiting, the longer
	// the next batch waits for further calls, up to this time: Kafka needs about as long for a request with one topic as for one with many.
	// Zero never waits.
	BusyLinger time.Duration
	// BusyEnough is the number of waiting calls that starts the next batch at once; zero means MaxItems.
	BusyEnough int
	// Observe, if set, receives the size of each batch.
	Observe func(size int)
}

// Batcher combines concurrent calls of one kind into batches. K identifies items: a batch never contains two items with the same key, so
// that a request never has two entries for one topic.
type Batcher[K comparable, I, O any] struct {
	ctx  context.Context // bounds the batches; a batch outlives the call that started it
	key  func(I) K
	do   Func[I, O]
	opts Options

	mu       sync.Mutex
	pending  []*call[I, O]
	inFlight int
	timer    *time.Timer
	deadline time.Time
	// streak counts the batches in a row that left calls waiting; lastSent and notBefore define the time of the next batch.
	streak              int
	lastSent, notBefore time.Time
}

type call[I, O any] struct {
	item I
	done chan Result[O]
}

// New returns a Batcher whose batches live at most as long as ctx.
func New[K comparable, I, O any](ctx context.Context, key func(I) K, do Func[I, O], opts Options) *Batcher[K, I, O] {
	if opts.MaxItems <= 0 {
		opts.MaxItems = 500
	}
	if opts.MaxInFlight <= 0 {
		opts.MaxInFlight = 1
	}
	if opts.BusyEnough <= 0 || opts.BusyEnough > opts.MaxItems {
		opts.BusyEnough = opts.MaxItems
	}
	return &Batcher[K, I, O]{ctx: ctx, key: key, do: do, opts: opts}
}

// Do executes one item together with those of other callers. When ctx ends first, Do returns ctx's error; an item that was already sent may
// still be executed.
func (b *Batcher[K, I, O]) Do(ctx context.Context, item I) (O, error) {
	return b.wait(ctx, item, b.opts.Linger)
}

// DoPatiently is Do for a caller that can wait: it waits for others up to PatientLinger.
func (b *Batcher[K, I, O]) DoPatiently(ctx context.Context, item I) (O, error) {
	return b.wait(ctx, item, max(b.opts.Linger, b.opts.PatientLinger))
}

func (b *Batcher[K, I, O]) wait(ctx context.Context, item I, linger time.Duration) (O, error) {
	c := &call[I, O]{item: item, done: make(chan Result[O], 1)}
	b.mu.Lock()
	b.pending = append(b.pending, c)
	b.schedule(linger)
	b.mu.Unlock()
	select {
	case r := <-c.done:
		return r.Value, r.Err
	case <-ctx.Done():
		b.withdraw(c)
		var none O
		return none, ctx.Err() // not its cause: callers check for a context error, whatever ended the context
	}
}

// withdraw removes a call that was not sent yet.
func (b *Batcher[K, I, O]) withdraw(c *call[I, O]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, p := range b.pending {
		if p == c {
			b.pending = append(b.pending[:i], b.pending[i+1:]...)
			return
		}
	}
}

// schedule makes sure that the pending calls are sent within linger. The caller holds the lock.
func (b *Batcher[K, I, O]) schedule(linger time.Duration) {
	if b.inFlight >= b.opts.MaxInFlight {
		return // back schedules them when a batch ends
	}
	now := time.Now()
	linger = max(linger, b.notBefore.Sub(now))
	if linger <= 0 || len(b.pending) >= b.opts.MaxItems || b.streak > 0 && len(b.pending) >= b.opts.BusyEnough {
		b.dispatch()
		return
	}
	at := now.Add(linger)
	if b.timer != nil && !at.Before(b.deadline) {
		return
	}
	b.stopTimer()
	b.deadline = at
	b.timer = time.AfterFunc(linger, b.flush)
}

// steps is the number of batches within which the time between two of them grows to BusyLinger.
const steps = 5

// back handles the end of a batch, and schedules the calls that are pending. The caller holds the lock.
func (b *Batcher[K, I, O]) back() {
	b.inFlight--
	if len(b.pending) == 0 {
		b.streak, b.notBefore = 0, time.Time{}
		return
	}
	b.streak = min(b.streak+1, steps)
	b.notBefore = b.lastSent.Add(b.opts.BusyLinger >> (steps - b.streak))
	b.schedule(0)
}

func (b *Batcher[K, I, O]) stopTimer() {
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
}

func (b *Batcher[K, I, O]) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer = nil
	b.dispatch()
}

// dispatch starts as many batches as may run at once. The caller holds the lock.
func (b *Batcher[K, I, O]) dispatch() {
	b.stopTimer()
	b.lastSent = time.Now()
	for b.inFlight < b.opts.MaxInFlight && len(b.pending) > 0 {
		calls := b.take()
		b.inFlight++
		go b.run(calls)
	}
}

// take removes the next batch from the pending calls: the oldest ones, but only one of each key.
func (b *Batcher[K, I, O]) take() []*call[I, O] {
	taken := make([]*call[I, O], 0, min(len(b.pending), b.opts.MaxItems))
	keys := make(map[K]struct{}, cap(taken))
	rest := b.pending[:0]
	for _, c := range b.pending {
		k := b.key(c.item)
		if _, twin := keys[k]; twin || len(taken) == b.opts.MaxItems {
			rest = append(rest, c)
			continue
		}
		keys[k] = struct{}{}
		taken = append(taken, c)
	}
	clear(b.pending[len(rest):]) // otherwise the slice keeps the sent calls in memory
	b.pending = rest
	return taken
}

func (b *Batcher[K, I, O]) run(calls []*call[I, O]) {
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.back()
	}()
	if b.opts.Observe != nil {
		b.opts.Observe(len(calls))
	}
	items := make([]I, len(calls))
	for i, c := range calls {
		items[i] = c.item
	}
	results, err := b.carryOut(items)
	for i, c := range calls {
		if err != nil {
			c.done <- Result[O]{Err: err}
			continue
		}
		c.done <- results[i]
	}
}

// carryOut calls the batch's function. A panic in it, or a wrong number of results, fails only this batch.
func (b *Batcher[K, I, O]) carryOut(items []I) (results []Result[O], err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a batch of %d items failed: %v", len(items), p)
		}
	}()
	if results, err = b.do(b.ctx, items); err == nil && len(results) != len(items) {
		err = errMiscounted
	}
	return results, err
}

var errMiscounted = errors.New("the batch did not return a result for each of its items")
