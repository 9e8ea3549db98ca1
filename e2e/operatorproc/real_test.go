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
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	plane, err := controlplane.Start(t.Context(), controlplane.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	defer func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	}()
	crds, err := RepositoryPath("config", "crd", "bases")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(plane.InstallCRDs(crds)).To(Succeed())
	cluster, err := kafkatest.StartEmbedded(kafkatest.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	defer cluster.Close()

	op, err := Start(t.Context(), Options{Kubeconfig: plane.Kubeconfig(), Bootstrap: cluster.Bootstrap()})
	g.Expect(err).NotTo(HaveOccurred())
	defer func() {
		if err := op.Close(); err != nil {
			t.Error(err)
		}
	}()
	g.Expect(op.WaitReady(t.Context())).To(Succeed())
	metrics, err := op.Metrics(t.Context())
	if err != nil || !metrics.Has("strimzi_resources", `kind="KafkaTopic"`) {
		t.Errorf("metrics %v, %v, want those of the operator", metrics, err)
	}
	if used, err := op.Usage(); err != nil || used.CPU < 10*time.Millisecond || used.RSS < 10<<20 {
		t.Errorf("usage %+v, %v, want that of a running operator", used, err)
	}
	if code, err := op.Terminate(); code != 0 || err != nil {
		t.Errorf("it ends with code %d, %v, want 0; its log ends with\n%s", code, err, op.LogTail(10))
	}
}
