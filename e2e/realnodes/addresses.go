package realnodes

import (
	"fmt"
	"net/netip"
)

// The addresses of a lab. They exist only in the lab's network namespaces, so any number of labs can use the same.
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

// everything is the prefix of all addresses of a lab.
var everything = netip.MustParsePrefix("10.96.0.0/11")

// gateway is the router's address on every link. It is link-local.
var gateway = netip.MustParseAddr("169.254.1.1")

// sitePrefix returns the prefix of all addresses of a cluster; of the test process for number 0.
func sitePrefix(cluster int) netip.Prefix {
	return netip.PrefixFrom(siteAddress(cluster, 0, 0), 16)
}

func siteAddress(cluster, third, fourth int) netip.Addr {
	return netip.AddrFrom4([4]byte{firstOctet, byte(outsideOctet + cluster), byte(third), byte(fourth)})
}

// outsideAddress returns the address of the test process.
func outsideAddress() netip.Addr { return siteAddress(0, 0, 1) }

// nodeAddress returns the address of a node, counted from 1.
func nodeAddress(cluster, node int) netip.Addr { return siteAddress(cluster, 0, node) }

// podPrefix returns the prefix of a node's pods.
func podPrefix(cluster, node int) netip.Prefix {
	return netip.PrefixFrom(siteAddress(cluster, node, 0), 24)
}

// balancerPrefix returns the prefix of a cluster's load balancers.
func balancerPrefix(cluster int) netip.Prefix {
	return netip.PrefixFrom(siteAddress(cluster, 220, 0), 24)
}

// LoadBalancerAddress returns the n-th address for a load balancer of the cluster, counted from 1 to 254. The lab routes these addresses to
// node 1, where kube-proxy forwards them once they are in the status of a Service.
func (c *Cluster) LoadBalancerAddress(n int) string { return siteAddress(c.number, 220, n).String() }

// servicePrefix returns the prefix of a cluster's services.
func servicePrefix(cluster int) netip.Prefix {
	return netip.PrefixFrom(siteAddress(cluster, 240, 0), 20)
}

// apiServiceAddress returns the address of the service kubernetes, which is always the first one.
func apiServiceAddress(cluster int) netip.Addr { return siteAddress(cluster, 240, 1) }

// dnsAddress returns the address of a cluster's DNS service.
func dnsAddress(cluster int) netip.Addr { return siteAddress(cluster, 240, 10) }

// checkSize returns an error unless there are addresses for that many clusters and nodes.
func checkSize(clusters, nodes int) error {
	if clusters < 1 || clusters > maxClusters || nodes < 1 || nodes > maxNodes {
		return fmt.Errorf("a lab has 1 to %d clusters of 1 to %d nodes each, not %d of %d", maxClusters, maxNodes, clusters, nodes)
	}
	return nil
}
