package realkafka

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/freeport"
)

// Cluster is a running Kafka cluster. Its methods may be called from several goroutines.
type Cluster struct {
	in        *installation
	archive   string
	options   Options
	scratch   *scratch
	nodes     []*node
	ports     []int
	authority *Authority
	client    Certificate

	closing sync.Once
}

// errPortTaken means that another process took a port between its choice and the node's start.
var errPortTaken = errors.New("a port was taken meanwhile")

// Start formats and starts a cluster and waits until all of its nodes serve. The context bounds the start only.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	in, err := install(ctx, logOf(o))
	if err != nil {
		return nil, err
	}
	archive := ""
	if defaulted, err := o.withDefaults(); err == nil {
		archive = in.classArchive(ctx, defaulted)
	}
	const attempts = 3
	for i := 1; ; i++ {
		c, err := start(ctx, in, archive, o)
		if err == nil || i == attempts || !errors.Is(err, errPortTaken) {
			return c, err
		}
	}
}

func start(ctx context.Context, in *installation, archive string, o Options) (*Cluster, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s, err := newScratch(o.Dir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{in: in, archive: archive, options: o, scratch: s}
	if err := c.bringUp(ctx); err != nil {
		err = c.explain(err)
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) bringUp(ctx context.Context) error {
	began := time.Now()
	if err := c.layOut(); err != nil {
		return err
	}
	if err := c.writeFiles(); err != nil {
		return err
	}
	if err := c.each(func(n *node) error { return c.format(ctx, n) }); err != nil {
		return err
	}
	formatted := time.Since(began)
	for _, n := range c.nodes {
		if err := n.start(c); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.StartTimeout)
	defer cancel()
	if err := c.each(func(n *node) error { return n.await(ctx, c.options.Brokers) }); err != nil {
		return err
	}
	c.logf("cluster %s serves at %s after %v (%v of it formatting)", c.ClusterID(),
		strings.Join(c.Bootstrap(), ","), time.Since(began).Round(time.Millisecond), formatted.Round(time.Millisecond))
	return nil
}

// layOut assigns roles and ports to the nodes.
func (c *Cluster) layOut() error {
	o := c.options
	for i := range o.Brokers + o.Controllers {
		broker := i < o.Brokers
		n := &node{id: int32(i), broker: broker, controller: !broker || o.Controllers == 0, ports: map[listener]int{}}
		n.dir = filepath.Join(c.scratch.dir, fmt.Sprintf("node-%d", i))
		c.nodes = append(c.nodes, n)
	}
	count := 0
	for _, n := range c.nodes {
		count += len(o.listeners(n.broker, n.controller))
	}
	ports, err := freeport.Take(count)
	if err != nil {
		return err
	}
	c.ports = ports
	for _, n := range c.nodes {
		for _, l := range o.listeners(n.broker, n.controller) {
			n.ports[l], ports = ports[0], ports[1:]
		}
	}
	return nil
}

// explain returns errPortTaken if a node failed to start because of a port that was taken.
func (c *Cluster) explain(err error) error {
	for _, n := range c.nodes {
		if strings.Contains(n.tail(400), "Address already in use") {
			return fmt.Errorf("%w: %w", errPortTaken, err)
		}
	}
	return err
}

// each calls f for all nodes at once.
func (c *Cluster) each(f func(*node) error) error {
	errs := make([]error, len(c.nodes))
	var wg sync.WaitGroup
	for i, n := range c.nodes {
		wg.Go(func() { errs[i] = f(n) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Close kills all nodes and removes all files. It may be called more than once.
func (c *Cluster) Close() error {
	var err error
	c.closing.Do(func() {
		_ = c.each(func(n *node) error {
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.proc != nil {
				n.proc.Kill()
			}
			return nil
		})
		freeport.Release(c.ports)
		err = c.scratch.remove()
	})
	return err
}

// ClusterID returns the id the cluster was formatted with.
func (c *Cluster) ClusterID() string { return c.options.ClusterID }

// Bootstrap returns the addresses of the plaintext listener of all brokers. Under [Options].ACL its users are super users.
func (c *Cluster) Bootstrap() []string { return c.addrs(plaintextListener) }

// SASLBootstrap returns the addresses of the SASL_PLAINTEXT listener, none without [Options].SASL.
func (c *Cluster) SASLBootstrap() []string { return c.addrs(saslListener) }

// TLSBootstrap returns the addresses of the TLS listener, none without [Options].TLS.
func (c *Cluster) TLSBootstrap() []string { return c.addrs(tlsListener) }

// SASLTLSBootstrap returns the addresses of the SASL_SSL listener, none without both [Options].SASL and [Options].TLS.
func (c *Cluster) SASLTLSBootstrap() []string { return c.addrs(saslTLSListener) }

// ControllerBootstrap returns the addresses of the controllers.
func (c *Cluster) ControllerBootstrap() []string { return c.addrs(controllerListener) }

func (c *Cluster) addrs(l listener) []string {
	var addrs []string
	for _, n := range c.nodes {
		if _, ok := n.ports[l]; ok {
			addrs = append(addrs, n.addr(l))
		}
	}
	return addrs
}

// Authority returns the authority that signed the brokers' certificates, nil without [Options].TLS.
func (c *Cluster) Authority() *Authority { return c.authority }

// ClientCertificate returns the certificate of User:CN=client. Others are issued by [Cluster.Authority].
func (c *Cluster) ClientCertificate() Certificate { return c.client }

// NodeIDs returns the ids of all nodes, brokers first.
func (c *Cluster) NodeIDs() []int32 {
	var ids []int32
	for _, n := range c.nodes {
		ids = append(ids, n.id)
	}
	return ids
}

// BrokerIDs returns the ids of the brokers.
func (c *Cluster) BrokerIDs() []int32 {
	return slices.DeleteFunc(c.NodeIDs(), func(id int32) bool { return int(id) >= c.options.Brokers })
}

// PID returns the process id of a node, 0 if it is not running.
func (c *Cluster) PID(id int32) int {
	n, err := c.node(id)
	if err != nil {
		return 0
	}
	proc, err := n.running()
	if err != nil {
		return 0
	}
	return proc.PID()
}

// Kill ends a node as a crash does (SIGKILL). It returns when the process is gone.
func (c *Cluster) Kill(id int32) error {
	n, err := c.node(id)
	if err != nil {
		return err
	}
	proc, err := n.running()
	if err != nil {
		return err
	}
	proc.Kill()
	return nil
}

// Stop shuts a node down in order (SIGTERM) and waits until it is gone; a node that takes more than a minute is killed,
// and that is an error.
func (c *Cluster) Stop(id int32) error {
	n, err := c.node(id)
	if err != nil {
		return err
	}
	proc, err := n.running()
	if err != nil {
		return err
	}
	return proc.Terminate(time.Minute)
}

// StartNode starts a stopped node again, with the same ports and data, and waits until it serves. A broker serves once it is unfenced and
// accepts connections; its partitions may still be catching up. After Kill this takes until the controller forgets the dead broker,
// broker.session.timeout.ms: 9 s by Kafka's default.
func (c *Cluster) StartNode(ctx context.Context, id int32) error {
	n, err := c.node(id)
	if err != nil {
		return err
	}
	if err := n.start(c); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.StartTimeout)
	defer cancel()
	return n.await(ctx, 1)
}

// Suspend makes a node hang (SIGSTOP): connections stay open, but the node does not respond. It returns once all threads have stopped.
func (c *Cluster) Suspend(id int32) error {
	if err := c.signal(id, syscall.SIGSTOP); err != nil {
		return err
	}
	const pause, patience = time.Millisecond, 30 * time.Second
	for deadline := time.Now().Add(patience); ; {
		if done, err := suspended(c.PID(id)); done || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("node %d runs on, %v after it was suspended", id, patience)
		}
		<-time.After(pause)
	}
}

// Resume ends Suspend.
func (c *Cluster) Resume(id int32) error { return c.signal(id, syscall.SIGCONT) }

func (c *Cluster) signal(id int32, s syscall.Signal) error {
	n, err := c.node(id)
	if err != nil {
		return err
	}
	return n.signal(s)
}

// LogFile returns the path of a node's log; Close removes it.
func (c *Cluster) LogFile(id int32) string {
	n, err := c.node(id)
	if err != nil {
		return ""
	}
	return n.logFile()
}

// LogTail returns the last hundred lines of a node's log.
func (c *Cluster) LogTail(id int32) string {
	n, err := c.node(id)
	if err != nil {
		return err.Error()
	}
	return n.tail(100)
}

func (c *Cluster) node(id int32) (*node, error) {
	if id < 0 || int(id) >= len(c.nodes) {
		return nil, fmt.Errorf("there is no node %d", id)
	}
	return c.nodes[id], nil
}

func (c *Cluster) logf(format string, args ...any) {
	fmt.Fprintf(c.options.Log, "realkafka: "+format+"\n", args...)
}
