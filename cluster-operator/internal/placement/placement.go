// Package placement defines what pods need to know about the Kubernetes nodes that they run on: see docs/decisions/placement.md.
package placement

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Annotations of a pod.
const (
	// AnnotationWaits lists the facts that the pod waits for once it is scheduled, in JSON: see Write. It is in the pod's manifest.
	AnnotationWaits = "kafka-operators.io/placement"
	// AnnotationRack is the value of the rack's topology label on the pod's Kubernetes node.
	AnnotationRack = "kafka-operators.io/rack"
	// AnnotationAddress is the address of the pod's Kubernetes node, for node ports. A listener that prefers a type of address has an
	// annotation with that type behind a dash, in lower case.
	AnnotationAddress = "kafka-operators.io/node-address"
)

// Fact is a property of the Kubernetes node that a pod needs to know.
type Fact struct {
	// File is the file that Kafka reads it from.
	File string
	// Annotation is the pod's annotation that the file follows.
	Annotation string
	// Label is the node's label that holds it, and AddressType the preferred type of address, for an address.
	Label       string
	AddressType corev1.NodeAddressType
}

// addressOrder is the order in which addresses of a Kubernetes node are tried. Source: Strimzi.
var addressOrder = []corev1.NodeAddressType{corev1.NodeExternalDNS, corev1.NodeExternalIP, corev1.NodeInternalDNS, corev1.NodeInternalIP,
	corev1.NodeHostName}

// Of returns the fact about a Kubernetes node, or "" if the node does not have it.
func (f Fact) Of(node *corev1.Node) string {
	if f.Label != "" {
		return node.Labels[f.Label]
	}
	return NodeAddress(node, f.AddressType)
}

// String describes the fact for users.
func (f Fact) String() string {
	if f.Label != "" {
		return "label " + f.Label
	}
	return "address"
}

// NodeAddress returns the address of a Kubernetes node that is preferred, else the first by Strimzi's order, else "".
func NodeAddress(node *corev1.Node, preferred corev1.NodeAddressType) string {
	for _, want := range append([]corev1.NodeAddressType{preferred}, addressOrder...) {
		for _, a := range node.Status.Addresses {
			if a.Type == want {
				return a.Address
			}
		}
	}
	return ""
}

// Write returns the value of AnnotationWaits.
func Write(facts []Fact) string {
	text, err := json.Marshal(facts)
	if err != nil { // cannot happen: these are strings
		panic(err)
	}
	return string(text)
}

// read returns the facts of AnnotationWaits.
func read(pod *corev1.Pod) (facts []Fact, err error) {
	text := pod.Annotations[AnnotationWaits]
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &facts); err != nil {
		return nil, fmt.Errorf("annotation %s of pod %s: %w", AnnotationWaits, pod.Name, err)
	}
	return facts, nil
}

// Addresses returns which facts a pod has that are addresses of its Kubernetes node.
func Addresses(pod *corev1.Pod) []Fact {
	facts, _ := read(pod) // an unreadable annotation is reported by Missing
	return slices.DeleteFunc(facts, func(f Fact) bool { return f.Label != "" || pod.Annotations[f.Annotation] == "" })
}

// Lost returns an address that a pod has, and its Kubernetes node does not have any more, though it has another of its kind; "" if there
// is none. Clients that are sent there find nobody. A node may lack its addresses of one kind, such as the public ones, for a while.
func Lost(pod *corev1.Pod, node *corev1.Node) string {
	for _, f := range Addresses(pod) {
		address := pod.Annotations[f.Annotation]
		has := slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Address == address })
		if !has && kindOf(f.Of(node)) == kindOf(address) {
			return address
		}
	}
	return ""
}

// kindOf tells private, public and missing addresses, and names, apart.
func kindOf(address string) string {
	ip, err := netip.ParseAddr(strings.Trim(address, "[]"))
	switch {
	case address == "":
		return "none"
	case err != nil:
		return "name"
	case ip.IsPrivate():
		return "private"
	}
	return "public"
}

// Missing returns the facts that a pod waits for: those of AnnotationWaits that it has no annotation of yet.
func Missing(pod *corev1.Pod) ([]Fact, error) {
	facts, err := read(pod)
	if err != nil {
		return nil, err
	}
	var missing []Fact
	for _, f := range facts {
		// It holds as long as the pod does: a running broker has read it.
		if _, known := pod.Annotations[f.Annotation]; !known {
			missing = append(missing, f)
		}
	}
	return missing, nil
}

// Waiting is the message about a pod whose Kubernetes node does not have a fact.
func Waiting(pod *corev1.Pod, f Fact) string {
	return fmt.Sprintf("Pod %s waits: Kubernetes node %s has no %s", pod.Name, pod.Spec.NodeName, f)
}
