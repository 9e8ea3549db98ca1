package realnodes

import (
	"fmt"
	"net/netip"
)

// The addresses of a lab. All of them exist only in the lab's own network namespaces, so any number of labs use the same.
//
//	10.100.0.1      the test process, in a network of its own
//	10.(100+C).0.0/16  all of cluster C, of which
//	    .0.N           is the address of node N
//	    .N.0/24        are the pods of node N
//	    .220.0/24      are load balancers, whose traffic goes to node 1
//	    .240.0/20      are the services, .240.10 the DNS
const (
	firstOctet = 10
	// outsideOctet is the second octet of the test process. Clusters follow.
	outsideOctet = 100
	// maxClusters and maxNodes keep the addresses within everything.
	maxClusters, maxNodes = 27, 200
)

// everything holds all addresses of a lab, everyPod of all clusters (and nodes).
var everything = netip.MustParsePrefix("10.96.0.0/11")

// gateway is the router's address on every link. It is of local meaning only.
var gateway = netip.MustParseAddr("169.254.1.1")

// sitePrefix holds all addresses of a cluster; of the test process for number 0.
func sitePrefix(cluster int) netip.Prefix {
	return netip.PrefixFrom(siteAddress(cluster, 0, 0), 16)
}

func siteAddress(cluster, third, fourth int) netip.Addr {
	return netip.AddrFrom4([4]byte{firstOctet, byte(outsideOctet + cluster), byte(third), byte(fourth)})
}

// outsideAddress is the test process's.
func outsideAddress() netip.Addr { return siteAddress(0, 0, 1) }

// nodeAddress is that of a node, counted from 1.
func nodeAddress(cluster, node int) netip.Addr { return siteAddress(cluster, 0, node) }

// podPrefix holds the addresses of a node's pods.
func podPrefix(cluster, node int) netip.Prefix {
	return netip.PrefixFrom(siteAddress(cluster, node, 0), 24)
}

// balancerPrefix holds the addresses that a cluster's load balancers can have.
func balancerPrefix(cluster int) netip.Prefix {
	return netip.PrefixFrom(siteAddress(cluster, 220, 0), 24)
}

// LoadBalancerAddress returns one of the addresses, counted from 1 to 254, that the cluster's load balancers can have. Everything in the
// lab is routed to node 1 for it, where kube-proxy passes it on once it is in the status of a Service.
func (c *Cluster) LoadBalancerAddress(n int) string { return siteAddress(c.number, 220, n).String() }

// servicePrefix holds the addresses of a cluster's services.
func servicePrefix(cluster int) netip.Prefix {
	return netip.PrefixFrom(siteAddress(cluster, 240, 0), 20)
}

// apiServiceAddress is that of the service kubernetes, always the first one.
func apiServiceAddress(cluster int) netip.Addr { return siteAddress(cluster, 240, 1) }

// dnsAddress is that of a cluster's DNS service.
func dnsAddress(cluster int) netip.Addr { return siteAddress(cluster, 240, 10) }

// checkSize reports whether there are addresses for so many clusters and nodes.
func checkSize(clusters, nodes int) error {
	if clusters < 1 || clusters > maxClusters || nodes < 1 || nodes > maxNodes {
		return fmt.Errorf("a lab has 1 to %d clusters of 1 to %d nodes each, not %d of %d", maxClusters, maxNodes, clusters, nodes)
	}
	return nil
}
