package model

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// A pod advertises what its node's configuration said when it started, until it is replaced. As long as such pods run, what clients reach
// them by only gains: see docs/decisions/former-addresses.md.

// ListensElsewhere reports whether a pod has a container port that a node started now would lack, or would give another name.
func ListensElsewhere(kafka *v1.Kafka, pod *corev1.Pod) bool { return len(formerPorts(kafka, pod)) > 0 }

// formerPorts are the container ports of a pod that a node started now would lack, or would give another name.
func formerPorts(kafka *v1.Kafka, pod *corev1.Pod) map[int32]bool {
	wanted := map[string]int32{ControllerPortName: ControllerPort, ReplicationPortName: ReplicationPort, MetricsPortName: MetricsPort}
	for _, l := range kafka.Spec.Kafka.Listeners {
		wanted[PortName(l)] = l.Port
	}
	former := map[int32]bool{}
	for name, port := range containerPorts(pod) {
		if wanted[name] != port {
			former[port] = true
		}
	}
	return former
}

// containerPorts returns the ports of a node's pod by name.
func containerPorts(pod *corev1.Pod) map[string]int32 {
	ports := map[string]int32{}
	for _, c := range pod.Spec.Containers {
		if c.Name != core.ContainerKafka {
			continue
		}
		for _, port := range c.Ports {
			ports[port.Name] = port.ContainerPort
		}
	}
	return ports
}

// portsBehind returns the ports of the pods that a Service selects, each by name.
func portsBehind(s *corev1.Service, pods []*corev1.Pod) (ports []map[string]int32) {
	selector := labels.SelectorFromSet(s.Spec.Selector)
	for _, pod := range pods {
		if selector.Matches(labels.Set(pod.Labels)) {
			ports = append(ports, containerPorts(pod))
		}
	}
	return ports
}

// KeepServing adds to a wanted Service what leads to former pods: ports of the live one, and what its type gives. A port whose number had
// another listener leads to the number, which both have, and keeps its node port. Node ports stay that nodes advertise, unless a Service
// wants them.
func KeepServing(wanted, live *corev1.Service, former []*corev1.Pod, advertised, claimed func(nodePort int32) bool) {
	ports := portsBehind(wanted, former)
	byNodePort := live != nil && wanted.Spec.Type == corev1.ServiceTypeNodePort && live.Spec.Type == wanted.Spec.Type
	if byNodePort {
		keepTargets(wanted, live, ports)
		keepNodePorts(wanted, live, ports, claimed)
	}
	leadToNumbers(wanted, ports)
	if live == nil {
		return
	}
	if len(ports) > 0 {
		keepType(wanted, live)
	}
	for _, port := range live.Spec.Ports {
		switch {
		case wanted.Spec.Type == corev1.ServiceTypeClusterIP, slices.ContainsFunc(wanted.Spec.Ports, func(w corev1.ServicePort) bool {
			return w.NodePort == port.NodePort
		}):
			port.NodePort = 0
		case port.NodePort != 0 && claimed(port.NodePort):
			continue
		}
		if len(ports) > 0 || port.NodePort != 0 && advertised(port.NodePort) {
			keepPort(wanted, port, ports, byNodePort)
		}
	}
}

// leadToNumbers has ports lead to their numbers where former pods have these under other names.
func leadToNumbers(wanted *corev1.Service, former []map[string]int32) {
	for i, port := range wanted.Spec.Ports {
		if port.TargetPort.Type == intstr.String && slices.ContainsFunc(former, func(has map[string]int32) bool {
			_, named := has[port.TargetPort.StrVal]
			return !named && slices.Contains(slices.Collect(maps.Values(has)), port.Port)
		}) {
			wanted.Spec.Ports[i].TargetPort = intstr.FromInt32(port.Port)
		}
	}
}

// keepTargets has node ports, which former pods advertise, lead where they did if they are to lead to ports of names that these lack.
func keepTargets(wanted, live *corev1.Service, former []map[string]int32) {
	for i, port := range wanted.Spec.Ports {
		for _, was := range live.Spec.Ports {
			if port.NodePort != 0 && was.NodePort == port.NodePort && port.TargetPort.Type == intstr.String &&
				!anyHasPort(port.TargetPort, former) && anyHasPort(was.TargetPort, former) {
				wanted.Spec.Ports[i].TargetPort = was.TargetPort
			}
		}
	}
}

// keepNodePorts gives the ports of a wanted Service that were renamed the node ports of their numbers, which former pods advertise, unless
// these lead to other numbers of them.
func keepNodePorts(wanted, live *corev1.Service, former []map[string]int32, claimed func(nodePort int32) bool) {
	for i, port := range wanted.Spec.Ports {
		for _, was := range live.Spec.Ports {
			elsewhere := slices.ContainsFunc(former, func(has map[string]int32) bool {
				before, led := has[was.TargetPort.StrVal]
				now, named := has[port.TargetPort.StrVal]
				return led && before != port.Port || named && now != port.Port
			})
			if port.NodePort == 0 && was.Port == port.Port && was.Name != port.Name && !elsewhere && !claimed(was.NodePort) &&
				!slices.ContainsFunc(wanted.Spec.Ports, func(w corev1.ServicePort) bool { return w.NodePort == was.NodePort }) {
				wanted.Spec.Ports[i].NodePort = was.NodePort
			}
		}
	}
}

