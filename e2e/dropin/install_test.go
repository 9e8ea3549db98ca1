package dropin_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
)

// commands returns the lines of the README that copy a folder of config or apply one, and those that show how to use what is installed. A
// line that runs a command in a pod is not among them: there are no nodes.
func commands(t *testing.T) (copies, applies, uses []string) {
	t.Helper()
	g := NewWithT(t)
	path, err := operatorproc.RepositoryPath("README.md")
	g.Expect(err).NotTo(HaveOccurred())
	text, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	for _, line := range regexp.MustCompile(`(?m)^(cp -r|kubectl) .*$`).FindAllString(string(text), -1) {
		switch {
		case strings.HasPrefix(line, "cp"):
			copies = append(copies, line)
		case strings.HasPrefix(line, "kubectl apply --server-side"):
			applies = append(applies, line)
		case !strings.HasPrefix(line, "kubectl exec"):
			uses = append(uses, line)
		}
	}
	if len(copies) != 2 || len(applies) != 2 || len(uses) != 4 {
		t.Fatalf("the README has the commands %q, %q and %q, want 2, 2 and 4", copies, applies, uses)
	}
	return copies, applies, uses
}

// shell runs lines of the README in a copy of the checkout's config, as users type them.
type shell struct {
	dir   string
	plane *controlplane.ControlPlane
}

func newShell(t *testing.T, plane *controlplane.ControlPlane) shell {
	t.Helper()
	s := shell{dir: t.TempDir(), plane: plane}
	config, err := operatorproc.RepositoryPath("config")
	if err == nil {
		err = os.CopyFS(filepath.Join(s.dir, "config"), os.DirFS(config))
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return s
}

func (s shell) run(ctx context.Context, line string) (string, error) {
	kubectl, err := s.plane.KubectlPath()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "bash", "-ec", line)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.plane.Kubeconfig(), "PATH="+filepath.Dir(kubectl)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// forced returns a line of the README with the flag that docs/install.md adds.
func forced(line string) string {
	return strings.Replace(line, "--server-side", "--server-side --force-conflicts", 1)
}

// installed returns the kinds and the Deployments, with their generations.
func installed(t *testing.T, plane *controlplane.ControlPlane) string {
	t.Helper()
	return run(t, plane, "get", "crd,deployments", "-A", "-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.generation}{"\n"}{end}`)
}

// TestTheREADMEsCommandsInstallBesideStrimzi checks that the README's commands fail if Strimzi's kinds are installed. With
// --force-conflicts they install; after that they work unchanged, and change nothing. Strimzi's kinds can be installed again and replaced
// again. All KafkaTopics stay, and the operators start. Then the README's commands create what they say.
func TestTheREADMEsCommandsInstallBesideStrimzi(t *testing.T) {
	brokers, err := kafkatest.StartEmbedded(kafkatest.Options{Brokers: 1})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(brokers.Close)
	for _, r := range []release{strimzi0, strimzi1} {
		t.Run(r.name, func(t *testing.T) {
			g := NewWithT(t)
			g.SetDefaultEventuallyTimeout(time.Minute)
			plane, admin := startPlane(t)
			theirs := r.kinds(t)
			run(t, plane, "create", "-f", theirs)
			kt := &v1.KafkaTopic{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "there-before"}, Spec: &v1.KafkaTopicSpec{}}
			g.Expect(admin.Create(t.Context(), kt)).To(Succeed())
			uid := kt.UID
			sh := newShell(t, plane)
			copies, applies, uses := commands(t)
			for _, line := range copies {
				out, err := sh.run(t.Context(), line)
				g.Expect(err).NotTo(HaveOccurred(), out)
			}
			install := func() {
				t.Helper()
				for _, line := range applies {
					out, err := sh.run(t.Context(), line)
					if line == applies[0] { // this line installs all kinds, so that the second line finds this project's
						g.Expect(err).To(HaveOccurred(), "it replaces another's kinds unasked")
						g.Expect(out).To(ContainSubstring("--force-conflicts"))
						out, err = sh.run(t.Context(), forced(line))
					}
					g.Expect(err).NotTo(HaveOccurred(), out)
				}
				first := installed(t, plane)
				for range 2 {
					for _, line := range applies {
						out, err := sh.run(t.Context(), line)
						g.Expect(err).NotTo(HaveOccurred(), out)
					}
					g.Expect(installed(t, plane)).To(Equal(first), "applied again, it changes something")
				}
			}
			install()

			topics := startOperator(t, operatorproc.Options{Kubeconfig: plane.Kubeconfig(), Bootstrap: brokers.Bootstrap()})
			startOperator(t, operatorproc.Options{Kubeconfig: plane.Kubeconfig(), Binary: clusterOperator(t),
				Env: map[string]string{"STRIMZI_OPERATOR_NAMESPACE": "default"}})
			g.Eventually(func() string { return claimOf(t, admin, kt).ClusterID }).ShouldNot(BeEmpty(), topics.Log)

			_, err := plane.Kubectl(t.Context(), "create", "-f", theirs)
			g.Expect(err).To(MatchError(ContainSubstring("already exists")), "Strimzi's own instructions replace nothing")
			run(t, plane, "replace", "-f", theirs)
			g.Eventually(topics.Log).Should(ContainSubstring("drops status.clusterId"))
			install()
			g.Eventually(func() string { return claimOf(t, admin, kt).ClusterID }).ShouldNot(BeEmpty(), topics.Log)
			g.Expect(kt.UID).To(Equal(uid), "the KafkaTopic is another one")
			for _, line := range uses {
				out, err := sh.run(t.Context(), line)
				g.Expect(err).NotTo(HaveOccurred(), out)
			}
			g.Expect(run(t, plane, "get", "kt", "-n", "kafka-topics", "-o", "name")).To(ContainSubstring("kafkatopic.kafka.strimzi.io/orders\n"))
			g.Expect(run(t, plane, "get", "kafka,knp,kt", "-n", "kafka", "-o", "name")).To(And(
				ContainSubstring("my-cluster"), ContainSubstring("pool"), ContainSubstring("invoices")))
		})
	}
}

// claimOf reads a KafkaTopic and returns its status.
func claimOf(t *testing.T, c client.Client, kt *v1.KafkaTopic) v1.KafkaTopicStatus {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(kt), kt); err != nil {
		t.Logf("not read: %v", err) // its kind is being replaced
		return v1.KafkaTopicStatus{}
	}
	return kt.Status
}

// clusterOperator builds the cluster-operator and returns its path.
func clusterOperator(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	root, err := operatorproc.RepositoryPath()
	g.Expect(err).NotTo(HaveOccurred())
	program := filepath.Join(t.TempDir(), "cluster-operator")
	g.Expect(assets.Build(t.Context(), program, root, "./cluster-operator/cmd")).To(Succeed())
	return program
}

// startOperator starts an operator and waits until it is ready.
func startOperator(t *testing.T, o operatorproc.Options) *operatorproc.Process {
	t.Helper()
	g := NewWithT(t)
	p, err := operatorproc.Start(t.Context(), o)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = p.Close() }) // the log may have been removed already
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	g.Expect(p.WaitReady(ctx)).To(Succeed())
	return p
}
