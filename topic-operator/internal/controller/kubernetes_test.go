package controller

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

func TestAnObjectThatVanishesBeforeItsFinalizerIsLetGo(t *testing.T) {
	w := newWorld(t)
	w.create("a")
	w.requests.once("PATCH a", func() { w.delete("a") })
	w.Expect(w.pass("a").RequeueAfter).To(Equal(w.moment("a")))
	w.Expect(w.pass("a").RequeueAfter).To(BeZero())
	w.Expect(w.kafka.took()).To(Equal([]string{"describe a"}))
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.logged.took()).To(BeEmpty())
}

func TestAnObjectThatVanishesBeforeItsStatusIsLetGo(t *testing.T) {
	w := newWorld(t)
	w.create("a")
	w.requests.once("PATCH a/status", func() {
		w.update("a", finalizers()) // a user removes the finalizer on purpose
		w.delete("a")
	})
	w.Expect(w.pass("a").RequeueAfter).To(Equal(w.moment("a")))
	w.Expect(w.pass("a").RequeueAfter).To(BeZero())
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.logged.took()).To(BeEmpty())
}

func TestAnObjectThatVanishesBeforeItIsReleasedIsLetGo(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.delete("a")
	w.requests.once("PATCH a", func() { w.update("a", finalizers()) })
	w.Expect(w.pass("a").RequeueAfter).To(Equal(w.moment("a")))
	w.Expect(w.pass("a").RequeueAfter).To(BeZero())
	w.Expect(w.exists("a")).To(BeFalse())
}

func TestADeletionThatComesBeforeTheFinalizerIsCarriedOutNext(t *testing.T) {
	w := newWorld(t)
	w.create("a", finalizers("example.org/other"))
	w.requests.once("PATCH a", func() { w.delete("a") })
	w.Expect(w.pass("a").RequeueAfter).To(BeNumerically("<=", firstRetry))
	w.Expect(w.kafka.took()).To(Equal([]string{"describe a"}))
	w.pass("a")
	w.Expect(w.kafka.took()).To(BeEmpty(), "no topic is made for an object that goes")
	w.update("a", finalizers())
}

func TestAWriteInBetweenIsSeenBeforeAnythingIsWritten(t *testing.T) {
	for _, write := range []string{"PATCH a", "PATCH a/status"} {
		t.Run(write, func(t *testing.T) {
			w := newWorld(t)
			w.create("a", config("k", `1`))
			w.requests.once(write, func() { w.update("a", config("k", `2`), moreFinalizers("example.org/other")) })
			result := w.pass("a")
			w.Expect(result.RequeueAfter).To(And(BeNumerically(">", 0), BeNumerically("<=", firstRetry)))
			w.Expect(w.get("a").Status.ObservedGeneration).To(BeEquivalentTo(-1), "nothing is said about what was not seen")
			w.Expect(w.logged.took()).To(BeEmpty())
			w.Expect(w.count("strimzi_reconciliations_failed_total")).To(BeZero())

			w.pass("a")
			w.Expect(w.get("a")).To(And(beReady(), claim("a", w.kafka.get("a").Topic.ID.String())))
			w.Expect(w.get("a").Finalizers).To(ConsistOf("example.org/other", v1.FinalizerTopicOperator))
			w.Expect(w.kafka.config("a")).To(Equal(map[string]string{"k": "2"}))
			w.update("a", finalizers())
		})
	}
}

// moreFinalizers adds a finalizer to the existing ones.
func moreFinalizers(more string) change {
	return func(kt *v1.KafkaTopic) { kt.Finalizers = append(kt.Finalizers, more) }
}

func TestAWriteBeforeTheReleaseLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.delete("a")
	w.requests.once("PATCH a", func() { w.update("a", label("touched", "yes")) })
	w.Expect(w.pass("a").RequeueAfter).To(BeNumerically(">", 0))
	w.Expect(w.kafka.get("a")).To(BeNil())
	w.Expect(w.exists("a")).To(BeTrue())
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
}

