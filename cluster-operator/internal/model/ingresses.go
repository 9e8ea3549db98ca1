package model

import (
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// ingressPort is where clients reach what is behind an Ingress.
const ingressPort = 443

// passthrough makes ingress controllers pass TLS connections through to brokers, selected by the host name in the handshake. Source:
// Strimzi.
var passthrough = map[string]string{
	"ingress.kubernetes.io/ssl-passthrough":        "true",
	"nginx.ingress.kubernetes.io/ssl-passthrough":  "true",
	"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS",
}

// Ingresses returns the Ingresses of a Kafka in one Kubernetes cluster: for each listener of that type one that clients begin with, and one
// for each broker.
func Ingresses(in Input) []*networkingv1.Ingress {
	c := &cluster{in}
	var list []*networkingv1.Ingress
	for _, l := range c.spec().Listeners {
		if l.Type != v1.ListenerIngress {
			continue
		}
		b := value(configuration(l).Bootstrap, v1.ListenerBootstrap{})
		i := c.ingress(c.listenerBootstrap(l), b.Host, l)
		i.ObjectMeta = c.ingressMeta(c.ingressBootstrap(l), c.kafkaLabels(), c.template().ExternalBootstrapIngress, b.Labels, b.Annotations)
		list = append(list, i)
		for _, n := range c.brokersHere() {
			name := ListenerNodeService(c.Kafka.Name, l, n)
			i := c.ingress(name, c.ingressHost(l, n), l)
			labels, annotations := c.nodeMetadata(l, n)
			i.ObjectMeta = c.ingressMeta(name, c.poolLabels(n.Pool), c.nodeIngressTemplate(n.Pool), labels, annotations)
			list = append(list, i)
		}
	}
	return slices.DeleteFunc(list, func(i *networkingv1.Ingress) bool { return i.Spec.Rules[0].Host == "" }) // validation reports those
}

// ingressBootstrap names the Ingress that clients of a listener begin with, which has another name than its Service for the listener of
// Strimzi's first API.
func (c *cluster) ingressBootstrap(l v1.Listener) string {
	if firstExternal(l) {
		return c.bootstrapService()
	}
	return c.listenerBootstrap(l)
}

// ingress leads from a host to a Service.
func (c *cluster) ingress(service, host string, l v1.Listener) *networkingv1.Ingress {
	i := &networkingv1.Ingress{
		TypeMeta: metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "Ingress"},
		Spec: networkingv1.IngressSpec{
			TLS: []networkingv1.IngressTLS{{Hosts: []string{host}}},
			Rules: []networkingv1.IngressRule{{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: new(networkingv1.PathTypePrefix), Backend: networkingv1.IngressBackend{
					Service: &networkingv1.IngressServiceBackend{Name: service, Port: networkingv1.ServiceBackendPort{Number: l.Port}}}}},
			}}}},
		},
	}
	if class := configuration(l).Class; class != "" {
		i.Spec.IngressClassName = &class
	}
	return i
}

// ingressMeta is the metadata of an Ingress. The listener's configuration takes precedence over the template, and both over the annotations
// for TLS passthrough.
func (c *cluster) ingressMeta(name string, labels map[string]string, t *v1.ResourceTemplate, ownLabels,
	ownAnnotations map[string]string) metav1.ObjectMeta {
	m := c.meta(name, labels, nil)
	m.Annotations = maps.Clone(passthrough)
	applyTemplate(&m, t)
	addMetadata(&m, ownLabels, ownAnnotations, OwnListenerLabel)
	return m
}

// ingressHost is the name under which clients reach one broker.
func (c *cluster) ingressHost(l v1.Listener, n topology.Node) string {
	if host := brokerOf(l, n.ID).Host; host != "" {
		return host
	}
	return c.fill(configuration(l).HostTemplate, n)
}

// nodeIngressTemplate returns the template of the Ingresses of a pool's nodes.
func (c *cluster) nodeIngressTemplate(pool string) *v1.ResourceTemplate {
	if t := c.poolTemplate(pool).PerPodIngress; t != nil {
		return t
	}
	return c.template().PerPodIngress
}
