//go:build linux

package rollernodes

import (
	"path/filepath"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
)

var _ = Describe("a Kafka over three Kubernetes clusters", Ordered, func() {
	var (
		k                *kafkaCluster
		d                *deployment
		home, east, west *realnodes.Cluster
	)
	names := func() []string { return []string{k.podName(1), k.podName(2), k.podName(3)} }

	BeforeAll(func() {
		home, east, west = lab.Clusters()[0], lab.Clusters()[1], lab.Clusters()[2]
		k = &kafkaCluster{
			namespace: "three", name: "my-cluster", port: 30200, places: lab.Clusters(),
			nodes: map[*realnodes.Cluster][]int32{home: {1}, east: {2}, west: {3}},
		}
		startKafka(k)
		for secret, c := range map[string]*realnodes.Cluster{"kubeconfig-cluster-east": east, "kubeconfig-cluster-west": west} {
			Expect(clientOf(home).Create(ctx, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: k.namespace, Name: secret},
				Data:       map[string][]byte{"kubeconfig": admit(c, k.namespace)},
			})).To(Succeed())
		}
		d = deploy(home, k.namespace, k.name, k.name+"-roller-leader", filepath.Join("testdata", "three"))
		DeferCleanup(lab.HealAll)
	})

	It("is rolled node by node over all of them, also where the network is cut in the middle of it", func() {
		k.outdate("r2")
		Eventually(func() []string { return k.history.stopped("r1") }).Should(HaveLen(1))
		Expect(lab.Cut(home, west)).To(Succeed())
		Eventually(d.status).Should(ContainSubstring(`"?-3":"Unknown`), d.logs)
		Expect(k.history.stopped("r1")).To(HaveLen(1), "nobody goes while nobody knows how node 3 is")

		Expect(lab.HealAll()).To(Succeed())
		k.allReady("r2")
		Expect(k.history.made("r2")).To(ConsistOf(names()), "each once")
		Expect(k.history.mostAway()).To(Equal(1))
		Eventually(d.status).Should(ContainSubstring(`"phase":"Done"`))
		for i, c := range k.places { // Events are in the cluster of their pod
			name := names()[i]
			Eventually(func() ([]string, error) {
				return d.eventsOf(c,
					name)
			}).Should(ContainElement(HavePrefix("PodHasOldRevision: Rolling Pod " + name + " due to ")))
		}
	})

	It("is left as it is while a cluster can't be reached, says why, and is rolled when it can again", func() {
		flow := k.produce()
		Expect(lab.Isolate(west)).To(Succeed())
		Eventually(func() (int, error) { return lowestISR(ctx, k.views[0]) }).Should(Equal(2), "node 3 does not follow")
		k.outdate("r3")
		Eventually(d.status).Should(And(
			MatchRegexp(`"`+k.podName(1)+`":"Ready: Restart waits: (Order|Quorum|Availability)"`),
			MatchRegexp(`"`+k.podName(2)+`":"Ready: Restart waits: (Order|Quorum|Availability)"`),
			ContainSubstring(`"?-3":"Unknown`),
		))
		Eventually(func() string {
			out, _ := d.run("explain", "3") // exits with 4: it is unknown whether something has to be done
			return out
		}).Should(ContainSubstring("Unknown: its pod is unknown: cluster cluster-west can't be read"))
		for id, c := range map[int32]*realnodes.Cluster{1: home, 2: east} {
			out, _ := d.run("explain", strconv.Itoa(int(id))) // exits with 4: a restart is blocked
			Expect(out).To(And(ContainSubstring("because  PodHasOldRevision"), ContainSubstring("blocked  Availability: partition records-")))
			Eventually(func() ([]string, error) {
				return d.eventsOf(c,
					k.podName(id))
			}).Should(ContainElement(HavePrefix("Blocked: Restart waits (")))
		}
		Consistently(func() []string { return k.history.stopped("r2") }, 5*time.Second).Should(BeEmpty())

		Expect(lab.HealAll()).To(Succeed())
		k.allReady("r3")
		flow.stop()
		Expect(k.history.made("r3")).To(ConsistOf(names()), "each once")
		Expect(k.history.mostAway()).To(Equal(1))
	})

	It("gives the roller all the rights that it needs, and in the other clusters no more than those", func() {
		Expect(d.logs()).NotTo(ContainSubstring("forbidden"))
		roller := "--as=system:serviceaccount:" + k.namespace + ":roller"
		out, _ := home.Kubectl(ctx, "auth", "can-i", "list", "secrets", "-n", k.namespace, roller)
		Expect(out).To(HavePrefix("no"))
		for _, may := range [][]string{{"list", "secrets"}, {"create", "pods"}, {"create", "configmaps"}, {"update", "configmaps"},
			{"create", "leases.coordination.k8s.io"}} {
			out, _ := east.Kubectl(ctx, "auth", "can-i", may[0], may[1], "-n", k.namespace, roller)
			Expect(out).To(HavePrefix("no"), "%v", may)
		}
	})
})

// admit installs the roller's account in a remote cluster, and returns the kubeconfig for it.
func admit(c *realnodes.Cluster, namespace string) []byte {
	GinkgoHelper()
	_, err := c.Kubectl(ctx, "apply", "--server-side", "-k", filepath.Join("testdata", "remote"))
	Expect(err).NotTo(HaveOccurred())
	var secret corev1.Secret
	Eventually(func(g Gomega) {
		g.Expect(clientOf(c).Get(ctx, client.ObjectKey{Namespace: namespace, Name: "roller-token"}, &secret)).To(Succeed())
		g.Expect(secret.Data).To(And(HaveKey(corev1.ServiceAccountTokenKey), HaveKey(corev1.ServiceAccountRootCAKey)))
	}).Should(Succeed())
	kubeconfig, err := realnodes.TokenKubeconfig(c.RESTConfig().Host, &secret)
	Expect(err).NotTo(HaveOccurred())
	return kubeconfig
}
