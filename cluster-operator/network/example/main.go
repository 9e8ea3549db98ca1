// Command network-provider-dns is an example of a network provider, for Kubernetes clusters whose pods reach each other, and whose DNS is
// kept by ExternalDNS: each node gets the name <pod>.<cluster>.<domain>.
package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/external"
)

func main() { external.Serve(New) }

// provider knows nothing but its settings: it is asked again and again, and answers from what it is shown.
type provider struct{ domain string }

// New makes the provider. What is wrong with its settings is an error that names the setting.
func New(settings map[string]string) (network.Provider, error) {
	if settings["domain"] == "" {
		return nil, errors.New("setting domain is missing: it is the DNS zone that ExternalDNS keeps")
	}
	return &provider{domain: settings["domain"]}, nil
}

// Info names the provider and the interface that it was built for.
func (*provider) Info(context.Context) (network.Info, error) {
	return network.Info{Name: "dns", Interface: network.Version}, nil
}

func (p *provider) host(n network.Node) string {
	return fmt.Sprintf("%s.%s.%s", n.Pod, n.Cluster, p.domain)
}

// Plan returns a headless Service for each node, whose name ExternalDNS gives the address of the pod.
func (p *provider) Plan(_ context.Context, r network.Request) ([]network.Object, error) {
	var objects []network.Object
	for _, n := range r.Nodes {
		s := &corev1.Service{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Name: n.Pod + "-dns",
				Annotations: map[string]string{"external-dns.alpha.kubernetes.io/hostname": p.host(n)}},
			Spec: corev1.ServiceSpec{
				ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: map[string]string{network.LabelPod: n.Pod},
			},
		}
		for _, port := range n.Ports {
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: port.Name, Port: port.Port, Protocol: corev1.ProtocolTCP})
		}
		objects = append(objects, network.NewObject(n.Cluster, s))
	}
	return objects, nil
}

// Resolve returns the names as soon as the Services exist. What is not there yet is Pending, with a reason that the user reads.
func (p *provider) Resolve(_ context.Context, r network.Request, observed []network.Object) (network.Resolution, error) {
	out := network.NewResolution()
	for _, n := range r.Nodes {
		if _, found := network.Find[corev1.Service](observed, n.Cluster, "Service", n.Pod+"-dns"); !found {
			out.Pending[n.ID] = fmt.Sprintf("Service %s-dns does not exist yet in cluster %s", n.Pod, n.Cluster)
			continue
		}
		out.Endpoints[n.ID] = map[string]network.Endpoint{}
		for _, port := range n.Ports {
			out.Endpoints[n.ID][port.Name] = network.Endpoint{Host: p.host(n), Port: port.Port}
		}
	}
	return out, nil
}
