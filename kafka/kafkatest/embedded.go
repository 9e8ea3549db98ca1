package kafkatest

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/internal/rules"
)

// Options describe an embedded cluster. The zero value is one broker without login.
type Options struct {
	// Brokers is the number of brokers, 1 if not set; their ids count from 0.
	Brokers int
	// ClusterID is the cluster's id; a fixed one if empty.
	ClusterID string
	// Users can log in. Without users, the cluster needs no login.
	Users []User
	// Tokens are the accepted OAUTHBEARER tokens, with the names of their users, who must be among Users.
	Tokens map[string]string
	// ACLs restricts users that are not super users to their rules.
	ACLs bool
	// Reauthenticate ends each login after this time (connections.max.reauth.ms); zero: never.
	Reauthenticate time.Duration
	// TLS, if set, is the brokers' TLS configuration.
	TLS *tls.Config
	// AutoCreateTopics is auto.create.topics.enable.
	AutoCreateTopics bool
	// DeletionDisabled is delete.topic.enable=false.
	DeletionDisabled bool
	// DefaultPartitions is num.partitions, 1 if not set.
	DefaultPartitions int
	// NoForwarding makes brokers refuse what only the controller can do (NOT_CONTROLLER), as they did before KRaft.
	NoForwarding bool
	// PolicyThrows reports whether the cluster's CreateTopicPolicy throws on a topic: the whole request fails, as up to Kafka 4.1.
	PolicyThrows func(kafka.NewTopic) bool
}

// User is a user of an embedded cluster.
type User struct {
	Name, Password string
	Mechanism      kafka.SASLMechanism // PLAIN or SCRAM; a user with SCRAM can also use PLAIN
	Super          bool
	ACLs           []kfake.ACL
}

// Embedded is an in-process Apache Kafka: franz-go's kfake behind connections that this package serves itself. It forwards requests to the
// controller as KRaft brokers do, rejects what Kafka rejects (package rules), and injects faults.
//
// It keeps records and topics, but replicates nothing and elects no leaders. Its methods may be called from several goroutines.
type Embedded struct {
	options Options
	fake    *kfake.Cluster
	configs *configStore

	mu       sync.Mutex
	nodes    map[int32]*endpoint
	byListen []*endpoint // in the order in which kfake asked
	faults   []*Injected
	stored   rules.NodeConfigs
	features map[string]int16
	epoch    int64 // of features
	closed   bool
	done     chan struct{}
	sessions sync.WaitGroup
}

// endpoint is one broker's address, and the listener of its fake broker.
type endpoint struct {
	id     int32
	inner  *pipeListener
	public net.Listener // nil while the broker is stopped
	addr   string       // the last public address
	conns  map[net.Conn]struct{}
	fenced bool
	// unregistered is true from UnregisterBroker until the broker starts again.
	unregistered bool
}

// StartEmbedded starts a cluster on loopback.
func StartEmbedded(o Options) (*Embedded, error) {
	if o.Brokers == 0 {
		o.Brokers = 1
	}
	if o.ClusterID == "" {
		o.ClusterID = "embeddedKafkaCluster00"
	}
	if o.DefaultPartitions == 0 {
		o.DefaultPartitions = 1
	}
	e := &Embedded{options: o, configs: newConfigStore(), features: rules.Features(), nodes: map[int32]*endpoint{}, done: make(chan struct{})}
	fake, err := kfake.NewCluster(e.fakeOptions()...)
	if err != nil {
		return nil, err
	}
	e.fake = fake
	for i, n := range e.byListen {
		n.id = int32(i)
		e.nodes[n.id] = n
	}
	for _, n := range e.byListen {
		e.serve(n)
	}
	return e, nil
}

func (e *Embedded) fakeOptions() []kfake.Opt {
	o := e.options
	opts := []kfake.Opt{
		kfake.NumBrokers(o.Brokers), kfake.ClusterID(o.ClusterID), kfake.DefaultNumPartitions(o.DefaultPartitions),
		kfake.ListenFn(func(_, _ string) (net.Listener, error) { return e.listen() }),
	}
	if o.AutoCreateTopics {
		opts = append(opts, kfake.AllowAutoTopicCreation())
	}
	if o.ACLs {
		opts = append(opts, kfake.EnableACLs())
	}
	if o.Reauthenticate > 0 {
		opts = append(opts, kfake.BrokerConfigs(map[string]string{"connections.max.reauth.ms": strconv.FormatInt(o.Reauthenticate.Milliseconds(),
			10)}))
	}
	if len(o.Users) > 0 {
		opts = append(opts, kfake.EnableSASL())
	}
	for _, u := range o.Users {
		// With PLAIN this package logs in as the user when it forwards to the controller.
		for _, mechanism := range slices.Compact([]kafka.SASLMechanism{u.Mechanism, kafka.SASLPlain}) {
			if u.Super {
				opts = append(opts, kfake.Superuser(string(mechanism), u.Name, u.Password))
			} else {
				opts = append(opts, kfake.User(string(mechanism), u.Name, u.Password, u.ACLs...))
			}
		}
	}
	return opts
}

