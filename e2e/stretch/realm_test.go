//go:build linux

package stretch

import (
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/deploy"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
)

// The ids of the Kubernetes clusters of a realm.
const (
	centralID = "cluster-central"
	eastID    = "cluster-east"
	westID    = "cluster-west"
)

// realm is three real control planes, each with the garbage collector, and the operators as processes with the rights of their manifests.
// No pods run there, so no Kafka becomes available: realm is for tests of the objects that operators change.
type realm struct {
	*WithT
	t       *testing.T
	planes  map[string]*controlplane.ControlPlane
	k8s     map[string]client.Client
	program string
	// namespace is the namespace of the test's Kafka.
	namespace string
	// operators are the processes, by their Kubernetes clusters.
	operators map[string]*operatorproc.Process
	// faults is the proxy through which central operators reach cluster-east; nil if they reach it directly.
	faults *faults
}

// controllers are those of Kubernetes that delete what an operator makes, and what these need.
var controllers = []string{"garbage-collector-controller", "namespace-controller", "serviceaccount-controller",
	"persistentvolumeclaim-protection-controller"}

// newRealm starts the control planes, with everything that the manifests install except the operators. Method start starts those.
func newRealm(t *testing.T) *realm {
	t.Helper()
	if err := controlplane.Available(t.Context()); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	log.SetLogger(logr.Discard())
	r := &realm{WithT: NewWithT(t), t: t, planes: map[string]*controlplane.ControlPlane{}, k8s: map[string]client.Client{},
		operators: map[string]*operatorproc.Process{}}
	r.SetDefaultEventuallyTimeout(patience)
	r.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	root, err := operatorproc.RepositoryPath()
	r.Expect(err).NotTo(HaveOccurred())
	r.program = filepath.Join(t.TempDir(), "cluster-operator")
	r.Expect(assets.Build(t.Context(), r.program, root, "./cluster-operator/cmd")).To(Succeed())

	r.startPlanes(centralID, eastID, westID)
	for id := range r.planes {
		r.install(id)
	}
	for _, id := range []string{eastID, westID} {
		r.connect(id)
	}
	return r
}

// startPlanes starts control planes.
func (r *realm) startPlanes(ids ...string) {
	r.t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme, core.AddToScheme} {
		r.Expect(add(scheme)).To(Succeed())
	}
	var mu sync.Mutex
	var starts sync.WaitGroup
	for _, id := range ids {
		starts.Go(func() {
			plane, err := controlplane.Start(r.t.Context(), controlplane.Options{ControllerManager: true, Controllers: controllers})
			if err != nil {
				r.t.Errorf("%s: %v", id, err)
				return
			}
			r.t.Cleanup(func() {
				if err := plane.Stop(); err != nil {
					r.t.Errorf("%s: %v", id, err)
				}
			})
			k8s, err := client.New(plane.RESTConfig(), client.Options{Scheme: scheme})
			if err != nil {
				r.t.Errorf("%s: %v", id, err)
			}
			mu.Lock()
			defer mu.Unlock()
			r.planes[id], r.k8s[id] = plane, k8s
		})
	}
	starts.Wait()
	if r.t.Failed() {
		r.t.FailNow()
	}
}

// withRival returns a realm with a central cluster of the same id, but of other people, over the same remote clusters. Its operator runs.
func (r *realm) withRival() *realm {
	r.t.Helper()
	rival := *r
	rival.planes, rival.k8s, rival.operators = maps.Clone(r.planes), maps.Clone(r.k8s), map[string]*operatorproc.Process{}
	rival.startPlanes(centralID)
	rival.install(centralID)
	for _, id := range []string{eastID, westID} {
		rival.connect(id)
	}
	rival.start(centralID)
	return &rival
}

// connect gives the central operators a kubeconfig that lasts.
func (r *realm) connect(id string) {
	r.t.Helper()
	token, err := r.planes[id].ServiceAccountToken(r.t.Context(), deploy.Namespace, "central-operators", 30*24*time.Hour)
	r.Expect(err).NotTo(HaveOccurred())
	r.admit(id, token)
}

// install applies what a user applies in a Kubernetes cluster, and creates a Node there.
func (r *realm) install(id string) {
	r.t.Helper()
	folder := "remote"
	if id == centralID {
		folder = "central"
	}
	r.kubectl(id, "apply", "--server-side", "-k", filepath.Join("testdata", folder))
	r.Expect(controlplane.WaitEstablished(r.t.Context(), r.planes[id].Kubectl)).To(Succeed())
	machine := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "machine"}}
	r.Expect(r.k8s[id].Create(r.t.Context(), machine)).To(Succeed())
	machine.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2." + fmt.Sprint(len(id))}}
	r.Expect(r.k8s[id].Status().Update(r.t.Context(), machine)).To(Succeed())
}

func (r *realm) kubectl(id string, args ...string) string {
	r.t.Helper()
	out, err := r.planes[id].Kubectl(r.t.Context(), args...)
	r.Expect(err).NotTo(HaveOccurred())
	return out
}

// admit gives the central operators a kubeconfig with a token.
func (r *realm) admit(id, token string) {
	r.t.Helper()
	host, ca := r.address(id)
	kubeconfig, err := realnodes.TokenKubeconfig(host, &corev1.Secret{Data: map[string][]byte{
		corev1.ServiceAccountRootCAKey: ca, corev1.ServiceAccountTokenKey: []byte(token)}})
	r.Expect(err).NotTo(HaveOccurred())
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: deploy.Namespace, Name: "kubeconfig-" + id},
		Data: map[string][]byte{"kubeconfig": kubeconfig}}
	if r.k8s[centralID].Create(r.t.Context(), secret) != nil {
		r.Expect(r.k8s[centralID].Update(r.t.Context(), secret)).To(Succeed())
	}
}

