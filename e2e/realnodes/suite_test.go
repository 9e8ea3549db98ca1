//go:build linux

package realnodes

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes/image"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
)

// The shared variables. BeforeSuite sets them.
var (
	// ctx is the context of the suite.
	ctx context.Context
	// lab is the lab of most specs: three clusters of one node.
	lab *Lab
	// foldersBefore are those of usualFolders that existed before there was any lab.
	foldersBefore []string
)

// testPatience is how long tests wait for an event. Expected events take a fraction of it, so that it suffices on a busy machine.
const testPatience = 90 * time.Second

// serverImage is the image of the test server.
const serverImage = "realnodes.test/server:1"

func TestRealNodes(t *testing.T) {
	foldersBefore = usual()
	needNodes(t)
	RegisterFailHandler(Fail)
	log.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(testPatience)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	SetDefaultConsistentlyDuration(2 * time.Second)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "real nodes")
}

// needNodes skips the test if there can be no nodes. In CI, it fails the test.
func needNodes(t *testing.T) {
	t.Helper()
	if err := Available(t.Context()); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

var _ = BeforeSuite(func() {
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())
	DeferCleanup(cancel)
	archive := buildServerImage(GinkgoT().TempDir())

	began := time.Now()
	var err error
	lab, err = Start(ctx, Options{Clusters: 3, NodeGrace: 10 * time.Second, Images: []string{archive}, Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(lab.Close()).To(Succeed()) })
	AddReportEntry("start of three clusters", ReportEntryVisibilityAlways, time.Since(began).Round(time.Millisecond).String())
})

// buildServerImage builds an image of the test server, a static program, and returns its archive.
func buildServerImage(dir string) string {
	GinkgoHelper()
	program, archive := filepath.Join(dir, "testserver"), filepath.Join(dir, "testserver.tar")
	Expect(assets.Build(ctx, program, ".", "./internal/cmd/testserver")).To(Succeed())
	Expect(image.OfBinary(serverImage, program).Write(archive)).To(Succeed())
	return archive
}

// clientOf returns an administrator's client of a cluster, without a cache.
func clientOf(c *Cluster) client.Client {
	GinkgoHelper()
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	k8s, err := client.New(c.RESTConfig(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return k8s
}
