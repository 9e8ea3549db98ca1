//go:build linux

package clusteroperator

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

var _ = Describe("a small Kafka", func() {
	if full {
		return // as in life_test.go
	}
	It("does not keep its namespace from being deleted, with a topic and all", func() {
		k := &cluster{namespace: "short-lived", name: "small", manifest: "small.yaml", nodes: 1}
		createNamespace(k.namespace)
		report("one node from apply to Ready", k.apply())
		kubectl("wait", "--for=condition=Ready", "-n", k.namespace, "kafkatopic/orders", "--timeout=120s")
		began := time.Now()
		Expect(k8s.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: k.namespace}})).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKey{Name: k.namespace}, &corev1.Namespace{}))
		}).WithTimeout(time.Minute).Should(BeTrue(), func() string { return said(k.namespace) })
		report("a namespace with a Kafka is gone", time.Since(began))
	})

	// Each is deleted when the one before it is gone, so that no topic operator is left to release the KafkaTopic.
	It("does not keep its namespace from being deleted, nor its topic, if it is deleted before them", func() {
		k := &cluster{namespace: "outlived", name: "small", manifest: "small.yaml", nodes: 1}
		createNamespace(k.namespace)
		k.apply()
		kubectl("wait", "--for=condition=Ready", "-n", k.namespace, "kafkatopic/orders", "--timeout=120s")
		Expect(k8s.Delete(ctx, &v1.Kafka{ObjectMeta: metav1.ObjectMeta{Namespace: k.namespace, Name: k.name}})).To(Succeed())
		Eventually(func(g Gomega) {
			var pods corev1.PodList
			g.Expect(k8s.List(ctx, &pods, client.InNamespace(k.namespace))).To(Succeed())
			g.Expect(pods.Items).To(BeEmpty())
		}).Should(Succeed(), func() string { return said(k.namespace) })
		kubectl("delete", "-n", k.namespace, "kafkatopic/orders", "--timeout=60s")
		kubectl("delete", "namespace", k.namespace, "--timeout=60s")
	})

	DescribeTable("leaves what belongs to somebody else as it is, and says so", func(theirs client.Object) {
		k := &cluster{namespace: "occupied-" + theirs.GetName(), name: "small", manifest: "small.yaml", nodes: 1}
		createNamespace(k.namespace)
		theirs.SetNamespace(k.namespace)
		Expect(k8s.Create(ctx, theirs)).To(Succeed())
		version := theirs.GetResourceVersion()
		kubectl("apply", "--server-side", "-n", k.namespace, "-f", k.path())
		Eventually(func(g Gomega) {
			g.Expect(conditions(k.object(g).Status.Conditions)).To(HaveKeyWithValue(v1.ConditionReady,
				And(HavePrefix("False"), ContainSubstring(theirs.GetName()))))
		}).Should(Succeed(), func() string { return said(k.namespace) })
		GinkgoWriter.Println(conditions(k.object(Default).Status.Conditions))
		Consistently(func(g Gomega) {
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(theirs), theirs)).To(Succeed())
			g.Expect(theirs.GetResourceVersion()).To(Equal(version))
			g.Expect(k.pods(g)).To(BeEmpty())
		}).WithTimeout(3 * time.Second).Should(Succeed())
		kubectl("delete", "-n", k.namespace, "-f", k.path(), "--timeout=60s")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(theirs), theirs)).To(Succeed())
		Expect(theirs.GetResourceVersion()).To(Equal(version))
	},
		Entry("a Service", &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "small-kafka-bootstrap"},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}),
		Entry("a Secret with the Kafka's own labels", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "small-cluster-ca",
			Labels: map[string]string{
				v1.LabelCluster: "small", "app.kubernetes.io/name": "kafka",
			}}, StringData: map[string]string{"ca.key": "mine"}}),
		Entry("a ConfigMap", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "small-combined-0"},
			Data: map[string]string{"server.config": "mine"}}),
	)
})
