package realkafka

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/process"
)

// node is one broker, controller or both. Its ports and data stay the same when it is started again.
type node struct {
	id                 int32
	broker, controller bool
	dir                string
	ports              map[listener]int

	mu   sync.Mutex
	proc *process.Process // nil before the first start
}

func (n *node) roles() []string {
	var roles []string
	if n.broker {
		roles = append(roles, "broker")
	}
	if n.controller {
		roles = append(roles, "controller")
	}
	return roles
}

func (n *node) addr(l listener) string {
	return net.JoinHostPort(loopback, strconv.Itoa(n.ports[l]))
}

func (n *node) propertiesFile() string { return filepath.Join(n.dir, "server.properties") }
func (n *node) logFile() string        { return filepath.Join(n.dir, "kafka.log") }
func (n *node) keystore() string       { return filepath.Join(n.dir, "keystore.pem") }

// start runs the node; it does not wait until it serves.
func (n *node) start(c *Cluster) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc != nil && n.proc.Running() {
		return fmt.Errorf("node %d is running", n.id)
	}
	proc, err := process.Start(process.Options{
		Args: c.nodeCommand(n), Dir: n.dir, Output: n.logFile(), ManyFiles: true, // one per partition
	})
	if err != nil {
		return fmt.Errorf("node %d: %w", n.id, err)
	}
	n.proc = proc
	return nil
}

// running returns the node's process, if there is one.
func (n *node) running() (*process.Process, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc == nil || !n.proc.Running() {
		return nil, fmt.Errorf("node %d is not running", n.id)
	}
	return n.proc, nil
}

func (n *node) signal(s syscall.Signal) error {
	proc, err := n.running()
	if err != nil {
		return err
	}
	return proc.Signal(s)
}

// await waits until the node serves: a controller that responds, or a broker that is unfenced and reports at least this many brokers.
func (n *node) await(ctx context.Context, brokers int) error {
	const pause = 20 * time.Millisecond
	for {
		proc, err := n.running()
		if err != nil {
			return fmt.Errorf("%w: its log ends with\n%s", err, n.tail(40))
		}
		last := n.probe(ctx, brokers)
		if last == nil {
			return nil
		}
		select {
		case <-proc.Exited():
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("node %d does not serve: %w (%w); its log ends with\n%s", n.id, ctx.Err(), last, n.tail(40))
		}
	}
}

func (n *node) probe(ctx context.Context, brokers int) error {
	if !n.broker {
		return probeController(ctx, n.addr(controllerListener))
	}
	ids, err := probeBroker(ctx, n.addr(plaintextListener))
	if err != nil {
		return err
	}
	if !ids[n.id] || len(ids) < brokers {
		return fmt.Errorf("it sees %d of %d brokers", len(ids), brokers)
	}
	return nil
}

// tail returns the end of the node's log.
func (n *node) tail(lines int) string {
	return tailFile(n.logFile(), lines)
}

// tailFile returns the last lines of a file, reading no more than its last 64 KiB.
func tailFile(path string, lines int) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	const window = 64 << 10
	info, err := f.Stat()
	if err != nil {
		return err.Error()
	}
	b := make([]byte, min(window, info.Size()))
	if _, err := f.ReadAt(b, info.Size()-int64(len(b))); err != nil {
		return err.Error()
	}
	end := len(b)
	for i := len(b) - 2; i >= 0; i-- {
		if b[i] == '\n' {
			if lines--; lines == 0 {
				return string(b[i+1 : end])
			}
		}
	}
	return string(b)
}
