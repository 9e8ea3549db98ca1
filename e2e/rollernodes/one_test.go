//go:build linux

package rollernodes

import (
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
)

var _ = Describe("a Kafka in one Kubernetes cluster", Ordered, func() {
	var (
		k *kafkaCluster
		d *deployment
	)
	names := func() []string { return []string{k.podName(1), k.podName(2), k.podName(3)} }

	BeforeAll(func() {
		home := lab.Clusters()[0]
		k = &kafkaCluster{
			namespace: "one", name: "orders", port: 30100, places: []*realnodes.Cluster{home},
			nodes: map[*realnodes.Cluster][]int32{home: {1, 2, 3}},
		}
		startKafka(k)
		hangingKafka(k, "payments")
		d = deploy(home, k.namespace, k.name, "roller-leader", filepath.Join("testdata", "one"))
	})

	It("is left alone while nothing is to be done", func() {
		Eventually(d.status).Should(ContainSubstring(`"phase":"Done"`))
		out, err := d.run("plan", "--cluster="+k.name)
		Expect(err).NotTo(HaveOccurred())
		Expect(out).To(ContainSubstring("Nothing to do: 3 nodes are up to date."))
		Expect(k.history.stopped("r1")).To(BeEmpty())
	})

	It("is rolled node by node, and nobody who writes notices", func() {
		flow := k.produce()
		quorum, err := k.admin.DescribeQuorum(ctx)
		Expect(err).NotTo(HaveOccurred())
		began := time.Now()
		k.outdate("r2")
		k.allReady("r2")
		AddReportEntry("a roll of three nodes", ReportEntryVisibilityAlways, time.Since(began).Round(100*time.Millisecond).String())
		flow.stop()

		order := k.history.made("r2")
		followers := slices.DeleteFunc([]int32{1, 2, 3}, func(id int32) bool { return id == quorum.Leader })
		Expect(order).To(Equal([]string{k.podName(followers[0]), k.podName(followers[1]), k.podName(quorum.Leader)}),
			"the active controller last")
		Expect(k.history.mostAway()).To(Equal(1))
	})

	It("tells of the roll by Events, status and metrics", func() {
		for _, name := range names() {
			Eventually(func() ([]string, error) {
				return d.eventsOf(d.in,
					name)
			}).Should(ContainElement(HavePrefix("PodHasOldRevision: Rolling Pod " + name + " due to ")))
		}
		Eventually(d.status).Should(ContainSubstring(`"phase":"Done"`))
		Expect(d.metrics(d.leader())).To(And(
			MatchRegexp(`(?m)^strimzi_roller_restarts_total\{cluster="orders",[^}]*\} 3$`),
			MatchRegexp(`(?m)^strimzi_roller_nodes_under_way\{cluster="orders",[^}]*\} 0$`),
		))
	})

	It("is rolled although another Kafka cluster of the same roller hangs all the time, which is left as it is", func() {
		Eventually(func() string { return d.metrics(d.leader()) }).Should(And(
			MatchRegexp(`(?m)^strimzi_roller_looks_total\{cluster="payments",.*result="decided"\} [1-9]`),
			MatchRegexp(`(?m)^strimzi_roller_restarts_total\{cluster="payments",.*result="done"\} 0$`),
			MatchRegexp(`(?m)^strimzi_roller_clusters 2$`),
		))
	})

	It("is rolled on by the other replica when the one that works is killed", func() {
		flow := k.produce()
		k.outdate("r3")
		Eventually(func() []string { return k.history.stopped("r2") }).Should(HaveLen(1))
		killed := d.leader()
		before := d.logs()
		Expect(d.k8s.Delete(ctx, killed, client.GracePeriodSeconds(0))).To(Succeed())
		began := time.Now()
		k.allReady("r3")
		AddReportEntry("the rest of the roll by another replica", ReportEntryVisibilityAlways,
			time.Since(began).Round(100*time.Millisecond).String())
		flow.stop()

		Expect(k.history.made("r3")).To(ConsistOf(names()), "each once")
		Expect(k.history.mostAway()).To(Equal(1))
		Eventually(d.status).Should(ContainSubstring(`"phase":"Done"`))
		Expect(d.leader().UID).NotTo(Equal(killed.UID))
		Expect(before + d.logs()).NotTo(ContainSubstring("forbidden"))
	})

	itInFull("is rolled although a sidecar crashes, which says so and makes nothing down", func() {
		flow := k.produce()
		k.sidecar = []string{"java", "-no-such-option"}
		k.outdate("r4")
		Eventually(func() []string { return k.history.made("r4") }).Should(ConsistOf(names()), k.logs)
		Eventually(func(g Gomega) {
			out, err := d.run("explain", "--cluster="+k.name, k.history.made("r4")[0])
			g.Expect(out).To(ContainSubstring("its container sidecar does not run: CrashLoopBackOff"), "%v", err)
		}).Should(Succeed(), k.logs)
		for _, view := range k.views {
			Eventually(lowestISR).WithArguments(ctx, view).Should(Equal(3), "each node serves")
		}
		k.sidecar = nil
		k.outdate("r5")
		k.allReady("r5")
		flow.stop()
		Expect(k.history.made("r5")).To(ConsistOf(names()), "each once")
	})

	It("lets the roller do nothing else", func() {
		for _, may := range [][]string{{"update", "configmaps"}, {"update", "configmaps/orders-brokers-1"}, {"get", "secrets/other"},
			{"patch", "pods"}, {"get", "secrets"}, {"list", "secrets"}, {"create", "pods"}, {"update", "strimzipodsets.core.strimzi.io"},
			{"delete", "configmaps"}} {
			out, _ := d.in.Kubectl(ctx, "auth", "can-i", may[0], may[1], "-n", k.namespace, "--as=system:serviceaccount:"+k.namespace+":roller")
			Expect(out).To(HavePrefix("no"), "%v", may)
		}
		var pods corev1.PodList
		Expect(d.k8s.List(ctx, &pods, client.InNamespace(k.namespace), client.MatchingLabels{"app.kubernetes.io/name": "roller"})).To(Succeed())
		for i := range pods.Items {
			Expect(pods.Items[i].Status.ContainerStatuses[0].RestartCount).To(BeZero(), "it never ended by itself")
		}
	})
})
