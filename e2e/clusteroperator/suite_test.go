//go:build linux

package clusteroperator

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kafka-operators/kafka-operators/e2e/deploy"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes/image"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
)

// The shared variables. BeforeSuite sets them.
var (
	// ctx is the context of the suite.
	ctx context.Context
	// lab has one cluster, home, of machines nodes.
	lab  *realnodes.Lab
	home *deploy.Place
	// k8s is an administrator's client, without a cache.
	k8s client.Client
)

// patience is how long tests wait for an event. Expected events take a fraction of it on a busy machine.
const patience = 4 * time.Minute

// operatorNamespace is the namespace of the cluster-operator and the roller.
const operatorNamespace = deploy.Namespace

func TestClusterOperatorOnNodes(t *testing.T) {
	realnodes.Require(t)
	RegisterFailHandler(Fail)
	log.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	seed = randomtest.Seed(t)
	dice = rand.New(rand.NewPCG(seed, 0)) // no secrets here
	passed := RunSpecs(t, "the cluster-operator on real nodes")
	if full {
		prove(t, passed)
	}
}

var _ = BeforeSuite(func() {
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())
	DeferCleanup(cancel)
	images := buildImages(GinkgoT().TempDir())
	began := time.Now()
	var err error
	lab, err = realnodes.Start(ctx, realnodes.Options{Nodes: machines, Images: images, Audit: !full, Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(lab.Close()).To(Succeed()) })
	AddReportEntry("start of a Kubernetes cluster", ReportEntryVisibilityAlways, time.Since(began).Round(time.Millisecond).String())
	home, err = deploy.Connect(lab.Clusters()[0], "home")
	Expect(err).NotTo(HaveOccurred())
	k8s = home.Client
	Expect(home.Apply(ctx, filepath.Join("testdata", "operators"))).To(Succeed())
	// Volumes may grow. The test resizes them.
	kubectl("patch", "storageclass", "standard", "-p", `{"allowVolumeExpansion":true}`)
	operatorsReady()
	DeferCleanup(usesItsRights)
})

// buildImages builds the images of the three Deployments as the Dockerfile does, and returns their archives.
func buildImages(dir string) []string {
	GinkgoHelper()
	root, err := operatorproc.RepositoryPath()
	Expect(err).NotTo(HaveOccurred())
	var archives []string
	exporter, err := assets.Dir(ctx, "exporter", GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	files := map[string][]image.File{"cluster-operator": {{Path: "/", Source: exporter}}}
	for _, name := range []string{"cluster-operator", "topic-operator", "roller"} {
		archive, err := image.BuildOperator(ctx, dir, name, "clusteroperator.test/"+name+":e2e", root, "./"+name+"/cmd", files[name]...)
		Expect(err).NotTo(HaveOccurred())
		archives = append(archives, archive)
	}
	return archives
}

// operatorsReady waits until all replicas of the operators are ready.
func operatorsReady() {
	GinkgoHelper()
	Expect(home.Ready(ctx)).To(Succeed(), func() string { return said(operatorNamespace) })
}

// kubectl runs kubectl as an administrator.
func kubectl(args ...string) string {
	GinkgoHelper()
	out, err := home.Kubectl(ctx, args...)
	Expect(err).NotTo(HaveOccurred())
	return out
}

// createNamespace creates a namespace with the strictest Pod Security Standard. It is deleted with the specs around it.
func createNamespace(name string) {
	GinkgoHelper()
	Expect(k8s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}})).To(Succeed())
	DeferCleanup(func() { kubectl("delete", "namespace", name, "--ignore-not-found", "--wait=false") })
}

// said returns the state and the logs of the pods of a namespace and of the cluster-operator, for the message of a failure.
func said(namespace string) string {
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return home.Said(limited, namespace)
}
