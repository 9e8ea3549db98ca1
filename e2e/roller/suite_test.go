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
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
)

// The shared variables. BeforeSuite sets them.
var (
	// ctx is the context of the suite.
	ctx context.Context
	// plane is the control plane. k8s is an administrator's client without a cache.
	plane *controlplane.ControlPlane
	k8s   client.Client
	// program is the path of the roller's program.
	program string
)

// patience is how long specs wait for an event. Expected events take a fraction of it.
const patience = time.Minute

// eager is the polling interval for short-lived states.
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
	ctrllog.SetLogger(logr.Discard()) // the clients log nothing of interest
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
	return assets.Build(ctx, path, root, "./roller/cmd")
}