// listen opens a broker's public address, and gives kfake a listener that only this package connects to.
func (e *Embedded) listen() (net.Listener, error) {
	public, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &endpoint{public: public, addr: public.Addr().String(), conns: map[net.Conn]struct{}{}, inner: newPipeListener()}
	n.inner.advertise(n.addr)
	e.mu.Lock()
	e.byListen = append(e.byListen, n)
	e.mu.Unlock()
	return n.inner, nil
}

// serve accepts clients of a broker until its public listener closes.
func (e *Embedded) serve(n *endpoint) {
	listener := n.public
	if e.options.TLS != nil {
		listener = tls.NewListener(listener, e.options.TLS)
	}
	e.sessions.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			e.mu.Lock()
			if e.closed || n.public == nil {
				e.mu.Unlock()
				_ = client.Close() // the broker stopped meanwhile
				return
			}
			n.conns[client] = struct{}{}
			e.mu.Unlock()
			e.sessions.Go(func() {
				newSession(e, n, client).run()
				e.mu.Lock()
				delete(n.conns, client)
				e.mu.Unlock()
			})
		}
	})
}

// Bootstrap returns the addresses of all brokers, stopped ones included.
func (e *Embedded) Bootstrap() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for _, n := range e.byListen {
		out = append(out, n.addr)
	}
	return out
}

// ClusterID returns the cluster's id.
func (e *Embedded) ClusterID() string { return e.options.ClusterID }

// Controller returns the id of the node that is the controller.
func (e *Embedded) Controller() int32 { return int32(e.options.Brokers) - 1 }

// Fake returns the kfake cluster, for what this package does not provide.
func (e *Embedded) Fake() *kfake.Cluster { return e.fake }

// StopNode closes a broker's address and its connections, as a crash would. Others still list it until Fence.
func (e *Embedded) StopNode(id int32) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, err := e.node(id)
	if err != nil {
		return err
	}
	if n.public == nil {
		return fmt.Errorf("broker %d is stopped already", id)
	}
	_ = n.public.Close()
	n.public = nil
	for c := range n.conns {
		_ = c.Close()
	}
	return nil
}

// StartNode starts a stopped broker: at its old address, or at a new one.
func (e *Embedded) StartNode(id int32, newAddress bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, err := e.node(id)
	if err != nil {
		return err
	}
	if n.public != nil {
		return fmt.Errorf("broker %d is running", id)
	}
	addr := n.addr
	if newAddress {
		addr = "127.0.0.1:0"
	}
	if n.public, err = net.Listen("tcp", addr); err != nil {
		return err
	}
	n.addr = n.public.Addr().String()
	n.inner.advertise(n.addr)
	n.fenced, n.unregistered = false, false
	e.serve(n)
	return nil
}

// Fence makes the cluster stop listing a broker, as the controller does when its heartbeats stop.
func (e *Embedded) Fence(id int32) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, err := e.node(id)
	if err == nil {
		n.fenced = true
	}
	return err
}

// Advertise makes a broker advertise another address, such as that of a proxy, until StartNode.
func (e *Embedded) Advertise(id int32, addr string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, err := e.node(id)
	if err == nil {
		n.inner.advertise(addr)
	}
	return err
}

// Disconnect closes all connections of clients. The brokers keep running.
func (e *Embedded) Disconnect() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range e.nodes {
		for c := range n.conns {
			_ = c.Close()
		}
	}
}

func (e *Embedded) node(id int32) (*endpoint, error) {
	n := e.nodes[id]
	if n == nil {
		return nil, fmt.Errorf("there is no broker %d", id)
	}
	return n, nil
}

// brokers returns the ids of all registered brokers that are not fenced.
func (e *Embedded) brokers() []int32 {
	e.mu.Lock()
	defer e.mu.Unlock()
	var ids []int32
	for _, n := range e.byListen {
		if !n.fenced && !n.unregistered {
			ids = append(ids, n.id)
		}
	}
	return ids
}

// Close stops all brokers and waits for all goroutines of the cluster.
func (e *Embedded) Close() {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return
	}
	e.closed = true
	close(e.done)
	for _, n := range e.nodes {
		if n.public != nil {
			_ = n.public.Close()
			n.public = nil
		}
		for c := range n.conns {
			_ = c.Close()
		}
	}
	e.mu.Unlock()
	e.sessions.Wait()
	e.fake.Close()
}

// pipeListener gives kfake in-process connections.
type pipeListener struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
	mu     sync.Mutex
	addr   net.Addr
}

func newPipeListener() *pipeListener {
	return &pipeListener{accept: make(chan net.Conn), closed: make(chan struct{})}
}

// advertise sets the address that the broker advertises.
func (l *pipeListener) advertise(addr string) {
	tcp, _ := net.ResolveTCPAddr("tcp", addr) // an address of a listener is numeric
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addr = tcp
}

// dial connects to the broker.
func (l *pipeListener) dial() (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.accept <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.closed:
		return nil, errors.New("the broker is closed")
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.addr
}
