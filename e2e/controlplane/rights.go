package controlplane

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Right is what a role allows: a verb for a resource, in a namespace and for an object; in and for all of them if these are empty.
type Right struct {
	Verb, Group, Resource, Namespace, Name string
}

// String returns, for example, "update leases.coordination.k8s.io in kafka-operators".
func (r Right) String() string {
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Name != "" {
		text += " " + r.Name
	}
	if r.Namespace != "" {
		text += " in " + r.Namespace
	}
	return text
}

// Rights returns what the roles that are bound to a service account by its name allow.
func Rights(ctx context.Context, k8s client.Reader, namespace, account string) ([]Right, error) {
	bound := func(subjects []rbacv1.Subject) bool {
		return slices.Contains(subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account})
	}
	var everywhere rbacv1.ClusterRoleBindingList
	var somewhere rbacv1.RoleBindingList
	if err := cmp.Or(k8s.List(ctx, &everywhere), k8s.List(ctx, &somewhere)); err != nil {
		return nil, err
	}
	for _, b := range everywhere.Items {
		somewhere.Items = append(somewhere.Items, rbacv1.RoleBinding{RoleRef: b.RoleRef, Subjects: b.Subjects})
	}
	var rights []Right
	for _, b := range somewhere.Items {
		if !bound(b.Subjects) {
			continue
		}
		rules, err := rulesOf(ctx, k8s, b)
		if err != nil {
			return nil, err
		}
		for _, rule := range rules {
			rights = append(rights, flat(b.Namespace, rule)...)
		}
	}
	return rights, nil
}

func rulesOf(ctx context.Context, k8s client.Reader, b rbacv1.RoleBinding) ([]rbacv1.PolicyRule, error) {
	if b.RoleRef.Kind == "ClusterRole" {
		var role rbacv1.ClusterRole
		err := k8s.Get(ctx, client.ObjectKey{Name: b.RoleRef.Name}, &role)
		return role.Rules, err
	}
	var role rbacv1.Role
	err := k8s.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: b.RoleRef.Name}, &role)
	return role.Rules, err
}

func flat(namespace string, rule rbacv1.PolicyRule) (rights []Right) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, verb := range rule.Verbs {
		for _, path := range rule.NonResourceURLs {
			rights = append(rights, Right{Verb: verb, Resource: path})
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					rights = append(rights, Right{Verb: verb, Group: group, Resource: resource, Namespace: namespace, Name: name})
				}
			}
		}
	}
	return rights
}

// UnusedRights returns the rights of a service account that no request in the logs needed, except those with a reason.
func UnusedRights(ctx context.Context, k8s client.Reader, namespace, account string, reasons map[string]string, logs ...AuditLog) (
	[]string, error) {
	rights, err := Rights(ctx, k8s, namespace, account)
	if err != nil {
		return nil, err
	}
	user := "system:serviceaccount:" + namespace + ":" + account
	var requests []Request
	for _, log := range logs {
		made, err := log.Requests(Mark{}, func(r Request) bool { return r.User == user })
		if err != nil {
			return nil, err
		}
		requests = append(requests, made...)
	}
	if len(rights) == 0 || len(requests) == 0 {
		return nil, fmt.Errorf("%s has %d rights, and made %d requests", user, len(rights), len(requests))
	}
	var unused []string
	for _, r := range Unused(rights, requests) {
		if reasons[r.String()] == "" {
			unused = append(unused, r.String())
		}
	}
	return unused, nil
}

// Unused returns the rights that no request needed. A request needs the narrowest right that allows it, so a right is unused if another
// one is enough.
func Unused(rights []Right, requests []Request) []Right {
	narrowest := slices.Clone(rights)
	slices.SortStableFunc(narrowest, func(a, b Right) int { return b.narrow() - a.narrow() })
	used := map[Right]bool{}
	use := func(verb string, r Request) {
		at := slices.IndexFunc(narrowest, func(right Right) bool { return right.allows(verb, r) })
		if at >= 0 {
			used[narrowest[at]] = true
		}
	}
	for _, r := range requests {
		if r.Code == http.StatusForbidden {
			continue
		}
		use(r.Verb, r)
		switch {
		case r.Verb == "patch" && r.Code == http.StatusCreated:
			use("create", r) // whoever applies what is not there needs that right, too
		case r.Verb == "watch":
			use("list", r) // API servers that do not begin a watch with all objects are asked for a list before it
		}
	}
	return slices.DeleteFunc(slices.Clone(rights), func(r Right) bool { return used[r] })
}

func (r Right) narrow() (n int) {
	if r.Namespace != "" {
		n++
	}
	if r.Name != "" {
		n++
	}
	return n
}

func (r Right) allows(verb string, q Request) bool {
	resource := q.Resource
	if q.Subresource != "" {
		resource += "/" + q.Subresource
	}
	return r.Verb == verb && r.Group == q.Group && r.Resource == resource &&
		(r.Namespace == "" || r.Namespace == q.Namespace) && (r.Name == "" || r.Name == q.Name)
}
