package controller

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// accountMember is a connection with an account of fewer rights.
type accountMember struct {
	Member
	account client.Client
}

func (m accountMember) Reader() client.Reader          { return m.account }
func (m accountMember) APIReader() client.Reader       { return m.account }
func (m accountMember) Client() (client.Client, error) { return m.account, nil }

// TestAStretchedKafkaNeedsRightsInItsNamespaceAlone forms, scales and deletes a Kafka with the account of the overlay for remote clusters
// that gives rights in one namespace. It has none in others.
func TestAStretchedKafkaNeedsRightsInItsNamespaceAlone(t *testing.T) {
	w := newStretchedWorld(t)
	account := applyRemoteNamespace(t, remoteServer(t, "east"), w.namespace)
	restricted, err := client.NewWithWatch(account, client.Options{Scheme: w.k8s.Scheme()})
	w.Expect(err).NotTo(HaveOccurred())
	members := w.r.Stretching.Members
	w.r.Stretching.Members = func() []Member {
		all := members()
		for i, m := range all {
			if m.ID() == "east" {
				all[i] = accountMember{m, restricted}
			}
		}
		return all
	}
	w.form(v1.Listener{Name: "outside", Port: 9094, Type: v1.ListenerNodePort})
	w.create(poolIn("east", "more", 1, v1.RoleBroker))
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.kafka().Status.Conditions).NotTo(ContainElement(HaveField("Message", ContainSubstring("cannot"))))

	system := &corev1.Namespace{}
	w.Expect(restricted.Get(t.Context(), client.ObjectKey{Name: "kube-system"}, system)).To(Succeed())
	w.Expect(restricted.List(t.Context(), &corev1.NodeList{})).To(Succeed())
	w.Expect(restricted.Get(t.Context(), client.ObjectKey{Name: w.namespace}, &corev1.Namespace{})).To(Succeed())
	w.Expect(restricted.Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{})).
		To(MatchError(apierrors.IsForbidden, "Forbidden"))
	secret := client.ObjectKey{Namespace: "default", Name: "any"}
	w.Expect(restricted.Get(t.Context(), secret, &corev1.Secret{})).To(MatchError(apierrors.IsForbidden, "Forbidden"))
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "any"}}
	w.Expect(restricted.Create(t.Context(), made)).To(MatchError(apierrors.IsForbidden, "Forbidden"))

	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	w.pass()
	w.Expect(w.anchored("east")).To(BeFalse())
}

// applyRemoteNamespace applies the overlay in a namespace, and returns the configuration of a client with the account of the central
// cluster's operators.
func applyRemoteNamespace(t *testing.T, env *envtest.Environment, namespace string) *rest.Config {
	t.Helper()
	g := NewWithT(t)
	overlay, err := filepath.Abs(filepath.Join("..", "..", "..", "config", "cluster-operator", "overlays", "remote-namespace"))
	g.Expect(err).NotTo(HaveOccurred())
	folder, err := filepath.EvalSymlinks(t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	relative, err := filepath.Rel(folder, overlay)
	g.Expect(err).NotTo(HaveOccurred())
	text := fmt.Sprintf("namespace: %s\nresources: [%s]\n", namespace, relative)
	g.Expect(os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600)).To(Succeed())
	admin, err := env.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	kubectl, err := admin.Kubectl()
	g.Expect(err).NotTo(HaveOccurred())
	_, said, err := kubectl.Run("apply", "--server-side", "--force-conflicts", "-k", folder)
	output, _ := io.ReadAll(said)
	g.Expect(err).NotTo(HaveOccurred(), "%s", output)
	user, err := env.AddUser(envtest.User{Name: "system:serviceaccount:" + namespace + ":central-operators",
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace}}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	return user.Config()
}
