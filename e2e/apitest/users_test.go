package apitest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
)

// TestPeopleOfANamespaceUseTheKinds applies config/default, and checks the rights of people who have Kubernetes' roles edit and view in a
// namespace. The controller that aggregates roles runs.
func TestPeopleOfANamespaceUseTheKinds(t *testing.T) {
	g := NewWithT(t)
	if err := controlplane.Available(t.Context()); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	plane, err := controlplane.Start(t.Context(), controlplane.Options{ControllerManager: true,
		Controllers: []string{"clusterrole-aggregation-controller"}})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	admin, err := client.New(plane.RESTConfig(), client.Options{Scheme: clientgoscheme.Scheme})
	g.Expect(err).NotTo(HaveOccurred())
	const namespace = "default"
	for _, role := range []string{"edit", "view"} {
		g.Expect(admin.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: role}}})).To(Succeed())
	}
	_, err = plane.Kubectl(t.Context(), "apply", "--server-side", "-k", filepath.Join("..", "..", "config", "default"))
	g.Expect(err).NotTo(HaveOccurred())
	type right struct{ group, resource, subresource, verb string }
	may := func(ctx context.Context, user string, r right) (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, Groups: []string{"system:authenticated"}, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Group: r.group, Resource: r.resource, Subresource: r.subresource, Verb: r.verb}}}
		err := admin.Create(ctx, review)
		return review.Status.Allowed, err
	}
	const strimzi = "kafka.strimzi.io"
	both := []right{
		{strimzi, "kafkas", "", "list"}, {strimzi, "kafkas", "status", "get"},
		{strimzi, "kafkanodepools", "", "watch"}, {strimzi, "kafkanodepools", "scale", "get"},
		{strimzi, "kafkatopics", "", "get"}, {"core.strimzi.io", "strimzipodsets", "", "list"},
	}
	editors := []right{
		{strimzi, "kafkas", "", "create"}, {strimzi, "kafkas", "", "delete"},
		{strimzi, "kafkanodepools", "", "create"}, {strimzi, "kafkanodepools", "scale", "patch"}, {strimzi, "kafkatopics", "", "create"},
	}
	nobody := []right{
		{strimzi, "kafkas", "status", "patch"}, {strimzi, "kafkanodepools", "status", "patch"}, {strimzi, "kafkatopics", "status", "patch"},
		{"core.strimzi.io", "strimzipodsets", "", "patch"},
	}
	// The controller adds the rights soon after the roles are created.
	allowed := map[string][]right{"edit": slices.Concat(both, editors), "view": both}
	for user, rights := range allowed {
		for _, r := range rights {
			g.Eventually(may).WithArguments(t.Context(), user, r).WithTimeout(time.Minute).Should(BeTrue(),
				"who may %s in the namespace may %v", user, r)
		}
	}
	for user, rights := range map[string][]right{"edit": nobody, "view": slices.Concat(nobody, editors)} {
		for _, r := range rights {
			g.Expect(may(t.Context(), user, r)).To(BeFalse(), "who may %s in the namespace may not %v", user, r)
		}
	}
}
