// Package dropin_test replaces the image of Strimzi's Topic Operators, and nothing else.
package dropin_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/freeport"
)

// deployment contains the arguments, variables and rights with which Strimzi runs its image.
type deployment struct {
	args  []string
	env   map[string]string
	rules []rbacv1.PolicyRule
	// tls connects it to a real Kafka with TLS client authentication.
	tls bool
}

// The ways in which Strimzi runs a topic operator.
const (
	standalone     = "standalone"
	entityOperator = "entity operator"
)

// entityCertificate names the Secret with the certificate that Strimzi gives its topic operator in an Entity Operator.
const entityCertificate = "my-cluster-entity-topic-operator-certs"

const startScript = "/opt/strimzi/bin/topic_operator_run.sh"

var allOfTopics = rbacv1.PolicyRule{APIGroups: []string{"kafka.strimzi.io"}, Resources: []string{"kafkatopics"},
	Verbs: []string{"get", "list", "watch", "create", "patch", "update", "delete"}}

var deployments = map[string]deployment{
	// From packaging/install/topic-operator of Strimzi: 02-Role, 05-Deployment. The Role allows neither Leases nor Events nor Secrets.
	standalone: {
		args: []string{startScript},
		env: map[string]string{
			"STRIMZI_RESOURCE_LABELS": "strimzi.io/cluster=my-cluster", "STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": "120000",
			"STRIMZI_LOG_LEVEL": "INFO", "STRIMZI_TLS_ENABLED": "false",
		},
		rules: []rbacv1.PolicyRule{
			allOfTopics,
			{APIGroups: []string{"kafka.strimzi.io"}, Resources: []string{"kafkatopics/status"}, Verbs: []string{"get", "patch", "update"}},
			{APIGroups: []string{"kafka.strimzi.io"}, Resources: []string{"kafkatopics/finalizers"}, Verbs: []string{"update"}},
		},
	},
	// The container as Strimzi's cluster operator sets it up in the Entity Operator's pod: it reads its certificate and Kafka's authorities
	// from the Secrets of the cluster. The cluster operator passes on its feature gates, and settings for Cruise Control if there is one.
	entityOperator: {
		args: []string{startScript},
		env: map[string]string{
			"STRIMZI_RESOURCE_LABELS": "strimzi.io/cluster=my-cluster", "STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": "120000",
			"STRIMZI_SECURITY_PROTOCOL": "SSL", "STRIMZI_TLS_ENABLED": "true", "STRIMZI_GC_LOG_ENABLED": "false",
			"STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME": "my-cluster-cluster-ca-cert",
			"STRIMZI_TLS_SECRET_NAME":               entityCertificate,
			"STRIMZI_TLS_KEY_NAME":                  "entity-operator.key", "STRIMZI_TLS_CERT_NAME": "entity-operator.crt",
			"STRIMZI_FEATURE_GATES":          "+ServerSideApplyPhase1,-UseConnectBuildWithBuildah",
			"STRIMZI_CRUISE_CONTROL_ENABLED": "true", "STRIMZI_CRUISE_CONTROL_RACK_ENABLED": "false",
			"STRIMZI_CRUISE_CONTROL_HOSTNAME": "my-cluster-cruise-control.kafka.svc",
			"STRIMZI_CRUISE_CONTROL_PORT":     "9090", "STRIMZI_CRUISE_CONTROL_SSL_ENABLED": "true", "STRIMZI_CRUISE_CONTROL_AUTH_ENABLED": "true",
			"STRIMZI_CRUISE_CONTROL_CRT_FILE_PATH": "/etc/eto-cc-api/none.crt", "STRIMZI_CRUISE_CONTROL_API_USER_PATH": "/etc/none",
			"STRIMZI_CRUISE_CONTROL_API_PASS_PATH": "/etc/none",
			"STRIMZI_JAVA_OPTS":                    "-Xmx128m",
		},
		rules: []rbacv1.PolicyRule{
			allOfTopics,
			{APIGroups: []string{"kafka.strimzi.io"}, Resources: []string{"kafkatopics/status"}, Verbs: []string{"get", "patch", "update"}},
			{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create"}},
			{APIGroups: []string{""}, Resources: []string{"secrets"},
				Verbs: []string{"get", "list", "watch", "create", "delete", "patch", "update"}},
		},
		tls: true,
	},
}

// TestStrimzisDeploymentsRunUnchanged replaces only the image: with Strimzi's configuration, the program starts, creates a topic, and shuts
// down cleanly.
func TestStrimzisDeploymentsRunUnchanged(t *testing.T) {
	server, admin := startServer(t)
	program, err := operatorproc.Build(t.Context())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, d := range deployments {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "dropin-"}}
			g.Expect(admin.Create(t.Context(), ns)).To(Succeed())
			var bootstrap []string
			if d.tls {
				bootstrap = startSecured(t, admin, ns.Name)
			} else {
				brokers, err := kafkatest.StartEmbedded(kafkatest.Options{Brokers: 1})
				g.Expect(err).NotTo(HaveOccurred())
				t.Cleanup(brokers.Close)
				bootstrap = brokers.Bootstrap()
			}
			p := startProgram(t, program, server, admin, ns.Name, bootstrap, d)

			worksUnchanged(t.Context(), g, admin, p, ns, time.Minute)
		})
	}
}

