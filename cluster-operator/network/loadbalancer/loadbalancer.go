// Package loadbalancer makes each node reachable through its own load balancer.
package loadbalancer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
)

// Name is the provider's.
const Name = "loadbalancer"

// The settings.
const (
	// SettingAnnotations are annotations of the Services, as key=value with commas between. A comma in a value has a backslash before it.
	SettingAnnotations = "lbAnnotations"
	// SettingClass is the loadBalancerClass of the Services.
	SettingClass = "loadBalancerClass"
)

// provider has no state but its settings.
type provider struct {
	annotations map[string]string
	class       *string
}

// New makes the provider. It is a network.Factory.
func New(settings map[string]string) (network.Provider, error) {
	p := &provider{}
	for key, value := range settings {
		switch key {
		case SettingClass:
			if value != "" {
				p.class = &value
			}
		case SettingAnnotations:
			annotations, err := parse(value)
			if err != nil {
				return nil, fmt.Errorf("setting %s: %w", key, err)
			}
			p.annotations = annotations
		default:
			return nil, fmt.Errorf("unknown setting %s: want %s or %s", key, SettingAnnotations, SettingClass)
		}
	}
	return p, nil
}

// parse reads pairs key=value with commas between. A comma in a value has a backslash before it.
func parse(text string) (map[string]string, error) {
	const comma = "\x00"
	pairs := map[string]string{}
	for pair := range strings.SplitSeq(strings.ReplaceAll(text, `\,`, comma), ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		pair = strings.ReplaceAll(pair, comma, ",")
		name, value, ok := strings.Cut(pair, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, fmt.Errorf("%q is not key=value", pair)
		}
		pairs[name] = strings.TrimSpace(value)
	}
	return pairs, nil
}

// Info describes the provider.
func (*provider) Info(context.Context) (network.Info, error) {
	return network.Info{Name: Name, Interface: network.Version}, nil
}

// serviceName is the name that Strimzi's provider for load balancers uses.
func serviceName(n network.Node) string { return n.Pod + "-lb" }

// Plan returns a Service for each node. It routes to the pod on any Kubernetes node, ready or not: nodes must find each other to become
// ready.
func (p *provider) Plan(_ context.Context, r network.Request) ([]network.Object, error) {
	var objects []network.Object
	for _, n := range r.Nodes {
		s := &corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Name: serviceName(n), Annotations: p.annotations},
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: p.class, PublishNotReadyAddresses: true,
				Selector: map[string]string{network.LabelPod: n.Pod},
			},
		}
		for _, port := range n.Ports {
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{
				Name: port.Name, Port: port.Port, TargetPort: intstr.FromInt32(port.Port), Protocol: corev1.ProtocolTCP,
			})
		}
		objects = append(objects, network.NewObject(n.Cluster, s))
	}
	return objects, nil
}

// Resolve takes the hostname of each load balancer, or else its IP address.
func (*provider) Resolve(_ context.Context, r network.Request, observed []network.Object) (network.Resolution, error) {
	out := network.NewResolution()
	for _, n := range r.Nodes {
		s, found := network.Find[corev1.Service](observed, n.Cluster, "Service", serviceName(n))
		if !found {
			out.Pending[n.ID] = fmt.Sprintf("Service %s does not exist yet in cluster %s", serviceName(n), n.Cluster)
			continue
		}
		if missing := missingPort(n, s); missing != "" { // it was not permitted to get it
			out.Pending[n.ID] = fmt.Sprintf("Service %s in cluster %s has no port yet for %s", s.Name, n.Cluster, missing)
			continue
		}
		hosts := hostsOf(s)
		if len(hosts) == 0 {
			out.Pending[n.ID] = fmt.Sprintf("Service %s in cluster %s has no load balancer address yet", s.Name, n.Cluster)
			continue
		}
		host, known := hosts[0], r.Known[n.ID]
		for _, port := range slices.Sorted(maps.Keys(known)) { // an address that still leads there is kept
			if slices.Contains(hosts, known[port].Host) {
				host = known[port].Host
				break
			}
		}
		at := map[string]network.Endpoint{}
		for _, port := range n.Ports {
			at[port.Name] = network.Endpoint{Host: host, Port: port.Port}
		}
		out.Endpoints[n.ID] = at // no node advertises the others, which may come and go: in its certificate, they would restart it
	}
	return out, nil
}

// missingPort returns the name of the first port of a node that a Service does not have, "" if it has all.
func missingPort(n network.Node, s *corev1.Service) string {
	for _, port := range n.Ports {
		if !slices.ContainsFunc(s.Spec.Ports, func(sp corev1.ServicePort) bool { return sp.Port == port.Port }) {
			return port.Name
		}
	}
	return ""
}

// hostsOf returns the addresses of a load balancer, names first: what is behind a name may move. An address
// that leads nowhere from other machines is none yet.
func hostsOf(s *corev1.Service) []string {
	var names, addresses []string
	for _, i := range s.Status.LoadBalancer.Ingress {
		if network.CheckHost(i.Hostname) == nil {
			names = append(names, i.Hostname)
		}
		if network.CheckHost(i.IP) == nil {
			addresses = append(addresses, i.IP)
		}
	}
	return append(names, addresses...)
}
