//go:build linux

package stretch

import (
	"context"
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

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes/image"
)

// The shared parts. They are there once BeforeSuite is through.
var (
	// ctx is the suite's; nothing outlives it.
	ctx context.Context
	lab *realnodes.Lab
	// places are the three Kubernetes clusters, the central one first.
	places []*place
)

// place is a Kubernetes cluster.
type place struct {
	*realnodes.Cluster
	// id is the one by which pools name it.
	id string
	// k8s is an administrator's client, without a cache.
	k8s client.Client
}

// patience is how long is waited for a thing that is to happen; what is right takes a fraction of it, on a machine with other work to do as well.
const patience = 4 * time.Minute

// operatorNamespace is where the operators run.
const operatorNamespace = "kafka-operators"

func TestStretchedKafkaOnNodes(t *testing.T) {
	realnodes.Require(t)
	RegisterFailHandler(Fail)
	log.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "a Kafka over three Kubernetes clusters")
}

var _ = BeforeSuite(func() {
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())
	DeferCleanup(cancel)
	images := buildImages(GinkgoT().TempDir())
	began := time.Now()
	var err error
	lab, err = realnodes.Start(ctx, realnodes.Options{Clusters: 3, Nodes: 1, Images: images, Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(lab.Close()).To(Succeed()) })
	report("start of three Kubernetes clusters", time.Since(began))
	scheme := clientgoscheme.Scheme
	Expect(v1.AddToScheme(scheme)).To(Succeed())
	Expect(podset.AddToScheme(scheme)).To(Succeed())
	for i, c := range lab.Clusters() {
		p := &place{Cluster: c, id: []string{"cluster-central", "cluster-east", "cluster-west"}[i]}
		p.k8s, err = client.New(c.RESTConfig(), client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
		places = append(places, p)
	}
	for _, remote := range places[1:] {
		remote.kubectl("apply", "--server-side", "-k", filepath.Join("testdata", "remote"))
		Expect(controlplane.WaitEstablished(ctx, remote.Kubectl)).To(Succeed())
		remote.deployed("cluster-operator")
	}
	central := places[0]
	central.kubectl("apply", "--server-side", "-k", filepath.Join("testdata", "central"))
	Expect(controlplane.WaitEstablished(ctx, central.Kubectl)).To(Succeed())
	for _, remote := range places[1:] {
		Expect(central.k8s.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "kubeconfig-" + remote.id},
			Data:       map[string][]byte{"kubeconfig": remote.admit()},
		})).To(Succeed())
	}
	for _, name := range []string{"cluster-operator", "roller"} {
		central.deployed(name)
	}
})

// buildImages makes the images of the Deployments as the Dockerfile does, and returns their archives.
func buildImages(dir string) []string {
	GinkgoHelper()
	root, err := operatorproc.RepositoryPath()
	Expect(err).NotTo(HaveOccurred())
	var archives []string
	for _, name := range []string{"cluster-operator", "roller"} {
		archive, err := image.BuildOperator(ctx, dir, name, "stretch.test/"+name+":e2e", root, "./"+name+"/cmd")
		Expect(err).NotTo(HaveOccurred())
		archives = append(archives, archive)
	}
	return archives
}

// admit returns the kubeconfig with which the central operators get in.
func (p *place) admit() []byte {
	GinkgoHelper()
	var secret corev1.Secret
	Eventually(func(g Gomega) {
		g.Expect(p.k8s.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: "central-operators-token"}, &secret)).To(Succeed())
		g.Expect(secret.Data).To(And(HaveKey(corev1.ServiceAccountTokenKey), HaveKey(corev1.ServiceAccountRootCAKey)))
	}).Should(Succeed())
	kubeconfig, err := realnodes.TokenKubeconfig(p.RESTConfig().Host, &secret)
	Expect(err).NotTo(HaveOccurred())
	return kubeconfig
}

// deployed waits until all replicas of a Deployment are ready.
func (p *place) deployed(name string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var found appsv1.Deployment
		g.Expect(p.k8s.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: name}, &found)).To(Succeed())
		g.Expect(found.Status.ObservedGeneration).To(Equal(found.Generation))
		g.Expect(found.Status.ReadyReplicas).To(Equal(*found.Spec.Replicas))
		g.Expect(found.Status.UpdatedReplicas).To(Equal(*found.Spec.Replicas))
	}).Should(Succeed(), func() string { return said(operatorNamespace) })
}

// kubectl runs kubectl as an administrator.
func (p *place) kubectl(args ...string) string {
	GinkgoHelper()
	out, err := p.Kubectl(ctx, args...)
	Expect(err).NotTo(HaveOccurred())
	return out
}

func report(what string, took time.Duration) {
	AddReportEntry(what, ReportEntryVisibilityAlways, took.Round(time.Millisecond).String())
}

// said is what Kubernetes and the pods of a namespace tell in all clusters, and the operators, for a failure's message.
func said(namespace string) string {
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	text := ""
	for i, p := range places {
		asks := [][]string{
			{"get", "strimzipodset,pods,pvc,services,configmaps", "-n", namespace, "-o", "wide"},
			{"get", "events", "-n", namespace, "--sort-by=.lastTimestamp"},
			{"logs", "-n", namespace, "-l", v1.LabelCluster, "--all-containers", "--prefix", "--tail=25"},
			{"logs", "-n", operatorNamespace, "-l", "app.kubernetes.io/name=cluster-operator", "--prefix", "--tail=40"},
		}
		if i == 0 {
			asks = append(asks, []string{"get", "kafka", "-n", namespace, "-o", "jsonpath={.items[*].status}"},
				[]string{"logs", "-n", operatorNamespace, "-l", "app.kubernetes.io/name=roller", "--prefix", "--tail=40"})
		}
		for _, args := range asks {
			out, err := p.Kubectl(limited, args...)
			text += p.id + ":\n" + out + "\n"
			if err != nil {
				text += err.Error() + "\n"
			}
		}
	}
	return text
}
