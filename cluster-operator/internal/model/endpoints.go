package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/placement"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// World is the state of the Services and nodes that determines addresses.
type World struct {
	// Services are the live Services by the Kubernetes cluster that they are in and by name.
	Services map[string]map[string]*corev1.Service
	// KubernetesNodes are the nodes that pods of brokers run on, by the broker's id.
	KubernetesNodes map[int32]*corev1.Node
	// Configs are the live ConfigMaps of nodes by pod name: they hold what nodes advertised so far.
	Configs map[string]*corev1.ConfigMap
	// Away are the ids of the Kubernetes clusters of which nothing is known now. No listener waits for addresses there.
	Away []string
	// Now is the time, and AddressTimeout how long a node that is not there yet waits for its addresses since their Services were made.
	// Then it is started without: a load balancer that never comes must not keep everything else from working.
	Now            time.Time
	AddressTimeout time.Duration
}

// knownKey identifies a listener among the endpoints of a node. An address of another type is another one.
func knownKey(l v1.Listener) string { return l.Name + "/" + string(l.Type) }

// knownBootstrapKey identifies the load balancer of a listener, where clients begin, among the endpoints of a node.
func knownBootstrapKey(l v1.Listener) string { return knownKey(l) + "/bootstrap" }

// notedEndpoint is an endpoint as the ConfigMap of a node notes it.
type notedEndpoint struct {
	Endpoint
	// Service is the Service that leads there; "" if there is none, or an earlier version noted the endpoint.
	Service string `json:",omitempty"`
}

// known returns what a node advertised so far. The address of a Service with another name is that of another listener.
func (c *cluster) known(l v1.Listener, n topology.Node, world World) (Endpoint, bool) {
	e, known := world.endpoints(c.podName(n))[knownKey(l)]
	return e.Endpoint, known && (e.Service == "" || e.Service == ListenerNodeService(c.Kafka.Name, l, n))
}

// endpoints returns the endpoints that the ConfigMap of a node notes, by their keys.
func (w World) endpoints(pod string) (all map[string]notedEndpoint) {
	config := w.Configs[pod]
	if config == nil || json.Unmarshal([]byte(config.Annotations[AnnotationEndpoints]), &all) != nil {
		return nil
	}
	return all
}

// loses reports whether a node runs with a listener that it is to lose: with another type of one, or one that is reached by Services that
// are not wanted any more.
func (c *cluster) loses(n topology.Node, world World) bool {
	for key, e := range world.endpoints(c.podName(n)) {
		name, kind, _ := strings.Cut(key, "/")
		if strings.Contains(kind, "/") {
			continue // of a load balancer where clients begin
		}
		at := slices.IndexFunc(c.spec().Listeners, func(l v1.Listener) bool { return l.Name == name })
		switch {
		case at < 0 && kind == string(v1.ListenerInternal):
		case at < 0, knownKey(c.spec().Listeners[at]) != key,
			e.Service != "" && e.Service != ListenerNodeService(c.Kafka.Name, c.spec().Listeners[at], n):
			return true
		}
	}
	return false
}

// stillWaits reports whether a node waits on for the address of a Service.
func (w World) stillWaits(cluster, service string) bool {
	s := w.Services[cluster][service]
	return s == nil || w.Now.Sub(s.CreationTimestamp.Time) < w.AddressTimeout
}

