//go:build linux

package rollernodes

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/e2e/podsets"
)

// hangingKafka creates another Kafka cluster in the namespace of k, which the roller rolls as well. Its pod can't be scheduled, and
// requests to its brokers get neither a response nor a refusal: their address is in another Kubernetes cluster, which is cut off.
func hangingKafka(k *kafkaCluster, name string) {
	GinkgoHelper()
	home, away := lab.Clusters()[0], lab.Clusters()[1]
	manifest, err := os.ReadFile(filepath.Join("testdata", "hanging.yaml"))
	Expect(err).NotTo(HaveOccurred())
	_, err = home.KubectlInput(ctx, strings.NewReplacer("$CLUSTER", name, "$ADDRESS",
		away.Nodes()[0].Address().String()).Replace(string(manifest)),
		"apply", "--server-side", "-n", k.namespace, "-f", "-")
	Expect(err).NotTo(HaveOccurred())
	Expect(lab.Cut(home, away)).To(Succeed())
	DeferCleanup(func() { Expect(lab.Heal(home, away)).To(Succeed()) })
	pool := podsets.Pool{
		Namespace: k.namespace, Cluster: name, Name: "brokers", Broker: true, Nodes: []int32{0}, Revision: "r2",
		Edit: func(_ int32, pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"none": "such"} },
	}
	set, err := pool.PodSet()
	Expect(err).NotTo(HaveOccurred())
	set.Annotations = map[string]string{core.AnnotationRolledBy: core.RolledByRoller}
	Expect(clientOf(home).Create(ctx, set)).To(Succeed())
}
