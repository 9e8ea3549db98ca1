//go:build linux

package realnodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// dialTimeout is the timeout of a dial whose context has none: across a cut there is never a response.
const dialTimeout = 30 * time.Second

// DialContext connects to an address in the lab: of a node, a pod, or a node port. It can be used wherever a dialer is needed, such as in
// rest.Config.Dial. It does not resolve names: no DNS has those of all clusters. The connection can be used in any goroutine.
func (l *Lab) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if _, err := netip.ParseAddrPort(address); err != nil {
		return nil, fmt.Errorf("dial into the lab: %w", err)
	}
	var conn net.Conn
	err := l.network.outside.do(func() error {
		// Without a fallback, the dial stays on this goroutine and so on the thread in the namespace.
		dialer := net.Dialer{FallbackDelay: -1, Timeout: dialTimeout}
		var err error
		conn, err = dialer.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// Listen listens for TCP connections from the lab, on a free port of the test process's address there. The caller closes it.
func (l *Lab) Listen() (net.Listener, error) {
	var listener net.Listener
	err := l.network.outside.do(func() error {
		var err error
		listener, err = net.Listen("tcp4", netip.AddrPortFrom(outsideAddress(), 0).String())
		return err
	})
	return listener, err
}

// ListenPacket listens for UDP packets from the lab, on a free port of the test process's address there. The caller closes it.
func (l *Lab) ListenPacket() (net.PacketConn, error) {
	var conn net.PacketConn
	err := l.network.outside.do(func() error {
		var err error
		conn, err = net.ListenPacket("udp4", netip.AddrPortFrom(outsideAddress(), 0).String())
		return err
	})
	return conn, err
}

// Forward listens on a free port of this machine's loopback interface, and forwards connections to an address in the lab, until Close. It
// is for programs that can't use DialContext, such as kubectl. It returns the address on which it listens.
func (l *Lab) Forward(address string) (string, error) {
	if _, err := netip.ParseAddrPort(address); err != nil {
		return "", fmt.Errorf("forward into the lab: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	f := &forwarder{listener: listener, dial: func() (net.Conn, error) { return l.DialContext(context.Background(), "tcp", address) }}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		listener.Close()
		return "", errors.New("forward into the lab: it is closed")
	}
	l.forwarders = append(l.forwarders, f)
	f.work.Go(f.accept)
	return listener.Addr().String(), nil
}

// forwarder forwards connections.
type forwarder struct {
	listener net.Listener
	dial     func() (net.Conn, error)
	work     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]bool
}

func (f *forwarder) accept() {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return // closed
		}
		if f.keep(conn) {
			f.work.Go(func() { f.serve(conn) })
		}
	}
}

// keep records a connection, which is closed with the forwarder. It returns false if the forwarder is closed.
func (f *forwarder) keep(conn net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		conn.Close()
		return false
	}
	if f.open == nil {
		f.open = map[net.Conn]bool{}
	}
	f.open[conn] = true
	return true
}

func (f *forwarder) drop(conn net.Conn) {
	conn.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, conn)
}

func (f *forwarder) serve(near net.Conn) {
	defer f.drop(near)
	far, err := f.dial()
	if err != nil {
		return // the client sees its connection end
	}
	if !f.keep(far) {
		return
	}
	defer f.drop(far)
	var back sync.WaitGroup
	back.Go(func() { pass(near, far) })
	pass(far, near)
	back.Wait()
}

// pass copies data in one direction until its end, and passes on the end.
func pass(to, from net.Conn) {
	_, err := io.Copy(to, from)
	tcp, ok := to.(*net.TCPConn)
	if !ok || (err != nil && !errors.Is(err, io.EOF)) {
		to.Close()
		from.Close()
		return
	}
	_ = tcp.CloseWrite() // it is closed already otherwise
}

func (f *forwarder) close() {
	f.listener.Close()
	f.mu.Lock()
	f.closed = true
	for conn := range f.open {
		conn.Close()
	}
	f.mu.Unlock()
	f.work.Wait()
}
