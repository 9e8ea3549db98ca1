//go:build linux

package clusteroperator

import (
	"fmt"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// healing is how long the operator may take to restore an object that was deleted by hand.
const healing = 5 * time.Second

var _ = Describe("a Kafka of three nodes", Ordered, func() {
	if full {
		return // cycles_test.go uses another Kafka
	}
	k := &cluster{namespace: "kafka", name: "my-cluster", manifest: "kafka.yaml", nodes: 3}
	var kept []string // the values in the topic "kept"

	BeforeAll(func() {
		createNamespace(k.namespace)
	})

	It("is Ready", func() {
		report("from apply to Ready", k.apply())
		for _, pod := range k.pods(Default) {
			Expect(pod.Spec.Containers[0].Name).To(Equal("kafka"))
		}
	})

	It("gets the topics that KafkaTopics ask for", func() {
		kubectl("apply", "--server-side", "-n", k.namespace, "-f", filepath.Join("testdata", "topics.yaml"))
		kubectl("wait", "--for=condition=Ready", "-n", k.namespace, "kafkatopic", "--all", "--timeout=120s")
		k.inSync(k.admin())
	})

	It("serves metrics, for which Kafka's image has no program", func() {
		for _, pod := range k.pods(Default) {
			Eventually(k.metrics).WithArguments(pod.Name).Should(ContainSubstring("\nkafka_server_brokertopicmetrics_messagesin_total "))
		}
		// The nodes load this while the next specs run.
		kubectl("patch", "configmap", "my-cluster-metrics", "-n", k.namespace, "--type=merge", "-p",
			`{"data":{"rules.yaml":"rules: [{pattern: 'kafka.server<type=BrokerTopicMetrics, name=MessagesInPerSec><>Count', name: taken_up}]"}}`)
	})

	It("is written and read from outside over TLS", func() {
		kept = k.write("kept", 500, func() {})
		k.holds("kept", kept)
	})

	It("is not trusted by whoever trusts another CA", func() {
		addresses, _ := k.outside()
		stranger, err := realkafka.NewAuthority("stranger")
		Expect(err).NotTo(HaveOccurred())
		_, err = connect(addresses, stranger.PEM()).DescribeCluster(ctx)
		Expect(kafka.ClassOf(err)).To(Equal(kafka.ClassAuthentication), "%v", err)
	})

	It("makes a killed pod again, with its data, though the Kafka object is invalid", func() {
		before := k.readyPods(Default)
		kubectl("patch", "kafka", k.name, "-n", k.namespace, "--type=merge", "-p", `{"spec":{"kafka":{"version":"1.2.3"}}}`)
		Eventually(func(g Gomega) {
			g.Expect(conditions(k.object(g).Status.Conditions)).To(HaveKeyWithValue(v1.ConditionReady, HavePrefix("False")))
		}).Should(Succeed())
		began := time.Now()
		victim := k.losePod(before)
		report("a killed pod is ready again", time.Since(began))
		kubectl("patch", "kafka", k.name, "-n", k.namespace, "--type=merge", "-p", `{"spec":{"kafka":{"version":"4.2.0"}}}`)
		k.ready()
		k.inSync(k.admin())
		k.holds("kept", kept)
		after := k.readyPods(Default)
		for name, uid := range before {
			if name != victim {
				Expect(after).To(HaveKeyWithValue(name, uid))
			}
		}
	})

	DescribeTable("heals what somebody deletes", func(kind func() client.Object, name string) {
		o := kind()
		key := client.ObjectKey{Namespace: k.namespace, Name: name}
		Expect(k8s.Get(ctx, key, o)).To(Succeed())
		deleted, before := o.GetUID(), k.readyPods(Default)
		Expect(k8s.Delete(ctx, o)).To(Succeed())
		began := time.Now()
		Eventually(func(g Gomega) {
			again := kind()
			g.Expect(k8s.Get(ctx, key, again)).To(Succeed())
			g.Expect(again.GetUID()).NotTo(Equal(deleted))
		}).WithTimeout(healing).WithPolling(20*time.Millisecond).Should(Succeed(), func() string { return said(k.namespace) })
		report(name, time.Since(began))
		k.ready()
		Expect(k.readyPods(Default)).To(Equal(before), "no pod was restarted")
	},
		Entry("the ConfigMap of a node", func() client.Object { return &corev1.ConfigMap{} }, "my-cluster-combined-0"),
		Entry("the bootstrap Service", func() client.Object { return &corev1.Service{} }, "my-cluster-kafka-bootstrap"),
		Entry("the headless Service", func() client.Object { return &corev1.Service{} }, "my-cluster-kafka-brokers"),
	)

	It("has taken up other rules of its metrics without a restart", func() {
		for name := range k.readyPods(Default) {
			Eventually(k.metrics).WithArguments(name).Should(ContainSubstring("\ntaken_up "))
		}
		k.ready()
	})

	It("is rolled for a static change of the configuration, and nobody who writes notices", func() {
		before := k.readyPods(Default)
		admin := k.admin()
		began := time.Now()
		k.write("flow", 500, func() {
			kubectl("patch", "kafka", k.name, "-n", k.namespace, "--type=merge", "-p",
				`{"spec":{"kafka":{"config":{"auto.create.topics.enable":false}}}}`)
			k.ready()
			var nodes map[int32]kafka.ConfigResult
			Eventually(func(g Gomega) { // a machine forwards a node port a moment after the pod is ready
				var err error
				nodes, err = admin.DescribeNodeConfigs(ctx, []int32{0, 1, 2}, []string{"auto.create.topics.enable"})
				g.Expect(err).NotTo(HaveOccurred())
				for id, node := range nodes {
					g.Expect(node.Err).NotTo(HaveOccurred(), "node %d", id)
				}
			}).Should(Succeed())
			for id, node := range nodes {
				Expect(node.Entries["auto.create.topics.enable"]).To(And(HaveField("Value", "false"), HaveField("Source", kafka.SourceStaticBroker)),
					"a Kafka that is ready runs with its configuration: node %d", id)
			}
			k.inSync(admin)
		})
		report("a roll of three nodes with records being written", time.Since(began))
		for name, uid := range k.readyPods(Default) {
			Expect(before).To(HaveKeyWithValue(name, Not(Equal(uid))), "it was restarted")
		}
		k.holds("kept", kept)
	})

	It("is upgraded, and its metadata follows", func() {
		k.through("an upgrade of three nodes", func() {
			k.version = "4.3.1"
			k.apply()
			k.runs("4.3.1", "4.3-IV0")
		})
		k.holds("kept", kept)
	})

	It("gets a new certificate of its CA", func() { k.through("renewal of the CA", k.renewCA) })

	It("takes up a dynamic change without a restart", func() {
		before := k.readyPods(Default)
		admin := k.admin()
		began := time.Now()
		kubectl("patch", "kafka", k.name, "-n", k.namespace, "--type=merge", "-p", `{"spec":{"kafka":{"config":{"num.io.threads":4}}}}`)
		k.ready()
		report("a dynamic change on three nodes", time.Since(began))
		nodes, err := admin.DescribeNodeConfigs(ctx, []int32{0, 1, 2}, []string{"num.io.threads"})
		Expect(err).NotTo(HaveOccurred())
		for id, node := range nodes {
			Expect(node.Err).NotTo(HaveOccurred(), "node %d", id)
			Expect(node.Entries["num.io.threads"].Value).To(Equal("4"), "a Kafka that is ready runs with its configuration: node %d", id)
		}
		Expect(k.readyPods(Default)).To(Equal(before))
	})

	It("stops no node when its KafkaNodePool is deleted by mistake", func() {
		before := k.readyPods(Default)
		kubectl("delete", "kafkanodepool", "combined", "-n", k.namespace)
		Eventually(func(g Gomega) {
			found := k.object(g)
			all := fmt.Sprint(conditions(found.Status.Conditions))
			g.Expect(all).To(ContainSubstring("combined"))
		}).Should(Succeed(), func() string { return said(k.namespace) })
		GinkgoWriter.Println(conditions(k.object(Default).Status.Conditions))
		Consistently(func(g Gomega) { g.Expect(k.readyPods(g)).To(Equal(before)) }).WithTimeout(10 * time.Second).WithPolling(time.Second).
			Should(Succeed())
		k.holds("kept", kept)
		k.apply()
		Expect(k.readyPods(Default)).To(Equal(before))
		Expect(fmt.Sprint(conditions(k.object(Default).Status.Conditions))).NotTo(ContainSubstring("combined"))
	})

	// The manifest still has the smaller size: when it is applied again, the status reports that volumes can't shrink.
	It("gets larger volumes", func() { k.grow("combined", `{"size":"2Gi"}`) })

	It("has its records again when it is deleted and applied again, for the volumes are kept", func() {
		volumes := k.volumes()
		Expect(volumes).To(HaveLen(k.nodes))
		id := k.object(Default).Status.ClusterID
		kubectl("delete", "-n", k.namespace, "-f", k.path(), "--wait=false")
		Eventually(func(g Gomega) { g.Expect(k.pods(g)).To(BeEmpty()) }).Should(Succeed(), func() string { return said(k.namespace) })
		Expect(k.volumes()).To(Equal(volumes))
		Eventually(func() error { return k8s.Get(ctx, client.ObjectKey{Namespace: k.namespace, Name: k.name}, &v1.Kafka{}) }).ShouldNot(Succeed())
		report("from applying again to Ready", k.apply())
		Expect(k.volumes()).To(Equal(volumes))
		Expect(k.object(Default).Status.ClusterID).To(Equal(id))
		k.inSync(k.admin())
		k.holds("kept", kept)
	})
})

// volumes returns the uids of the PersistentVolumeClaims, by name.
func (k *cluster) volumes() map[string]types.UID {
	GinkgoHelper()
	var claims corev1.PersistentVolumeClaimList
	Expect(k8s.List(ctx, &claims, client.InNamespace(k.namespace), client.MatchingLabels{v1.LabelCluster: k.name})).To(Succeed())
	uids := map[string]types.UID{}
	for _, claim := range claims.Items {
		Expect(claim.DeletionTimestamp).To(BeNil())
		uids[claim.Name] = claim.UID
	}
	return uids
}

// report adds a duration to the suite's report.
func report(what string, took time.Duration) {
	AddReportEntry(what, ReportEntryVisibilityAlways, took.Round(100*time.Millisecond).String())
}
