//go:build linux

package rollernodes

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/e2e/podsets"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes/image"
)

// The shared variables. BeforeSuite sets them.
var (
	// ctx is the context of the suite.
	ctx context.Context
	// lab has three clusters of one node, all with the roller's image and the CRDs.
	lab *realnodes.Lab
	// acknowledged is how many records were.
	acknowledged int
)

// patience is how long specs wait for an event. Expected events take a fraction of it on a busy machine.
const patience = 3 * time.Minute

// itInFull adds a spec that make prove alone runs. Others do not know it: in CI a skipped spec is one that could not run, a failure.
func itInFull(text string, body func()) {
	if os.Getenv("PROVE") == "full" {
		It(text, Offset(1), body)
	}
}

// rollerImage is the name of the roller's image in the overlays of testdata.
const rollerImage = "rollernodes.test/roller:e2e"

func TestRollerOnNodes(t *testing.T) {
	realnodes.Require(t)
	RegisterFailHandler(Fail)
	log.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	violations := 0
	if !RunSpecs(t, "the roller on real nodes") {
		violations = 1
	}
	fmt.Printf("PROOF {\"name\":\"the roller on real nodes\",\"count\":%d,\"violations\":%d,\"seed\":0}\n", acknowledged, violations)
}

var _ = BeforeSuite(func() {
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())
	DeferCleanup(cancel)
	archive := buildImage(GinkgoT().TempDir())
	began := time.Now()
	var err error
	lab, err = realnodes.Start(ctx, realnodes.Options{Clusters: 3, Images: []string{archive}, Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(lab.Close()).To(Succeed()) })
	AddReportEntry("start of three clusters", ReportEntryVisibilityAlways, time.Since(began).Round(time.Millisecond).String())
	crds, err := operatorproc.RepositoryPath("config", "crd")
	Expect(err).NotTo(HaveOccurred())
	for _, c := range lab.Clusters() {
		_, err := c.Kubectl(ctx, "apply", "--server-side", "-k", crds)
		Expect(err).NotTo(HaveOccurred())
		Expect(controlplane.WaitEstablished(ctx, c.Kubectl)).To(Succeed())
	}
})

// buildImage builds the roller's image as the Dockerfile does, with the static program and an unprivileged user, and returns its archive.
func buildImage(dir string) string {
	GinkgoHelper()
	root, err := operatorproc.RepositoryPath()
	Expect(err).NotTo(HaveOccurred())
	archive, err := image.BuildOperator(ctx, dir, "roller", rollerImage, root, "./roller/cmd")
	Expect(err).NotTo(HaveOccurred())
	return archive
}

// clientOf returns an administrator's client of a cluster, without a cache.
func clientOf(c *realnodes.Cluster) client.WithWatch {
	GinkgoHelper()
	scheme, err := podsets.Scheme()
	Expect(err).NotTo(HaveOccurred())
	k8s, err := client.NewWithWatch(c.RESTConfig(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return k8s
}
