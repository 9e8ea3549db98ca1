package model

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// account returns the ServiceAccount of the nodes, which has no rights.
func (c *cluster) account() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: c.meta(c.serviceAccount(), c.kafkaLabels(), c.template().ServiceAccount),
	}
}

// disruptionBudget limits evictions of all nodes together. The roller restarts nodes, and asks Kafka first. For a stretched Kafka, no
// Kubernetes cluster knows about evictions in the others: it allows none, unless the user sets how many each cluster may evict.
func (c *cluster) disruptionBudget() *policyv1.PodDisruptionBudget {
	t := c.budgetTemplate()
	available := intstr.FromInt32(max(0, int32(len(c.Topology.In(c.At)))-c.evictable())) // nodes have 31-bit ids
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: c.meta(c.name("kafka"), c.kafkaLabels(), &v1.ResourceTemplate{Metadata: t.Metadata}),
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &available, Selector: &metav1.LabelSelector{MatchLabels: c.kafkaSelector()}},
	}
}

func (c *cluster) budgetTemplate() v1.PodDisruptionBudgetTemplate {
	return value(c.template().PodDisruptionBudget, v1.PodDisruptionBudgetTemplate{})
}

// evictable returns how many nodes may be evicted at a time in a Kubernetes cluster.
func (c *cluster) evictable() int32 {
	if c.Stretch != nil {
		return value(c.budgetTemplate().MaxUnavailable, 0)
	}
	return value(c.budgetTemplate().MaxUnavailable, 1)
}

// RefusesEvictions reports whether the nodes have a PodDisruptionBudget by which none of them is ever evicted.
func RefusesEvictions(in Input) bool {
	c := &cluster{Input: in}
	return in.Settings.DisruptionBudgets && c.evictable() == 0
}

// networkPolicy lets in to each port whom it is for.
func (c *cluster) networkPolicy() *networkingv1.NetworkPolicy {
	nodes := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: c.kafkaSelector()}}
	topicOperator := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: c.topicOperatorSelector()}}
	operators := c.operatorPeers()
	rules := []networkingv1.NetworkPolicyIngressRule{
		rule(ControllerPort, append([]networkingv1.NetworkPolicyPeer{nodes}, operators...)),
		rule(ReplicationPort, append([]networkingv1.NetworkPolicyPeer{nodes, topicOperator}, operators...)),
	}
	if c.Stretch != nil { // no selector matches the nodes in other Kubernetes clusters; both ports ask for a certificate of the cluster's CA
		rules = []networkingv1.NetworkPolicyIngressRule{rule(ControllerPort, nil), rule(ReplicationPort, nil)}
	}
	for _, l := range c.spec().Listeners {
		rules = append(rules, rule(l.Port, l.NetworkPolicyPeers))
	}
	if c.exports() {
		rules = append(rules, rule(MetricsPort, nil))
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: c.meta(c.name("network-policy-kafka"), c.kafkaLabels(), nil),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: c.kafkaSelector()},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     rules,
		},
	}
}

// operatorPeers are the cluster operator and the roller, wherever they run: the roller may have another namespace than the operator.
func (c *cluster) operatorPeers() []networkingv1.NetworkPolicyPeer {
	var namespaces *metav1.LabelSelector
	if c.Settings.OperatorNamespace != c.Kafka.Namespace {
		namespaces = &metav1.LabelSelector{MatchLabels: c.Settings.OperatorNamespaceLabels}
	}
	var peers []networkingv1.NetworkPolicyPeer
	for _, labels := range []map[string]string{
		{core.LabelKind: "cluster-operator"},
		{labelApp: "roller"},
	} {
		peers = append(peers, networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: labels},
			NamespaceSelector: namespaces})
	}
	if at, _, found := strings.Cut(c.Settings.RollerAccount, "/"); found && at != c.Settings.OperatorNamespace {
		roller := networkingv1.NetworkPolicyPeer{PodSelector: peers[1].PodSelector}
		if at != c.Kafka.Namespace {
			roller.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: at}}
		}
		peers = append(peers, roller)
	}
	return peers
}

// rule lets peers in to a port; without peers, everybody.
func rule(port int32, peers []networkingv1.NetworkPolicyPeer) networkingv1.NetworkPolicyIngressRule {
	at, protocol := intstr.FromInt32(port), corev1.ProtocolTCP
	return networkingv1.NetworkPolicyIngressRule{Ports: []networkingv1.NetworkPolicyPort{{Protocol: &protocol, Port: &at}}, From: peers}
}
