package controller

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
)

// A field that somebody adds beside those of the operator can divert clients, open ports or grant rights as well as one that they change.
func TestAdditionsAreTakenAway(t *testing.T) {
	w := newWorld(t)
	w.r.Settings.RollerAccount, w.r.Settings.ExporterImage = "operators/roller", "cluster-operator:1"
	w.brokers.metadata, w.brokers.replicas = metadataOf["4.3.1"], map[int32]int{0: 1}
	objects := fullKafka()
	listeners := objects[0].(*v1.Kafka).Spec.Kafka.Listeners
	listeners[0].NetworkPolicyPeers = []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}}
	w.create(objects...)
	w.passesUntilQuiet()
	pod := func(change func(*corev1.Pod)) func(client.Object) {
		return editOf(func(o *core.StrimziPodSet) { o.Spec.Pods[0].Raw = edited(t, o.Spec.Pods[0].Raw, change) })
	}
	policy := func(change func(*networkingv1.NetworkPolicySpec)) func(client.Object) {
		return editOf(func(o *networkingv1.NetworkPolicy) { change(&o.Spec) })
	}
	service := func(change func(*corev1.ServiceSpec)) func(client.Object) {
		return editOf(func(o *corev1.Service) { change(&o.Spec) })
	}
	everybody := &metav1.LabelSelector{}
	stranger := rbacv1.Subject{Kind: "ServiceAccount", Name: "stranger", Namespace: w.namespace}
	for what, c := range map[string]struct {
		kind, name string
		add        func(client.Object)
		remains    bool
	}{
		"a label to a selector": {kind: "Service", name: "my-cluster-kafka-bootstrap",
			add: service(func(s *corev1.ServiceSpec) { s.Selector["x"] = "y" })},
		"a label to the selector of one broker": {kind: "Service", name: "my-cluster-brokers-nodes-0",
			add: service(func(s *corev1.ServiceSpec) { s.Selector["x"] = "y" })},
		"a load balancer": {kind: "Service", name: "my-cluster-kafka-bootstrap",
			add: service(func(s *corev1.ServiceSpec) { s.Type = corev1.ServiceTypeLoadBalancer })},
		"a node port": {kind: "Service", name: "my-cluster-kafka-inside-bootstrap",
			add: service(func(s *corev1.ServiceSpec) { s.Type = corev1.ServiceTypeNodePort })},
		"a label to the pods of a policy": {kind: "NetworkPolicy", name: "my-cluster-network-policy-kafka",
			add: policy(func(p *networkingv1.NetworkPolicySpec) { p.PodSelector.MatchLabels["x"] = "y" })},
		"a rule": {kind: "NetworkPolicy", name: "my-cluster-network-policy-kafka",
			add: policy(func(p *networkingv1.NetworkPolicySpec) {
				p.Ingress = append(p.Ingress, networkingv1.NetworkPolicyIngressRule{})
			})},
		"peers to a rule for all": {kind: "NetworkPolicy", name: "my-cluster-entity-operator",
			add: policy(func(p *networkingv1.NetworkPolicySpec) {
				p.Ingress[0].From = []networkingv1.NetworkPolicyPeer{{PodSelector: everybody}}
			})},
		"namespaces to a peer": {kind: "NetworkPolicy", name: "my-cluster-network-policy-kafka",
			add: policy(func(p *networkingv1.NetworkPolicySpec) { p.Ingress[0].From[0].NamespaceSelector = everybody })},
		"pods to a peer": {kind: "NetworkPolicy", name: "my-cluster-network-policy-kafka",
			add: policy(func(p *networkingv1.NetworkPolicySpec) { p.Ingress[2].From[0].PodSelector = everybody })},
		"rules for what leaves": {kind: "NetworkPolicy", name: "my-cluster-network-policy-kafka",
			add: policy(func(p *networkingv1.NetworkPolicySpec) {
				p.PolicyTypes = append(p.PolicyTypes, networkingv1.PolicyTypeEgress)
				p.Egress = []networkingv1.NetworkPolicyEgressRule{{}}
			})},
		"a label to the pods of a budget": {kind: "PodDisruptionBudget", name: "my-cluster-kafka",
			add: editOf(func(o *policyv1.PodDisruptionBudget) { o.Spec.Selector.MatchLabels["x"] = "y" })},
		"a right": {kind: "Role", name: "my-cluster-roller",
			add: editOf(func(o *rbacv1.Role) {
				o.Rules = append(o.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}})
			})},
		"an account": {kind: "RoleBinding", name: "my-cluster-roller",
			add: editOf(func(o *rbacv1.RoleBinding) { o.Subjects = append(o.Subjects, stranger) })},
		"a node selector": {kind: "StrimziPodSet", name: "my-cluster-brokers",
			add: pod(func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"x": "y"} })},
		"a variable": {kind: "StrimziPodSet", name: "my-cluster-brokers",
			add: pod(func(p *corev1.Pod) {
				p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, corev1.EnvVar{Name: "x", Value: "y"})
			})},
		"a container": {kind: "StrimziPodSet", name: "my-cluster-brokers",
			add: pod(func(p *corev1.Pod) {
				p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "x", Image: "y"})
			})},
		"a label and an annotation": {kind: "Service", name: "my-cluster-kafka-bootstrap", remains: true,
			add: func(o client.Object) {
				o.SetLabels(with(o.GetLabels(), "x", "y"))
				o.SetAnnotations(with(o.GetAnnotations(), "x", "y"))
			}},
		"an affinity": {kind: "Service", name: "my-cluster-kafka-brokers", remains: true,
			add: service(func(s *corev1.ServiceSpec) { s.SessionAffinity = corev1.ServiceAffinityClientIP })},
	} {
		t.Run(what, func(t *testing.T) {
			w.WithT, w.t = NewWithT(t), t
			key := facts.Key{Kind: c.kind, Name: c.name}
			before := w.all()[key]
			o := copied(before)
			c.add(o)
			patch := client.MergeFrom(before)
			w.Expect(w.k8s.Patch(t.Context(), o, patch, client.FieldOwner("stranger"))).To(Succeed())
			w.passesUntilQuiet()
			if c.remains {
				w.Expect(differenceOf(o, w.all()[key])).To(BeEmpty())
				return
			}
			w.Expect(differenceOf(before, w.all()[key])).To(BeEmpty())
		})
	}
}

// edited returns a pod in JSON with a change.
func edited(t *testing.T, raw []byte, change func(*corev1.Pod)) []byte {
	t.Helper()
	pod := &corev1.Pod{}
	NewWithT(t).Expect(json.Unmarshal(raw, pod)).To(Succeed())
	change(pod)
	return []byte(jsonText(pod))
}

// passesUntilQuiet runs passes until one writes nothing, and fails if the fourth still does.
func (w *world) passesUntilQuiet() {
	w.t.Helper()
	var changed []string
	for range 4 {
		w.surroundings(w.WithT)
		before := w.everything()
		w.reconcile()
		changed = changed[:0]
		for key, o := range w.everything() {
			if b := before[key]; b == nil || b.GetResourceVersion() != o.GetResourceVersion() {
				changed = append(changed, strings.Join([]string{key.Kind, key.Name}, " "))
			}
		}
		if len(changed) == 0 {
			return
		}
	}
	w.Expect(changed).To(BeEmpty(), "written again and again")
}
