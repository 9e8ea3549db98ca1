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

// namespace is a network namespace. It has no name: it lives as long as somebody is in it or has it open, and can't be left
// behind.
type namespace struct {
	file *os.File
	// links are its links, addresses and routes.
	links *netlink.Handle
}

// thread is where a thread finds its own network namespace.
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

// do runs a function in the namespace. Sockets that it opens stay there, whoever uses them. It must not start goroutines that
// do, as they are elsewhere.
func (n *namespace) do(f func() error) error {
	return onOwnThread(func() error {
		if err := unix.Setns(n.fd(), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter a network namespace: %w", err)
		}
		return f()
	})
}

// sysctl sets a value of the namespace's own.
func (n *namespace) sysctl(path, value string) error {
	return n.do(func() error { return os.WriteFile("/proc/sys/net/"+path, []byte(value), 0o644) })
}

// onOwnThread runs a function on a thread that may change its network namespace. The thread comes back to the namespace it
// came from; one that can't ends.
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
