//go:build linux

package realnodes

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// needRoot skips the test for users who may not create namespaces. In CI, it fails the test.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("namespaces need root")
	}
	t.Skip("namespaces need root")
}

// listen accepts connections in a namespace, and sends each client its address.
func listen(t *testing.T, ns *namespace, address string) {
	t.Helper()
	var listener net.Listener
	err := ns.do(func() (err error) {
		listener, err = net.Listen("tcp", address)
		return err
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			_, _ = io.WriteString(conn, conn.RemoteAddr().String()) // the client may have disconnected
			conn.Close()
		}
	})
	t.Cleanup(func() {
		listener.Close()
		serving.Wait()
	})
}

// seenAs connects from a namespace and returns the client address that the server sees. The first packet over a new link may be lost, and
// is sent again a second later.
func seenAs(ns *namespace, address string) (string, error) {
	return seenWithin(ns, address, testPatience)
}

func seenWithin(ns *namespace, address string, within time.Duration) (string, error) {
	var conn net.Conn
	err := ns.do(func() (err error) {
		conn, err = (&net.Dialer{FallbackDelay: -1, Timeout: within}).DialContext(context.Background(), "tcp", address)
		return err
	})
	if err != nil {
		return "", err
	}
	defer conn.Close()
	seen, err := io.ReadAll(conn)
	if err != nil {
		return "", err
	}
	from, err := netip.ParseAddrPort(string(seen))
	return from.Addr().String(), err
}

func TestCutsAndHeals(t *testing.T) {
	needRoot(t)
	g := NewWithT(t)
	n, err := newNetwork()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(n.close)
	var nodes []*namespace
	var addresses []string
	attach := func(cluster int) *namespace {
		node, err := n.attachNode("n"+string(rune('0'+cluster)), cluster, 1)
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(node.close)
		listen(t, node, netip.AddrPortFrom(nodeAddress(cluster, 1), 80).String())
		return node
	}
	for cluster := range 3 {
		nodes = append(nodes, attach(cluster+1))
		addresses = append(addresses, netip.AddrPortFrom(nodeAddress(cluster+1, 1), 80).String())
	}
	reach := func(from *namespace, to int) error { _, err := seenAs(from, addresses[to-1]); return err }
	// lost reports whether a connection times out, rather than being refused.
	lost := func(from *namespace, to int) bool {
		_, err := seenWithin(from, addresses[to-1], 300*time.Millisecond)
		var problem net.Error
		return errors.As(err, &problem) && problem.Timeout()
	}

	g.Expect(seenAs(nodes[0], addresses[1])).To(Equal("10.101.0.1"))
	g.Expect(seenAs(n.outside, addresses[2])).To(Equal("10.100.0.1"))

	g.Expect(n.cut(2, 1)).To(Succeed())
	g.Expect(n.cut(1, 2)).To(Succeed(), "it is cut already")
	g.Expect(n.severed()).To(Equal([][2]int{{1, 2}}))
	g.Expect(lost(nodes[0], 2)).To(BeTrue())
	g.Expect(lost(nodes[1], 1)).To(BeTrue())
	g.Expect(reach(nodes[0], 3)).To(Succeed())
	g.Expect(reach(nodes[2], 2)).To(Succeed())
	g.Expect(reach(n.outside, 1)).To(Succeed())

	// A restarted node is still cut off.
	g.Expect(n.detach("n2")).To(Succeed())
	g.Expect(n.detach("n2")).To(Succeed(), "it is gone already")
	g.Expect(lost(n.outside, 2)).To(BeTrue(), "nobody refuses for what is not there")
	attach(2)
	g.Expect(reach(n.outside, 2)).To(Succeed())
	g.Expect(lost(nodes[0], 2)).To(BeTrue())

	g.Expect(n.cut(0, 3)).To(Succeed())
	g.Expect(lost(n.outside, 3)).To(BeTrue())
	g.Expect(n.heal(3, 0)).To(Succeed())
	g.Expect(n.heal(1, 2)).To(Succeed())
	g.Expect(n.heal(1, 2)).To(Succeed(), "it is healed already")
	g.Expect(reach(n.outside, 3)).To(Succeed())
	g.Expect(reach(nodes[0], 2)).To(Succeed())
	g.Expect(n.severed()).To(BeEmpty())
}

func TestAForwarderPassesEverythingOnAndEndsWhatIsOpen(t *testing.T) {
	g := NewWithT(t)
	// The far end responds when it has received everything.
	far, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	defer far.Close()
	var serving sync.WaitGroup
	defer serving.Wait()
	serving.Go(func() {
		for {
			conn, err := far.Accept()
			if err != nil {
				return // closed
			}
			serving.Go(func() {
				defer conn.Close()
				heard, _ := io.ReadAll(conn) // incomplete if the forwarder closes
				_, _ = conn.Write(append([]byte("heard "), heard...))
			})
		}
	})
	defer far.Close()
	near, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	f := &forwarder{listener: near, dial: func() (net.Conn, error) { return net.Dial("tcp", far.Addr().String()) }}
	f.work.Go(f.accept)

	dial := func() *net.TCPConn {
		conn, err := net.Dial("tcp", near.Addr().String())
		g.Expect(err).NotTo(HaveOccurred())
		return conn.(*net.TCPConn)
	}
	polite := dial()
	defer polite.Close()
	_, err = io.WriteString(polite, "this")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(polite.CloseWrite()).To(Succeed())
	g.Expect(io.ReadAll(polite)).To(BeEquivalentTo("heard this"))

	open := dial()
	defer open.Close()
	_, err = io.WriteString(open, "that")
	g.Expect(err).NotTo(HaveOccurred())
	f.close()
	_, err = io.ReadAll(open) // an end or an error, but not forever
	g.Expect(err).To(Or(BeNil(), MatchError(ContainSubstring("reset"))))
	_, err = net.Dial("tcp", near.Addr().String())
	g.Expect(err).To(HaveOccurred())
}
