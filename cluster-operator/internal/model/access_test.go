package model

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// admits reports whether a rule of a policy in a namespace admits a pod of another one, as Kubernetes does.
func admits(t *testing.T, rule networkingv1.NetworkPolicyIngressRule, policy, namespace string, pod map[string]string) bool {
	t.Helper()
	matches := func(s *metav1.LabelSelector, of map[string]string) bool {
		selector, err := metav1.LabelSelectorAsSelector(s)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return selector.Matches(labels.Set(of))
	}
	for _, peer := range rule.From {
		in := namespace == policy
		if peer.NamespaceSelector != nil {
			in = matches(peer.NamespaceSelector, map[string]string{corev1.LabelMetadataName: namespace, "is": namespace})
		}
		if in && matches(peer.PodSelector, pod) {
			return true
		}
	}
	return false
}

// TestTheRollerReachesNodes checks the network policy for each place of the operators: the roller may run in a namespace of its own.
func TestTheRollerReachesNodes(t *testing.T) {
	roller := map[string]string{"app.kubernetes.io/name": "roller"}
	for _, operator := range []string{"ns", "operators"} {
		for _, at := range []string{"ns", "operators", "ops"} {
			for _, selected := range []map[string]string{nil, {"is": operator}} {
				t.Run(operator+" "+at+" "+labels.Set(selected).String(), func(t *testing.T) {
					g := NewWithT(t)
					in := rich(t)
					in.Settings.OperatorNamespace, in.Settings.OperatorNamespaceLabels = operator, selected
					in.Settings.RollerAccount = at + "/roller"
					for _, rule := range (&cluster{in}).networkPolicy().Spec.Ingress[:2] {
						g.Expect(admits(t, rule, in.Kafka.Namespace, at, roller)).To(BeTrue())
						g.Expect(admits(t, rule, in.Kafka.Namespace, operator, map[string]string{"strimzi.io/kind": "cluster-operator"})).To(BeTrue())
						g.Expect(admits(t, rule, in.Kafka.Namespace, at, map[string]string{"app.kubernetes.io/name": "other"})).To(BeFalse())
						if len(selected) > 0 || operator == "ns" {
							g.Expect(admits(t, rule, in.Kafka.Namespace, "another", roller)).To(BeFalse())
						}
					}
				})
			}
		}
	}
}

// TestARollerBesideTheOperatorChangesNoPolicy checks the usual places, for which an upgrade changes nothing.
func TestARollerBesideTheOperatorChangesNoPolicy(t *testing.T) {
	for _, account := range []string{"", "kafka-operators/roller"} {
		in := rich(t)
		in.Settings.RollerAccount = account
		NewWithT(t).Expect((&cluster{in}).operatorPeers()).To(HaveLen(2), account)
	}
}
