package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
	"github.com/kafka-operators/kafka-operators/operator/logging"
)

// server is the API server that the tests of this package share. If it could not start, missing is the reason.
var (
	server  *envtest.Environment
	missing error
	scheme  = runtime.NewScheme()
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctrl.SetLogger(logging.New(io.Discard, logging.Options{}))
	// The awaited results arrive soon, but the machine may be busy.
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(5 * time.Millisecond)
	SetDefaultConsistentlyDuration(300 * time.Millisecond)
	if missing = startServer(); missing != nil {
		return m.Run()
	}
	defer func() {
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the API server:", err)
		}
	}()
	return m.Run()
}

func startServer() error {
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme)); err != nil {
		return err
	}
	var err error
	server, err = newServer(ourCRD...)
	return err
}

// newServer starts an API server with the CustomResourceDefinitions of a folder of the repository.
func newServer(folder ...string) (*envtest.Environment, error) {
	root, err := assets.Root()
	if err != nil {
		return nil, err
	}
	binaries := os.Getenv("KUBEBUILDER_ASSETS")
	if binaries == "" {
		if binaries, err = assets.Dir(context.Background(), "controlplane", os.Stderr); err != nil {
			return nil, err
		}
	}
	env := &envtest.Environment{
		BinaryAssetsDirectory:    binaries,
		CRDDirectoryPaths:        []string{filepath.Join(append([]string{root}, folder...)...)},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: 2 * time.Minute,
		ControlPlaneStopTimeout:  time.Minute,
	}
	_, err = env.Start()
	return env, err
}

// strimziServer makes the test use an API server of its own, which has Strimzi's CustomResourceDefinition.
func strimziServer(t *testing.T) func(*setup) {
	t.Helper()
	return anotherServer(t, strimziCRD...)
}

// strimziCRD and ourCRD are the folders of the CustomResourceDefinitions.
var (
	strimziCRD = []string{"e2e", "apitest", "testdata", "strimzi-v1-crd"}
	ourCRD     = []string{"config", "crd", "bases"}
)

// anotherServer makes the test use an API server of its own, with the CustomResourceDefinitions of a folder of the repository.
func anotherServer(t *testing.T, folder ...string) func(*setup) {
	t.Helper()
	needServer(t)
	g := NewWithT(t)
	env, err := newServer(folder...)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		g.Expect(env.Stop()).To(Succeed())
	})
	return func(s *setup) { s.server = env }
}

// needServer skips the test without an API server; in CI that is a failure.
func needServer(t *testing.T) {
	t.Helper()
	switch {
	case missing == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("there is no API server: %v", missing)
	default:
		t.Skipf("there is no API server: %v", missing)
	}
}

// admin returns a client with all rights that reads without a cache.
func admin(t *testing.T) client.Client {
	t.Helper()
	needServer(t)
	return clientOf(t, server.Config)
}

func clientOf(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: scheme})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c
}

// newNamespace creates a namespace for one test.
func newNamespace(t *testing.T, c client.Client) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	NewWithT(t).Expect(c.Create(t.Context(), ns)).To(Succeed())
	return ns.Name
}
