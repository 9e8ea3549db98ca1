//go:build linux

package stretch

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/traffic"
)

// The way from one Kubernetes cluster to several and back restarts all nodes four times: in full only (make prove).
var _ = full && Describe("a Kafka in one Kubernetes cluster", Ordered, func() {
	var written int // records in topic "converted"

	BeforeAll(func() {
		namespace = "converted"
		DeferCleanup(func() { namespace, nodes = "stretched", 3 })
		for _, p := range places {
			Expect(p.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		}
		places[0].kubectl("apply", "--server-side", "-n", namespace, "-f", filepath.Join("testdata", "at-home.yaml"))
		ready()
		Expect(condition(object(Default), "StretchCluster")).To(BeEmpty())
	})

	It("is stretched over three by pools in the others, and its partitions move there, and nobody who writes notices", func() {
		began := time.Now()
		write("converted", func(*traffic.Traffic) {
			annotate("kafkanodepool", "central", "strimzi.io/stretch-cluster-alias=cluster-central")
			annotate("kafka", name, "strimzi.io/enable-stretch-cluster=true")
			places[0].kubectl("apply", "--server-side", "-n", namespace, "-f", filepath.Join("testdata", "elsewhere.yaml"))
			nodes = 5
			Eventually(func(g Gomega) {
				g.Expect(voters(g)).To(HaveEach(MatchRegexp(`^\d@10\.101\.0\.1:3\d{4}$`)), "at the provider's addresses")
			}).WithTimeout(2*patience).Should(Succeed(), whatWasSaid)
			Eventually(func(g Gomega) {
				g.Expect(condition(object(g), "StretchCluster")).To(HavePrefix("True StretchClusterActive"))
			}).Should(Succeed(), whatWasSaid)
			ready()
			report("from one Kubernetes cluster to three", time.Since(began))
			east, west := nodeOf("east"), nodeOf("west")
			Expect(traffic.Move(ctx, records("converted"), func(replicas []int32) []int32 {
				return []int32{slices.Min(replicas), east, west}
			})).To(Succeed())
		})
		inSync(admin())
	})

	It("is read in the Kubernetes cluster that a consumer names", func() {
		for _, pool := range []string{"east", "west"} {
			sent, err := traffic.ReadFrom(ctx, records("converted"), "cluster-"+pool)
			Expect(err).NotTo(HaveOccurred())
			Expect(sent).To(HaveLen(1), "brokers that sent records: %v", sent)
			Expect(sent).To(HaveKeyWithValue(nodeOf(pool), BeNumerically(">", 0)))
			written = sent[nodeOf(pool)]
		}
	})

	It("is in one Kubernetes cluster again, without a trace in the others, and nobody who writes notices", func() {
		began := time.Now()
		write("back", func(*traffic.Traffic) {
			Expect(traffic.Move(ctx, records("back"), func([]int32) []int32 { return []int32{0, 1, 2} })).To(Succeed())
			places[0].kubectl("delete", "-n", namespace, "-f", filepath.Join("testdata", "elsewhere.yaml"), "--timeout=120s")
			nodes = 3
			ready()
			annotate("kafka", name, "strimzi.io/enable-stretch-cluster-")
			annotate("kafkanodepool", "central", "strimzi.io/stretch-cluster-alias-")
			Eventually(func(g Gomega) {
				g.Expect(voters(g)).To(HaveEach(HaveSuffix(".svc.cluster.local:9090")), "at the addresses of the home cluster")
				found := object(g)
				g.Expect(condition(found, "StretchCluster")).To(BeEmpty())
				g.Expect(found.Finalizers).To(BeEmpty())
			}).WithTimeout(2*patience).Should(Succeed(), whatWasSaid)
			ready()
			report("from three Kubernetes clusters to one", time.Since(began))
		})
		inSync(admin())
		values, err := traffic.ReadAll(ctx, records("converted"))
		Expect(err).NotTo(HaveOccurred())
		Expect(values).To(HaveLen(written), "the records from before are all there")
		for _, p := range places[1:] {
			Eventually(func() string {
				return p.kubectl("get", "strimzipodsets,pods,services,configmaps,secrets,serviceaccounts,networkpolicies,poddisruptionbudgets,pvc",
					"-n", namespace, "-l", v1.LabelCluster+"="+name, "-o", "name")
			}).Should(BeEmpty())
		}
		Expect(places[0].kubectl("get", "services", "-n", namespace, "-o", "name")).
			NotTo(ContainSubstring("-nodeport"), "the provider's Services")
		places[0].kubectl("delete", "-n", namespace, "-f", filepath.Join("testdata", "at-home.yaml"), "--timeout=120s")
	})
})

func annotate(kind, object, annotation string) {
	GinkgoHelper()
	places[0].kubectl("annotate", kind, object, "-n", namespace, annotation)
}

// voters are the controllers as each node in the central cluster is configured to reach them.
func voters(g Gomega) (all []string) {
	for _, pod := range []string{"central-0", "central-1", "central-2"} {
		config := &corev1.ConfigMap{}
		g.Expect(places[0].Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name + "-" + pod}, config)).To(Succeed())
		line := regexp.MustCompile(`controller\.quorum\.voters=(.*)`).FindStringSubmatch(config.Data["server.config"])
		g.Expect(line).To(HaveLen(2))
		all = append(all, strings.Split(line[1], ",")...)
	}
	return all
}

// nodeOf returns the id of the only node of a pool.
func nodeOf(pool string) int32 {
	GinkgoHelper()
	found := &v1.KafkaNodePool{}
	Expect(places[0].Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: pool}, found)).To(Succeed())
	Expect(found.Status.NodeIDs).To(HaveLen(1))
	return found.Status.NodeIDs[0]
}
