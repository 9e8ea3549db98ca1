package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	k8sfield "k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// This file refuses what the API server refuses in objects that are made from a Kafka: it does so when some of them exist already.

// badMetadata returns what the API server refuses of the labels and annotations of an object. The operator's own labels replace the user's,
// so those are not checked.
func badMetadata(path string, labels, annotations map[string]string, own func(label string) bool) k8sfield.ErrorList {
	return append(badLabels(path+".labels", labels, own), badAnnotations(path+".annotations", annotations)...)
}

// badLabels returns what the API server refuses of labels, but for the operator's own.
func badLabels(path string, labels map[string]string, own func(label string) bool) (bad k8sfield.ErrorList) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if !own(key) {
			bad = append(bad, metav1validation.ValidateLabels(map[string]string{key: labels[key]}, k8sfield.NewPath(path).Key(key))...)
		}
	}
	return bad
}

// badAnnotations returns what the API server refuses of annotations.
func badAnnotations(path string, annotations map[string]string) (bad k8sfield.ErrorList) {
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		bad = append(bad, apivalidation.ValidateAnnotations(map[string]string{key: annotations[key]}, k8sfield.NewPath(path))...)
	}
	return bad
}

// join returns the messages of errors, separated by commas.
func join(bad k8sfield.ErrorList) string {
	var texts []string
	for _, err := range bad {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, ", ")
}

// exposed checks what becomes a part of the Services and Ingresses of a listener.
func (f *findings) exposed(l v1.Listener) {
	c := l.Configuration
	if c == nil || l.Type == v1.ListenerInternal {
		return
	}
	bad := append(badLabels("perBrokerLabelsTemplate", filledIn(c.PerBrokerLabelsTemplate), model.OwnListenerLabel),
		badAnnotations("perBrokerAnnotationsTemplate", filledIn(c.PerBrokerAnnotationsTemplate))...)
	if l.Type == v1.ListenerLoadBalancer {
		for _, block := range c.LoadBalancerSourceRanges { // Kubernetes ignores blanks
			bad = append(bad, validation.IsValidCIDRForLegacyField(k8sfield.NewPath("loadBalancerSourceRanges"), strings.TrimSpace(block), false,
				nil)...)
		}
		for _, finalizer := range c.Finalizers {
			bad = append(bad, apivalidation.ValidateFinalizerName(finalizer, k8sfield.NewPath("finalizers"))...)
		}
	}
	if b := c.Bootstrap; b != nil {
		bad = append(bad, badMetadata("bootstrap", b.Labels, b.Annotations, model.OwnListenerLabel)...)
		bad = append(bad, badPort("bootstrap", b.NodePort, b.ExternalIPs)...)
	}
	for _, b := range c.Brokers {
		at := fmt.Sprintf("brokers[%d]", b.Broker)
		bad = append(bad, badMetadata(at, b.Labels, b.Annotations, model.OwnListenerLabel)...)
		bad = append(bad, badPort(at, b.NodePort, b.ExternalIPs)...)
	}
	if len(bad) > 0 {
		f.listener("ListenerRefused", "Kubernetes would refuse the Services of listener %s: %s", l.Name, join(bad))
	}
}

// badPort returns what the API server refuses of a node port, of which 0 leaves the choice to Kubernetes, and of addresses that lead to it.
// Which ports there are is a setting of the API server.
func badPort(path string, port *int32, addresses []string) (bad k8sfield.ErrorList) {
	at := k8sfield.NewPath(path)
	if port != nil && *port != 0 {
		for _, why := range validation.IsValidPortNum(int(*port)) {
			bad = append(bad, k8sfield.Invalid(at.Child("nodePort"), *port, why))
		}
	}
	for _, address := range addresses {
		bad = append(bad, validation.IsValidIPForLegacyField(at.Child("externalIPs"), address, false, nil)...)
	}
	return bad
}

// filledIn are templates as they may be filled in.
func filledIn(templates map[string]string) map[string]string {
	all := map[string]string{}
	for key, template := range templates {
		all[key] = filled(template)
	}
	return all
}
