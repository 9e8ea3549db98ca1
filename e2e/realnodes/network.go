//go:build linux

package realnodes

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// network connects the nodes and the test process. Each has its own network namespace with a link to a router, which is another namespace.
// All traffic between nodes passes through the router, and a cut is a rule there.
type network struct {
	router  *namespace
	outside *namespace

	mu sync.Mutex
	// cuts are the pairs of sites without a connection, the lower number first.
	cuts map[[2]int]bool
}

// cutPriority is the priority of the rules for cuts. They apply before any route.
const cutPriority = 100

func newNetwork() (n *network, err error) {
	n = &network{cuts: map[[2]int]bool{}}
	defer func() {
		if err != nil {
			n.close()
		}
	}()
	if n.router, err = newNamespace(); err != nil {
		return n, err
	}
	if err := n.router.sysctl("ipv4/ip_forward", "1"); err != nil {
		return n, err
	}
	// Packets to a node without power are lost, rather than rejected by the router for lack of a route.
	if err := n.router.links.RouteAdd(blackhole(everything)); err != nil {
		return n, fmt.Errorf("add the route of the absent: %w", err)
	}
	n.outside, err = n.attach("outside", outsideAddress())
	return n, err
}

func (n *network) close() {
	for _, ns := range []*namespace{n.outside, n.router} {
		if ns != nil {
			ns.close()
		}
	}
}

// attachNode creates the network namespace of a node, which forwards packets from and to its pods.
func (n *network) attachNode(link string, cluster, node int) (*namespace, error) {
	behind := []netip.Prefix{podPrefix(cluster, node)}
	if node == 1 {
		behind = append(behind, balancerPrefix(cluster))
	}
	ns, err := n.attach(link, nodeAddress(cluster, node), behind...)
	if err != nil {
		return nil, err
	}
	err = ns.sysctl("ipv4/ip_forward", "1")
	for _, prefix := range behind {
		// Packets to a deleted pod must not return to the router. A pod's own route is more specific.
		err = errors.Join(err, ns.links.RouteAdd(blackhole(prefix)))
	}
	if err != nil {
		ns.close()
		return nil, err
	}
	return ns, nil
}

// attach creates a namespace with a link to the router, and an address, which is also the gateway of the prefixes behind it.
func (n *network) attach(link string, address netip.Addr, behind ...netip.Prefix) (*namespace, error) {
	ns, err := newNamespace()
	if err != nil {
		return nil, err
	}
	if err := n.connect(ns, link, address, behind); err != nil {
		ns.close()
		return nil, fmt.Errorf("attach %s: %w", link, err)
	}
	return ns, nil
}

func (n *network) connect(ns *namespace, name string, address netip.Addr, behind []netip.Prefix) error {
	attributes := netlink.NewLinkAttrs()
	attributes.Name = name
	veth := &netlink.Veth{LinkAttrs: attributes, PeerName: "eth0", PeerNamespace: netlink.NsFd(ns.fd())}
	if err := n.router.links.LinkAdd(veth); err != nil {
		return fmt.Errorf("add the link: %w", err)
	}
	near, err := linkUp(ns, "eth0", address)
	if err != nil {
		return err
	}
	far, err := linkUp(n.router, name, gateway)
	if err != nil {
		return err
	}
	if err := ns.links.RouteAdd(&netlink.Route{LinkIndex: near, Scope: netlink.SCOPE_LINK, Dst: ipNet(single(gateway))}); err != nil {
		return fmt.Errorf("add the route to the router: %w", err)
	}
	// Set the source address: a node may have more addresses than its own.
	if err := ns.links.RouteAdd(&netlink.Route{LinkIndex: near, Gw: gateway.AsSlice(),
		Dst: ipNet(netip.PrefixFrom(netip.IPv4Unspecified(), 0)), Src: address.AsSlice()}); err != nil {
		return fmt.Errorf("add the default route: %w", err)
	}
	if err := n.router.links.RouteAdd(&netlink.Route{LinkIndex: far, Scope: netlink.SCOPE_LINK, Dst: ipNet(single(address))}); err != nil {
		return fmt.Errorf("add the route back: %w", err)
	}
	for _, prefix := range behind {
		if err := n.router.links.RouteAdd(&netlink.Route{LinkIndex: far, Gw: address.AsSlice(), Flags: int(netlink.FLAG_ONLINK),
			Dst: ipNet(prefix)}); err != nil {
			return fmt.Errorf("add the route of what is behind: %w", err)
		}
	}
	return nil
}

func linkUp(ns *namespace, name string, address netip.Addr) (index int, err error) {
	link, err := ns.links.LinkByName(name)
	if err != nil {
		return 0, err
	}
	if err := ns.links.AddrAdd(link, &netlink.Addr{IPNet: ipNet(single(address))}); err != nil {
		return 0, fmt.Errorf("add %s to %s: %w", address, name, err)
	}
	return link.Attrs().Index, ns.links.LinkSetUp(link)
}

// detach removes a node's link with its routes. The link no longer exists if the node's namespace is gone.
func (n *network) detach(name string) error {
	link, err := n.router.links.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := n.router.links.LinkDel(link); err != nil && !errors.Is(err, syscall.ENODEV) {
		return err
	}
	return nil
}

// cut breaks the connection between two sites, in both directions. Packets are lost without an error.
func (n *network) cut(a, b int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	pair := ordered(a, b)
	if a == b || n.cuts[pair] {
		return nil
	}
	for _, rule := range cutRules(pair) {
		if err := n.router.links.RuleAdd(rule); err != nil {
			return fmt.Errorf("cut %d from %d: %w", a, b, err)
		}
	}
	n.cuts[pair] = true
	return nil
}

// heal restores the connection between two sites.
func (n *network) heal(a, b int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	pair := ordered(a, b)
	if !n.cuts[pair] {
		return nil
	}
	for _, rule := range cutRules(pair) {
		if err := n.router.links.RuleDel(rule); err != nil {
			return fmt.Errorf("heal %d and %d: %w", a, b, err)
		}
	}
	delete(n.cuts, pair)
	return nil
}

// severed returns the pairs of sites without a connection.
func (n *network) severed() [][2]int {
	n.mu.Lock()
	defer n.mu.Unlock()
	var pairs [][2]int
	for pair := range n.cuts {
		pairs = append(pairs, pair)
	}
	slices.SortFunc(pairs, func(x, y [2]int) int { return slices.Compare(x[:], y[:]) })
	return pairs
}

func ordered(a, b int) [2]int { return [2]int{min(a, b), max(a, b)} }

func cutRules(pair [2]int) []*netlink.Rule {
	rules := make([]*netlink.Rule, 2)
	for i := range rules {
		rules[i] = netlink.NewRule()
		rules[i].Family = unix.AF_INET
		rules[i].Priority = cutPriority
		rules[i].Src, rules[i].Dst = ipNet(sitePrefix(pair[i])), ipNet(sitePrefix(pair[1-i]))
		rules[i].Type = unix.FR_ACT_BLACKHOLE
	}
	return rules
}

func blackhole(destination netip.Prefix) *netlink.Route {
	return &netlink.Route{Dst: ipNet(destination), Type: unix.RTN_BLACKHOLE}
}

func single(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