// ResolveEndpoints finds out what nodes advertise. A listener some of whose addresses are not there yet is waiting.
func ResolveEndpoints(in Input, world World) Endpoints {
	c := &cluster{in}
	e := Endpoints{Listeners: map[string]map[int32]Endpoint{}, Bootstrap: map[string][]Endpoint{}, Waiting: map[string]string{},
		Balancers: map[string]map[string]Endpoint{}, Delayed: map[int32]string{}, Replaced: map[string][]int32{}}
	for _, l := range c.spec().Listeners {
		at := map[int32]Endpoint{}
		balancers, missing, stillWaits := c.balancers(l, world)
		e.Balancers[l.Name] = balancers
		if missing != "" {
			e.Waiting[l.Name] = missing
		}
		for _, n := range c.Topology.Brokers() {
			endpoint, waiting := c.advertise(l, n, world)
			before, advertises := c.known(l, n, world)
			replaces := !advertises && c.loses(n, world)
			if replaces {
				e.Replaced[l.Name] = append(e.Replaced[l.Name], n.ID)
			}
			if stillWaits && !advertises && !replaces {
				// The certificates of all nodes are for the load balancer, too: it would restart a node again when it gets its address.
				e.Delayed[n.ID] = missing
				continue
			}
			if waiting == "" {
				at[n.ID] = endpoint
				continue
			}
			if !slices.Contains(world.Away, n.Cluster) { // reported as such
				e.Waiting[l.Name] = waiting
			}
			if advertises {
				at[n.ID] = before
			} else if l.Type != v1.ListenerInternal && world.stillWaits(n.Cluster, ListenerNodeService(c.Kafka.Name, l, n)) {
				e.Delayed[n.ID] = waiting
			}
		}
		e.Listeners[l.Name] = at
		e.Bootstrap[l.Name] = c.begin(l, at, balancers, world)
	}
	return e
}

// balancers returns the load balancers where clients of a listener begin, by Kubernetes cluster: one that has no address keeps the one that
// it had. missing is what one of them waits for, and stillWaits whether nodes wait for it because it never had an address.
func (c *cluster) balancers(l v1.Listener, world World) (balancers map[string]Endpoint, missing string, stillWaits bool) {
	if l.Type != v1.ListenerLoadBalancer || !hasBootstrap(l) {
		return nil, "", false
	}
	service := c.listenerBootstrap(l)
	before := map[string]Endpoint{}
	for _, n := range c.Topology.Brokers() {
		if e, known := world.endpoints(c.podName(n))[knownBootstrapKey(l)]; known && (e.Service == "" || e.Service == service) {
			before[n.Cluster] = e.Endpoint
		} else if _, known := before[n.Cluster]; !known && !slices.Contains(world.Away, n.Cluster) {
			before[n.Cluster] = Endpoint{}
		}
	}
	balancers = map[string]Endpoint{}
	for cluster, was := range before {
		host := ingressHost(world.Services[cluster][service], was.Host)
		if host == "" {
			missing = "Service " + service + " has no load balancer address yet"
			stillWaits = stillWaits || was.Host == "" && world.stillWaits(cluster, service)
		}
		if host = cmp.Or(host, was.Host); host != "" {
			balancers[cluster] = Endpoint{host, l.Port}
		}
	}
	return balancers, missing, stillWaits
}

// advertise returns what a node advertises on a listener, or what that waits for.
func (c *cluster) advertise(l v1.Listener, n topology.Node, world World) (at Endpoint, waiting string) {
	at, waiting = c.address(l, n, world)
	b := brokerOf(l, n.ID)
	if host := c.advertisedHost(l, n); host != "" {
		at.Host = host
	}
	switch {
	case b.AdvertisedPort != nil:
		at.Port = *b.AdvertisedPort
	case configuration(l).AdvertisedPortTemplate != "":
		if port, err := EvaluatePort(configuration(l).AdvertisedPortTemplate, n.ID); err == nil {
			at.Port = port
		}
	}
	if at.Host != "" && at.Port != 0 {
		return at, ""
	}
	return at, waiting
}

// advertisedHost is the host that the user wants a node to advertise, or "".
func (c *cluster) advertisedHost(l v1.Listener, n topology.Node) string {
	if host := brokerOf(l, n.ID).AdvertisedHost; host != "" {
		return host
	}
	return c.fill(configuration(l).AdvertisedHostTemplate, n)
}

