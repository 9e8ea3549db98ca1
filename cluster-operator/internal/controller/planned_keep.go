package controller

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// keptService is a Service that the network provider planned, and that was applied with more, which pods may be reached by.
type keptService struct {
	planned *unstructured.Unstructured
	live    client.Object
}

// keepPlanned returns a planned object with what it had that clients may still reach these pods by: ports of a Service.
func (p *pass) keepPlanned(wanted *unstructured.Unstructured, live client.Object, pods func() []*corev1.Pod) client.Object {
	planned, before := asService(wanted), asService(live)
	if planned == nil || before == nil || !losesPorts(planned, before) {
		return wanted
	}
	kept := planned.DeepCopy()
	model.KeepServing(kept, before, pods(), func(int32) bool { return false }, p.claims)
	if equality.Semantic.DeepEqual(kept, planned) {
		return wanted
	}
	return kept
}

// podsOfNodes returns a pod of each node: the one that runs, else the one that is created next.
func (p *pass) podsOfNodes() (pods []*corev1.Pod) {
	seen := map[string]bool{}
	for _, pod := range p.nodePods() { // those that run come first
		if !seen[pod.Name] {
			seen[pod.Name] = true
			pods = append(pods, pod)
		}
	}
	return pods
}

// keepPlannedClass is keepClass for a planned object.
func keepPlannedClass(wanted *unstructured.Unstructured, live client.Object) (refused *string) {
	planned, before := asService(wanted), asService(live)
	if planned == nil || before == nil {
		return nil
	}
	refused = keepClass(planned, before)
	if class := planned.Spec.LoadBalancerClass; class != nil {
		_ = unstructured.SetNestedField(wanted.Object, *class, "spec", "loadBalancerClass")
	} else {
		unstructured.RemoveNestedField(wanted.Object, "spec", "loadBalancerClass")
	}
	return refused
}

// dropKept takes from planned Services what was kept while it was not known which pods are of before, and no such pod needs.
func (p *pass) dropKept(ctx context.Context, s *site) error {
	lingering := func() []*corev1.Pod { return s.lingering }
	for _, service := range s.keptServices {
		_, err := p.applyOver(ctx, s, p.keepPlanned(service.planned, service.live, lingering), service.live)
		if onlyOfObject(err) {
			p.warnOfRefused(p.clusterID(s.cluster), facts.KeyOf(service.planned), err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// losesPorts reports whether a live Service has a port that the planned one has not, or leads elsewhere.
func losesPorts(planned, live *corev1.Service) bool {
	return slices.ContainsFunc(live.Spec.Ports, func(has corev1.ServicePort) bool {
		return !slices.ContainsFunc(planned.Spec.Ports, func(wants corev1.ServicePort) bool {
			return has.Name == wants.Name && has.Port == wants.Port && targetOf(has) == targetOf(wants)
		})
	})
}

// targetOf returns where a port of a Service leads.
func targetOf(port corev1.ServicePort) intstr.IntOrString {
	if port.TargetPort == (intstr.IntOrString{}) {
		return intstr.FromInt32(port.Port)
	}
	return port.TargetPort
}

// asService returns an object as a Service; nil if it is none.
func asService(o client.Object) *corev1.Service {
	switch o := o.(type) {
	case *corev1.Service:
		return o
	case *unstructured.Unstructured:
		s := &corev1.Service{}
		if o.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("Service") &&
			runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, s) == nil {
			return s
		}
	}
	return nil
}
