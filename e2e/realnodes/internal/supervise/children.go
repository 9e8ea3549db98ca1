//go:build linux

package supervise

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// children starts processes and waits for all there are, also those that were left by their parents: that is the duty of
// process 1. os/exec, which waits for its own, can't be used beside it.
type children struct {
	mu    sync.Mutex
	ended map[int]chan syscall.WaitStatus
}

// newChildren begins to wait.
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

// child is a process that was started.
type child struct {
	pid int
	// ended is told the status when the process ends.
	ended <-chan syscall.WaitStatus
}

// start starts a program that writes to a file.
func (c *children) start(args, env []string, output *os.File) (*child, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	// Locked, so that a child that ends at once is not reaped before it is known.
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

// kill kills a child and waits until it is gone.
func (c *children) kill(k *child) {
	c.mu.Lock()
	// Once it has been waited for, its number may be another owner's.
	if _, there := c.ended[k.pid]; there {
		_ = syscall.Kill(k.pid, syscall.SIGKILL) // it can only be gone already
	}
	c.mu.Unlock()
	<-k.ended
}
