package saramakafka

import (
	"context"
	"slices"
	"time"
)

const (
	// maxConns is how many connections to one broker may be open. A connection carries one request at a time, so further requests wait, or
	// go to another broker, only after this many slow ones.
	maxConns = 4
	// maxIdle is well below connections.max.idle.ms (10 minutes), so that the client closes a connection first, and never during a request.
	maxIdle = 4 * time.Minute
	// maxHonoured is the longest throttle for which the client waits. For longer ones, which some brokers request, it opens a new
	// connection and sends one request in this time.
	maxHonoured = 30 * time.Second

	minDown = 100 * time.Millisecond
	maxDown = 10 * time.Second
)

// node is one broker by its address, with the connections to it. The router's lock guards it.
type node struct {
	addr string
	id   int32 // -1 while only the address is known
	// silent is set after the broker dropped a connection instead of answering DescribeCluster: it gets no such request before this time.
	silent time.Time

	idle []*conn // the most recently used last
	open int     // idle, in use, or being opened

	failures  int
	down      time.Time // not tried before this time while other nodes are available
	throttled time.Time // the broker requests no traffic before this time (KIP-219)
}

// take chooses an idle connection, or lets the caller open a new one. It reports false if all connections are busy.
func (n *node) take(now time.Time) (choice, bool) {
	for i := len(n.idle) - 1; i >= 0; i-- {
		if c := n.idle[i]; now.After(c.muted) {
			n.idle = slices.Delete(n.idle, i, i+1)
			return choice{node: n, conn: c}, true
		}
	}
	if n.open < maxConns {
		n.open++
		return choice{node: n}, true
	}
	if len(n.idle) > 0 {
		// All idle connections are muted, and nothing would wake us when that ends: a new one replaces the oldest.
		muted := n.idle[0]
		n.idle = slices.Delete(n.idle, 0, 1)
		return choice{node: n, evicted: muted}, true
	}
	return choice{}, false
}

// purge removes and returns all idle connections.
func (n *node) purge() []*conn {
	gone := n.idle
	n.idle = nil
	n.open -= len(gone)
	return gone
}

// failed postpones the next use of the broker, the longer the more often it failed in a row.
func (n *node) failed(now time.Time) {
	n.down = now.Add(min(maxDown, minDown<<min(n.failures, 10)))
	n.failures++
}

// worked resets the failures.
func (n *node) worked() { n.failures, n.down = 0, time.Time{} }

// release takes a connection back after a request.
func (r *router) release(n *node, c *conn, mutation bool) {
	now := time.Now()
	c.call, c.fresh, c.probed, c.idleSince = nil, false, false, now
	r.mu.Lock()
	if throttle := c.muted.Sub(now); throttle > 0 {
		until := now.Add(min(throttle, maxHonoured))
		if mutation {
			// The quota for changes belongs to the cluster (KIP-599); reads need not wait for it.
			r.mutationsThrottled = until
		} else {
			n.throttled = until
		}
		c.broken = c.broken || throttle > maxHonoured
	}
	if c.cluster != "" && r.pin.refuses(c.cluster) {
		c.broken = true // its address may lead to the right cluster again at the next use
	}
	var gone []*conn
	if c.broken || r.retired || r.nodes[n.addr] != n {
		n.open--
		gone = append(gone, c)
	} else {
		n.idle = append(n.idle, c)
		r.scheduleSweep()
	}
	r.wake()
	r.mu.Unlock()
	closeAll(gone)
}

// openOn opens a connection that take permitted.
func (r *router) openOn(ctx context.Context, n *node) (*conn, error) {
	limit := r.settings.dialTimeout
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := openConn(ctx, r.settings, n.addr)
	if err != nil {
		r.mu.Lock()
		n.open--
		n.failed(time.Now())
		r.wake()
		r.mu.Unlock()
	}
	return c, err
}

// wake notifies callers that wait for a connection that there may be one. The caller holds the lock.
func (r *router) wake() {
	close(r.released)
	r.released = make(chan struct{})
}

// scheduleSweep schedules closing idle connections. The caller holds the lock.
func (r *router) scheduleSweep() {
	if r.sweeper == nil {
		r.sweeper = time.AfterFunc(maxIdle, r.sweep)
	}
}

// sweep closes connections that were idle for too long, and schedules itself again while there are others.
func (r *router) sweep() {
	var gone []*conn
	r.mu.Lock()
	r.sweeper = nil
	oldest := time.Now().Add(-maxIdle)
	for _, n := range r.nodes {
		kept := n.idle[:0]
		for _, c := range n.idle {
			if c.idleSince.After(oldest) {
				kept = append(kept, c)
			} else {
				gone = append(gone, c)
				n.open--
			}
		}
		clear(n.idle[len(kept):])
		n.idle = kept
		if len(kept) > 0 && !r.retired {
			r.scheduleSweep()
		}
	}
	r.mu.Unlock()
	closeAll(gone)
}

// retire closes idle connections now and all others as they are released. Calls in flight may still open new ones.
func (r *router) retire() {
	var gone []*conn
	r.mu.Lock()
	r.retired = true
	if r.sweeper != nil {
		r.sweeper.Stop()
	}
	for _, n := range r.nodes {
		gone = append(gone, n.purge()...)
	}
	r.mu.Unlock()
	closeAll(gone)
}

func closeAll(conns []*conn) {
	for _, c := range conns {
		c.close()
	}
}
