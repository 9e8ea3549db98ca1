//go:build linux

package stretch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/deploy"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes/image"
	"github.com/kafka-operators/kafka-operators/e2e/standin"
	"github.com/kafka-operators/kafka-operators/e2e/traffic"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
)

// Nodes reach each other with load balancers, by the program of a provider, and with names of the Multi-Cluster Services API: in the full
// tests only (make prove).
var _ = full && Describe("a Kafka over three Kubernetes clusters", Ordered, func() {
	BeforeAll(func() {
		DeferCleanup(func() {
			Expect(lab.HealAll()).To(Succeed())
			namespace = "stretched"
			use("nodeport")
		})
	})

	It("forms by load balancers, is rolled, loses a Kubernetes cluster, and leaves nothing", func() {
		for _, p := range places {
			go standin.AssignAddresses(ctx, p.Client, p.LoadBalancerAddress)
		}
		formBy("loadbalancer", "balanced")
		for _, p := range places {
			Expect(p.kubectl("get", "services", "-n", namespace, "-o", "jsonpath={.items[*].spec.type}")).To(ContainSubstring("LoadBalancer"))
		}
		rollLoseAndDelete()
	})

	It("forms by a program in the operator's image, is rolled, loses a Kubernetes cluster, and leaves nothing", func() {
		places[0].kubectl("set", "image", "-n", deploy.Namespace, "deployment/cluster-operator", "*="+withProvider)
		formBy("relay", "relayed")
		rollLoseAndDelete()
	})

	It("forms by the names of exported Services, is rolled, loses a Kubernetes cluster, and leaves nothing", func() {
		set := standin.ClusterSet{}
		for _, p := range places {
			set[p.ID] = p.Client
		}
		conn, err := lab.ListenPacket()
		Expect(err).NotTo(HaveOccurred())
		go set.Serve(ctx, conn)
		file := filepath.Join(GinkgoT().TempDir(), "serviceexports.yaml")
		Expect(os.WriteFile(file, []byte(standin.ServiceExports), 0o600)).To(Succeed())
		for _, p := range places {
			p.kubectl("apply", "--server-side", "-f", file)
			dns := &corev1.ConfigMap{}
			Expect(p.Client.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "coredns"}, dns)).To(Succeed())
			dns.Data["Corefile"] += fmt.Sprintf("%s:53 {\n  errors\n  forward . %s\n}\n", standin.Domain, conn.LocalAddr())
			Expect(p.Client.Update(ctx, dns)).To(Succeed())
			p.kubectl("rollout", "restart", "-n", "kube-system", "deployment/coredns")
			p.kubectl("rollout", "status", "-n", "kube-system", "deployment/coredns", "--timeout=120s")
		}
		formBy("mcs", "exported")
		for _, p := range places {
			Expect(p.kubectl("get", "serviceexports", "-n", namespace, "-o", "name")).To(ContainSubstring(name + "-kafka-brokers"))
		}
		rollLoseAndDelete()
	})
})

// withProvider is the image of the cluster operator with the program of a network provider, relay.
const withProvider = "stretch.test/cluster-operator:relay"

// buildWithProvider builds that image, as docs/cluster-operator/network-providers.md says, and returns its archive.
func buildWithProvider() string {
	GinkgoHelper()
	root, err := operatorproc.RepositoryPath()
	Expect(err).NotTo(HaveOccurred())
	dir := GinkgoT().TempDir()
	program := filepath.Join(dir, "network-provider-relay")
	Expect(assets.Build(ctx, program, root, "./e2e/stretch/testdata/provider")).To(Succeed())
	archive, err := image.BuildOperator(ctx, dir, "cluster-operator", withProvider, root, "./cluster-operator/cmd",
		image.File{Path: "/opt/strimzi/plugins/network-provider-relay", Source: program})
	Expect(err).NotTo(HaveOccurred())
	return archive
}

// formBy makes the operator use a network provider, and creates a Kafka in a namespace.
func formBy(provider, in string) {
	GinkgoHelper()
	namespace = in
	use(provider)
	for _, p := range places {
		Expect(p.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	}
	began := time.Now()
	places[0].kubectl("apply", "--server-side", "-n", namespace, "-f", filepath.Join("testdata", "kafka.yaml"))
	ready()
	report("from apply to Ready by "+provider, time.Since(began))
	Expect(condition(object(Default), "StretchCluster")).To(ContainSubstring("provider=" + provider + ","))
	write("formed", func(*traffic.Traffic) {})
}

// use makes the central operator use a network provider.
func use(provider string) {
	GinkgoHelper()
	places[0].kubectl("set", "env", "-n", deploy.Namespace, "deployment/cluster-operator", "STRIMZI_STRETCH_PLUGIN_CLASS_NAME="+provider)
	Expect(places[0].Ready(ctx)).To(Succeed())
}

// rollLoseAndDelete restarts all nodes while records are written, loses a Kubernetes cluster for a while, by a cut and by its power, and
// deletes the Kafka.
func rollLoseAndDelete() {
	GinkgoHelper()
	before := readyPods(Default)
	write("rolled", func(*traffic.Traffic) {
		places[0].kubectl("patch", "kafka", name, "-n", namespace, "--type=merge", "-p",
			`{"spec":{"kafka":{"config":{"auto.create.topics.enable":false}}}}`)
		Eventually(func(g Gomega) {
			now := readyPods(g)
			g.Expect(now).To(HaveLen(3))
			for pod, uid := range before {
				g.Expect(now).To(HaveKeyWithValue(pod, Not(Equal(uid))))
			}
		}).WithTimeout(8*time.Minute).Should(Succeed(), whatWasSaid)
		ready()
	})
	inSync(admin())
	loseWest()
	losePower()
	places[0].kubectl("delete", "-n", namespace, "-f", filepath.Join("testdata", "kafka.yaml"), "--timeout=120s")
	for _, p := range places {
		Eventually(func() string {
			kinds := "strimzipodsets,pods,services,configmaps,secrets"
			if strings.Contains(p.kubectl("api-resources", "-o", "name"), "serviceexports") {
				kinds += ",serviceexports"
			}
			return p.kubectl("get", kinds, "-n", namespace, "-l", v1.LabelCluster+"="+name, "-o", "name")
		}).Should(BeEmpty())
	}
}
