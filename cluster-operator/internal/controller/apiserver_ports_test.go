package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
)

// allocate sets the node ports of a Service. A port keeps its node port, unless another one asks for that.
func (s *apiServer) allocate(o, before client.Object) {
	service, ok := o.(*corev1.Service)
	if !ok || service.Spec.Type != corev1.ServiceTypeNodePort {
		return
	}
	was, _ := before.(*corev1.Service)
	for i := range service.Spec.Ports {
		if was != nil && service.Spec.Ports[i].NodePort == 0 {
			s.follow(service, i, was, func(before corev1.ServicePort) bool { return before.Port == service.Spec.Ports[i].Port })
			s.follow(service, i, was, func(before corev1.ServicePort) bool { return before.Name == service.Spec.Ports[i].Name })
		}
		if service.Spec.Ports[i].NodePort == 0 {
			service.Spec.Ports[i].NodePort = s.freePort(30000 + int32(s.version*8%20000) + int32(i))
		}
	}
}

// refuse returns an error if a Service asks for the node port of another one.
func (s *apiServer) refuse(key facts.Key, gvk schema.GroupVersionKind, o client.Object) error {
	service, ok := o.(*corev1.Service)
	if !ok {
		return nil
	}
	var refused field.ErrorList
	for i, port := range service.Spec.Ports {
		if port.NodePort != 0 && s.hasPort(port.NodePort, key) {
			refused = append(refused, field.Invalid(field.NewPath("spec", "ports").Index(i).Child("nodePort"), port.NodePort,
				"provided port is already allocated"))
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return apierrors.NewInvalid(gvk.GroupKind(), key.Name, refused)
}

// hasPort reports whether another Service than one has a node port.
func (s *apiServer) hasPort(number int32, than facts.Key) bool {
	for key, o := range s.objects {
		service, ok := o.object().(*corev1.Service)
		if ok && key != than && slices.ContainsFunc(service.Spec.Ports, func(port corev1.ServicePort) bool { return port.NodePort == number }) {
			return true
		}
	}
	return false
}

// freePort returns the first node port from a number on that no Service has.
func (s *apiServer) freePort(from int32) int32 {
	for s.hasPort(from, facts.Key{}) {
		from++
	}
	return from
}

// follow gives a port the node port that such a one had, unless another port has it now.
func (s *apiServer) follow(service *corev1.Service, i int, was *corev1.Service, such func(corev1.ServicePort) bool) {
	port := &service.Spec.Ports[i]
	for _, before := range was.Spec.Ports {
		if port.NodePort == 0 && such(before) && !slices.ContainsFunc(service.Spec.Ports, func(other corev1.ServicePort) bool {
			return other.NodePort == before.NodePort
		}) {
			port.NodePort = before.NodePort
		}
	}
}
