//go:build linux

package clusteroperator

import (
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// byHand makes the Kafka's pods again on new volumes, as they stand in its StrimziPodSets, with nobody at work beside Kubernetes, and returns how long it
// takes until they are ready. What else they need is there already. The Kafka is not used afterwards: its records are gone.
func (k *cluster) byHand() time.Duration {
	GinkgoHelper()
	scale(operatorNamespace, "cluster-operator", 0)
	DeferCleanup(func() { scale(operatorNamespace, "cluster-operator", 2) })
	scale(operatorNamespace, "roller", 0)
	DeferCleanup(func() { scale(operatorNamespace, "roller", 2) })
	var wanted []client.Object
	mine := []client.ListOption{client.InNamespace(k.namespace), client.MatchingLabels{v1.LabelCluster: k.name}}
	var claims corev1.PersistentVolumeClaimList
	Expect(k8s.List(ctx, &claims, mine...)).To(Succeed())
	for _, c := range claims.Items {
		c.Spec.VolumeName = ""
		wanted = append(wanted, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name, Labels: c.Labels}, Spec: c.Spec})
	}
	var sets podset.StrimziPodSetList
	Expect(k8s.List(ctx, &sets, mine...)).To(Succeed())
	for _, set := range sets.Items {
		for _, raw := range set.Spec.Pods {
			pod := &corev1.Pod{}
			Expect(json.Unmarshal(raw.Raw, pod)).To(Succeed())
			pod.Namespace = k.namespace
			// Nobody is there to say where the pod runs; on a cluster of one node that does not change.
			running := &corev1.Pod{}
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(pod), running)).To(Succeed())
			for key, value := range running.Annotations {
				pod.Annotations[key] = value
			}
			wanted = append(wanted, pod)
		}
	}
	Expect(wanted).To(HaveLen(2 * k.nodes))
	for _, o := range wanted {
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, o, client.GracePeriodSeconds(1)))).To(Succeed())
	}
	Eventually(func(g Gomega) {
		g.Expect(k.pods(g)).To(BeEmpty())
		g.Expect(k8s.List(ctx, &claims, mine...)).To(Succeed())
		g.Expect(claims.Items).To(BeEmpty())
	}).Should(Succeed())
	began := time.Now()
	for _, o := range wanted {
		o.SetUID("")
		o.SetResourceVersion("")
		Expect(k8s.Create(ctx, o)).To(Succeed())
	}
	Eventually(func(g Gomega) { g.Expect(k.readyPods(g)).To(HaveLen(k.nodes)) }).Should(Succeed(), func() string { return said(k.namespace) })
	return time.Since(began)
}

// scale changes how many replicas a Deployment has, and waits until it has them.
func scale(namespace, name string, replicas int32) {
	GinkgoHelper()
	key := client.ObjectKey{Namespace: namespace, Name: name}
	var found appsv1.Deployment
	Expect(k8s.Get(ctx, key, &found)).To(Succeed())
	before := found.DeepCopy()
	found.Spec.Replicas = &replicas
	Expect(k8s.Patch(ctx, &found, client.MergeFrom(before))).To(Succeed())
	Eventually(func(g Gomega) {
		var pods corev1.PodList
		g.Expect(k8s.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels(found.Spec.Selector.MatchLabels))).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(int(replicas)))
		g.Expect(k8s.Get(ctx, key, &found)).To(Succeed())
		g.Expect(found.Status.ReadyReplicas).To(Equal(replicas))
	}).Should(Succeed(), func() string { return said(namespace) })
}
