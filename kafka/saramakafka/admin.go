package saramakafka

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// Admin implements kafka.Admin over the network. It is safe for concurrent use, opens its connections when it needs
// them, and recovers by itself from every failure of brokers or of the way to them.
type Admin struct {
	mu      sync.Mutex
	current *router
	pin     pin
	closed  bool
	calls   sync.WaitGroup
	cancel  map[int]context.CancelFunc // of the calls in flight
	next    int
}

var _ kafka.Admin = (*Admin)(nil)

// New checks cfg and returns an Admin for it. It does not connect: a cluster that is away fails calls, not New.
func New(cfg kafka.Config) (*Admin, error) {
	s, err := newSettings(cfg)
	if err != nil {
		return nil, err
	}
	a := &Admin{cancel: map[int]context.CancelFunc{}}
	a.current = newRouter(s, &a.pin)
	return a, nil
}

// Reconfigure makes the calls that start from now on use cfg, for instance because a password changed. Calls in flight finish with
// the old configuration; its connections close as they become idle. A pin stays. If cfg is refused, nothing changes.
func (a *Admin) Reconfigure(cfg kafka.Config) error {
	s, err := newSettings(cfg)
	if err != nil {
		return err
	}
	next := newRouter(s, &a.pin)
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return net.ErrClosed
	}
	old := a.current
	a.current = next
	a.mu.Unlock()
	old.retire()
	return nil
}

// Close ends the calls in flight, waits for them, and closes all connections. Calls after Close fail.
func (a *Admin) Close() {
	a.mu.Lock()
	a.closed = true
	for _, cancel := range a.cancel {
		cancel()
	}
	a.mu.Unlock()
	a.calls.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.current.retire()
}

// call prepares one call of the port: the router of the moment, and a context that has a deadline and ends with the Admin. The
// caller runs done when it has its answer.
func (a *Admin) call(ctx context.Context) (callCtx context.Context, r *router, done func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, nil, nil, kafka.NewTransportError("the client is closed", net.ErrClosed)
	}
	a.calls.Add(1)
	r = a.current
	limit := r.settings.requestTimeout
	if deadline, ok := ctx.Deadline(); ok {
		limit = time.Until(deadline)
	}
	callCtx, cancel := context.WithTimeout(ctx, limit)
	id := a.next
	a.next++
	a.cancel[id] = cancel
	return callCtx, r, func() { a.done(id) }, nil
}

// done ends a call.
func (a *Admin) done(id int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cancel[id]()
	delete(a.cancel, id)
	a.calls.Done()
}
