package operatorproc

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
)

// TestTheOperatorItself checks the functions of this package that all other tests of this module need.
func TestTheOperatorItself(t *testing.T) {
	g := NewWithT(t)
	if err := controlplane.Available(t.Context()); err != nil {
		g.Expect(os.Getenv("CI")).NotTo(Equal("true"), "%v", err)
		t.Skip(err)
	}
	plane, err := controlplane.Start(t.Context(), controlplane.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(plane.Stop()).To(Succeed()) }()
	crds, err := RepositoryPath("config", "crd", "bases")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(plane.InstallCRDs(crds)).To(Succeed())
	cluster, err := kafkatest.StartEmbedded(kafkatest.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	defer cluster.Close()

	op, err := Start(t.Context(), Options{Kubeconfig: plane.Kubeconfig(), Bootstrap: cluster.Bootstrap()})
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(op.Close()).To(Succeed()) }()
	g.Expect(op.WaitReady(t.Context())).To(Succeed())
	metrics, err := op.Metrics(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(metrics.Has("strimzi_resources", `kind="KafkaTopic"`)).To(BeTrue())
	used, err := op.Usage()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(used.CPU).To(BeNumerically(">=", 10*time.Millisecond))
	g.Expect(used.RSS).To(BeNumerically(">=", 10<<20))
	g.Expect(op.Terminate()).To(BeZero(), func() string { return op.LogTail(10) })
}
