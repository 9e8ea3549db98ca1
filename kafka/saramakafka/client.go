package saramakafka

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// client is the common part of Admin and Controllers: one configuration at a time, a pin, and the calls in flight. It is safe for
// concurrent use, opens connections on demand, and recovers from every failure of nodes or of the network.
type client struct {
	kind nodeKind

	mu      sync.Mutex
	current *router
	pin     pin
	closed  bool
	calls   sync.WaitGroup
	cancel  map[int]context.CancelFunc // of the calls in flight
	next    int
}

// start makes the client ready for use.
func (c *client) start(kind nodeKind, cfg kafka.Config) error {
	s, err := newSettings(cfg)
	if err != nil {
		return err
	}
	c.kind, c.cancel = kind, map[int]context.CancelFunc{}
	c.current = newRouter(s, &c.pin, kind)
	return nil
}

// Reconfigure makes later calls use cfg, for example because a password changed. Calls in flight finish with the old configuration; its
// connections close as they become idle. A pin stays. If cfg is invalid, nothing changes.
func (c *client) Reconfigure(cfg kafka.Config) error {
	s, err := newSettings(cfg)
	if err != nil {
		return err
	}
	next := newRouter(s, &c.pin, c.kind)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return net.ErrClosed
	}
	old := c.current
	c.current = next
	c.mu.Unlock()
	old.retire()
	return nil
}

// Close cancels the calls in flight, waits for them, and closes all connections. Calls after Close fail.
func (c *client) Close() {
	c.mu.Lock()
	c.closed = true
	for _, cancel := range c.cancel {
		cancel()
	}
	c.mu.Unlock()
	c.calls.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current.retire()
}

// call prepares one call of the port: the current router, and a context that has a deadline and ends with the client. The caller calls done
// when it has its answer.
func (c *client) call(ctx context.Context) (callCtx context.Context, r *router, done func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, nil, kafka.NewTransportError("the client is closed", net.ErrClosed)
	}
	c.calls.Add(1)
	r = c.current
	limit := r.settings.requestTimeout
	if deadline, ok := ctx.Deadline(); ok {
		limit = time.Until(deadline)
	}
	callCtx, cancel := context.WithTimeout(ctx, limit)
	id := c.next
	c.next++
	c.cancel[id] = cancel
	return callCtx, r, func() { c.done(id) }, nil
}

// done ends a call.
func (c *client) done(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel[id]()
	delete(c.cancel, id)
	c.calls.Done()
}

// ask sends a single request, and returns its error in the port's form.
func (c *client) ask(ctx context.Context, req *request) error {
	ctx, r, done, err := c.call(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = r.do(ctx, req)
	if errors.Is(err, errNotController) {
		return r.noController()
	}
	return err
}
