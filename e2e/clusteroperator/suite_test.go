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
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
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
	home *realnodes.Cluster
	// k8s is an administrator's client, without a cache.
	k8s client.WithWatch
)

// patience is how long tests wait for an event. Expected events take a fraction of it on a busy machine.
const patience = 4 * time.Minute

// operatorNamespace is the namespace of the cluster-operator and the roller.
const operatorNamespace = "kafka-operators"

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
	lab, err = realnodes.Start(ctx, realnodes.Options{Nodes: machines, Images: images, Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(lab.Close()).To(Succeed()) })
	AddReportEntry("start of a Kubernetes cluster", ReportEntryVisibilityAlways, time.Since(began).Round(time.Millisecond).String())
	home = lab.Clusters()[0]
	scheme := clientgoscheme.Scheme
	Expect(v1.AddToScheme(scheme)).To(Succeed())
	Expect(core.AddToScheme(scheme)).To(Succeed())
	k8s, err = client.NewWithWatch(home.RESTConfig(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	kubectl("apply", "--server-side", "-k", filepath.Join("testdata", "operators"))
	Expect(controlplane.WaitEstablished(ctx, home.Kubectl)).To(Succeed())
	// Volumes may grow. The test resizes them.
	kubectl("patch", "storageclass", "standard", "-p", `{"allowVolumeExpansion":true}`)
	for _, name := range []string{"cluster-operator", "roller"} {
		deployed(operatorNamespace, name)
	}
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

// deployed waits until all replicas of a Deployment are ready.
func deployed(namespace, name string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var found appsv1.Deployment
		g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &found)).To(Succeed())
		g.Expect(found.Status.ObservedGeneration).To(Equal(found.Generation))
		g.Expect(found.Status.ReadyReplicas).To(Equal(*found.Spec.Replicas))
		g.Expect(found.Status.UpdatedReplicas).To(Equal(*found.Spec.Replicas))
	}).Should(Succeed(), func() string { return said(namespace) })
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
	text := ""
	for _, args := range [][]string{
		{"get", "kafka,kafkanodepool,kafkatopic,strimzipodset,pods,pvc,services", "-n", namespace, "-o", "wide"},
		{"get", "kafka", "-n", namespace, "-o", "jsonpath={.items[*].status}"},
		{"get", "events", "-n", namespace, "--sort-by=.lastTimestamp"},
		{"logs", "-n", namespace, "-l", v1.LabelCluster, "--all-containers", "--prefix", "--tail=25"},
		{"logs", "-n", operatorNamespace, "-l", "app.kubernetes.io/name=roller", "--prefix", "--tail=25"},
		{"logs", "-n", operatorNamespace, "-l", "app.kubernetes.io/name=cluster-operator", "--prefix", "--tail=40"},
	} {
		out, err := home.Kubectl(limited, args...)
		text += out + "\n"
		if err != nil {
			text += err.Error() + "\n"
		}
	}
	return text
}
