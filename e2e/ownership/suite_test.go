package ownership

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// The shared variables. BeforeSuite sets them.
var (
	// ctx is the context of the suite.
	ctx context.Context
	// plane is the control plane. It logs every request.
	plane *controlplane.ControlPlane
	// k8s is an administrator's client without a cache.
	k8s client.WithWatch
	// program is the operator's binary.
	program string
	// clusterA and clusterB are the Kafka clusters. In most specs, A is the operator's own cluster.
	clusterA, clusterB *cluster
)

const (
	// patience is how long specs wait for an event. Expected events take a fraction of it, so that it suffices on a busy machine.
	patience = 40 * time.Second
	// quiet is how long specs check that nothing happens. A longer time would prove more and cost more; important promises have stricter
	// checks as well.
	quiet = time.Second
)

func TestOwnership(t *testing.T) {
	for _, available := range []func(context.Context) error{realkafka.Available, controlplane.Available} {
		if err := available(t.Context()); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	SetDefaultConsistentlyDuration(quiet)
	SetDefaultConsistentlyPollingInterval(50 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "ownership")
}

var _ = BeforeSuite(func() {
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())
	DeferCleanup(cancel)
	var started sync.WaitGroup
	inParallel := func(f func()) {
		started.Go(func() {
			defer GinkgoRecover()
			f()
		})
	}
	inParallel(func() { clusterA = startCluster("A") })
	inParallel(func() { clusterB = startCluster("B") })
	inParallel(func() {
		var err error
		program, err = operatorproc.Build(ctx)
		Expect(err).NotTo(HaveOccurred())
	})
	startControlPlane()
	started.Wait()
	Expect([]any{clusterA, clusterB}).NotTo(ContainElement(BeNil()), "Kafka did not start")
	Expect(program).NotTo(BeEmpty(), "the operator was not built")
})

func startControlPlane() {
	var err error
	plane, err = controlplane.Start(ctx, controlplane.Options{Audit: true, Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error { return plane.Stop() })
	Expect(plane.InstallCRDs(filepath.Join("..", "..", "config", "crd", "bases"))).To(Succeed())
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1.AddToScheme(scheme)).To(Succeed())
	k8s, err = client.NewWithWatch(plane.RESTConfig(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
}

// After a failure, print what helps to find its cause.
var _ = JustAfterEach(func() {
	if !CurrentSpecReport().Failed() {
		return
	}
	for _, o := range running {
		for _, namespace := range o.namespaces {
			GinkgoWriter.Printf("\n--- KafkaTopics in %s ---\n%s\n", namespace, dump(namespace))
		}
		GinkgoWriter.Printf("\n%s", o.explain())
	}
})
