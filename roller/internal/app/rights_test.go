package app

import (
	"fmt"
	"os"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// excess returns the rights that the roller does not need. It changes only its journal and its Lease, by their names, and pods by deleting
// them; and it reads Secrets by their names.
func excess(rules []rbacv1.PolicyRule) []string {
	needed := map[string][]string{
		"pods": {"list", "watch", "delete"}, "pods/log": {"get"}, "configmaps": {"get", "list", "watch", "create"},
		"leases": {"get", "create"}, "strimzipodsets": {"list", "watch"}, "events": {"create", "patch"},
	}
	neededByName := map[string][]string{"configmaps": {"update"}, "leases": {"update"}, "secrets": {"get"}}
	var found []string
	for _, rule := range rules {
		all := needed
		if len(rule.ResourceNames) > 0 {
			all = neededByName
		}
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				if !slices.Contains(all[resource], verb) {
					found = append(found, fmt.Sprintf("%s %s %v", verb, resource, rule.ResourceNames))
				}
			}
		}
	}
	return found
}

// The roller has no right that it does not use, and each planted one is found.
func TestTheRollerHasTheLeastRights(t *testing.T) {
	g := NewWithT(t)
	var rules []rbacv1.PolicyRule
	for _, file := range []string{"role.yaml", "kafka_clusters_role.yaml"} {
		text, err := os.ReadFile("../../../config/roller/rbac/" + file)
		g.Expect(err).NotTo(HaveOccurred())
		var role rbacv1.Role // rules of a ClusterRole are the same
		g.Expect(yaml.Unmarshal(text, &role)).To(Succeed())
		g.Expect(role.Rules).NotTo(BeEmpty())
		rules = append(rules, role.Rules...)
	}
	g.Expect(excess(rules)).To(BeEmpty())
	for _, planted := range []rbacv1.PolicyRule{
		{Resources: []string{"configmaps"}, Verbs: []string{"update"}},
		{Resources: []string{"configmaps"}, Verbs: []string{"delete"}, ResourceNames: []string{"my-cluster-roller"}},
		{Resources: []string{"leases"}, Verbs: []string{"update"}},
		{Resources: []string{"secrets"}, Verbs: []string{"list"}},
		{Resources: []string{"pods"}, Verbs: []string{"*"}},
		{Resources: []string{"nodes"}, Verbs: []string{"get"}},
	} {
		g.Expect(excess(append(slices.Clone(rules), planted))).To(HaveLen(1), planted.String())
	}
}
