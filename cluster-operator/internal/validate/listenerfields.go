package validate

import (
	"slices"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// field is a setting of a listener that only some types of listeners have.
type field struct {
	name string
	// set reports whether a listener has it.
	set func(c v1.ListenerConfiguration) bool
	// types are the listener types that can have it, and because is the message for the others.
	types   []v1.ListenerType
	because string
}

var (
	outside  = []v1.ListenerType{v1.ListenerLoadBalancer, v1.ListenerNodePort}
	balanced = []v1.ListenerType{v1.ListenerLoadBalancer}
	ported   = []v1.ListenerType{v1.ListenerNodePort}
	served   = []v1.ListenerType{
		v1.ListenerLoadBalancer, v1.ListenerNodePort, v1.ListenerTLSRoute, v1.ListenerRoute, v1.ListenerIngress, v1.ListenerClusterIP,
	}
)

// The reasons why a listener can't have a field, in Strimzi's words.
const (
	notBalanced = "it is not LoadBalancer based listener"
	notPorted   = "it is not NodePort based listener"
	notNamed    = "it is not TLSRoute, Route, or Ingress based listener"
	notServed   = "it is not LoadBalancer, NodePort, TLSRoute, Route, Ingress, or ClusterIP based listener"
	notPerNode  = "it is not LoadBalancer, NodePort, Route, Ingress or ClusterIP based listener"
	isInternal  = "it is internal listener"
)

// fields are Strimzi's rules (ListenersValidator), in its order.
var fields = slices.Concat([]field{
	{"useServiceDnsDomain", func(c v1.ListenerConfiguration) bool { return c.UseServiceDNSDomain != nil },
		[]v1.ListenerType{v1.ListenerInternal, v1.ListenerClusterIP}, "it is not internal or cluster-ip listener"},
	{"createBootstrapService", func(c v1.ListenerConfiguration) bool { return !or(c.CreateBootstrapService, true) }, balanced,
		"it is not load balancer listener"},
	{"ipFamilyPolicy", func(c v1.ListenerConfiguration) bool { return c.IPFamilyPolicy != "" }, served, isInternal},
	{"ipFamilies", func(c v1.ListenerConfiguration) bool { return len(c.IPFamilies) > 0 }, served, isInternal},
	{"publishNotReadyAddresses", func(c v1.ListenerConfiguration) bool { return c.PublishNotReadyAddresses != nil }, served, isInternal},
	{"class", func(c v1.ListenerConfiguration) bool { return c.Class != "" },
		[]v1.ListenerType{v1.ListenerIngress, v1.ListenerLoadBalancer}, "it is not an Ingress or LoadBalancer based listener"},
	{"externalTrafficPolicy", func(c v1.ListenerConfiguration) bool { return c.ExternalTrafficPolicy != "" }, outside,
		"it is not LoadBalancer or NodePort based listener"},
	{"loadBalancerSourceRanges", func(c v1.ListenerConfiguration) bool { return len(c.LoadBalancerSourceRanges) > 0 }, balanced, notBalanced},
	{"finalizers", func(c v1.ListenerConfiguration) bool { return len(c.Finalizers) > 0 }, balanced, notBalanced},
	{"allocateLoadBalancerNodePorts", func(c v1.ListenerConfiguration) bool { return c.AllocateLoadBalancerNodePorts != nil }, balanced,
		notBalanced},
	{"preferredAddressType", func(c v1.ListenerConfiguration) bool { return c.PreferredNodePortAddressType != "" }, ported, notPorted},
	{"hostTemplate", func(c v1.ListenerConfiguration) bool { return c.HostTemplate != "" }, passedThrough, notNamed},
	{"parentRefs", func(c v1.ListenerConfiguration) bool { return len(c.ParentRefs) > 0 }, []v1.ListenerType{v1.ListenerTLSRoute},
		"it is not TLSRoute based listener"},
	{"perBrokerLabelsTemplate", func(c v1.ListenerConfiguration) bool { return len(c.PerBrokerLabelsTemplate) > 0 }, served, notPerNode},
	{"perBrokerAnnotationsTemplate", func(c v1.ListenerConfiguration) bool { return len(c.PerBrokerAnnotationsTemplate) > 0 }, served,
		notPerNode},
}, bootstrapFields, brokerFields)

var bootstrapFields = []field{
	ofBootstrap("bootstrap.host", func(b v1.ListenerBootstrap) bool { return b.Host != "" }, passedThrough, notNamed),
	ofBootstrap("bootstrap.loadBalancerIP", func(b v1.ListenerBootstrap) bool { return b.LoadBalancerIP != "" }, balanced, notBalanced),
	ofBootstrap("bootstrap.nodePort", func(b v1.ListenerBootstrap) bool { return b.NodePort != nil }, outside, notPorted),
	ofBootstrap("bootstrap.externalIPs", func(b v1.ListenerBootstrap) bool { return len(b.ExternalIPs) > 0 }, ported, notPorted),
	ofBootstrap("bootstrap.labels", func(b v1.ListenerBootstrap) bool { return len(b.Labels) > 0 }, served, notServed),
	ofBootstrap("bootstrap.annotations", func(b v1.ListenerBootstrap) bool { return len(b.Annotations) > 0 }, served, notServed),
}

var brokerFields = []field{
	ofBroker("brokers[].host", func(b v1.ListenerBroker) bool { return b.Host != "" }, passedThrough, notNamed),
	ofBroker("brokers[].loadBalancerIP", func(b v1.ListenerBroker) bool { return b.LoadBalancerIP != "" }, balanced, notBalanced),
	ofBroker("brokers[].nodePort", func(b v1.ListenerBroker) bool { return b.NodePort != nil }, outside, notPorted),
	ofBroker("brokers[].externalIPs", func(b v1.ListenerBroker) bool { return len(b.ExternalIPs) > 0 }, ported, notPorted),
	ofBroker("brokers[].labels", func(b v1.ListenerBroker) bool { return len(b.Labels) > 0 }, served, notServed),
	ofBroker("brokers[].annotations", func(b v1.ListenerBroker) bool { return len(b.Annotations) > 0 }, served, notServed),
}

func ofBootstrap(name string, set func(v1.ListenerBootstrap) bool, types []v1.ListenerType, because string) field {
	return field{name, func(c v1.ListenerConfiguration) bool { return c.Bootstrap != nil && set(*c.Bootstrap) }, types, because}
}

func ofBroker(name string, set func(v1.ListenerBroker) bool, types []v1.ListenerType, because string) field {
	return field{name, func(c v1.ListenerConfiguration) bool { return slices.ContainsFunc(c.Brokers, set) }, types, because}
}

// misplaced reports settings that a listener of its type can't have.
func (f *findings) misplaced(l v1.Listener) {
	if l.Configuration == nil {
		return
	}
	for _, field := range fields {
		if field.set(*l.Configuration) && !slices.Contains(field.types, l.Type) {
			f.listener("FieldMisplaced", "listener %s cannot configure %s because %s", l.Name, field.name, field.because)
		}
	}
}
