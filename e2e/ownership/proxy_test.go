package ownership

import (
	"encoding/binary"
	"net"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/frames"
)

// proxy stands between an operator and a Kafka cluster, which can be exchanged behind the same address. The operator meets the brokers at
// the proxy's address only.
type proxy struct {
	listener net.Listener

	mu     sync.Mutex
	target *cluster
	refuse refusal
	conns  map[net.Conn]struct{}
	// held are the kinds of requests that do not get through until released is closed; heldBack counts those that wait.
	held     []uint16
	released chan struct{}
	heldBack int
	// reached counts the requests that reached each cluster.
	reached map[*cluster]map[uint16]int
}

// refusal is what becomes of a DescribeCluster request.
type refusal int

const (
	// answered: it is passed on.
	answered refusal = iota
	// denied: the answer is an error.
	denied
	// cut: the connection ends.
	cut
)

// The numbers of requests in Kafka's protocol.
const (
	apiMetadata          = 3
	apiVersions          = 18
	apiDescribeCluster   = 60
	apiCreateTopics      = 19
	apiDeleteTopics      = 20
	apiCreatePartitions  = 37
	apiIncrementalConfig = 44
)

// startProxy starts a proxy that lives as long as the spec, or the container, that asks for it.
func startProxy(target *cluster, refuse refusal) *proxy {
	GinkgoHelper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	p := &proxy{listener: l, target: target, refuse: refuse, conns: map[net.Conn]struct{}{},
		reached: map[*cluster]map[uint16]int{clusterA: {}, clusterB: {}}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	DeferCleanup(func() {
		l.Close()
		p.lead(nil)
	})
	return p
}

func (p *proxy) bootstrap() []string { return []string{p.listener.Addr().String()} }

// lead lets the address lead to another cluster from now on. Connections to the one before end.
func (p *proxy) lead(to *cluster) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = to
	for c := range p.conns {
		c.Close()
	}
}

// permit lets DescribeCluster through from now on.
func (p *proxy) permit() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = answered
}

func (p *proxy) refusing() refusal {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refuse
}

// count returns how many requests have reached a cluster; of these kinds, if there are any given.
func (p *proxy) count(c *cluster, keys ...uint16) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for key, times := range p.reached[c] {
		if len(keys) == 0 || slices.Contains(keys, key) {
			n += times
		}
	}
	return n
}

// changes returns how many requests have reached a cluster that change something in it, or would if it were not for a flag.
func (p *proxy) changes(c *cluster) int {
	return p.count(c, apiCreateTopics, apiDeleteTopics, apiCreatePartitions, apiIncrementalConfig)
}

// hold lets no more requests of these kinds through, as a Kafka cluster that hangs. release does.
func (p *proxy) hold(keys ...uint16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held, p.released, p.heldBack = keys, make(chan struct{}), 0
}

func (p *proxy) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.released)
	p.held = nil
}

// waiting returns how many requests are held.
func (p *proxy) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heldBack
}

// await waits with a request that is held.
func (p *proxy) await(key uint16) {
	p.mu.Lock()
	released, held := p.released, slices.Contains(p.held, key)
	if held {
		p.heldBack++
	}
	p.mu.Unlock()
	if held {
		select {
		case <-released:
		case <-ctx.Done():
		}
	}
}

func (p *proxy) note(c *cluster, key uint16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reached[c][key]++
}

// connect opens the connection behind a connection, to where the address leads at this moment; nil if it leads nowhere.
func (p *proxy) connect(front net.Conn) (net.Conn, *cluster) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.target == nil {
		return nil, nil
	}
	back, err := net.Dial("tcp", p.target.Bootstrap()[0])
	if err != nil {
		return nil, nil
	}
	p.conns[front], p.conns[back] = struct{}{}, struct{}{}
	return back, p.target
}

func (p *proxy) part(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
		c.Close()
	}
}

// serve passes requests and answers on.
func (p *proxy) serve(front net.Conn) {
	defer front.Close()
	back, target := p.connect(front)
	if back == nil {
		return
	}
	defer p.part(front, back)
	go func() {
		defer front.Close()
		for {
			answer, err := frames.Read(back)
			if err != nil || frames.Write(front, p.readdress(answer)) != nil {
				return
			}
		}
	}()
	for {
		request, err := frames.Read(front)
		if err != nil || len(request) < frames.HeaderBeginning {
			return
		}
		key, refuse := binary.BigEndian.Uint16(request), p.refusing()
		if key != apiDescribeCluster {
			refuse = answered
		}
		p.await(key)
		p.note(target, key)
		switch refuse {
		case answered:
			err = frames.Write(back, request)
		case denied:
			err = frames.Write(front, deny(request))
		case cut:
			return
		}
		if err != nil {
			return
		}
	}
}

// deny makes an answer to DescribeCluster that is an error. Kafka's client has one request at a time on a connection, so that no other
// answer is under way.
func deny(request []byte) []byte {
	const clusterAuthorizationFailed = 31
	version := binary.BigEndian.Uint16(request[2:])
	answer := append([]byte{}, request[4:frames.HeaderBeginning]...) // the correlation id
	answer = append(answer, 0)                                       // no tags
	answer = binary.BigEndian.AppendUint32(answer, 0)                // not throttled
	answer = binary.BigEndian.AppendUint16(answer, clusterAuthorizationFailed)
	answer = append(answer, 0) // no message
	if version >= 1 {
		answer = append(answer, 1) // the endpoints are brokers
	}
	answer = append(answer, 1)                                 // an empty cluster id
	answer = binary.BigEndian.AppendUint32(answer, 0xffffffff) // no controller
	answer = append(answer, 1)                                 // no brokers
	answer = binary.BigEndian.AppendUint32(answer, 0x80000000) // no rights were asked for
	return append(answer, 0)                                   // no tags
}

// readdress replaces the brokers' addresses in an answer by the proxy's, which are as long; or the operator would go past it.
func (p *proxy) readdress(answer []byte) []byte {
	for _, c := range []*cluster{clusterA, clusterB} {
		answer = frames.Readdress(answer, c.Bootstrap()[0], p.listener.Addr().String())
	}
	return answer
}
