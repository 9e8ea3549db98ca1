package model

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// Services returns the Services of a Kafka in one Kubernetes cluster. They are wanted before anything else, because nodes advertise their
// addresses.
func Services(in Input) []*corev1.Service {
	c := &cluster{in}
	services := []*corev1.Service{c.headless(), c.bootstrap()}
	for _, l := range c.spec().Listeners {
		if l.Type == v1.ListenerInternal {
			continue
		}
		if hasBootstrap(l) {
			services = append(services, c.listenerService(l))
		}
		for _, n := range c.brokersHere() {
			services = append(services, c.nodeService(l, n))
		}
	}
	return services
}

// brokersHere are the brokers in the Kubernetes cluster whose objects are wanted.
func (c *cluster) brokersHere() []topology.Node {
	return slices.DeleteFunc(c.Topology.In(c.At), func(n topology.Node) bool { return !n.Roles.Broker })
}

func (c *cluster) service(name string, labels map[string]string, t *v1.ResourceTemplate, spec corev1.ServiceSpec) *corev1.Service {
	return &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: c.meta(name, labels, t), Spec: spec}
}

func servicePort(name string, port int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: port, TargetPort: intstr.FromString(name), Protocol: corev1.ProtocolTCP}
}

// internalPorts are the ports of listeners without their own Service.
func (c *cluster) internalPorts() []corev1.ServicePort {
	var ports []corev1.ServicePort
	for _, l := range c.spec().Listeners {
		if l.Type == v1.ListenerInternal {
			ports = append(ports, servicePort(PortName(l), l.Port))
		}
	}
	return ports
}

// hasBootstrap reports whether a listener has a Service where clients begin. That of a load balancer is optional.
func hasBootstrap(l v1.Listener) bool {
	return value(configuration(l).CreateBootstrapService, true) || l.Type != v1.ListenerLoadBalancer
}

// headless gives each node a DNS name, which it has before it is ready: nodes find each other by it.
func (c *cluster) headless() *corev1.Service {
	t := value(c.template().BrokersService, v1.InternalServiceTemplate{})
	ports := append([]corev1.ServicePort{servicePort(ControllerPortName, ControllerPort), servicePort(ReplicationPortName, ReplicationPort)},
		c.internalPorts()...)
	s := c.service(c.brokersService(), c.kafkaLabels(), &v1.ResourceTemplate{Metadata: t.Metadata}, corev1.ServiceSpec{
		Type: corev1.ServiceTypeClusterIP, ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: c.kafkaSelector(),
		Ports: ports})
	setFamilies(&s.Spec, t.IPFamilyPolicy, t.IPFamilies)
	return s
}

// bootstrap is where clients inside the Kubernetes cluster begin.
func (c *cluster) bootstrap() *corev1.Service {
	t := value(c.template().BootstrapService, v1.InternalServiceTemplate{})
	selector := c.kafkaSelector()
	selector[core.LabelBrokerRole] = "true"
	ports := append([]corev1.ServicePort{servicePort(ReplicationPortName, ReplicationPort)}, c.internalPorts()...)
	labels := with(c.kafkaLabels(), v1.LabelDiscovery, "true")
	s := c.service(c.bootstrapService(), labels, &v1.ResourceTemplate{Metadata: t.Metadata},
		corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Selector: selector, Ports: ports})
	s.Annotations = with(s.Annotations, v1.AnnotationDiscovery, c.discovery())
	setFamilies(&s.Spec, t.IPFamilyPolicy, t.IPFamilies)
	return s
}

// discovery lists the listeners as JSON, for tools.
func (c *cluster) discovery() string {
	type entry struct {
		Port     int32  `json:"port"`
		TLS      bool   `json:"tls"`
		Protocol string `json:"protocol"`
		Auth     string `json:"auth"`
	}
	entries := []entry{}
	for _, l := range c.spec().Listeners {
		e := entry{Port: l.Port, TLS: l.TLS, Protocol: "kafka", Auth: "none"}
		if l.Authentication != nil {
			e.Auth = l.Authentication.Type
		}
		entries = append(entries, e)
	}
	text, err := json.Marshal(entries)
	if err != nil { // cannot happen: numbers, booleans and text
		return ""
	}
	return string(text)
}

// listenerService is where clients of one listener begin.
func (c *cluster) listenerService(l v1.Listener) *corev1.Service {
	b := value(configuration(l).Bootstrap, v1.ListenerBootstrap{})
	selector := c.kafkaSelector()
	selector[core.LabelBrokerRole] = "true"
	port := servicePort(PortName(l), l.Port)
	port.NodePort = value(b.NodePort, 0)
	s := c.service(c.listenerBootstrap(l), c.kafkaLabels(), nil,
		corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{port}})
	c.expose(s, l, b.LoadBalancerIP, b.ExternalIPs, b.Labels, b.Annotations)
	applyTemplate(&s.ObjectMeta, c.template().ExternalBootstrapService)
	return s
}

