// Package proxy provides a proxy between an operator and the brokers of a Kafka cluster, for connections without TLS. It counts requests,
// holds them, answers them itself, leads to another cluster, and simulates one that is unreachable. It parses only the headers of requests.
package proxy

import (
	"encoding/binary"
	"net"
	"slices"
	"sync"
)

// The API keys of Kafka's protocol.
const (
	Metadata                uint16 = 3
	APIVersions             uint16 = 18
	CreateTopics            uint16 = 19
	DeleteTopics            uint16 = 20
	DescribeConfigs         uint16 = 32
	CreatePartitions        uint16 = 37
	IncrementalAlterConfigs uint16 = 44
	ListReassignments       uint16 = 46
	DescribeCluster         uint16 = 60
)

// Proxy listens at one address for each broker of a cluster.
type Proxy struct {
	listeners []net.Listener

	mu sync.Mutex
	// brokers are those that the addresses lead to; none if Kafka is unreachable. knocks are the connections that were refused then.
	brokers []string
	knocks  int
	// behind are all brokers that an address led to.
	behind []map[string]bool
	conns  map[net.Conn]struct{}
	// counts are the requests that were forwarded to each broker, or answered in its stead.
	counts  map[string]map[uint16]int
	held    []*Hold
	answers map[uint16]Answer
}

// Answer answers a request in the stead of a broker. If it returns false, the connection is closed.
type Answer func(request []byte) (answer []byte, ok bool)

// Start starts a proxy in front of these brokers.
func Start(brokers ...string) (*Proxy, error) {
	p := &Proxy{conns: map[net.Conn]struct{}{}, counts: map[string]map[uint16]int{}, answers: map[uint16]Answer{}}
	for range brokers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			p.Close()
			return nil, err
		}
		p.listeners, p.behind = append(p.listeners, l), append(p.behind, map[string]bool{})
	}
	p.Lead(brokers...)
	for i := range p.listeners {
		go p.accept(i)
	}
	return p, nil
}

// Close stops the proxy.
func (p *Proxy) Close() {
	for _, l := range p.listeners {
		_ = l.Close()
	}
	p.Lead()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.held {
		h.Release()
	}
}

// Lead leads the addresses to these brokers from now on, or to none, if Kafka is to be unreachable. It closes all connections.
func (p *Proxy) Lead(brokers ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.brokers = brokers
	for i, b := range brokers {
		p.behind[i][b] = true
	}
	for c := range p.conns {
		_ = c.Close()
	}
}

// Knocks returns the number of connection attempts while Kafka was unreachable.
func (p *Proxy) Knocks() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.knocks
}

// Addresses returns the bootstrap addresses of a client.
func (p *Proxy) Addresses() []string {
	var all []string
	for _, l := range p.listeners {
		all = append(all, l.Addr().String())
	}
	return all
}

// Count returns the number of requests of these kinds that were forwarded to any broker.
func (p *Proxy) Count(keys ...uint16) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, counts := range p.counts {
		n += count(counts, keys)
	}
	return n
}

// CountOf returns the number of requests that were forwarded to a broker, of these kinds if there are any.
func (p *Proxy) CountOf(broker string, keys ...uint16) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return count(p.counts[broker], keys)
}

func count(counts map[uint16]int, keys []uint16) (n int) {
	for key, times := range counts {
		if len(keys) == 0 || slices.Contains(keys, key) {
			n += times
		}
	}
	return n
}

// Answer answers requests of this kind itself from now on; with nil, it forwards them. The client must have one request at a time on a
// connection, or answers get out of order.
func (p *Proxy) Answer(key uint16, with Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[key] = with
}

func (p *Proxy) accept(i int) {
	for {
		c, err := p.listeners[i].Accept()
		if err != nil {
			return
		}
		go p.serve(c, i)
	}
}

// join registers a connection for Lead. It returns the broker that address i leads to, "" if Kafka is unreachable.
func (p *Proxy) join(c net.Conn, i int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.brokers) == 0 {
		p.knocks++
		_ = c.Close()
		return ""
	}
	p.conns[c] = struct{}{}
	return p.brokers[i]
}

func (p *Proxy) part(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	_ = c.Close()
}

// serve forwards requests and responses. Kafka responds in order, so the next response belongs to the oldest request.
func (p *Proxy) serve(client net.Conn, i int) {
	broker := p.join(client, i)
	if broker == "" {
		return
	}
	defer p.part(client)
	server, err := net.Dial("tcp", broker)
	if err != nil {
		return
	}
	defer p.part(server)
	if p.join(server, i) != broker {
		return // another one is in its place since
	}
	const most = 1000
	asked := make(chan uint16, most)
	go func() {
		defer func() { _ = client.Close() }()
		for key := range asked {
			answer, err := read(server)
			if err != nil || !p.pass(key, AfterBroker) || write(client, p.readdress(answer)) != nil {
				return
			}
		}
	}()
	defer close(asked)
	for {
		request, err := read(client)
		if err != nil || len(request) < headerBeginning {
			return
		}
		key := binary.BigEndian.Uint16(request)
		if !p.pass(key, BeforeBroker) {
			return
		}
		if own := p.note(broker, key); own != nil {
			answer, ok := own(request)
			if !ok || write(client, answer) != nil {
				return
			}
			continue
		}
		asked <- key
		if write(server, request) != nil {
			return
		}
	}
}

// note counts a request, and returns what answers it in the broker's stead.
func (p *Proxy) note(broker string, key uint16) Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts[broker] == nil {
		p.counts[broker] = map[uint16]int{}
	}
	p.counts[broker][key]++
	return p.answers[key]
}

// readdress replaces the brokers' addresses in a response by the proxy's, which have the same length. Otherwise, the client would bypass
// the proxy.
func (p *Proxy) readdress(answer []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, l := range p.listeners {
		for broker := range p.behind[i] {
			answer = readdress(answer, broker, l.Addr().String())
		}
	}
	return answer
}
