//go:build linux

package supervise

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// children starts processes and waits for all, including orphans, as process 1 has to. os/exec, which waits for its own processes, can't be
// used in the same process.
type children struct {
	mu    sync.Mutex
	ended map[int]chan syscall.WaitStatus
}

// newChildren starts to wait for children.
func newChildren() *children {
	c := &children{ended: map[int]chan syscall.WaitStatus{}}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGCHLD)
	go func() {
		for range signals {
			c.reap()
		}
	}()
	return c
}

// child is a started process.
type child struct {
	pid int
	// ended receives the status when the process ends.
	ended <-chan syscall.WaitStatus
}

// start starts a program with its output in a file.
func (c *children) start(args, env []string, output *os.File) (*child, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	// With the lock, a child that ends at once is not reaped before it is recorded.
	c.mu.Lock()
	defer c.mu.Unlock()
	pid, err := syscall.ForkExec(args[0], args, &syscall.ProcAttr{
		Dir: "/", Env: env,
		Files: []uintptr{null.Fd(), output.Fd(), output.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, err
	}
	ended := make(chan syscall.WaitStatus, 1)
	c.ended[pid] = ended
	return &child{pid, ended}, nil
}

func (c *children) reap() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if ended, ours := c.ended[pid]; ours {
			delete(c.ended, pid)
			ended <- status
		}
	}
}

// kill kills a child and waits until it has ended.
func (c *children) kill(k *child) {
	c.mu.Lock()
	// Once it was reaped, another process may have its process id.
	if _, there := c.ended[k.pid]; there {
		_ = syscall.Kill(k.pid, syscall.SIGKILL) // it may have ended
	}
	c.mu.Unlock()
	<-k.ended
}
