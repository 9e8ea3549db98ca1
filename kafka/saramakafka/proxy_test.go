package saramakafka_test

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
)

// proxy is an address that leads to a broker and can be redirected to another one, like a DNS name or a load balancer. Open connections
// keep their target.
type proxy struct {
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	target string
	served int
	open   map[net.Conn]struct{}
}

// newProxy returns an address that leads to target.
func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, target: target, open: map[net.Conn]struct{}{}}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = p.listener.Close()
		p.cut()
		p.running.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

// accepted returns the number of connections so far.
func (p *proxy) accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.served
}

// lead redirects later connections to target.
func (p *proxy) lead(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client) })
	}
}

// serve copies bytes in both directions until one side is closed.
func (p *proxy) serve(client net.Conn) {
	p.mu.Lock()
	p.served++
	broker, err := net.Dial("tcp", p.target)
	if err != nil {
		p.mu.Unlock()
		_ = client.Close()
		return
	}
	p.open[client], p.open[broker] = struct{}{}, struct{}{}
	p.mu.Unlock()
	var both sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{client: broker, broker: client} {
		both.Go(func() {
			_, _ = io.Copy(to, from) // ends when either side is closed
			_ = to.Close()
			_ = from.Close()
		})
	}
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, client)
	delete(p.open, broker)
}

// fronted is a cluster that clients reach through proxies only.
type fronted struct {
	*kafkatest.Embedded
	own     []string // the brokers' own addresses
	proxies []*proxy
}

func embedFronted(t *testing.T, o kafkatest.Options) *fronted {
	t.Helper()
	e := embed(t, o)
	f := &fronted{Embedded: e, own: e.Bootstrap()}
	for id, addr := range f.own {
		p := newProxy(t, addr)
		if err := e.Advertise(int32(id), p.addr()); err != nil {
			t.Fatal(err)
		}
		f.proxies = append(f.proxies, p)
	}
	return f
}

// config returns a client's configuration with the proxies' addresses.
func (f *fronted) config() kafka.Config {
	cfg := quick(f.Embedded)
	cfg.Bootstrap = nil
	for _, p := range f.proxies {
		cfg.Bootstrap = append(cfg.Bootstrap, p.addr())
	}
	return cfg
}

// lead redirects all addresses to another cluster.
func (f *fronted) lead(other *kafkatest.Embedded) {
	addrs := other.Bootstrap()
	for i, p := range f.proxies {
		p.lead(addrs[i%len(addrs)])
	}
}

// leadBack redirects all addresses to the cluster itself.
func (f *fronted) leadBack() {
	for i, p := range f.proxies {
		p.lead(f.own[i])
	}
}

// cut closes all connections.
func (f *fronted) cut() {
	for _, p := range f.proxies {
		p.cut()
	}
}
