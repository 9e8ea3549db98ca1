package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/heartbeat"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/options"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/testserver"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// overlays is the directory of the manifests that users apply.
var overlays = filepath.Join("..", "..", "..", "config", "cluster-operator", "overlays")

// TestTheOperatorOfOneNamespace starts the operator with the account of its overlay, and applies the overlay: an administrator one part,
// and twice the other one an account that has rights in the namespace only. It checks that the operator waits for the
// CustomResourceDefinitions and has the rights that it needs, in a namespace that enforces the Pod Security Standard "restricted". The test
// can run only once per process, because controller-runtime allows each controller name once.
func TestTheOperatorOfOneNamespace(t *testing.T) {
	const namespace = "kafka"
	env, err := testserver.Start(false)
	testserver.Need(t, err)
	t.Cleanup(func() { testserver.Stop(env) })
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(2 * time.Minute)
	account, err := env.AddUser(envtest.User{Name: "system:serviceaccount:" + namespace + ":cluster-operator",
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace}}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	address := freeAddress(t)
	o, _, err := options.Parse(nil, settings.Environment{Lookup: func(name string) (string, bool) {
		v, ok := map[string]string{"STRIMZI_HTTP_ADDRESS": address, "STRIMZI_NAMESPACE": namespace, "STRIMZI_OPERATOR_NAMESPACE": namespace,
			"STRIMZI_LEADER_ELECTION_ENABLED": "true", "STRIMZI_POD_SECURITY_PROVIDER_CLASS": "restricted"}[name]
		return v, ok
	}})
	g.Expect(err).NotTo(HaveOccurred())
	logged := &lines{}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, account.Config(), o, funcr.New(logged.add, funcr.Options{})) }()
	ready := func() string {
		answer, err := http.Get("http://" + address + "/ready")
		if err != nil {
			return err.Error()
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		return fmt.Sprint(answer.StatusCode, " ", string(body))
	}
	g.Eventually(ready).Should(And(HavePrefix("500"), ContainSubstring("apply the CustomResourceDefinitions")), logged.all)

	admin, err := env.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	k8s, err := client.New(admin.Config(), client.Options{Scheme: Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	owner := makeNamespace(t, env, k8s, namespace)
	apply(t, admin, "administrator")
	apply(t, owner, "owner")
	apply(t, owner, "owner")
	g.Eventually(ready).Should(HavePrefix("200"), logged.all)

	kafka := &v1.Kafka{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "my-cluster"}, Spec: &v1.KafkaSpec{
		Kafka: v1.KafkaClusterSpec{
			Listeners: []v1.Listener{{Name: "plain", Port: 9092, Type: v1.ListenerInternal},
				{Name: "out", Port: 9094, Type: v1.ListenerNodePort}},
			Rack: &v1.Rack{TopologyKey: "zone"},
		},
		EntityOperator: &v1.EntityOperatorSpec{TopicOperator: &v1.EntityTopicOperatorSpec{}},
	}}
	pool := &v1.KafkaNodePool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pool",
		Labels: map[string]string{v1.LabelCluster: "my-cluster"}},
		Spec: &v1.KafkaNodePoolSpec{Replicas: 1, Roles: []v1.ProcessRole{v1.RoleBroker, v1.RoleController},
			Storage: v1.Storage{Type: v1.StoragePersistentClaim, Size: "1Gi"}}}
	g.Expect(k8s.Create(t.Context(), kafka)).To(Succeed())
	g.Expect(k8s.Create(t.Context(), pool)).To(Succeed())
	pod := &corev1.Pod{}
	g.Eventually(func() error {
		return k8s.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "my-cluster-pool-0"}, pod)
	}).Should(Succeed(), logged.all)
	// The pod runs on a node: the operator reads the node's zone and address.
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker", Labels: map[string]string{"zone": "a"}}}
	g.Expect(k8s.Create(t.Context(), node)).To(Succeed())
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeExternalIP, Address: "192.0.2.1"}}
	g.Expect(k8s.Status().Update(t.Context(), node)).To(Succeed())
	bound := &corev1.Binding{Target: corev1.ObjectReference{Name: node.Name}}
	g.Expect(k8s.SubResource("binding").Create(t.Context(), pod, bound)).To(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(k8s.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		g.Expect(pod.Annotations).To(And(ContainElement("a"), ContainElement("192.0.2.1")))
	}).Should(Succeed(), logged.all)
	g.Eventually(func(g Gomega) {
		g.Expect(k8s.Get(t.Context(), client.ObjectKeyFromObject(kafka), kafka)).To(Succeed())
		g.Expect(kafka.Status.ObservedGeneration).To(Equal(kafka.Generation))
		g.Expect(kafka.Status.Conditions).To(ContainElement(And(HaveField("Type", v1.ConditionReady), HaveField("Status", "False"),
			HaveField("Message", ContainSubstring("0 of 1 nodes are ready")))), "it waits for kubelet")
	}).Should(Succeed(), logged.all)
	// Who restarts pods may know that they are recreated.
	roller, err := env.AddUser(envtest.User{Name: "system:serviceaccount:other:roller"}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	reader, err := client.New(roller.Config(), client.Options{Scheme: Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	set := &core.StrimziPodSet{}
	g.Expect(k8s.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "my-cluster-pool"}, set)).To(Succeed())
	g.Expect(heartbeat.Read(t.Context(), reader, set.Annotations[core.AnnotationAgentNamespace])).To(
		HaveField("Renewed", BeTemporally("~", time.Now(), time.Minute)))
	stop()
	g.Eventually(ended).Should(Receive(BeNil()))
	g.Expect(logged.all()).NotTo(ContainSubstring("forbidden"))
}

// makeNamespace creates a namespace that enforces the Pod Security Standard "restricted", and returns an account with the rights of "edit"
// in it. No controller aggregates that role here, so the account has the roles that it is made of.
func makeNamespace(t *testing.T, env *envtest.Environment, k8s client.Client, name string) *envtest.AuthenticatedUser {
	t.Helper()
	g := NewWithT(t)
	g.Expect(k8s.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}})).To(Succeed())
	for _, role := range []string{"view", "edit"} {
		g.Expect(k8s.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "owner-" + role},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:aggregate-to-" + role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "owner"}}})).To(Succeed())
	}
	owner, err := env.AddUser(envtest.User{Name: "owner"}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	return owner
}

// apply applies a part of the overlay of one namespace as a user.
func apply(t *testing.T, user *envtest.AuthenticatedUser, part string) {
	t.Helper()
	g := NewWithT(t)
	kubectl, err := user.Kubectl()
	g.Expect(err).NotTo(HaveOccurred())
	_, said, err := kubectl.Run("apply", "--server-side", "-k", filepath.Join(overlays, "one-namespace", part))
	text, _ := io.ReadAll(said)
	g.Expect(err).NotTo(HaveOccurred(), "%s", text)
}

// lines collects the lines of a log.
type lines struct {
	mu   sync.Mutex
	text string
}

func (l *lines) add(prefix, args string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text += prefix + " " + args + "\n"
}

func (l *lines) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text
}

// freeAddress returns an address on which no process listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(port.Close()).To(Succeed())
	return port.Addr().String()
}
