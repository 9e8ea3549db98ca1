//go:build linux

package stretch

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/deploy"
)

// exchangeCredentials gives the operators invalid credentials of a Kubernetes cluster, then new valid ones, and revokes the old ones.
func exchangeCredentials(remote *place) {
	GinkgoHelper()
	secret := func(id string) *corev1.Secret {
		s := &corev1.Secret{}
		Expect(places[0].Client.Get(ctx, client.ObjectKey{Namespace: deploy.Namespace, Name: "kubeconfig-" + id}, s)).To(Succeed())
		return s
	}
	put := func(kubeconfig []byte) {
		s := secret(remote.ID)
		s.Data["kubeconfig"] = kubeconfig
		Expect(places[0].Client.Update(ctx, s)).To(Succeed())
	}
	good := secret(remote.ID).Data["kubeconfig"]
	token := regexp.MustCompile(`token: .*`)
	refused := func(kubeconfig []byte, why string) {
		began := time.Now()
		put(kubeconfig)
		Eventually(func(g Gomega) {
			g.Expect(condition(object(g), v1.ConditionWarning)).
				To(And(ContainSubstring(remote.ID), ContainSubstring("the previous credentials stay in use"), MatchRegexp(why)))
		}).Should(Succeed(), whatWasSaid)
		Expect(condition(object(Default), v1.ConditionReady)).To(HavePrefix("True"))
		report(condition(object(Default), v1.ConditionWarning), time.Since(began))
	}
	refused(token.ReplaceAll(good, []byte("token: wrong")), "CredentialsRefused .*Unauthorized")
	refused(secret(places[1].ID).Data["kubeconfig"], "failed to verify certificate")
	refused([]byte("not a kubeconfig"), "kubeconfig")

	fresh := strings.TrimSpace(remote.kubectl("create", "token", "central-operators", "-n", deploy.Namespace, "--duration=1h"))
	began := time.Now()
	put(token.ReplaceAll(good, []byte("token: "+fresh)))
	Eventually(func(g Gomega) {
		g.Expect(condition(object(g), v1.ConditionWarning)).
			To(HavePrefix("True CredentialsExpire The credentials for cluster '" + remote.ID + "' expire at"))
	}).Should(Succeed(), whatWasSaid)
	report("new credentials are in use", time.Since(began))
	remote.kubectl("delete", "secret", "central-operators-token", "-n", deploy.Namespace)
	service := &corev1.Service{}
	key := client.ObjectKey{Namespace: namespace, Name: name + "-kafka-brokers"}
	Expect(remote.Client.Get(ctx, key, service)).To(Succeed())
	Expect(remote.Client.Delete(ctx, service)).To(Succeed())
	Eventually(func() error { return remote.Client.Get(ctx, key, &corev1.Service{}) }).Should(Succeed(), whatWasSaid)
}

// unlist removes a Kubernetes cluster from the operators' list, and returns a function that adds it again.
func unlist(remote *place) (list func()) {
	GinkgoHelper()
	const key = "clusters"
	config := &corev1.ConfigMap{}
	Expect(places[0].Client.Get(ctx, client.ObjectKey{Namespace: deploy.Namespace, Name: "remote-clusters"}, config)).To(Succeed())
	all := config.Data[key]
	write := func(text string) {
		GinkgoHelper()
		config.Data[key] = text
		Expect(places[0].Client.Update(ctx, config)).To(Succeed())
	}
	write(regexp.MustCompile(`(?m)^`+remote.ID+`\..*\n`).ReplaceAllString(all, ""))
	return func() { write(all) }
}

