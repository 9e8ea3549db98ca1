//go:build linux

package stretch

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/traffic"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

// What docs/cluster-operator/stretch.md tells users to do about a lost Kubernetes cluster of brokers: in full only (make prove).
var _ = full && Describe("a Kafka that loses a Kubernetes cluster of brokers for good", Ordered, func() {
	var (
		all  []*place
		lost *place
		pod  string // that was lost
		away int32  // its id
		list func() // the cluster again
	)
	manifest, elsewhere := filepath.Join("testdata", "controllers-at-home.yaml"), filepath.Join("testdata", "elsewhere.yaml")

	BeforeAll(func() {
		all, lost, namespace, nodes = places, places[1], "lost", 5
		DeferCleanup(func() { places, namespace, nodes = all, "stretched", 3 })
		for _, p := range places {
			Expect(p.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		}
		places[0].kubectl("apply", "--server-side", "-n", namespace, "-f", manifest, "-f", elsewhere)
		ready()
		away = nodeOf("east")
		pod = fmt.Sprintf("%s-east-%d", name, away)
	})

	It("gives it up, and nobody who writes notices", func() {
		write("given-up", func(flow *traffic.Traffic) {
			west, a := nodeOf("west"), admin()
			Expect(traffic.Move(ctx, records("given-up"), func(replicas []int32) []int32 {
				return []int32{slices.Min(replicas), away, west}
			})).To(Succeed())
			Expect(lost.Nodes()[0].PowerOff(ctx)).To(Succeed())
			places = []*place{places[0], places[2]}
			Eventually(func(g Gomega) { g.Expect(condition(object(g), "Degraded")).To(ContainSubstring(lost.ID)) }).
				Should(Succeed(), whatWasSaid)
			goesOn(a, "given-up", away, flow)

			began := time.Now()
			leave(away)
			places[0].kubectl("delete", "kafkanodepool", "east", "-n", namespace, "--timeout=120s")
			list = unlist(lost)
			Eventually(func(g Gomega) {
				g.Expect(condition(object(g), v1.ConditionWarning)).To(ContainSubstring("If it is lost for good, annotate this Kafka " +
					v1.AnnotationGivenUpClusters + ": " + lost.ID))
			}).Should(Succeed(), whatWasSaid)
			Expect(condition(object(Default), v1.ConditionReady)).To(HavePrefix("False"), "nobody has said so yet")
			annotate("kafka", name, v1.AnnotationGivenUpClusters+"="+lost.ID)
			nodes = 4
			ready()
			report("a lost Kubernetes cluster is given up, from the move of its replicas to Ready", time.Since(began))
			Expect(condition(object(Default), "Degraded")).To(BeEmpty())
			unregistered(away)
		})
		inSync(admin())
	})

	It("gives an id from there to a new broker, and what returns with the power takes nothing away from that", func() {
		write("returned", func(flow *traffic.Traffic) {
			scaleWest(2)
			pods := readyPods(Default)
			Expect(pods).To(HaveKey(fmt.Sprintf("%s-west-%d", name, away)))
			Expect(traffic.Move(ctx, records("returned"), func(replicas []int32) []int32 {
				return []int32{away, 0, 1}
			})).To(Succeed())
			began := time.Now()
			powerReturns(lost)
			Eventually(func() (string, error) { return lost.Kubectl(ctx, "logs", "-n", namespace, pod) }).WithPolling(time.Second).
				Should(ContainSubstring("DUPLICATE_BROKER_REGISTRATION"), whatWasSaid)
			report("a broker that returns is refused, from the return of its power", time.Since(began))
			sofar := flow.Progress().Acknowledged
			Eventually(func() int { return flow.Progress().Acknowledged }).Should(BeNumerically(">", sofar+300))
			Expect(readyPods(Default)).To(Equal(pods))
			Expect(hostOf(Default, admin(), away)).To(Equal("10.103.0.1"))
		})
		inSync(admin())
	})

	It("is deleted like any other, and leaves nothing in the Kubernetes clusters that are left", func() {
		places[0].kubectl("delete", "-n", namespace, "-f", manifest, "--timeout=120s")
		places[0].kubectl("delete", "kafkanodepool", "west", "-n", namespace, "--timeout=120s")
		for _, p := range places {
			Eventually(func() string {
				return p.kubectl("get", "kafkas,strimzipodsets,pods,services,configmaps,secrets,serviceaccounts,networkpolicies,poddisruptionbudgets",
					"-n", namespace, "-l", v1.LabelCluster+"="+name, "-o", "name")
			}).Should(BeEmpty(), p.ID)
		}
		Expect(apierrors.IsNotFound(places[0].Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &v1.Kafka{}))).To(BeTrue())
	})

	// For the specs that follow, also if one of these fails.
	AfterAll(func() {
		_ = lost.Nodes()[0].PowerOn() // it has power, unless a spec failed
		Expect(lost.WaitReady(ctx)).To(Succeed())
		Expect(lost.Ready(ctx)).To(Succeed())
		lost.kubectl("delete", "namespace", "lost", "--timeout=180s")
		if list != nil {
			list()
		}
	})
})

// scaleWest sets the number of brokers in the last Kubernetes cluster, beside the three nodes at home, and waits until they are ready.
func scaleWest(brokers int) {
	GinkgoHelper()
	places[0].kubectl("patch", "kafkanodepool", "west", "-n", namespace, "--type=merge", "-p",
		fmt.Sprintf(`{"spec":{"replicas":%d}}`, brokers))
	nodes = 3 + brokers
	ready()
}

// leave moves all replicas of a broker to those that have none of the partition.
func leave(broker int32) {
	GinkgoHelper()
	found, err := admin().DescribeCluster(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(traffic.Move(ctx, records(""), func(replicas []int32) []int32 {
		at := slices.Index(replicas, broker)
		for _, b := range found.Brokers {
			if at >= 0 && !b.Fenced && b.ID != broker && !slices.Contains(replicas, b.ID) {
				replicas[at] = b.ID
				break
			}
		}
		return replicas
	})).To(Succeed())
}

// unregistered waits until Kafka does not know a broker.
func unregistered(broker int32) {
	GinkgoHelper()
	Eventually(hostOf).WithArguments(admin(), broker).Should(BeEmpty(), whatWasSaid)
}

// hostOf returns where clients from outside reach a broker; "" if there is none of this id.
func hostOf(g Gomega, a *saramakafka.Admin, broker int32) string {
	found, err := a.DescribeCluster(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.Brokers).NotTo(BeEmpty())
	for _, b := range found.Brokers {
		if b.ID == broker {
			return b.Host
		}
	}
	return ""
}

// powerReturns waits until a Kubernetes cluster that had no power works again.
func powerReturns(p *place) {
	GinkgoHelper()
	Expect(p.Nodes()[0].PowerOn()).To(Succeed())
	Expect(p.WaitReady(ctx)).To(Succeed())
	Expect(p.Ready(ctx)).To(Succeed())
}
