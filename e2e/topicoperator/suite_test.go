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

// The shared variables. BeforeSuite sets them.
var (
	// ctx is the context of the suite.
	ctx context.Context
	// plane is the control plane. It logs every request.
	plane *controlplane.ControlPlane
	// k8s is an administrator's client without a cache.
	k8s client.WithWatch
	// main is the cluster of most specs: one broker with all listeners and an authorizer. It auto-creates topics if a client requests that.
	main *broker
)

// patience is how long specs wait for an event. Expected events take a fraction of it, so that it suffices on a busy machine. It is far
// less than the interval of timed passes, for specs in which an event must cause the change.
const patience = 40 * time.Second

// quiet is how long specs check that nothing happens. A longer time would prove more and cost more; important promises have stricter checks
// as well.
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
	// superUser has all rights, limitedUser those that specs grant.
	superUser, superPassword     = "operator", "operator-secret"
	limitedUser, limitedPassword = "limited", "limited-secret"
	// renamedUser is a user to which specs change the credentials.
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
				// Defaults that differ from Kafka's own, so that values from them can be recognized.
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

// After a failure, print what helps to find its cause.
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

// newNamespace creates a namespace.
func newNamespace() string {
	GinkgoHelper()
	namespace := &corev1.Namespace{}
	namespace.GenerateName = "e2e-"
	Expect(k8s.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}