// address returns a node's address on a listener as Kubernetes has it.
func (c *cluster) address(l v1.Listener, n topology.Node, world World) (Endpoint, string) {
	name := ListenerNodeService(c.Kafka.Name, l, n)
	switch l.Type {
	case v1.ListenerInternal:
		if c.stretched() && len(c.Stretch.Peers) > 0 {
			if e, known := c.Stretch.Peers[n.ID][PortName(l)]; known {
				return e, ""
			}
			return Endpoint{}, fmt.Sprintf("node %d does not listen there yet, because its address for other clusters is unknown", n.ID)
		}
		return Endpoint{fmt.Sprintf("%s.%s.%s.svc%s", c.podName(n), c.brokersService(), c.Kafka.Namespace, c.domain(l)), l.Port}, ""
	case v1.ListenerNodePort:
		port := nodePort(world.Services[n.Cluster][name], l)
		if port == 0 {
			return Endpoint{Host: NodePortHost(l)}, "Service " + name + " has no node port yet"
		}
		return Endpoint{NodePortHost(l), port}, ""
	case v1.ListenerLoadBalancer:
		before, _ := c.known(l, n, world)
		host := ingressHost(world.Services[n.Cluster][name], before.Host)
		if host == "" {
			return Endpoint{Port: l.Port}, "Service " + name + " has no load balancer address yet"
		}
		return Endpoint{host, l.Port}, ""
	case v1.ListenerIngress:
		return Endpoint{c.ingressHost(l, n), ingressPort}, ""
	}
	return Endpoint{fmt.Sprintf("%s.%s.svc%s", name, c.Kafka.Namespace, c.domain(l)), l.Port}, ""
}

// domain is appended to internal names if the listener asks for it.
func (c *cluster) domain(l v1.Listener) string {
	if value(configuration(l).UseServiceDNSDomain, false) {
		return "." + c.Settings.DNSDomain
	}
	return ""
}

// begin returns where clients of a listener begin.
func (c *cluster) begin(l v1.Listener, brokers map[int32]Endpoint, balancers map[string]Endpoint, world World) []Endpoint {
	namespace := c.Kafka.Namespace
	switch l.Type {
	case v1.ListenerInternal:
		if !c.stretched() || len(c.Stretch.Peers) == 0 {
			return []Endpoint{{fmt.Sprintf("%s.%s.svc%s", c.bootstrapService(), namespace, c.domain(l)), l.Port}}
		}
	case v1.ListenerClusterIP:
		return []Endpoint{{fmt.Sprintf("%s.%s.svc%s", c.listenerBootstrap(l), namespace, c.domain(l)), l.Port}}
	case v1.ListenerLoadBalancer:
		if hasBootstrap(l) {
			var all []Endpoint
			for _, cluster := range slices.Sorted(maps.Keys(balancers)) {
				all = append(all, balancers[cluster])
			}
			return all
		}
	case v1.ListenerIngress:
		if host := value(configuration(l).Bootstrap, v1.ListenerBootstrap{}).Host; host != "" {
			return []Endpoint{{host, ingressPort}}
		}
	case v1.ListenerNodePort:
		return c.nodeAddresses(l, world)
	}
	var all []Endpoint
	for _, n := range c.Topology.Brokers() {
		if e, known := brokers[n.ID]; known {
			all = append(all, e)
		}
	}
	return all
}

// nodeAddresses are the addresses of the Kubernetes nodes that brokers run on.
func (c *cluster) nodeAddresses(l v1.Listener, world World) []Endpoint {
	var all []Endpoint
	for _, n := range c.Topology.Brokers() {
		host, port := c.advertisedHost(l, n), nodePort(world.Services[n.Cluster][c.listenerBootstrap(l)], l)
		if node := world.KubernetesNodes[n.ID]; host == "" && node != nil {
			host = placement.NodeAddress(node, configuration(l).PreferredNodePortAddressType)
		}
		if e := (Endpoint{host, port}); host != "" && port != 0 && !slices.Contains(all, e) {
			all = append(all, e)
		}
	}
	return all
}

// nodePort returns the node port of a listener's Service, which may have ports beside that lead to pods of before.
func nodePort(s *corev1.Service, l v1.Listener) int32 {
	if s == nil || len(s.Spec.Ports) == 0 {
		return 0
	}
	at := slices.IndexFunc(s.Spec.Ports, func(port corev1.ServicePort) bool { return port.Name == PortName(l) })
	return s.Spec.Ports[max(at, 0)].NodePort
}

// ingressHost returns an address of a load balancer: the one in use if it is still one of several, so that their order restarts nothing.
func ingressHost(s *corev1.Service, inUse string) string {
	if s == nil || len(s.Status.LoadBalancer.Ingress) == 0 {
		return ""
	}
	first := ""
	for _, i := range s.Status.LoadBalancer.Ingress {
		host := cmp.Or(i.Hostname, i.IP)
		if host == inUse {
			return host
		}
		first = cmp.Or(first, host)
	}
	return first
}
