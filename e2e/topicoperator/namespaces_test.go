package topicoperator

import (
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// See docs/topic-operator/configuration.md.
var _ = Describe("The watched namespaces", func() {
	It("are those of a list, and no other", func() {
		a, b, c := newNamespace(), newNamespace(), newNamespace()
		o := startOperator(setup{name: "list", namespaces: a + "," + b})
		inA, inB, inC := stageIn(o, a), stageIn(o, b), stageIn(o, c)
		outside := inC.create("t")
		inA.created("t")
		kt := inB.created("t")
		inB.deleted(kt)
		Consistently(func(g Gomega) {
			refresh(g, outside)
			g.Expect(outside.Status.Conditions).To(BeEmpty())
		}).Should(Succeed())
		Expect(main.exists(outside.Name)).To(BeFalse())
		Expect(o.metric("strimzi_resources", `namespace="`+a+`"`)).To(BeEquivalentTo(1))
		Expect(o.metric("strimzi_resources", `namespace="`+b+`"`)).To(BeZero())
	})

	It("are all with *, those included that come later", func() {
		o := coreOperator()
		before := o.metric("strimzi_resources", `namespace="*"`)
		one, two := stage(o), stage(o)
		one.created("t")
		two.created("t")
		Expect(o.metric("strimzi_resources", `namespace="*"`)).To(BeNumerically(">=", before+2))
	})
})

var _ = Describe("As it is installed", Ordered, func() {
	var (
		s       *scene
		kubectl func(args ...string) string
	)

	// The operator has only the rights of its service account in config/topic-operator/rbac.
	BeforeAll(func() {
		namespace := newNamespace()
		kubectl = func(args ...string) string {
			GinkgoHelper()
			out, err := plane.Kubectl(ctx, append([]string{"--namespace", namespace}, args...)...)
			Expect(err).NotTo(HaveOccurred())
			return out
		}
		kubectl("apply", "-k", filepath.Join("..", "..", "config", "topic-operator", "rbac"))
		account, err := plane.AddServiceAccount(namespace, "topic-operator")
		Expect(err).NotTo(HaveOccurred())
		s = stageIn(startOperator(setup{name: "installed", namespaces: namespace, kubeconfig: account.Kubeconfig, env: settings{
			// As in config/topic-operator/manager.
			"STRIMZI_LEADER_ELECTION_ENABLED": "true",
		}}), namespace)
	})

	AfterAll(func() {
		// The samples' topics have fixed names, which another run of this spec uses again.
		Expect(k8s.DeleteAllOf(ctx, &v1.KafkaTopic{}, client.InNamespace(s.namespace))).To(Succeed())
		s.allReady(0, time.Minute)
		Expect(s.logged("is forbidden")).To(BeFalse(), "something that config/topic-operator/rbac does not allow")
	})

	It("the samples apply, and become ready", func() {
		out := kubectl("apply", "-k", filepath.Join("..", "..", "config", "samples"))
		files, err := filepath.Glob(filepath.Join("..", "..", "config", "samples", "0*.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Count(out, " created")).To(Equal(len(files)))
		kubectl("wait", "--for=condition=Ready", "kafkatopics", "--all", "--timeout=60s")
		Expect(main.partitions("orders")).To(Equal(12))
		Expect(main.settings("config-types")).To(HaveKeyWithValue("retention.bytes", "9007199254740993"))
		Expect(main.exists("Orders_DEAD.Letters")).To(BeTrue())
		Expect(kubectl("apply", "-k", filepath.Join("..", "..", "config", "samples"))).NotTo(ContainSubstring("configured"),
			"applying again changes nothing")
	})

	It("kubectl get kt shows what matters", func() {
		lines := strings.Split(strings.TrimSpace(kubectl("get", "kt", "orders")), "\n")
		Expect(lines).To(HaveLen(2))
		Expect(lines[0]).To(MatchRegexp(`^NAME +CLUSTER +PARTITIONS +REPLICATION FACTOR +READY +AGE *$`))
		Expect(lines[1]).To(MatchRegexp(`^orders +my-cluster +12 +1 +True +\S+ *$`))
		wide := kubectl("get", "kt", "orders", "-o", "wide")
		Expect(wide).To(ContainSubstring(main.id("orders")))
	})

	It("what does not work says so, in the columns and in Events", func() {
		kubectl("apply", "-f", filepath.Join("..", "..", "config", "samples", "extra", "invalid_config.yaml"))
		kubectl("wait", "--for=condition=Ready=false", "kt/invalid-config", "--timeout=60s")
		Expect(kubectl("get", "kt", "invalid-config", "-o", "wide")).To(MatchRegexp(`invalid-config .* False .* KafkaError`))
		kubectl("apply", "-f", filepath.Join("..", "..", "config", "samples", "extra", "paused.yaml"))
		kubectl("apply", "-f", filepath.Join("..", "..", "config", "samples", "extra", "unmanaged.yaml"))
		kubectl("wait", "--for=condition=ReconciliationPaused", "kt/paused", "--timeout=60s")
		kubectl("wait", "--for=condition=Unmanaged", "kt/left-alone", "--timeout=60s")
	})

	It("Events tell of what was created, changed, refused and deleted", func() {
		told := func(name string) func() string {
			return func() string { GinkgoHelper(); return kubectl("events", "--for", "kafkatopic/"+name) }
		}
		Eventually(told("hello")).Should(MatchRegexp(`Normal +Created +KafkaTopic/hello +Created topic 'hello'`))
		kubectl("patch", "kt", "hello", "--type=merge", "-p", `{"spec":{"config":{"retention.ms":1000000}}}`)
		Eventually(told("hello")).Should(MatchRegexp(`Normal +Changed +KafkaTopic/hello .*retention.ms=1000000`))
		kubectl("patch", "kt", "orders", "--type=merge", "-p", `{"spec":{"partitions":1}}`)
		Eventually(told("orders")).
			Should(MatchRegexp(`Warning +NotSupported +KafkaTopic/orders +Decrease of spec.partitions is not supported by Kafka`))
		Eventually(told("invalid-config")).Should(MatchRegexp(`Warning +KafkaError +KafkaTopic/invalid-config +InvalidConfigurationException`))
		kubectl("delete", "kt", "hello", "--timeout=60s")
		Eventually(told("hello")).Should(MatchRegexp(`Normal +Deleted +KafkaTopic/hello +Deleted topic 'hello'`))
	})

	It("it may not do what it need not", func() {
		account, err := plane.AddServiceAccount(s.namespace, "topic-operator")
		Expect(err).NotTo(HaveOccurred())
		c, err := client.New(account.RESTConfig, client.Options{Scheme: k8s.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		Expect(c.List(ctx, &corev1.SecretList{}, client.InNamespace(s.namespace))).NotTo(Succeed())
		Expect(c.Delete(ctx, s.topic("t"))).To(MatchError(ContainSubstring("forbidden")))
	})
})
