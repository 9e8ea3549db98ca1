package clusters

import (
	"context"
	"net"
	"sync"
	"time"
)

// dialer opens and tracks connections, and counts how often one was opened or closed. If the count is unchanged since the server was
// identified, all connections are still those, and the identity is still valid.
type dialer struct {
	net.Dialer
	mu      sync.Mutex
	open    map[*connection]bool
	changes uint64
	closed  bool
}

func newDialer() *dialer {
	return &dialer{Dialer: net.Dialer{Timeout: 30 * time.Second, KeepAlive: 15 * time.Second}, open: map[*connection]bool{}}
}

// DialContext opens a connection.
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	d.changes++
	conn := &connection{Conn: c, dialer: d}
	d.open[conn] = true
	return conn, nil
}

// generation returns the count of opened and closed connections.
func (d *dialer) generation() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changes
}

// drop closes all open connections. New ones may be opened.
func (d *dialer) drop() {
	d.mu.Lock()
	open := d.open
	d.open = map[*connection]bool{}
	d.mu.Unlock()
	for c := range open {
		_ = c.Close()
	}
}

// close closes all connections permanently: new ones fail.
func (d *dialer) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.drop()
}

// ended reports whether close was called.
func (d *dialer) ended() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

type connection struct {
	net.Conn
	dialer *dialer
	once   sync.Once
}

// Close closes the connection, and counts the first call.
func (c *connection) Close() error {
	c.once.Do(func() {
		c.dialer.mu.Lock()
		delete(c.dialer.open, c)
		c.dialer.changes++
		c.dialer.mu.Unlock()
	})
	return c.Conn.Close()
}
