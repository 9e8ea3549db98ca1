package topicoperator

import (
	"context"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
)

// See docs/decisions/leaving.md. The spec runs the namespace controller, which deletes the content of a namespace, pods first.
var _ = Describe("A namespace that is deleted", Ordered, func() {
	var (
		real  *controlplane.ControlPlane
		admin client.Client
	)
	BeforeAll(func() {
		var err error
		real, err = controlplane.Start(ctx, controlplane.Options{ControllerManager: true, Log: GinkgoWriter})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() error { return real.Stop() })
		Expect(real.InstallCRDs(filepath.Join("..", "..", "config", "crd", "bases"))).To(Succeed())
		admin, err = client.New(real.RESTConfig(), client.Options{Scheme: k8s.Scheme()})
		Expect(err).NotTo(HaveOccurred())
	})

	namespace := func() *corev1.Namespace {
		GinkgoHelper()
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "leaving-"}}
		Expect(admin.Create(ctx, ns)).To(Succeed())
		return ns
	}
	// pod creates a pod on a node, so that only the node's kubelet can end it: here, the spec does.
	pod := func(ns *corev1.Namespace) *corev1.Pod {
		GinkgoHelper()
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "topic-operator"}, Spec: corev1.PodSpec{
			NodeName: "node", Containers: []corev1.Container{{Name: "topic-operator", Image: "topic-operator"}},
		}}
		Expect(admin.Create(ctx, p)).To(Succeed())
		return p
	}
	// operator starts an operator with the rights that config/topic-operator/rbac gives to the service account of one namespace, in all of
	// these.
	operator := func(watched string, home *corev1.Namespace, others ...*corev1.Namespace) *operator {
		GinkgoHelper()
		kubectl := func(input string, args ...string) {
			_, err := real.KubectlInput(ctx, input, args...)
			Expect(err).NotTo(HaveOccurred())
		}
		kubectl("", "apply", "--namespace", home.Name, "-k", filepath.Join("..", "..", "config", "topic-operator", "rbac"))
		for _, ns := range others {
			kubectl("", "create", "rolebinding", "topic-operator", "--namespace", ns.Name, "--clusterrole=topic-operator",
				"--serviceaccount="+home.Name+":topic-operator")
		}
		account, err := real.AddServiceAccount(home.Name, "topic-operator")
		Expect(err).NotTo(HaveOccurred())
		return startOperator(setup{name: home.Name, namespaces: watched, kubeconfig: account.Kubeconfig})
	}
	// topics creates KafkaTopics and waits until they are ready.
	topics := func(ns *corev1.Namespace, names ...string) []client.Object {
		GinkgoHelper()
		var all []client.Object
		for _, name := range names {
			kt := &v1.KafkaTopic{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: ns.Name + "-" + name}, Spec: &v1.KafkaTopicSpec{}}
			Expect(admin.Create(ctx, kt)).To(Succeed())
			all = append(all, kt)
		}
		for _, kt := range all {
			Eventually(func(g Gomega) {
				g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(kt), kt)).To(Succeed())
				g.Expect(kt.(*v1.KafkaTopic).Status.TopicID).NotTo(BeEmpty())
				g.Expect(kt.GetFinalizers()).To(ConsistOf(v1.FinalizerTopicOperator))
			}).Should(Succeed())
		}
		return all
	}
	gone := func(o client.Object) func() bool {
		return func() bool { return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(o), o)) }
	}
	isBeing := func(o client.Object, how func(client.Object) bool) func() bool {
		return func() bool { return admin.Get(ctx, client.ObjectKeyFromObject(o), o) == nil && how(o) }
	}
	deleted := func(o client.Object) bool { return o.GetDeletionTimestamp() != nil }
	// hangs reports whether the namespace controller has found that only our finalizer blocks the deletion.
	hangs := func(o client.Object) bool {
		for _, c := range o.(*corev1.Namespace).Status.Conditions {
			if c.Type == corev1.NamespaceFinalizersRemaining && c.Status == corev1.ConditionTrue {
				return true
			}
		}
		return false
	}
	release := func(ns *corev1.Namespace) {
		GinkgoHelper()
		bounded, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		out, err := exec.CommandContext(bounded, program, "release", "--namespace", ns.Name, "--yes", "--kubeconfig",
			real.Kubeconfig()).CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(out))
	}

	It("with the operator and its rights inside goes, and the topics stay", func() {
		ns := namespace()
		o := operator(ns.Name, ns)
		p, all := pod(ns), topics(ns, "a", "b", "c")
		Expect(admin.Delete(ctx, ns)).To(Succeed())
		Eventually(isBeing(p, deleted)).Should(BeTrue(), "pods go first")
		o.terminate()
		Expect(o.process.LogLines("Released a KafkaTopic because its namespace is being deleted; its topic stays in Kafka")).To(HaveLen(len(all)))
		Expect(admin.Delete(ctx, p, client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(gone(ns)).Should(BeTrue())
		for _, kt := range all {
			Expect(main.exists(kt.GetName())).To(BeTrue())
		}
	})

	It("whose operator is gone already hangs until somebody calls the command, and the topics stay", func() {
		ns := namespace()
		o := operator(ns.Name, ns)
		all := topics(ns, "a", "b")
		o.process.Kill()
		Eventually(o.process.Exited()).Should(BeClosed())
		Expect(admin.Delete(ctx, ns)).To(Succeed())
		Eventually(isBeing(ns, hangs)).Should(BeTrue())
		release(ns)
		Eventually(gone(ns)).Should(BeTrue())
		for _, kt := range all {
			Expect(main.exists(kt.GetName())).To(BeTrue())
		}
	})

	It("whose operator is elsewhere, with rights that do not go with it, takes its topics along", func() {
		home, ns := namespace(), namespace()
		kubectl, err := real.Kubectl(ctx, "create", "clusterrolebinding", home.Name, "--clusterrole=topic-operator",
			"--serviceaccount="+home.Name+":topic-operator")
		Expect(err).NotTo(HaveOccurred(), kubectl)
		o := operator(home.Name+","+ns.Name, home)
		all := topics(ns, "a", "b")
		Expect(admin.Delete(ctx, ns)).To(Succeed())
		Eventually(gone(ns)).Should(BeTrue())
		for _, kt := range all {
			Expect(main.exists(kt.GetName())).To(BeFalse())
		}
		Expect(o.process.Running()).To(BeTrue())
	})

	It("whose operator is elsewhere, with rights that go with it, goes, if need be by the command, and harms no other", func() {
		home, ns := namespace(), namespace()
		o := operator(home.Name+","+ns.Name, home, ns)
		topics(ns, "a", "b")
		Expect(admin.Delete(ctx, ns)).To(Succeed())
		Eventually(func() bool { return gone(ns)() || isBeing(ns, hangs)() }).Should(BeTrue())
		if !gone(ns)() {
			GinkgoWriter.Println("the namespace hangs without the command")
			release(ns)
		}
		Eventually(gone(ns)).Should(BeTrue())
		topics(home, "later")
		Expect(o.process.Running()).To(BeTrue())
	})
})
