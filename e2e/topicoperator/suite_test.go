package topicoperator

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// The shared parts. They are there once BeforeSuite is through.
var (
	// ctx is the suite's; nothing outlives it.
	ctx context.Context
	// plane is the control plane. It logs every request.
	plane *controlplane.ControlPlane
	// k8s is an administrator's client without a cache.
	k8s client.WithWatch
	// main is the cluster of most specs: one broker with all listeners and an authorizer, which creates topics by itself if a client lets it.
	main *broker
)

// Whoever waits for something to happen waits this long; what is right takes a fraction of it. It leaves room for a machine with other
// work to do, and is far less than the interval of timed passes where a change must be followed at once.
const patience = 40 * time.Second

// quiet is how long nothing must happen where nothing should. Longer proves more and costs more; what matters has a sharper proof besides.
const quiet = time.Second

func TestTopicOperator(t *testing.T) {
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
	SetDefaultConsistentlyDuration(quiet)
	SetDefaultConsistentlyPollingInterval(50 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "topic-operator")
}

// The users of the main cluster's SASL listeners.
const (
	// superUser may do everything, limitedUser what specs allow it.
	superUser, superPassword     = "operator", "operator-secret"
	limitedUser, limitedPassword = "limited", "limited-secret"
	// renamedUser stands for a user that credentials are changed to.
	renamedUser, renamedPassword = "operator-2", "another-secret"
)

var _ = BeforeSuite(func() {
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())
	DeferCleanup(cancel)

	started := make(chan *broker, 1)
	go func() {
		defer GinkgoRecover()
		defer close(started)
		started <- startBrokers(realkafka.Options{
			SASL: &realkafka.SASL{OAuthBearer: true, Users: map[string]string{
				superUser: superPassword, limitedUser: limitedPassword, renamedUser: renamedPassword,
			}},
			TLS: &realkafka.TLS{},
			ACL: &realkafka.ACL{SuperUsers: []string{"User:" + superUser, "User:" + renamedUser, "User:CN=client", "User:CN=client-2"}},
			Config: map[string]string{
				"auto.create.topics.enable": "true",
				// Defaults that differ from Kafka's own, so that a value that comes from them can be told.
				"num.partitions":   "2",
				"compression.type": "snappy",
			},
		})
	}()
	startControlPlane()
	main = <-started
	Expect(main).NotTo(BeNil(), "Kafka did not start")
})

var _ = AfterSuite(func() {
	defer closeLateBrokers()
	endShared()
})

func startControlPlane() {
	var err error
	plane, err = controlplane.Start(ctx, controlplane.Options{Audit: true, Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error { return plane.Stop() })
	Expect(plane.InstallCRDs(filepath.Join("..", "..", "config", "crd", "bases"))).To(Succeed())
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1.AddToScheme(scheme)).To(Succeed())
	k8s, err = client.NewWithWatch(plane.RESTConfig(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
}

// After a failure, say what a person would look at first.
var _ = JustAfterEach(func() {
	if !CurrentSpecReport().Failed() {
		return
	}
	for _, s := range scenes {
		GinkgoWriter.Printf("\n--- KafkaTopics in %s ---\n%s\n", s.namespace, s.dump())
	}
	for _, o := range running {
		GinkgoWriter.Printf("\n%s", o.explain())
	}
})

// newNamespace makes a namespace.
func newNamespace() string {
	GinkgoHelper()
	namespace := &corev1.Namespace{}
	namespace.GenerateName = "e2e-"
	Expect(k8s.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}
