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

// Func carries out a batch. It answers each item, in the items' order; its own error is every item's.
type Func[I, O any] func(ctx context.Context, items []I) ([]Result[O], error)

// Options tune a Batcher.
type Options struct {
	// MaxItems is the largest batch; zero means 500.
	MaxItems int
	// MaxInFlight is how many batches may be on their way at once; zero means 1.
	MaxInFlight int
	// Linger is the longest that a call waits for company while nothing is on its way; zero sends a lone call at once.
	Linger time.Duration
	// PatientLinger is the same for calls that are in no hurry (DoPatiently).
	PatientLinger time.Duration
	// BusyLinger is the longest time between two batches under sustained load: the more batches in a row find company waiting, the
	// longer the next one waits for more, up to this. A request costs Kafka much the same for one topic as for many. Zero never waits.
	BusyLinger time.Duration
	// BusyEnough is the number of waiting calls that leave without further waiting; zero means MaxItems.
	BusyEnough int
	// Observe, if set, is told the size of each batch.
	Observe func(size int)
}

// Batcher coalesces concurrent calls of one kind. K tells items apart: two items of one key never travel in the same batch, so that a
// request never says two things about one topic.
type Batcher[K comparable, I, O any] struct {
	ctx  context.Context // the life of the batches, which outlive the call that happened to start them
	key  func(I) K
	do   Func[I, O]
	opts Options

	mu       sync.Mutex
	pending  []*call[I, O]
	inFlight int
	timer    *time.Timer
	deadline time.Time
	// streak counts the batches in a row that found calls waiting when they were back; lastSent and notBefore space them out.
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

// Do carries out one item together with those of other callers. When ctx ends first, Do returns ctx's error; if the item was on its way
// by then, it may still be carried out.
func (b *Batcher[K, I, O]) Do(ctx context.Context, item I) (O, error) {
	return b.wait(ctx, item, b.opts.Linger)
}

// DoPatiently is Do for a caller in no hurry: it waits a little for company.
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
		return none, ctx.Err() // not its cause: the error has to say that this is a context's end, whatever ended it
	}
}

// withdraw takes a call back if it is not on its way yet.
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

// schedule sees to it that the pending calls leave within linger. Called with the lock held.
func (b *Batcher[K, I, O]) schedule(linger time.Duration) {
	if b.inFlight >= b.opts.MaxInFlight {
		return // they leave when a batch is back
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

// steps is in how many batches the time between them grows to BusyLinger.
const steps = 5

// back takes note of a batch that is answered, and sees to the calls that came meanwhile. Called with the lock held.
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

// dispatch sends as many batches as may be on their way. Called with the lock held.
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
	clear(b.pending[len(rest):]) // or the sent calls stay in memory
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

// carryOut calls the batch's function. A panic in it, or a miscounted answer, fails this batch and no other.
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