// address returns where central operators reach an API server, and its CA.
func (r *realm) address(id string) (host string, ca []byte) {
	if id == eastID && r.faults != nil {
		return r.faults.server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.faults.server.Certificate().Raw})
	}
	config := r.planes[id].RESTConfig()
	return config.Host, config.CAData
}

// start starts the operator of a Kubernetes cluster in its role for stretched Kafkas.
func (r *realm) start(id string) {
	r.t.Helper()
	env := map[string]string{"STRIMZI_POD_SET_RECONCILIATION_ONLY": "true"}
	if id == centralID {
		remotes := ""
		for _, remote := range []string{eastID, westID} {
			host, _ := r.address(remote)
			remotes += fmt.Sprintf("%s.url=%s\n%s.secret=kubeconfig-%s\n", remote, host, remote, remote)
		}
		env = map[string]string{
			"STRIMZI_CENTRAL_CLUSTER_ID": centralID, "STRIMZI_REMOTE_KUBE_CONFIG": remotes,
			"STRIMZI_STRETCH_PLUGIN_CLASS_NAME": "nodeport", "STRIMZI_STRETCH_PLUGIN_CLASS_PATH": r.t.TempDir(),
			// The interval is longer than the tests: the operator must restore objects because of its watches.
			"STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": "3600000",
		}
	}
	r.operators[id] = r.run(id, env)
}

// run runs an operator in a Kubernetes cluster until the test ends.
func (r *realm) run(id string, env map[string]string) *operatorproc.Process {
	r.t.Helper()
	account, err := r.planes[id].AddServiceAccount(deploy.Namespace, "cluster-operator")
	r.Expect(err).NotTo(HaveOccurred())
	o := operatorproc.Options{Binary: r.program, Kubeconfig: account.Kubeconfig, Namespace: "*", Env: map[string]string{
		"STRIMZI_OPERATOR_NAMESPACE": deploy.Namespace, "STRIMZI_JMX_EXPORTER_IMAGE": "none"}}
	maps.Copy(o.Env, env)
	p, err := operatorproc.Start(r.t.Context(), o)
	r.Expect(err).NotTo(HaveOccurred())
	r.t.Cleanup(func() {
		if r.t.Failed() {
			r.t.Logf("the operator of %s:\n%s", id, p.LogTail(40))
		}
		if err := p.Close(); err != nil {
			r.t.Error(err)
		}
	})
	return p
}

// within returns a realm for a part of a test that fails separately, with a namespace of that name in all Kubernetes clusters.
func (r *realm) within(t *testing.T, namespace string) *realm {
	t.Helper()
	part := *r
	part.WithT, part.t, part.namespace = NewWithT(t), t, namespace
	part.SetDefaultEventuallyTimeout(patience)
	part.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	for _, k8s := range r.k8s {
		if err := k8s.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
			part.Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
		}
	}
	return &part
}

// apply applies the Kafka of the other tests, with a node in each Kubernetes cluster.
func (r *realm) apply() {
	r.t.Helper()
	r.kubectl(centralID, "apply", "--server-side", "-n", r.namespace, "-f", filepath.Join("testdata", "kafka.yaml"))
}

func (r *realm) kafka(g Gomega) *v1.Kafka {
	found := &v1.Kafka{}
	g.Expect(r.k8s[centralID].Get(r.t.Context(), client.ObjectKey{Namespace: r.namespace, Name: name}, found)).To(Succeed())
	return found
}

// told waits until a condition of the Kafka begins with text, and returns it.
func (r *realm) told(kind, text string) (all string) {
	r.t.Helper()
	r.Eventually(func(g Gomega) {
		all = condition(r.kafka(g), kind)
		g.Expect(all).To(HavePrefix(text))
	}).Should(Succeed())
	return all
}

// kinds are those of everything that anybody has in the namespaces of Kafkas.
var kinds = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("Service"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("Secret"),
	corev1.SchemeGroupVersion.WithKind("ServiceAccount"), corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
	networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
	rbacv1.SchemeGroupVersion.WithKind("Role"), rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
	core.GroupVersion.WithKind("StrimziPodSet"), v1.GroupVersion.WithKind("Kafka"), v1.GroupVersion.WithKind("KafkaNodePool"),
}

// made returns all objects in the namespace in a Kubernetes cluster, of any owner, with their uids and versions. It leaves out the objects
// that Kubernetes itself creates in each namespace. It starts no kubectl, because histories call it after each step.
func (r *realm) made(id string) map[string]string {
	r.t.Helper()
	found := map[string]string{}
	for _, kind := range kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		err := r.k8s[id].List(r.t.Context(), list, client.InNamespace(r.namespace))
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			continue // the kind is not installed there
		}
		r.Expect(err).NotTo(HaveOccurred())
		for _, o := range list.Items {
			if key := kind.Kind + " " + o.Name; key != "ServiceAccount default" && key != "ConfigMap kube-root-ca.crt" {
				found[key] = fmt.Sprint(o.UID, " ", o.ResourceVersion)
			}
		}
	}
	return found
}