// worksUnchanged checks a program that was started as Strimzi starts its own.
func worksUnchanged(ctx context.Context, g *WithT, admin client.Client, p *program, ns *corev1.Namespace, patience time.Duration) {
	kt := &v1.KafkaTopic{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: ns.Name,
		Labels: map[string]string{v1.LabelCluster: "my-cluster"}}, Spec: &v1.KafkaTopicSpec{}}
	g.Expect(admin.Create(ctx, kt)).To(Succeed())
	g.Eventually(func() string {
		_ = admin.Get(ctx, client.ObjectKeyFromObject(kt), kt) // an object that can't be read is not ready
		return kt.Status.TopicID
	}, patience).ShouldNot(BeEmpty(), p.log.String)
	g.Eventually(func() int { return p.status("/ready") }, patience).Should(Equal(http.StatusOK), p.log.String)
	g.Expect(p.status("/healthy")).To(Equal(http.StatusOK))
	g.Expect(p.log.String()).To(ContainSubstring("Leader election is off: run one replica only"))
	g.Expect(p.log.String()).To(ContainSubstring("Kubernetes Events are disabled: the operator is not allowed to create them"))
	g.Expect(p.log.String()).NotTo(ContainSubstring("level=ERROR"))

	g.Expect(admin.Delete(ctx, ns)).To(Succeed())
	g.Expect(p.end()).To(Succeed(), p.log.String)
	g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(kt), kt)).To(Succeed())
	g.Expect(kt.Finalizers).To(BeEmpty(), p.log.String)
	g.Expect(p.log.String()).To(ContainSubstring("Released a KafkaTopic because its namespace is being deleted; its topic stays in Kafka"))
}

// failing is a test that fails instead of the real one.
type failing struct{ why string }

func (*failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.why = fmt.Sprintf(format, args...)
	goruntime.Goexit()
}

// The checks above find a program that does not take Strimzi's start script for its start, or that elects a leader without a right to.
func TestADeploymentThatDoesNotRunUnchangedIsFound(t *testing.T) {
	server, admin := startServer(t)
	program, err := operatorproc.Build(t.Context())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, planted := range map[string]func(*deployment){
		"another start script": func(d *deployment) { d.args = []string{"/opt/strimzi/bin/unknown"} },
		"a leader is elected":  func(d *deployment) { d.env["STRIMZI_LEADER_ELECTION_ENABLED"] = "true" },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := deployments[standalone]
			d.env = maps.Clone(d.env)
			planted(&d)
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "dropin-"}}
			g.Expect(admin.Create(t.Context(), ns)).To(Succeed())
			brokers, err := kafkatest.StartEmbedded(kafkatest.Options{Brokers: 1})
			g.Expect(err).NotTo(HaveOccurred())
			t.Cleanup(brokers.Close)
			p := startProgram(t, program, server, admin, ns.Name, brokers.Bootstrap(), d)
			f, ended := &failing{}, make(chan struct{})
			go func() {
				defer close(ended)
				worksUnchanged(t.Context(), NewWithT(f), admin, p, ns, 10*time.Second)
			}()
			<-ended
			g.Expect(f.why).To(ContainSubstring("Timed out"), p.log.String)
			t.Log(p.log.String())
		})
	}
}