// nodeService reaches one broker.
func (c *cluster) nodeService(l v1.Listener, n topology.Node) *corev1.Service {
	b := brokerOf(l, n.ID)
	selector := c.kafkaSelector()
	selector[core.LabelPoolName] = n.Pool
	selector[core.LabelPodName] = c.podName(n)
	port := servicePort(PortName(l), l.Port)
	port.NodePort = value(b.NodePort, 0)
	s := c.service(ListenerNodeService(c.Kafka.Name, l, n), c.poolLabels(n.Pool), nil,
		corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{port}})
	labels, annotations := c.nodeMetadata(l, n)
	c.expose(s, l, b.LoadBalancerIP, b.ExternalIPs, labels, annotations)
	applyTemplate(&s.ObjectMeta, c.nodeServiceTemplate(n.Pool))
	return s
}

// nodeMetadata returns the labels and annotations that the user gives to the Service and the Ingress of one broker.
func (c *cluster) nodeMetadata(l v1.Listener, n topology.Node) (labels, annotations map[string]string) {
	b := brokerOf(l, n.ID)
	labels, annotations = b.Labels, b.Annotations
	if len(labels) == 0 {
		labels = c.filled(configuration(l).PerBrokerLabelsTemplate, n)
	}
	if len(annotations) == 0 {
		annotations = c.filled(configuration(l).PerBrokerAnnotationsTemplate, n)
	}
	return labels, annotations
}

func (c *cluster) filled(templates map[string]string, n topology.Node) map[string]string {
	out := map[string]string{}
	for key, v := range templates {
		out[key] = c.fill(v, n)
	}
	return out
}

// fill replaces the placeholders for a node in a template.
func (c *cluster) fill(template string, n topology.Node) string {
	return strings.NewReplacer("{nodeId}", itoa(n.ID), "{nodePodName}", c.podName(n)).Replace(template)
}

// brokerOf returns the user's configuration of one broker on a listener.
func brokerOf(l v1.Listener, id int32) v1.ListenerBroker {
	for _, b := range configuration(l).Brokers {
		if b.Broker == id {
			return b
		}
	}
	return v1.ListenerBroker{}
}

// expose sets the type of a listener's Service, the settings that depend on it, and the listener's labels and annotations. A template comes
// after it and takes precedence, as in Strimzi, but not for Ingresses: with the other order, the load balancer of a manifest from there
// might be open to others than with Strimzi.
func (c *cluster) expose(s *corev1.Service, l v1.Listener, ip string, externalIPs []string, labels, annotations map[string]string) {
	cfg := configuration(l)
	switch l.Type {
	case v1.ListenerNodePort:
		s.Spec.Type = corev1.ServiceTypeNodePort
		s.Spec.ExternalIPs = externalIPs
	case v1.ListenerLoadBalancer:
		s.Spec.Type = corev1.ServiceTypeLoadBalancer
		s.Spec.LoadBalancerIP = ip
		s.Spec.LoadBalancerSourceRanges = cfg.LoadBalancerSourceRanges
		s.Spec.AllocateLoadBalancerNodePorts = cfg.AllocateLoadBalancerNodePorts
		if cfg.Class != "" {
			s.Spec.LoadBalancerClass = &cfg.Class
		}
		s.Finalizers = lastOfEach(cfg.Finalizers, func(f string) string { return f })
	default:
		s.Spec.Type = corev1.ServiceTypeClusterIP
	}
	if l.Type == v1.ListenerNodePort || l.Type == v1.ListenerLoadBalancer {
		s.Spec.ExternalTrafficPolicy = cfg.ExternalTrafficPolicy
		if s.Spec.ExternalTrafficPolicy == "" {
			s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
		}
	}
	s.Spec.PublishNotReadyAddresses = value(cfg.PublishNotReadyAddresses, false)
	setFamilies(&s.Spec, cfg.IPFamilyPolicy, cfg.IPFamilies)
	addMetadata(&s.ObjectMeta, labels, annotations, OwnListenerLabel)
}

func setFamilies(s *corev1.ServiceSpec, policy corev1.IPFamilyPolicy, families []corev1.IPFamily) {
	if policy != "" {
		s.IPFamilyPolicy = &policy
	}
	s.IPFamilies = families
}

// copied returns a modifiable copy of a map.
func copied(m map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, m)
	return out
}