// reach orders the types of Services: each gives what those before it give.
var reach = []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer}

// keepType keeps the type of a Service that gives more than the wanted one, with what configures it.
func keepType(wanted, live *corev1.Service) {
	if slices.Index(reach, live.Spec.Type) <= slices.Index(reach, wanted.Spec.Type) {
		return
	}
	wanted.Spec.Type = live.Spec.Type
	if wanted.Spec.ExternalTrafficPolicy == "" {
		wanted.Spec.ExternalTrafficPolicy = live.Spec.ExternalTrafficPolicy
	}
	if live.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return
	}
	wanted.Spec.LoadBalancerClass, wanted.Spec.LoadBalancerIP = live.Spec.LoadBalancerClass, live.Spec.LoadBalancerIP
	wanted.Spec.LoadBalancerSourceRanges = live.Spec.LoadBalancerSourceRanges
	wanted.Finalizers = live.Finalizers
	annotations := copied(live.Annotations) // by which a load balancer may be one that only few can reach
	maps.Copy(annotations, wanted.Annotations)
	wanted.Annotations = annotations
}

// keepPort adds a port of the live Service to the wanted one if a former pod is reached by it. byNodePort is whether clients use its node
// port, which Kubernetes assigns by the port's name.
func keepPort(wanted *corev1.Service, port corev1.ServicePort, former []map[string]int32, byNodePort bool) {
	at := func(same func(corev1.ServicePort) bool) *corev1.ServicePort {
		if i := slices.IndexFunc(wanted.Spec.Ports, same); i >= 0 {
			return &wanted.Spec.Ports[i]
		}
		return nil
	}
	numbered := at(func(w corev1.ServicePort) bool { return w.Port == port.Port })
	named := at(func(w corev1.ServicePort) bool { return w.Name == port.Name })
	switch {
	case port.Protocol != corev1.ProtocolTCP, numbered != nil && !conflicts(*numbered, port, byNodePort):
		return
	case numbered != nil && numbered.Name == port.Name:
		port.TargetPort = numbered.TargetPort
	case !anyHasPort(port.TargetPort, former):
		return
	case byNodePort && named != nil && !moves(*named, port):
		return
	}
	if numbered != nil { // one port has one node port
		port.Port = port.NodePort
	}
	if named != nil {
		port.Name = fmt.Sprintf("%s-%d", port.Name, port.Port)
	}
	if at(func(w corev1.ServicePort) bool { return w.Name == port.Name || w.Port == port.Port }) == nil {
		wanted.Spec.Ports = append(wanted.Spec.Ports, port)
	}
}

// conflicts reports whether a port of the same number needs the node port that it has, beside the wanted one.
func conflicts(wanted, live corev1.ServicePort, byNodePort bool) bool {
	return moves(wanted, live) || byNodePort && wanted.Name != live.Name && live.NodePort != 0
}

// moves reports whether a port gets another node port, which the user wants.
func moves(wanted, live corev1.ServicePort) bool {
	return wanted.NodePort != 0 && live.NodePort != 0 && wanted.NodePort != live.NodePort
}

// anyHasPort reports whether one of these pods has a port.
func anyHasPort(target intstr.IntOrString, pods []map[string]int32) bool {
	return slices.ContainsFunc(pods, func(has map[string]int32) bool {
		if target.Type == intstr.Int {
			return slices.Contains(slices.Collect(maps.Values(has)), target.IntVal)
		}
		_, named := has[target.StrVal]
		return named
	})
}

// KeepRouting adds the hosts of a live Ingress to the wanted one, unless they are those of a wanted Ingress: ingress controllers refuse
// a host that two have.
func KeepRouting(wanted, live *networkingv1.Ingress, claimed func(host string) bool) {
	for _, rule := range live.Spec.Rules {
		if !claimed(rule.Host) {
			wanted.Spec.Rules = append(wanted.Spec.Rules, rule)
			wanted.Spec.TLS = append(wanted.Spec.TLS, networkingv1.IngressTLS{Hosts: []string{rule.Host}})
		}
	}
}

// KeepLetting adds to a wanted NetworkPolicy the rules of the live one for ports that only former pods have. The peers of a port that stays
// are those that are wanted.
func KeepLetting(wanted, live *networkingv1.NetworkPolicy, kafka *v1.Kafka, former []*corev1.Pod) {
	ports := map[int32]bool{}
	for _, pod := range former {
		maps.Copy(ports, formerPorts(kafka, pod))
	}
	for _, rule := range live.Spec.Ingress {
		if len(rule.Ports) == 1 && rule.Ports[0].Port != nil && ports[rule.Ports[0].Port.IntVal] &&
			!slices.ContainsFunc(wanted.Spec.Ingress, func(w networkingv1.NetworkPolicyIngressRule) bool {
				return equality.Semantic.DeepEqual(w, rule)
			}) {
			wanted.Spec.Ingress = append(wanted.Spec.Ingress, rule)
		}
	}
}