// restricted runs the operator as a user who has only these rights in the tests' namespaces.
func restricted(t *testing.T, name string, rules ...rbacv1.PolicyRule) func(*setup) {
	t.Helper()
	c := admin(t)
	name += "-" + strings.ToLower(rand.Text())
	user, err := server.AddUser(envtest.User{Name: name}, nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}
	g := NewWithT(t)
	g.Expect(c.Create(t.Context(), role)).To(Succeed())
	g.Expect(c.Create(t.Context(), binding)).To(Succeed())
	return func(s *setup) { s.config = func() *rest.Config { return user.Config() } }
}

func may(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{v1.GroupVersion.Group}, Resources: []string{resource}, Verbs: verbs}
}

func TestWithoutTheRightToPatchNothingIsDoneInKafka(t *testing.T) {
	w := newWorld(t, restricted(t, "reader", may("kafkatopics", "get"), may("kafkatopics/status", "patch")))
	w.create("a")
	w.Eventually(func() []string { // the API server applies new rights with a delay
		_, _ = w.tryPass(t.Context(), "a")
		return w.logged.took()
	}).Should(ContainElement(ContainSubstring("cannot patch")))
	w.Expect(w.kafka.took()).To(HaveEach("describe a"))
	w.Expect(w.get("a")).To(claim("", ""))
	w.clock.step(reportAfter)
	w.pass("a")
	w.Expect(w.get("a").Status.Conditions).To(ContainElement(HaveField("Message", ContainSubstring("the finalizer can't be added"))))
}

func TestWithoutTheRightToWriteTheStatusTheErrorIsReturned(t *testing.T) {
	w := newWorld(t, restricted(t, "patcher", may("kafkatopics", "get", "patch")))
	w.create("a")
	// The API server applies new rights with a delay.
	w.Eventually(func() error { _, err := w.tryPass(t.Context(), "a"); return err }).Should(MatchError(ContainSubstring("kafkatopics/status")))
	w.Expect(w.kafka.get("a")).NotTo(BeNil())
	w.create("unmanaged", abandon, finalizers(v1.FinalizerTopicOperator))
	w.delete("unmanaged")
	w.pass("unmanaged")
	w.Expect(w.exists("unmanaged")).To(BeFalse(), "what needs no status is done")
}

// denyWrites makes the API server reject updates of objects with this name.
func denyWrites(t *testing.T, c client.Client, name string) {
	t.Helper()
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule: admissionv1.Rule{APIGroups: []string{v1.GroupVersion.Group}, APIVersions: []string{"*"},
						Resources: []string{"kafkatopics", "kafkatopics/status"}},
				},
			}}},
			Validations: []admissionv1.Validation{{Expression: "object.metadata.name != '" + name + "'", Message: "nobody touches this"}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
	g := NewWithT(t)
	g.Expect(c.Create(t.Context(), policy)).To(Succeed())
	g.Expect(c.Create(t.Context(), binding)).To(Succeed())
	t.Cleanup(func() { _ = c.Delete(context.Background(), binding); _ = c.Delete(context.Background(), policy) })
}

func TestAnObjectOnWhichAnAdmissionRuleForbidsWritesHarmsNoOther(t *testing.T) {
	w := newWorld(t)
	denyWrites(t, w.admin, "locked")
	w.create("locked")
	w.create("free")
	touch := func() error {
		return updateTopic(t.Context(), w.admin, w.key("locked"), label("touched", time.Now().Format("150405.000000")))
	}
	w.Eventually(touch).Should(MatchError(ContainSubstring("nobody touches this")), "the API server learns of the rule a little later")
	w.Expect(w.pass("locked").RequeueAfter).To(BeNumerically("<=", lastRetry))
	w.Expect(w.logged.took()).To(ContainElement(ContainSubstring("nobody touches this")))
	w.Expect(w.kafka.get("locked")).To(BeNil())
	w.pass("free")
	w.Expect(w.get("free")).To(beReady())
}
