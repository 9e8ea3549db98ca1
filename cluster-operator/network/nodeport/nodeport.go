// Package nodeport makes each node reachable at a port of every Kubernetes node of its cluster.
package nodeport

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
)

// Name is the provider's.
const Name = "nodeport"

// SettingAddress begins the settings that give the address of a Kubernetes cluster's nodes, and its id follows: a virtual IP address or a
// DNS name that leads to any of them. Without it the address of one node is used for as long as that node exists.
const SettingAddress = "nodeAddress."

// controlPlane are the labels of Kubernetes nodes that are not chosen while there are others.
var controlPlane = []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}

// provider has no state but its settings.
type provider struct {
	// addresses are the addresses that the user set, by cluster id.
	addresses map[string]string
}

// New makes the provider. It is a network.Factory.
func New(settings map[string]string) (network.Provider, error) {
	p := &provider{addresses: map[string]string{}}
	for key, value := range settings {
		cluster, ok := strings.CutPrefix(key, SettingAddress)
		if !ok || cluster == "" {
			return nil, fmt.Errorf("unknown setting %s: want %s<cluster id>", key, SettingAddress)
		}
		if err := network.CheckHost(value); err != nil {
			return nil, fmt.Errorf("setting %s: %w", key, err)
		}
		p.addresses[cluster] = value
	}
	return p, nil
}

// Info describes the provider.
func (p *provider) Info(context.Context) (network.Info, error) {
	return network.Info{Name: Name, Interface: network.Version, Observes: []metav1.GroupVersionKind{{Version: "v1", Kind: "Node"}},
		Unobserved: slices.Sorted(maps.Keys(p.addresses))}, nil
}

// serviceName is the name that Strimzi's provider for node ports uses.
func serviceName(n network.Node) string { return n.Pod + "-nodeport" }

// Plan returns a Service for each node. A recreated Service requests the node ports that the node already advertises. They lead to ports by
// name: that of a listener that moves to another number leads to pods of before, too.
func (*provider) Plan(_ context.Context, r network.Request) ([]network.Object, error) {
	var objects []network.Object
	for _, n := range r.Nodes {
		s := &corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Name: serviceName(n)},
			// Any Kubernetes node forwards, whether or not the pod runs there, and before the pod is ready: nodes must find each other to become so.
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeNodePort, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster, PublishNotReadyAddresses: true,
				Selector: map[string]string{network.LabelPod: n.Pod},
			},
		}
		for _, port := range n.Ports {
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{
				Name: port.Name, Port: port.Port, TargetPort: intstr.FromString(port.Name), Protocol: corev1.ProtocolTCP,
				NodePort: r.Known[n.ID][port.Name].Port,
			})
		}
		objects = append(objects, network.NewObject(n.Cluster, s))
	}
	return objects, nil
}

// Resolve takes the node ports of each Service at one address per Kubernetes cluster.
func (p *provider) Resolve(_ context.Context, r network.Request, observed []network.Object) (network.Resolution, error) {
	out := network.NewResolution()
	hosts := map[string]string{}
	for _, c := range r.Clusters {
		hosts[c.ID] = p.host(c.ID, r, observed)
	}
	for _, n := range r.Nodes {
		at, waits := endpoints(n, hosts[n.Cluster], observed)
		if waits != "" {
			out.Pending[n.ID] = waits
			continue
		}
		out.Endpoints[n.ID] = at
	}
	return out, nil
}

// endpoints returns where a node can be reached, or what is still missing.
func endpoints(n network.Node, host string, observed []network.Object) (at map[string]network.Endpoint, waits string) {
	if host == "" {
		return nil, fmt.Sprintf("cluster %s has no Kubernetes node with an IP address of a family of its Services", n.Cluster)
	}
	s, found := network.Find[corev1.Service](observed, n.Cluster, "Service", serviceName(n))
	if !found {
		return nil, fmt.Sprintf("Service %s does not exist yet in cluster %s", serviceName(n), n.Cluster)
	}
	at = map[string]network.Endpoint{}
	for _, port := range n.Ports {
		i := slices.IndexFunc(s.Spec.Ports, func(sp corev1.ServicePort) bool { return sp.Name == port.Name && sp.NodePort != 0 })
		if i < 0 {
			return nil, fmt.Sprintf("Service %s in cluster %s has no node port yet for %s", s.Name, n.Cluster, port.Name)
		}
		at[port.Name] = network.Endpoint{Host: host, Port: s.Spec.Ports[i].NodePort}
	}
	return at, ""
}

// host returns the address of a cluster's nodes: the one that the user set; else the one in use, while a Kubernetes node has it; else that
// of the first node that is ready, of a family in which node ports are open. "" if there is none.
func (p *provider) host(cluster string, r network.Request, observed []network.Object) string {
	if set := p.addresses[cluster]; set != "" {
		return set
	}
	nodes := nodesOf(cluster, observed)
	for _, n := range r.Nodes {
		at := r.Known[n.ID]
		for _, port := range slices.Sorted(maps.Keys(at)) {
			if n.Cluster == cluster && slices.ContainsFunc(nodes, func(kn *corev1.Node) bool { return has(kn, at[port].Host) }) {
				return at[port].Host
			}
		}
	}
	families := familiesOf(cluster, r, observed)
	slices.SortFunc(nodes, func(a, b *corev1.Node) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Name, b.Name))
	})
	for _, n := range nodes {
		if address := addressOf(n, families); address != "" {
			return address
		}
	}
	return ""
}

// rank orders Kubernetes nodes: workers before the control plane, ready ones before others.
func rank(n *corev1.Node) int {
	rank := 2
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			rank = 0
		}
	}
	for _, label := range controlPlane {
		if _, is := n.Labels[label]; is {
			rank |= 1
		}
	}
	return rank
}

func addressOf(n *corev1.Node, families []corev1.IPFamily) string {
	for _, kind := range []corev1.NodeAddressType{corev1.NodeExternalIP, corev1.NodeInternalIP} {
		for _, a := range n.Status.Addresses {
			if a.Type == kind && network.CheckHost(a.Address) == nil && isOf(a.Address, families) {
				return a.Address
			}
		}
	}
	return ""
}

// familiesOf returns the address families of the Services in a cluster, in which alone their node ports are open; none while they are
// unknown.
func familiesOf(cluster string, r network.Request, observed []network.Object) []corev1.IPFamily {
	for _, n := range r.Nodes {
		if n.Cluster != cluster {
			continue
		}
		if s, found := network.Find[corev1.Service](observed, cluster, "Service", serviceName(n)); found && len(s.Spec.IPFamilies) > 0 {
			return s.Spec.IPFamilies
		}
	}
	return nil
}

// isOf reports whether an address is of one of these families, or none are known.
func isOf(address string, families []corev1.IPFamily) bool {
	ip, err := netip.ParseAddr(address)
	family := corev1.IPv6Protocol
	if ip.Unmap().Is4() {
		family = corev1.IPv4Protocol
	}
	return err != nil || len(families) == 0 || slices.Contains(families, family)
}

func has(n *corev1.Node, address string) bool {
	return slices.ContainsFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Address == address })
}

func nodesOf(cluster string, observed []network.Object) []*corev1.Node {
	var nodes []*corev1.Node
	for _, o := range observed {
		n := &corev1.Node{}
		if o.Cluster == cluster && o.Object.GetKind() == "Node" &&
			runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object.Object, n) == nil {
			nodes = append(nodes, n)
		}
	}
	return nodes
}
