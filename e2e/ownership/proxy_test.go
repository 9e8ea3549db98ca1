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

// proxy is a proxy between an operator and a Kafka cluster, which can be replaced by another one at the same address. The operator connects
// to the brokers only through the proxy.
type proxy struct {
	listener net.Listener

	mu     sync.Mutex
	target *cluster
	refuse refusal
	conns  map[net.Conn]struct{}
	// held are the kinds of requests that the proxy holds until released is closed. heldBack is the number of waiting requests.
	held     []uint16
	released chan struct{}
	heldBack int
	// reached is the number of requests that reached each cluster.
	reached map[*cluster]map[uint16]int
}

// refusal is how the proxy treats DescribeCluster requests.
type refusal int

const (
	// answered: the proxy forwards the request.
	answered refusal = iota
	// denied: the proxy responds with an error.
	denied
	// cut: the proxy closes the connection.
	cut
)

// The API keys of Kafka's protocol.
const (
	apiMetadata          = 3
	apiVersions          = 18
	apiDescribeCluster   = 60
	apiCreateTopics      = 19
	apiDeleteTopics      = 20
	apiCreatePartitions  = 37
	apiIncrementalConfig = 44
)

// startProxy starts a proxy, which is stopped at the end of the spec or container that called startProxy.
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

// lead makes the proxy forward to another cluster from now on. It closes connections to the earlier one.
func (p *proxy) lead(to *cluster) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = to
	for c := range p.conns {
		c.Close()
	}
}

// permit makes the proxy forward DescribeCluster from now on.
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

// count returns the number of requests that reached a cluster, of these kinds if there are any.
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

// changes returns the number of requests that reached a cluster and change something there, or would without a flag.
func (p *proxy) changes(c *cluster) int {
	return p.count(c, apiCreateTopics, apiDeleteTopics, apiCreatePartitions, apiIncrementalConfig)
}

// hold makes the proxy hold all requests of these kinds, like a Kafka cluster that hangs, until release.
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

// waiting returns the number of held requests.
func (p *proxy) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heldBack
}

// await waits while requests of this kind are held.
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

// connect opens a connection to the present cluster for a client's connection; nil if there is no cluster.
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

// serve forwards requests and responses.
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

// deny returns an error as the response to DescribeCluster. Kafka's client has one request at a time on a connection, so no other response
// is pending.
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
	answer = binary.BigEndian.AppendUint32(answer, 0x80000000) // no authorized operations were requested
	return append(answer, 0)                                   // no tags
}

// readdress replaces the brokers' addresses in a response by the proxy's, which have the same length. Otherwise, the operator would bypass
// the proxy.
func (p *proxy) readdress(answer []byte) []byte {
	for _, c := range []*cluster{clusterA, clusterB} {
		answer = frames.Readdress(answer, c.Bootstrap()[0], p.listener.Addr().String())
	}
	return answer
}
