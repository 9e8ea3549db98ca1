package model

import (
	"fmt"
	"strings"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// SANs returns the names and addresses that the certificate of a node is for: those under which nodes, operators and clients connect to it.
func SANs(in Input, n topology.Node) []string {
	c := &cluster{in}
	names := append(c.serviceNames(c.bootstrapService()), c.serviceNames(c.brokersService())...)
	short := fmt.Sprintf("%s.%s.%s.svc", c.podName(n), c.brokersService(), c.Kafka.Namespace)
	names = append(names, short+"."+c.Settings.DNSDomain, short)
	names = append(names, c.peerNames(n)...)
	if !n.Roles.Broker {
		return names
	}
	for _, l := range c.spec().Listeners {
		if b := configuration(l).Bootstrap; b != nil {
			names = append(names, b.AlternativeNames...)
			names = append(names, b.Host)
		}
		if l.Type == v1.ListenerClusterIP {
			names = append(names, c.serviceNames(c.listenerBootstrap(l))...)
		}
		if l.Type == v1.ListenerLoadBalancer && hasBootstrap(l) {
			for _, e := range c.Endpoints.Bootstrap[l.Name] {
				names = append(names, e.Host)
			}
		}
		// Only the pod knows the address of its Kubernetes node.
		if at := c.Endpoints.Listeners[l.Name][n.ID].Host; l.TLS && !strings.HasPrefix(at, "${") {
			names = append(names, at)
		}
	}
	for i, name := range names {
		names[i] = strings.Trim(name, "[]") // of an IPv6 address
	}
	return distinct(names)
}

// serviceNames are the names of a Service, from the shortest to the longest.
func (c *cluster) serviceNames(service string) []string {
	inNamespace := service + "." + c.Kafka.Namespace
	return []string{service, inNamespace, inNamespace + ".svc", inNamespace + ".svc." + c.Settings.DNSDomain}
}

// distinct returns the non-empty texts without repetition, in their order.
func distinct(texts []string) []string {
	seen := map[string]bool{"": true}
	var list []string
	for _, t := range texts {
		if !seen[t] {
			seen[t] = true
			list = append(list, t)
		}
	}
	return list
}
