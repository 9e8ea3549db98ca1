// Package testserver starts real API servers for tests. They have no kubelets and no controllers: the tests play them.
package testserver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
)

// Start starts an API server with its etcd, and with the CustomResourceDefinitions of this repository if crds is true. The programs are
// those in KUBEBUILDER_ASSETS, else they are built.
func Start(crds bool) (*envtest.Environment, error) {
	root, err := assets.Root()
	if err != nil {
		return nil, err
	}
	// The machine may be busy.
	env := &envtest.Environment{ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute,
		BinaryAssetsDirectory: os.Getenv("KUBEBUILDER_ASSETS")}
	// All tests of a package share a server, and Services are not deleted: the default has 254 addresses.
	env.ControlPlane.GetAPIServer().Configure().Set("service-cluster-ip-range", "10.0.0.0/16")
	if crds {
		env.CRDDirectoryPaths, env.ErrorIfCRDPathMissing = []string{filepath.Join(root, "config", "crd", "bases")}, true
	}
	if env.BinaryAssetsDirectory == "" {
		ctx := context.Background() //nolint:forbidigo // TestMain, which calls this, has no other
		if env.BinaryAssetsDirectory, err = assets.Dir(ctx, "controlplane", os.Stderr); err != nil {
			return nil, err
		}
	}
	_, err = env.Start()
	return env, err
}

// Need skips a test if there is no API server; in CI that is a failure.
func Need(t *testing.T, missing error) {
	t.Helper()
	switch {
	case missing == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("there is no API server: %v", missing)
	default:
		t.Skipf("there is no API server: %v", missing)
	}
}

// Stop ends what Start began. It writes to standard error what it could not end: there is no test to fail any more.
func Stop(envs ...*envtest.Environment) {
	for _, env := range envs {
		if err := env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop an API server:", err)
		}
	}
}
