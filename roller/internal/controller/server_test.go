package controller_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
)

// env is the API server that the tests of this package share, and k8s an administrator's client. If the server could not start, missing is
// the reason.
var (
	env     *envtest.Environment
	k8s     client.Client
	missing error
	scheme  = runtime.NewScheme()
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	// The awaited results arrive soon, but the machine may be busy.
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(10 * time.Millisecond)
	if missing = startServer(); missing != nil {
		return m.Run()
	}
	defer func() {
		if err := env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the API server:", err)
		}
	}()
	return m.Run()
}

func startServer() error {
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), core.AddToScheme(scheme)); err != nil {
		return err
	}
	root, err := assets.Root()
	if err != nil {
		return err
	}
	binaries := os.Getenv("KUBEBUILDER_ASSETS")
	if binaries == "" {
		if binaries, err = assets.Dir(context.Background(), "controlplane", os.Stderr); err != nil {
			return err
		}
	}
	started := &envtest.Environment{
		BinaryAssetsDirectory: binaries, CRDDirectoryPaths: []string{filepath.Join(root, "config", "crd", "bases")}, ErrorIfCRDPathMissing: true,
		ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute,
	}
	config, err := started.Start()
	if err != nil {
		return err
	}
	env = started
	k8s, err = client.New(config, client.Options{Scheme: scheme})
	return err
}

// needServer skips the test without an API server; in CI the test fails instead.
func needServer(t *testing.T) {
	t.Helper()
	switch {
	case missing == nil:
	case os.Getenv("CI") == "true":
		t.Fatal(missing)
	default:
		t.Skip(missing)
	}
}

// metadata returns the metadata of an object of a Kafka cluster.
func metadata(namespace, name, cluster string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{v1.LabelCluster: cluster}}
}

// node returns a broker's pod.
func node(namespace, name, cluster string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metadata(namespace, name, cluster),
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: core.ContainerKafka, Image: "kafka"}}}}
	pod.Labels[core.LabelBrokerRole] = "true"
	return pod
}

// setOf returns a StrimziPodSet that the roller rolls.
func setOf(t *testing.T, namespace, cluster string) *core.StrimziPodSet {
	t.Helper()
	set := &core.StrimziPodSet{ObjectMeta: metadata(namespace, cluster+"-kafka", cluster)}
	set.Annotations = map[string]string{core.AnnotationRolledBy: core.RolledByRoller}
	NewWithT(t).Expect(set.SetDesiredPods([]corev1.Pod{*node(namespace, cluster+"-kafka-0", cluster)})).To(Succeed())
	return set
}