// leaveAndJoin removes a Kubernetes cluster from the operators' list, and adds it again. Meanwhile another one is reconciled as before.
func leaveAndJoin(remote, other *place) {
	GinkgoHelper()
	began := time.Now()
	list := unlist(remote)
	Eventually(func(g Gomega) {
		g.Expect(condition(object(g), "Degraded")).
			To(ContainSubstring("Cannot connect to cluster '" + remote.ID + "': the cluster is no longer configured"))
	}).Should(Succeed(), whatWasSaid)
	report("a Kubernetes cluster left the list of the operators", time.Since(began))
	Expect(condition(object(Default), v1.ConditionReady)).To(HavePrefix("False ConnectivityError"))
	service := &corev1.Service{}
	bootstrap := client.ObjectKey{Namespace: namespace, Name: name + "-kafka-bootstrap"}
	Expect(other.Client.Get(ctx, bootstrap, service)).To(Succeed())
	Expect(other.Client.Delete(ctx, service)).To(Succeed())
	Eventually(func() error { return other.Client.Get(ctx, bootstrap, &corev1.Service{}) }).Should(Succeed(), whatWasSaid)
	began = time.Now()
	list()
	Eventually(func(g Gomega) { g.Expect(condition(object(g), "Degraded")).To(BeEmpty()) }).Should(Succeed(), whatWasSaid)
	ready()
	report("it joined again", time.Since(began))
}

// drain does to a pod what draining a Kubernetes node does: the eviction is rejected, and the annotation that Strimzi's Drain Cleaner then
// sets makes the roller move the pod.
func drain(remote *place) {
	GinkgoHelper()
	before := readyPods(Default)
	var pods corev1.PodList
	Expect(remote.Client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{v1.LabelCluster: name},
		client.HasLabels{core.LabelPoolName})).To(Succeed())
	Expect(pods.Items).To(HaveLen(1))
	pod := &pods.Items[0]
	err := remote.Client.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{})
	Expect(err).To(MatchError(apierrors.IsTooManyRequests, "refused by the PodDisruptionBudget"))
	Expect(readyPods(Default)).To(Equal(before))
	began := time.Now()
	remote.kubectl("annotate", "pod", pod.Name, "-n", namespace, core.AnnotationManualRollingUpdate+"=true")
	Eventually(func(g Gomega) {
		now := readyPods(g)
		g.Expect(now).To(HaveLen(len(before)))
		g.Expect(now[pod.Name]).NotTo(Equal(before[pod.Name]))
	}).Should(Succeed(), whatWasSaid)
	report("a pod was moved", time.Since(began))
	for other, uid := range readyPods(Default) {
		Expect(other == pod.Name || before[other] == uid).To(BeTrue(), "no other pod was restarted: %s", other)
	}
}

// scalePools adds a pool of brokers in each Kubernetes cluster, scales each up and down, and removes them.
func scalePools() {
	GinkgoHelper()
	text := ""
	for _, p := range places {
		text += fmt.Sprintf(`---
apiVersion: kafka.strimzi.io/v1
kind: KafkaNodePool
metadata:
  name: more-%s
  labels: {strimzi.io/cluster: %s}
  annotations: {strimzi.io/stretch-cluster-alias: %s}
spec:
  replicas: 1
  roles: [broker]
  storage: {type: ephemeral}
  jvmOptions: {"-Xms": 256m, "-Xmx": 256m}
`, p.ID, name, p.ID)
	}
	file := filepath.Join(GinkgoT().TempDir(), "pools.yaml")
	Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	began := time.Now()
	places[0].kubectl("apply", "--server-side", "-n", namespace, "-f", file)
	nodes = 6
	ready()
	report("three pools more", time.Since(began))
	for _, replicas := range []int{2, 1} {
		began = time.Now()
		for _, p := range places {
			places[0].kubectl("patch", "kafkanodepool", "more-"+p.ID, "-n", namespace, "--type=merge", "-p",
				fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
		}
		nodes = 3 + 3*replicas
		ready()
		report(fmt.Sprintf("each of %d brokers", replicas), time.Since(began))
	}
	began = time.Now()
	places[0].kubectl("delete", "-n", namespace, "-f", file, "--timeout=120s")
	nodes = 3
	ready()
	report("three pools less", time.Since(began))
}
