package model

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rollerRights let the roller's Deployment work on this Kafka, by name: its journal, its lease, and the Secrets by which nodes know an
// operator.
func (c *cluster) rollerRights() []Object {
	namespace, account, found := strings.Cut(c.Settings.RollerAccount, "/")
	if !found {
		return nil
	}
	rule := func(group, resource, verb string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names, Verbs: []string{verb}}
	}
	return []Object{
		&rbacv1.Role{
			TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role"},
			ObjectMeta: c.meta(c.name("roller"), c.kafkaLabels(), nil),
			Rules: []rbacv1.PolicyRule{
				rule("", "configmaps", "update", c.name("roller")),
				rule("coordination.k8s.io", "leases", "update", c.name("roller-leader")),
				rule("", "secrets", "get", c.name("cluster-ca-cert"), c.name("cluster-operator-certs")),
			},
		},
		&rbacv1.RoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding"},
			ObjectMeta: c.meta(c.name("roller"), c.kafkaLabels(), nil),
			RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: c.name("roller")},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: account}},
		},
	}
}
