//go:build linux

package realnodes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/nodespec"
)

// Node is a node of a cluster.
type Node struct {
	cluster *Cluster
	number  int
	name    string
	dir     string

	mu      sync.Mutex
	running *machine // nil while the power is off
}

// machine is the state of a node with power.
type machine struct {
	namespace *namespace
	boot      *exec.Cmd
	requests  io.WriteCloser
	answers   io.ReadCloser
	lines     *bufio.Reader // of the responses
	ended     chan struct{} // closed when the boot process has ended
	log       *os.File
	since     time.Time
}

// Name returns the name of the Node object.
func (n *Node) Name() string { return n.name }

// Address returns the node's address, which node ports use as well.
func (n *Node) Address() netip.Addr { return nodeAddress(n.cluster.number, n.number) }

// LogFile returns the path of a component's log.
func (n *Node) LogFile(c Component) string { return n.path("logs", string(c)+".log") }

// PowerOff cuts the node's power: everything on it ends at once, without a shutdown. Its disks keep their content.
func (n *Node) PowerOff(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running == nil {
		return fmt.Errorf("node %s has no power", n.name)
	}
	return n.powerOff(ctx)
}

func (n *Node) powerOff(ctx context.Context) error {
	m := n.running
	// The boot process kills the init, and with it the kernel kills all processes of the node.
	_ = m.boot.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-m.ended:
	case <-ctx.Done():
		_ = m.boot.Process.Kill()
		<-m.ended
	}
	scratch := n.cluster.lab.scratch
	cgroup := scratch.cgroup(n.name)
	err := scratch.Kill(ctx, cgroup)
	if err == nil {
		err = scratch.RemoveCgroup(cgroup)
	}
	m.requests.Close()
	m.answers.Close()
	m.log.Close()
	m.namespace.close()
	n.running = nil
	return errors.Join(err, n.cluster.lab.network.detach(n.name))
}

// PowerOn restores the node's power. It returns when the node's programs are starting: see [Cluster.WaitReady].
func (n *Node) PowerOn() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running != nil {
		return fmt.Errorf("node %s has power", n.name)
	}
	namespace, err := n.cluster.lab.network.attachNode(n.name, n.cluster.number, n.number)
	if err != nil {
		return err
	}
	m, err := n.bootMachine(namespace)
	if err != nil {
		namespace.close()
		return fmt.Errorf("boot node %s: %w", n.name, err)
	}
	n.running = m
	return nil
}

func (n *Node) bootMachine(namespace *namespace) (*machine, error) {
	log, err := os.OpenFile(n.path("node.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(n.cluster.lab.programs.agent, "nodeinit"), "boot", n.path("spec.json"))
	cmd.Dir, cmd.Stderr = "/", log
	// In its own process group: Ctrl-C at the terminal reaches only the test, which then stops its nodes in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.ExtraFiles = []*os.File{namespace.file}
	requests, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		log.Close()
		return nil, err
	}
	m := &machine{namespace: namespace, boot: cmd, requests: requests, answers: answers, lines: bufio.NewReader(answers), log: log,
		since: time.Now(), ended: make(chan struct{})}
	go func() {
		// Use Process.Wait: cmd.Wait would close the pipe of responses at once.
		_, _ = cmd.Process.Wait() // its log has the result
		close(m.ended)
	}()
	return m, nil
}

// Stop kills a component. It stays down until Start.
func (n *Node) Stop(c Component) error { return n.request(nodespec.Stop, string(c)) }

// Start starts a component that was stopped.
func (n *Node) Start(c Component) error { return n.request(nodespec.Start, string(c)) }

// loadImage imports an image archive into the node's container runtime.
func (n *Node) loadImage(archive string) error {
	archive, err := filepath.Abs(archive)
	if err != nil {
		return err
	}
	return n.request(nodespec.Import, archive)
}

// request sends a request to the node's first process.
func (n *Node) request(verb, argument string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running == nil {
		return fmt.Errorf("node %s has no power", n.name)
	}
	if _, err := fmt.Fprintf(n.running.requests, "%s %s\n", verb, argument); err != nil {
		return fmt.Errorf("node %s: %w: %s", n.name, err, tail(n.path("node.log"), 5))
	}
	answer, err := n.running.lines.ReadString('\n')
	if err != nil {
		return fmt.Errorf("node %s ended: %w: %s", n.name, err, tail(n.path("node.log"), 5))
	}
	if answer = strings.TrimSpace(answer); answer != nodespec.Done {
		return fmt.Errorf("node %s: %s", n.name, answer)
	}
	return nil
}

// prepare writes the node's configuration, and creates its disk with the images.
func (n *Node) prepare() error {
	configuration, err := n.configuration()
	if err != nil {
		return err
	}
	certificates, err := n.certificates()
	if err != nil {
		return err
	}
	for _, dir := range []string{"etc/cni", "logs"} {
		if err := os.MkdirAll(n.path(dir), 0o755); err != nil {
			return err
		}
	}
	for _, files := range []map[string][]byte{configuration, certificates} {
		if err := writeFiles(n.path("etc"), files); err != nil {
			return err
		}
	}
	if err := copyStore(n.cluster.lab.programs.store, n.path("containerd")); err != nil {
		return fmt.Errorf("copy the images: %w", err)
	}
	return n.spec().Write(n.path("spec.json"))
}

// tail returns the last lines of a file.
func tail(path string, lines int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
