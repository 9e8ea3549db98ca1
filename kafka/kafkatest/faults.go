package kafkatest

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Fault makes requests fail or wait. Its zero value matches every request, and only counts it.
type Fault struct {
	// Requests are the names of the requests it applies to, as Kafka documents them ("CreateTopics"); nil means all, those of the login
	// included.
	Requests []string
	// Nodes are the brokers it applies to; nil means all.
	Nodes []int32
	// Count is how many requests it applies to; zero means all until Remove.
	Count int

	// Hang keeps the request unanswered, and not carried out, until Remove; then the connection is closed.
	Hang bool
	// HangAfter carries the request out, and then hangs.
	HangAfter bool
	// Delay waits before the request is carried out.
	Delay time.Duration
	// Drop closes the connection instead of carrying the request out.
	Drop bool
	// DropAfter carries the request out and closes the connection instead of answering.
	DropAfter bool
	// Code answers each item, or the whole request, with this error code and Message, and carries nothing out.
	Code    int16
	Message string
	// Throttle is the throttle time of the answer (KIP-219). The broker reads nothing from the connection during that time.
	Throttle time.Duration
}

// Injected is an active fault.
type Injected struct {
	Fault
	cluster *Embedded

	mu      sync.Mutex
	hits    int
	changed chan struct{} // closed and replaced at each hit
	removed chan struct{}
	once    sync.Once
}

// Inject activates a fault. If several faults match a request, only the oldest one applies.
func (e *Embedded) Inject(f Fault) *Injected {
	in := &Injected{Fault: f, cluster: e, changed: make(chan struct{}), removed: make(chan struct{})}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faults = append(e.faults, in)
	return in
}

// Remove ends the fault.
func (in *Injected) Remove() {
	in.once.Do(func() { close(in.removed) })
	e := in.cluster
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faults = slices.DeleteFunc(e.faults, func(other *Injected) bool { return other == in })
}

// Hits returns how many requests the fault applied to.
func (in *Injected) Hits() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.hits
}

// Wait returns once the fault has applied to n requests.
func (in *Injected) Wait(ctx context.Context, n int) error {
	for {
		in.mu.Lock()
		hits, changed := in.hits, in.changed
		in.mu.Unlock()
		if hits >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// match finds the fault for a request, and counts it.
func (e *Embedded) match(node int32, key int16) *Injected {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := kmsg.NameForKey(key)
	for _, in := range e.faults {
		if in.Requests != nil && !slices.Contains(in.Requests, name) || in.Nodes != nil && !slices.Contains(in.Nodes, node) {
			continue
		}
		if in.hit() {
			return in
		}
	}
	return nil
}

// hit counts a request, unless the fault has reached its Count.
func (in *Injected) hit() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.Count > 0 && in.hits >= in.Count {
		return false
	}
	in.hits++
	close(in.changed)
	in.changed = make(chan struct{})
	return true
}

// before applies a fault instead of, or before, carrying a request out. A nil answer means that the request is to be carried out.
func (s *session) before(in *Injected, c *call) (kmsg.Response, error) {
	switch {
	case in.Hang:
		_ = s.wait(0, in.removed) // the request is never answered
		return nil, net.ErrClosed
	case in.Drop:
		return nil, net.ErrClosed
	case in.Delay > 0:
		if err := s.wait(in.Delay, in.removed); err != nil {
			return nil, err
		}
	}
	if in.Code != 0 && c.req != nil {
		return failure(c.req, in.Code, in.Message, int32(in.Throttle.Milliseconds())), nil
	}
	return nil, nil
}

// after applies a fault to an answer.
func (s *session) after(in *Injected, c *call, answer []byte) ([]byte, error) {
	switch {
	case in.HangAfter:
		_ = s.wait(0, in.removed)
		return nil, net.ErrClosed
	case in.DropAfter:
		return nil, net.ErrClosed
	case in.Throttle > 0 && c.req != nil:
		return s.throttle(in, c, answer)
	}
	return answer, nil
}

// throttle sets the throttle time of an answer, sends it, and mutes the connection.
func (s *session) throttle(in *Injected, c *call, answer []byte) ([]byte, error) {
	resp := c.req.ResponseKind()
	body := answer[4:]
	if resp.IsFlexible() && c.key != keyAPIVersions {
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, err
	}
	if t, ok := resp.(kmsg.SetThrottleResponse); ok {
		t.SetThrottle(int32(in.Throttle.Milliseconds()))
	}
	if err := writeFrame(s.client, c.encode(resp)); err != nil {
		return nil, err
	}
	if err := s.wait(in.Throttle, nil); err != nil {
		return nil, err
	}
	return nil, errAnswered
}
