//go:build linux

package realnodes

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/e2e/traffic"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

// The node ports of testdata/kafka.yaml.
const (
	clientPort     = 30192
	controllerPort = 30193
)

var _ = Describe("a Kafka over three clusters", func() {
	It("forms a quorum, and is reached by the test process", func() {
		began := time.Now()
		bootstrap := startKafka()
		AddReportEntry("three Kafka nodes ready", ReportEntryVisibilityAlways, time.Since(began).Round(100*time.Millisecond).String())

		admin, err := saramakafka.New(kafka.Config{Bootstrap: bootstrap, ClientID: "e2e", Dial: lab.DialContext})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(admin.Close)
		Eventually(func(g Gomega) {
			quorum, err := admin.DescribeQuorum(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(quorum.Voters).To(HaveLen(3))
			g.Expect(quorum.Leader).To(BeNumerically(">=", 1))
			for _, voter := range quorum.Voters {
				g.Expect(voter.LogEndOffset).To(BeNumerically(">", 0), "node %d takes part", voter.ID)
			}
			cluster, err := admin.DescribeCluster(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(cluster.Brokers).To(HaveLen(3))
		}).Should(Succeed())

		results, err := admin.CreateTopics(ctx, []kafka.NewTopic{{Name: "orders", Partitions: 3, ReplicationFactor: 3}}, false)
		Expect(err).NotTo(HaveOccurred())
		Expect(results["orders"].Err).NotTo(HaveOccurred())
		// Write a record to each partition. For that, the test has to reach each leader, and each leader its followers.
		Expect(traffic.Write(ctx, traffic.Options{Bootstrap: bootstrap, Dial: lab.DialContext, Topic: "orders"},
			traffic.Record{Partition: 0}, traffic.Record{Partition: 1}, traffic.Record{Partition: 2})).To(Succeed())
		Eventually(func(g Gomega) {
			topics, err := admin.DescribeTopics(ctx, []string{"orders"})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(topics["orders"].Err).NotTo(HaveOccurred())
			for _, p := range topics["orders"].Topic.Partitions {
				g.Expect(p.ISR).To(ConsistOf(int32(1), int32(2), int32(3)))
			}
		}).Should(Succeed())
	})
})

// startKafka starts a node in each cluster, waits until all are ready, and returns their addresses. The nodes are deleted at the end of the
// spec.
func startKafka() []string {
	GinkgoHelper()
	manifest, err := os.ReadFile(filepath.Join("testdata", "kafka.yaml"))
	Expect(err).NotTo(HaveOccurred())
	var voters, bootstrap []string
	for i, c := range lab.Clusters() {
		node := c.Nodes()[0].Address()
		voters = append(voters, fmt.Sprintf("%d@%s", i+1, netip.AddrPortFrom(node, controllerPort)))
		bootstrap = append(bootstrap, netip.AddrPortFrom(node, clientPort).String())
	}
	for i, c := range lab.Clusters() {
		apply(c, strings.NewReplacer(
			"$IMAGE", KafkaImage, "$ID", strconv.Itoa(i+1), "$VOTERS", strings.Join(voters, ","),
			"$ADDRESS", c.Nodes()[0].Address().String(), "$RACK", c.Name(),
		).Replace(string(manifest)))
		DeferCleanup(func() {
			_, err := c.Kubectl(ctx, "delete", "pod/kafka", "service/kafka", "configmap/kafka", "pvc/kafka", "--grace-period=1")
			Expect(err).NotTo(HaveOccurred())
		})
	}
	for _, c := range lab.Clusters() {
		k8s := clientOf(c)
		Eventually(func(g Gomega) {
			var pod corev1.Pod
			g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: "default", Name: "kafka"}, &pod)).To(Succeed())
			g.Expect(podReady(&pod)).To(BeTrue(), describeStatus(&pod))
		}).Should(Succeed(), func() string {
			logs, err := c.Kubectl(ctx, "logs", "kafka", "--all-containers", "--tail=30")
			return fmt.Sprint(logs, err)
		})
	}
	return bootstrap
}
