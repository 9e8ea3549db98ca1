//go:build linux

package stretch

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kafka-operators/kafka-operators/e2e/deploy"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
)

// The shared variables. BeforeSuite sets them.
var (
	// ctx is the context of the suite.
	ctx context.Context
	lab *realnodes.Lab
	// places are the three Kubernetes clusters, the central one first.
	places []*place
)

// full reports whether all specs run (make prove).
var full = os.Getenv("PROVE") == "full"

// itInFull adds a spec that only make prove runs. It does not add the spec otherwise: in CI, a skipped spec is a failure.
func itInFull(text string, body func()) {
	if full {
		It(text, Offset(1), body)
	}
}

// acknowledged is the number of acknowledged records.
var acknowledged int

// place is a Kubernetes cluster.
type place struct{ *deploy.Place }

// patience is how long tests wait for an event. Expected events take a fraction of it on a busy machine.
const patience = 4 * time.Minute

func TestStretchedKafkaOnNodes(t *testing.T) {
	realnodes.Require(t)
	RegisterFailHandler(Fail)
	log.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	violations := 0
	if !RunSpecs(t, "a Kafka over three Kubernetes clusters") {
		violations = 1
	}
	fmt.Printf("PROOF {\"name\":\"a Kafka over three Kubernetes clusters\",\"count\":%d,\"violations\":%d,\"seed\":0}\n",
		acknowledged, violations)
}

var _ = BeforeSuite(func() {
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())
	DeferCleanup(cancel)
	images, err := deploy.Images(ctx, GinkgoT().TempDir(), "stretch.test", "cluster-operator", "roller")
	Expect(err).NotTo(HaveOccurred())
	if full {
		images = append(images, buildWithProvider())
	}
	began := time.Now()
	lab, err = realnodes.Start(ctx, realnodes.Options{Clusters: 3, Nodes: 1, Images: images, Audit: !full, Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(lab.Close()).To(Succeed()) })
	report("start of three Kubernetes clusters", time.Since(began))
	installed, err := deploy.Stretch(ctx, lab, "testdata")
	Expect(err).NotTo(HaveOccurred())
	for _, p := range installed {
		places = append(places, &place{p})
	}
	DeferCleanup(remotesUseTheirRights)
})

// kubectl runs kubectl as an administrator.
func (p *place) kubectl(args ...string) string {
	GinkgoHelper()
	out, err := p.Kubectl(ctx, args...)
	Expect(err).NotTo(HaveOccurred())
	return out
}

func report(what string, took time.Duration) {
	AddReportEntry(what, ReportEntryVisibilityAlways, took.Round(time.Millisecond).String())
}

// said returns the state and the logs of the pods of a namespace and of the operators in all clusters, for the message of a failure.
func said(namespace string) string {
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	text := ""
	for _, p := range places {
		text += p.Said(limited, namespace)
	}
	return text
}
