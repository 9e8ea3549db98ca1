//go:build linux

package realnodes

import (
	"fmt"
	"os"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// namespace is a network namespace without a name. It exists as long as a process is in it or has it open, and can't be left behind.
type namespace struct {
	file *os.File
	// links gives access to its links, addresses and routes.
	links *netlink.Handle
}

// thread is the path of a thread's own network namespace.
const thread = "/proc/thread-self/ns/net"

func newNamespace() (*namespace, error) {
	n := &namespace{}
	err := onOwnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make a network namespace: %w", err)
		}
		var err error
		n.file, err = os.Open(thread)
		return err
	})
	if err != nil {
		return nil, err
	}
	if n.links, err = netlink.NewHandleAt(netns.NsHandle(n.fd())); err != nil {
		n.file.Close()
		return nil, err
	}
	lo, err := n.links.LinkByName("lo")
	if err != nil {
		n.close()
		return nil, err
	}
	if err := n.links.LinkSetUp(lo); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

func (n *namespace) fd() int { return int(n.file.Fd()) }

func (n *namespace) close() {
	n.links.Close()
	n.file.Close()
}

// do runs a function in the namespace. Sockets that it opens stay in the namespace, in whichever goroutine they are used. The function must
// not open sockets in new goroutines, which run in another namespace.
func (n *namespace) do(f func() error) error {
	return onOwnThread(func() error {
		if err := unix.Setns(n.fd(), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter a network namespace: %w", err)
		}
		return f()
	})
}

// sysctl sets a kernel parameter of the namespace.
func (n *namespace) sysctl(path, value string) error {
	return n.do(func() error { return os.WriteFile("/proc/sys/net/"+path, []byte(value), 0o644) })
}

// onOwnThread runs a function on a thread that may change its network namespace. The thread then returns to its earlier namespace, or ends
// if it can't.
func onOwnThread(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		home, err := os.Open(thread)
		if err != nil {
			runtime.UnlockOSThread()
			result <- err
			return
		}
		defer home.Close()
		err = f()
		if unix.Setns(int(home.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
		result <- err
	}()
	return <-result
}
