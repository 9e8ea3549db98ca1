package saramakafka

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

// requestDescribeCluster is the request whose answer also updates the table.
const requestDescribeCluster = "DescribeCluster"

// maxTableAge is the age at which the table of brokers is read again, without a failure.
const maxTableAge = 5 * time.Minute

// nodeKind is the kind of nodes that a router knows, and the endpoint type that it requests in DescribeCluster (KIP-919).
type nodeKind int8

// The kinds, with Kafka's own codes.
const (
	brokers     = nodeKind(sarama.DescribeClusterEndpointTypeBrokers)
	controllers = nodeKind(sarama.DescribeClusterEndpointTypeControllers)
)

// String names one node of the kind for messages.
func (k nodeKind) String() string {
	if k == controllers {
		return "controller"
	}
	return "broker"
}

// router tracks the brokers of one cluster, or its controllers, and chooses one for each request. Comments about brokers apply to both.
//
// In KRaft every broker forwards requests that only the controller can execute, so requests stay with one working broker, and move to
// another when it fails: this needs few connections, and loses no time with unavailable brokers. The bootstrap addresses are used again
// when none of the known brokers can be reached.
type router struct {
	settings *settings
	pin      *pin
	kind     nodeKind

	mu       sync.Mutex
	nodes    map[string]*node // by address; known brokers and bootstrap addresses
	table    []*node          // the known brokers
	fenced   map[int32]*node  // those not in service, by id; used only for requests that no other node can answer
	tableOf  string           // the id of their cluster
	seeds    []*node          // the addresses in the settings
	given    map[int32]*node  // those of them that belong to a node, by its id
	cursor   int              // where in the table to start
	learned  time.Time        // when the table was read; zero if it must be read
	learning bool

	controller        int32
	controllerMatters bool // a broker answered NOT_CONTROLLER: changes go to the controller first

	mutationsThrottled time.Time
	released           chan struct{} // closed, and replaced, when a connection was released
	sweeper            *time.Timer
	retired            bool
}

func newRouter(s *settings, p *pin, kind nodeKind) *router {
	r := &router{
		settings: s, pin: p, kind: kind, nodes: map[string]*node{}, given: map[int32]*node{}, controller: -1, released: make(chan struct{}),
	}
	r.controllerMatters = kind == controllers // controllers forward nothing
	for _, addr := range s.bootstrap {
		r.seed(addr)
	}
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		r.given[id] = r.seed(s.nodes[id])
	}
	return r
}

// seed adds an address of the settings.
func (r *router) seed(addr string) *node {
	if r.nodes[addr] == nil {
		n := &node{addr: addr, id: -1}
		r.nodes[addr] = n
		r.seeds = append(r.seeds, n)
	}
	return r.nodes[addr]
}

// choice is the result of pick: a node with a connection or with permission to open one; or a wait; or none if no node is left.
type choice struct {
	node     *node
	conn     *conn
	evicted  *conn           // to be closed
	released <-chan struct{} // wait for this ...
	wait     time.Duration   // ... or for so long
	none     bool
}

// pick chooses a broker that was not tried yet.
func (r *router) pick(t *trial) choice {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	c := choice{released: r.released, none: true}
	if wait := r.mutationsThrottled.Sub(now); t.request.mutation && wait > 0 {
		return choice{released: r.released, wait: wait}
	}
	var down []*node
	for _, n := range r.candidates(t.request) {
		if t.tried[n] {
			continue
		}
		if wait := n.throttled.Sub(now); wait > 0 {
			if c.none || c.wait > 0 && wait < c.wait {
				c.none, c.wait = false, wait
			}
			continue
		}
		if now.Before(n.down) {
			down = append(down, n)
			continue
		}
		if taken, ok := n.take(now); ok {
			return taken
		}
		c.none, c.wait = false, 0 // busy: wait for a release
	}
	if !c.none && c.wait == 0 {
		return c
	}
	for _, n := range down {
		if taken, ok := n.take(now); ok {
			return taken
		}
		c.none, c.wait = false, 0
	}
	return c
}

// candidates lists all brokers that can answer, in the order in which to try them. The caller holds the lock.
func (r *router) candidates(req *request) []*node {
	out := make([]*node, 0, len(r.table)+len(r.seeds)+1)
	first := req.broker
	if first == anyBroker && (req.mutation || req.leader) && r.controllerMatters {
		first = r.controller
	}
	for _, n := range r.table {
		if n.id == first && first != anyBroker {
			out = append(out, n)
		}
	}
	if req.broker != anyBroker {
		if n := r.fenced[req.broker]; n != nil {
			out = append(out, n)
		}
		if n := r.given[req.broker]; n != nil && len(out) == 0 {
			out = append(out, n)
		}
		return out
	}
	for i := range r.table {
		out = append(out, r.table[(r.cursor+i)%len(r.table)])
	}
	for _, n := range r.seeds {
		if n.id < 0 { // otherwise it is in the table
			out = append(out, n)
		}
	}
	return out
}