// startSecured starts Apache Kafka, which requires certificates of its clients, and creates the Secrets that Strimzi's cluster operator
// makes for its topic operator. It returns the addresses.
func startSecured(t *testing.T, admin client.Client, namespace string) []string {
	t.Helper()
	g := NewWithT(t)
	if err := realkafka.Available(t.Context()); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	kafka, err := realkafka.Start(t.Context(), realkafka.Options{Brokers: 1, TLS: &realkafka.TLS{ClientAuth: "required"}})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(kafka.Close()).To(Succeed()) })
	user := kafka.ClientCertificate()
	for name, data := range map[string]map[string][]byte{
		"my-cluster-cluster-ca-cert": {
			"ca.crt": kafka.Authority().PEM(), "ca.p12": []byte("binary"), "ca.password": []byte("secret"),
		},
		entityCertificate: {"entity-operator.crt": user.Cert, "entity-operator.key": user.Key},
	} {
		g.Expect(admin.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data})).
			To(Succeed())
	}
	return kafka.TLSBootstrap()
}

func startServer(t *testing.T) (*envtest.Environment, client.Client) {
	t.Helper()
	g := NewWithT(t)
	root, err := assets.Root()
	g.Expect(err).NotTo(HaveOccurred())
	binaries := os.Getenv("KUBEBUILDER_ASSETS")
	if binaries == "" {
		if binaries, err = assets.Dir(t.Context(), "controlplane", os.Stderr); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("there is no API server: %v", err)
			}
			t.Skipf("there is no API server: %v", err)
		}
	}
	server := &envtest.Environment{BinaryAssetsDirectory: binaries, CRDDirectoryPaths: []string{filepath.Join(root, "config", "crd", "bases")},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute}
	config, err := server.Start()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = server.Stop() }) // the server ends with the process at the latest
	scheme := runtime.NewScheme()
	g.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	g.Expect(v1.AddToScheme(scheme)).To(Succeed())
	c, err := client.New(config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	return server, c
}

// program is a running operator.
type program struct {
	cmd     *exec.Cmd
	address string
	log     *output
	ended   chan error
}

// output is a log that can be read while it is written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func startProgram(t *testing.T, binary string, server *envtest.Environment, admin client.Client, namespace string, bootstrap []string,
	d deployment) *program {
	t.Helper()
	g := NewWithT(t)
	user, err := server.AddUser(envtest.User{Name: "operator-of-" + namespace}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "strimzi-topic-operator"}
	g.Expect(admin.Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: d.rules})).To(Succeed())
	g.Expect(admin.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "operator-of-" + namespace}}})).To(Succeed())
	kubeconfig, err := user.KubeConfig()
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(file, kubeconfig, 0o600)).To(Succeed())
	ports, err := freeport.Take(1)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { freeport.Release(ports) })

	p := &program{address: fmt.Sprintf("127.0.0.1:%d", ports[0]), log: &output{}, ended: make(chan error, 1)}
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), binary, d.args...)
	// A pod has its own address, and here the kubeconfig replaces the service account.
	p.cmd.Env = []string{"KUBECONFIG=" + file, "POD_NAMESPACE=" + namespace, "STRIMZI_HTTP_ADDRESS=" + p.address,
		"STRIMZI_NAMESPACE=" + namespace,
		"STRIMZI_KAFKA_BOOTSTRAP_SERVERS=" + strings.Join(bootstrap, ",")}
	for name, value := range d.env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	g.Expect(p.cmd.Start()).To(Succeed())
	go func() { p.ended <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // it may have ended
	return p
}

func (p *program) status(path string) int {
	response, err := http.Get("http://" + p.address + path)
	if err != nil {
		return 0
	}
	_ = response.Body.Close() // not read
	return response.StatusCode
}

// end asks the program to end, as the kubelet does, and waits for at most Kubernetes' default grace period.
func (p *program) end() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-p.ended:
		return err
	case <-time.After(30 * time.Second):
		return fmt.Errorf("the program still runs after 30 s")
	}
}
