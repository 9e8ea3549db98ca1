package roller

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/e2e/podsets"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes/image"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// The shared parts. They are there once BeforeSuite is through.
var (
	// ctx is the suite's; nothing outlives it.
	ctx context.Context
	// plane is the control plane, and k8s an administrator's client without a cache.
	plane *controlplane.ControlPlane
	k8s   client.Client
	// program is the roller's.
	program string
)

// patience is how long something that should happen is waited for; what is right takes a fraction of it.
const patience = time.Minute

// eager is how often something is looked at that passes soon.
const eager = 5 * time.Millisecond

func TestRoller(t *testing.T) {
	if testing.Short() {
		t.Skip("real parts take longer than -short allows")
	}
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
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "roller")
}

var _ = BeforeSuite(func() {
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())
	DeferCleanup(cancel)
	ctrllog.SetLogger(logr.Discard()) // the clients'; they have nothing to say
	built := make(chan error, 1)
	program = filepath.Join(GinkgoT().TempDir(), "roller")
	go func() { built <- build(program) }()
	var err error
	plane, err = controlplane.Start(ctx, controlplane.Options{Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error { return plane.Stop() })
	Expect(plane.InstallCRDs(filepath.Join("..", "..", "config", "crd", "bases"))).To(Succeed())
	scheme, err := podsets.Scheme()
	Expect(err).NotTo(HaveOccurred())
	k8s, err = client.New(plane.RESTConfig(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	Expect(<-built).To(Succeed())
})

// build builds the roller of this checkout.
func build(path string) error {
	root, err := operatorproc.RepositoryPath()
	if err != nil {
		return err
	}
	return image.BuildProgram(ctx, path, root, "./roller/cmd")
}