// knows reports whether the address of the broker with this id is known.
func (r *router) knows(id int32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fenced[id] != nil || r.given[id] != nil || slices.ContainsFunc(r.table, func(n *node) bool { return n.id == id })
}

// known counts the brokers.
func (r *router) known() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(len(r.table), len(r.seeds))
}

// failed records that a broker did not answer.
func (r *router) failed(n *node) {
	r.mu.Lock()
	r.avoid(n)
	gone := n.purge()
	r.mu.Unlock()
	closeAll(gone)
}

// avoid makes the router prefer other brokers for a while, and read the table again. The caller holds the lock.
func (r *router) avoid(n *node) {
	n.failed(time.Now())
	r.learned = time.Time{}
	if len(r.table) > 0 && r.table[r.cursor%len(r.table)] == n {
		r.cursor = (r.cursor + 1) % len(r.table)
	}
}

// worked records that a broker answered.
func (r *router) worked(n *node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n.worked()
}

// purge closes a broker's idle connections, because one of them turned out to be stale.
func (r *router) purge(n *node) {
	r.mu.Lock()
	gone := n.purge()
	r.mu.Unlock()
	closeAll(gone)
}

// notController records that a broker rejected a change because it is not the controller, which KRaft brokers don't do while they can
// forward. The table must be read again.
func (r *router) notController() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.controllerMatters = true
	r.learned = time.Time{}
}

// startLearning reports whether the caller should read the table; it must then call learn or stopLearning.
func (r *router) startLearning(n *node) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.learning || time.Now().Before(n.silent) || time.Since(r.learned) < maxTableAge {
		return false
	}
	r.learning = true
	return true
}

// stopLearning ends what startLearning began. A broker that answers without a table is not asked again with every request.
func (r *router) stopLearning(answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.learning = false
	if answered && r.learned.IsZero() {
		r.learned = time.Now()
	}
}

// silenceTime is how long a broker is not asked again for a table that it did not return.
const silenceTime = 10 * time.Second

// wasSilent records that a broker dropped the connection instead of answering DescribeCluster. A proxy may block just that request.
func (r *router) wasSilent(ctx context.Context, n *node, c *conn) {
	if !c.fresh || errors.Is(ctx.Err(), context.Canceled) {
		return // a closed idle connection, or a caller that gave up, is no evidence about the broker
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n.silent = time.Now().Add(silenceTime)
}

func (r *router) isSilent(n *node) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(n.silent)
}

// describeCluster requests all nodes of the router's kind from a node, and stores them.
func (r *router) describeCluster(ctx context.Context, c *conn) (*sarama.DescribeClusterResponse, error) {
	var resp *sarama.DescribeClusterResponse
	err := c.typed(ctx, func(b *sarama.Broker) (err error) {
		req := sarama.NewDescribeClusterRequest(sarama.MaxVersion)
		req.EndpointType = int8(r.kind)
		req.IncludeFencedBrokers = r.kind == brokers
		resp, err = b.DescribeCluster(req)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.mute(time.Duration(resp.ThrottleTimeMs) * time.Millisecond)
	if resp.Err == sarama.ErrNoError {
		c.cluster = resp.ClusterID
		r.learn(resp)
	}
	return resp, nil
}

// learn stores a description of the cluster, unless the client is pinned to another one. It closes the idle connections of removed brokers.
func (r *router) learn(resp *sarama.DescribeClusterResponse) {
	var gone []*conn
	r.mu.Lock()
	if r.pin.refuses(resp.ClusterID) {
		r.mu.Unlock()
		return
	}
	before := len(r.table)
	r.controller, r.tableOf = resp.ControllerID, resp.ClusterID
	keep := make(map[string]bool, len(resp.Brokers)+len(r.seeds))
	for _, n := range r.seeds {
		keep[n.addr], n.id = true, -1
	}
	r.table, r.fenced = make([]*node, 0, len(resp.Brokers)), map[int32]*node{}
	for _, b := range resp.Brokers {
		addr := net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
		n := r.nodes[addr]
		if n == nil {
			n = &node{addr: addr, id: -1}
			r.nodes[addr] = n
		}
		keep[addr] = true
		if b.IsFenced {
			r.fenced[b.BrokerID] = n // whose id is not set: its address may be a bootstrap address, or have another broker by now
			continue
		}
		n.id = b.BrokerID
		r.table = append(r.table, n)
	}
	for addr, n := range r.nodes {
		if !keep[addr] {
			gone = append(gone, n.purge()...)
			delete(r.nodes, addr)
		}
	}
	slices.SortFunc(r.table, func(a, b *node) int { return cmp.Compare(a.id, b.id) })
	if before == 0 && len(r.table) > 0 {
		r.cursor = rand.IntN(len(r.table))
	}
	if r.cursor >= len(r.table) {
		r.cursor = 0
	}
	r.learned = time.Now()
	r.mu.Unlock()
	closeAll(gone)
}
