package apitest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	corev1beta2 "github.com/kafka-operators/kafka-operators/api/core/v1beta2"
	kafkav1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	kafkav1beta2 "github.com/kafka-operators/kafka-operators/api/kafka/v1beta2"
)

const assetsVariable = "KUBEBUILDER_ASSETS"

// bases is the folder of the generated CRDs.
var bases = filepath.Join("..", "..", "config", "crd", "bases")

// shared is the server of all tests that do not need their own; nil if none can be started.
var shared *server

// server is a running API server with our kinds.
type server struct {
	env  *envtest.Environment
	crds []*apiextensionsv1.CustomResourceDefinition
	// client rejects unknown fields, so that a field that a schema lacks is an error and is not silently dropped.
	client client.WithWatch
}

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getenv(assetsVariable) == "" {
		return m.Run() // each test reports that it is skipped
	}
	s, err := start([]string{bases})
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting the API server:", err)
		return 1
	}
	shared = s
	defer s.stop()
	return m.Run()
}

// start starts an API server with the CRDs in the folders.
func start(folders []string) (*server, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, kafkav1.AddToScheme, kafkav1beta2.AddToScheme, core.AddToScheme,
		corev1beta2.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	env := &envtest.Environment{
		CRDDirectoryPaths:        folders,
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: 2 * time.Minute,
		ControlPlaneStopTimeout:  time.Minute,
	}
	config, err := env.Start()
	if err != nil {
		return nil, err
	}
	s := &server{env: env, crds: env.CRDs}
	config.QPS, config.Burst = -1, -1
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		s.stop()
		return nil, err
	}
	s.client = c
	return s, nil
}

func (s *server) stop() {
	if err := s.env.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the API server:", err)
	}
}

// needServer returns the shared server, or skips the test and logs the reason.
func needServer(t *testing.T) *server {
	t.Helper()
	if shared == nil {
		t.Skipf("%s is not set, so there is no API server (make test builds one)", assetsVariable)
	}
	return shared
}

// crd returns one of the CRDs that the server was started with.
func (s *server) crd(t *testing.T, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	for _, crd := range s.crds {
		if crd.Name == name {
			return crd
		}
	}
	t.Fatalf("there is no CRD %s", name)
	return nil
}

// strict returns a client that rejects objects with unknown fields.
func (s *server) strict() client.Client {
	return client.WithFieldValidation(s.client, metav1.FieldValidationStrict)
}

// namespace creates a namespace for the test.
func (s *server) namespace(ctx context.Context, t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	NewWithT(t).Expect(s.client.Create(ctx, namespace)).To(Succeed(), "creating a namespace")
	return namespace.Name
}
