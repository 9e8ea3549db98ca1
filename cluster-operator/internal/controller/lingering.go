package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// findLingering finds the pods of nodes that run and are not, or may not be, what this pass wants of them: they advertise what their
// configuration said when they started.
func (p *pass) findLingering() {
	pods := p.nodePods()
	for _, s := range p.sites {
		wanted := map[string]string{}
		for _, m := range p.rendered[s].Manifests {
			if !p.input.Endpoints.Keep[m.Node.ID] && p.pools[m.Node.Pool] != nil { // these stay as they are
				wanted[p.podName(m.Node)] = m.Revision
			}
		}
		s.lingering = nil
		for _, pod := range pods {
			revision, is := wanted[pod.Name]
			ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
			if s.facts.Pods[pod.Name] == pod && !ended && (!is || revision != core.Revision(pod) || model.ListensElsewhere(p.kafka, pod)) {
				s.lingering = append(s.lingering, pod)
			}
		}
	}
}

// keepReachable returns an object with what it had that clients may still reach pods of before by.
func (p *pass) keepReachable(s *site, o model.Object) model.Object {
	live := s.facts.Objects[facts.KeyOf(o)]
	switch wanted := o.(type) { // others are not copied: there are many, and some are large
	case *corev1.Service:
		wanted = wanted.DeepCopy()
		before, _ := live.(*corev1.Service)
		model.KeepServing(wanted, before, s.lingering, p.advertises, p.claims)
		return wanted
	case *networkingv1.Ingress:
		if before, is := live.(*networkingv1.Ingress); is && p.mayServe(s, before) {
			wanted = wanted.DeepCopy()
			model.KeepRouting(wanted, before, func(host string) bool { return s.routes(host, before) })
			return wanted
		}
	case *networkingv1.NetworkPolicy:
		if before, is := live.(*networkingv1.NetworkPolicy); is {
			wanted = wanted.DeepCopy()
			model.KeepLetting(wanted, before, p.kafka, s.lingering)
			return wanted
		}
	}
	return o
}

// advertises reports whether a node advertises a node port.
func (p *pass) advertises(nodePort int32) bool {
	for _, brokers := range p.input.Endpoints.Listeners {
		for _, at := range brokers {
			if at.Port == nodePort {
				return true
			}
		}
	}
	return false
}

// claims reports whether a wanted Service asks for a node port.
func (p *pass) claims(nodePort int32) bool {
	for _, s := range p.sites {
		for _, o := range s.entrances {
			if service, is := o.(*corev1.Service); is && slices.ContainsFunc(service.Spec.Ports, func(port corev1.ServicePort) bool {
				return port.NodePort == nodePort
			}) {
				return true
			}
		}
	}
	return false
}

// routes reports whether a wanted Ingress of the same class as another one leads from a host.
func (s *site) routes(host string, other *networkingv1.Ingress) bool {
	return slices.ContainsFunc(s.entrances, func(o model.Object) bool {
		ingress, is := o.(*networkingv1.Ingress)
		return is && sameClass(ingress, other) &&
			slices.ContainsFunc(ingress.Spec.Rules, func(rule networkingv1.IngressRule) bool { return rule.Host == host })
	})
}

// mayServe reports whether clients may reach pods of before by a Service or an Ingress.
func (p *pass) mayServe(s *site, o client.Object) bool {
	switch o := o.(type) {
	case *corev1.Service:
		name := o.Spec.Selector[core.LabelPodName]
		return len(s.lingering) > 0 && name == "" ||
			slices.ContainsFunc(s.lingering, func(pod *corev1.Pod) bool { return pod.Name == name })
	case *networkingv1.Ingress:
		return slices.ContainsFunc(o.Spec.Rules, func(rule networkingv1.IngressRule) bool {
			return rule.HTTP != nil && slices.ContainsFunc(rule.HTTP.Paths, func(path networkingv1.HTTPIngressPath) bool {
				if path.Backend.Service == nil {
					return false
				}
				service, is := s.facts.Objects[facts.Key{Kind: "Service", Name: path.Backend.Service.Name}].(*corev1.Service)
				return is && p.mayServe(s, service)
			})
		})
	}
	return false
}
