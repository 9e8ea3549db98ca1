package topicoperator

import (
	"encoding/binary"
	"net"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/frames"
)

// apiKey is the API key of a request in Kafka's protocol.
type apiKey int16

// The requests that the operator makes.
const (
	apiMetadata          apiKey = 3
	apiCreateTopics      apiKey = 19
	apiDeleteTopics      apiKey = 20
	apiDescribeConfigs   apiKey = 32
	apiCreatePartitions  apiKey = 37
	apiAlterConfigs      apiKey = 44
	apiListReassignments apiKey = 46
	loopback                    = "127.0.0.1"
)

// proxy is a proxy between the operator and the brokers, for connections without TLS. It counts requests, holds them, and simulates a Kafka
// that is unreachable.
type proxy struct {
	listeners []net.Listener
	brokers   []string

	mu     sync.Mutex
	away   bool
	calls  int // attempts while Kafka was unreachable
	conns  map[net.Conn]struct{}
	counts map[apiKey]int
	held   []*hold
}

// side is where a request is held.
type side int

const (
	// beforeBroker: the broker does not receive the request.
	beforeBroker side = iota
	// afterBroker: the broker executes the request, and its response is held.
	afterBroker
)

// hold waits for a request and holds it.
type hold struct {
	key  apiKey
	side side
	// caught is closed when a request is held; with afterBroker, when the broker has responded.
	caught   chan struct{}
	released chan struct{}
	once     sync.Once
	// lost is true if held requests and responses are dropped on release.
	lost bool
}

// release forwards the held requests, and holds no more.
func (h *hold) release() { h.once.Do(func() { close(h.released) }) }

// lose drops the held requests with their connections, and holds no more.
func (h *hold) lose() { h.once.Do(func() { h.lost = true; close(h.released) }) }

// startProxy starts a proxy, which is stopped at the end of the spec.
func startProxy(brokers ...string) *proxy {
	GinkgoHelper()
	p := &proxy{brokers: brokers, conns: map[net.Conn]struct{}{}, counts: map[apiKey]int{}}
	for _, broker := range brokers {
		l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
		Expect(err).NotTo(HaveOccurred())
		p.listeners = append(p.listeners, l)
		go p.accept(l, broker)
	}
	DeferCleanup(p.close)
	return p
}

func (p *proxy) close() {
	for _, l := range p.listeners {
		l.Close()
	}
	p.releaseAll()
	p.leave()
}

// releaseAll releases all holds.
func (p *proxy) releaseAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.held {
		h.release()
	}
	p.held = nil
}

// leave closes all connections, and accepts no others until back: Kafka is unreachable.
func (p *proxy) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = true
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) back() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = false
}

// knocks returns the number of connection attempts while Kafka was unreachable.
func (p *proxy) knocks() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// addresses returns the bootstrap addresses of a client.
func (p *proxy) addresses() []string {
	var all []string
	for _, l := range p.listeners {
		all = append(all, l.Addr().String())
	}
	return all
}

// count returns the number of requests of this kind.
func (p *proxy) count(key apiKey) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[key]
}

// total returns the number of requests of all kinds: specs do not depend on which request a client sends first.
func (p *proxy) total() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	total := 0
	for _, n := range p.counts {
		total += n
	}
	return total
}

// hold holds all requests of this kind from now on.
func (p *proxy) hold(key apiKey, where side) *hold {
	h := &hold{key: key, side: where, caught: make(chan struct{}), released: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = append(p.held, h)
	return h
}

func (p *proxy) accept(l net.Listener, broker string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go p.serve(c, broker)
	}
}

// join registers a connection for leave. It returns false if Kafka is unreachable.
func (p *proxy) join(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		p.calls++
		c.Close()
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *proxy) part(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	c.Close()
}

// serve forwards requests and responses. Kafka responds in order, so the next response belongs to the oldest request.
func (p *proxy) serve(client net.Conn, broker string) {
	if !p.join(client) {
		return
	}
	defer p.part(client)
	server, err := net.Dial("tcp", broker)
	if err != nil || !p.join(server) {
		return
	}
	defer p.part(server)
	const most = 1000
	asked := make(chan apiKey, most)
	go func() {
		defer client.Close()
		for key := range asked {
			answer, err := frames.Read(server)
			if err != nil {
				return
			}
			if !p.pass(key, afterBroker) {
				return
			}
			if frames.Write(client, p.readdress(answer)) != nil {
				return
			}
		}
	}()
	defer close(asked)
	for {
		request, err := frames.Read(client)
		if err != nil || len(request) < frames.HeaderBeginning {
			return
		}
		key := apiKey(binary.BigEndian.Uint16(request)) // the protocol's own conversion
		p.note(key)
		if !p.pass(key, beforeBroker) {
			return
		}
		asked <- key
		if frames.Write(server, request) != nil {
			return
		}
	}
}

func (p *proxy) note(key apiKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[key]++
}

// pass waits while requests of this kind are held here, and reports whether to continue.
func (p *proxy) pass(key apiKey, where side) bool {
	p.mu.Lock()
	var found *hold
	for _, h := range p.held {
		select {
		case <-h.released:
		default:
			if h.key == key && h.side == where {
				found = h
			}
		}
	}
	if found != nil {
		select {
		case <-found.caught:
		default:
			close(found.caught)
		}
	}
	p.mu.Unlock()
	if found == nil {
		return true
	}
	<-found.released
	return !found.lost
}

// readdress replaces the brokers' addresses in a response by the proxy's, which have the same length. Otherwise, the client would bypass
// the proxy.
func (p *proxy) readdress(answer []byte) []byte {
	for i, broker := range p.brokers {
		answer = frames.Readdress(answer, broker, p.listeners[i].Addr().String())
	}
	return answer
}
