package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/exit"
)

// server is the API server that the tests of this package share. If it could not start, missing is the reason.
var (
	server  *envtest.Environment
	missing error
	scheme  = runtime.NewScheme()
	root    string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	SetDefaultEventuallyTimeout(20 * time.Second)
	if missing = startServer(); missing == nil {
		defer func() { _ = server.Stop() }() // it ends with this process at the latest
	}
	return m.Run()
}

func startServer() error {
	err := errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme))
	if err == nil {
		root, err = assets.Root()
	}
	binaries := os.Getenv("KUBEBUILDER_ASSETS")
	if err == nil && binaries == "" {
		binaries, err = assets.Dir(context.Background(), "controlplane", os.Stderr)
	}
	if err != nil {
		return err
	}
	env := &envtest.Environment{BinaryAssetsDirectory: binaries, CRDDirectoryPaths: []string{filepath.Join(root, "config", "crd", "bases")},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute}
	if _, err := env.Start(); err != nil {
		return err
	}
	server = env
	return nil
}

// world is a test's access to the API server.
type world struct {
	*WithT
	t     *testing.T
	admin client.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if missing != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("there is no API server: %v", missing)
		}
		t.Skipf("there is no API server: %v", missing)
	}
	w := &world{WithT: NewWithT(t), t: t}
	w.admin = w.client(server.Config)
	return w
}

func (w *world) client(config *rest.Config) client.Client {
	w.t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: scheme})
	w.Expect(err).NotTo(HaveOccurred())
	return c
}

func (w *world) namespace() string {
	w.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "release-"}}
	w.Expect(w.admin.Create(w.t.Context(), ns)).To(Succeed())
	return ns.Name
}

// user returns a client with these rights in these namespaces only.
func (w *world) user(rules []rbacv1.PolicyRule, namespaces ...string) client.Client {
	w.t.Helper()
	name := "user-of-" + namespaces[0]
	user, err := server.AddUser(envtest.User{Name: name}, nil)
	w.Expect(err).NotTo(HaveOccurred())
	for _, ns := range namespaces {
		meta := metav1.ObjectMeta{Namespace: ns, Name: name}
		w.Expect(w.admin.Create(w.t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules})).To(Succeed())
		w.Expect(w.admin.Create(w.t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}}})).To(Succeed())
	}
	c := w.client(user.Config())
	w.Eventually(func() error { return c.List(w.t.Context(), &v1.KafkaTopicList{}, client.InNamespace(namespaces[0])) }).Should(Succeed())
	return c
}

// ours returns the rules of config/topic-operator/rbac.
func (w *world) ours() []rbacv1.PolicyRule {
	w.t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "config", "topic-operator", "rbac", "role.yaml"))
	w.Expect(err).NotTo(HaveOccurred())
	role := &rbacv1.ClusterRole{}
	w.Expect(yaml.Unmarshal(content, role)).To(Succeed())
	return role.Rules
}

// strimzis are the rules of Strimzi's standalone Topic Operator (02-Role-strimzi-topic-operator.yaml).
var strimzis = []rbacv1.PolicyRule{
	{APIGroups: []string{"kafka.strimzi.io"}, Resources: []string{"kafkatopics"},
		Verbs: []string{"get", "list", "watch", "create", "patch", "update", "delete"}},
	{APIGroups: []string{"kafka.strimzi.io"}, Resources: []string{"kafkatopics/status"}, Verbs: []string{"get", "patch", "update"}},
}

func (w *world) topic(namespace, name, cluster string, finalizers ...string) {
	w.t.Helper()
	kt := &v1.KafkaTopic{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Finalizers: finalizers,
		Labels: map[string]string{v1.LabelCluster: cluster}}, Spec: &v1.KafkaTopicSpec{}}
	w.Expect(w.admin.Create(w.t.Context(), kt)).To(Succeed())
}

// finalizers returns the finalizers of a namespace's objects, by name.
func (w *world) finalizers(namespace string) map[string]string {
	w.t.Helper()
	list := &v1.KafkaTopicList{}
	w.Expect(w.admin.List(w.t.Context(), list, client.InNamespace(namespace))).To(Succeed())
	all := map[string]string{}
	for _, kt := range list.Items {
		all[kt.Name] = strings.Join(kt.Finalizers, ",")
	}
	return all
}

func (w *world) delete(o client.Object) {
	w.t.Helper()
	w.Expect(w.admin.Delete(w.t.Context(), o)).To(Succeed())
}

func (w *world) deleteNamespace(name string) {
	w.t.Helper()
	w.delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

const foreign = "example.com/other"

// leaver returns the Leaver of an operator that leads; log receives its lines.
func (w *world) leaver(c client.Client, log *strings.Builder, namespaces ...string) *Leaver {
	w.t.Helper()
	l := &Leaver{Client: c, Namespaces: namespaces, Interval: time.Hour, Log: logging.New(log, logging.Options{}),
		Selects: func(labels map[string]string) bool { return labels[v1.LabelCluster] == "mine" }}
	w.lead(l)
	return l
}

// lead runs a Leaver until it knows which Kafkas exist.
func (w *world) lead(l *Leaver) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error)
	go func() { ended <- l.Start(ctx) }()
	w.Eventually(func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.leads && (l.kafkas != nil || strings.Contains(fmt.Sprint(w.t.Name()), "Strimzi"))
	}).Should(BeTrue())
	cancel()
	w.Expect(<-ended).To(Succeed())
}

func TestWhatIsInATerminatingNamespaceIsReleased(t *testing.T) {
	for _, mode := range []string{"names", "all"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t)
			doomed, stays := w.namespace(), w.namespace()
			for _, ns := range []string{doomed, stays} {
				w.topic(ns, "deleted", "mine", v1.FinalizerTopicOperator)
				w.topic(ns, "plain", "mine", v1.FinalizerTopicOperator)
				w.topic(ns, "shared", "mine", foreign, v1.FinalizerTopicOperator)
				w.topic(ns, "others", "theirs", v1.FinalizerTopicOperator)
				w.delete(&v1.KafkaTopic{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "deleted"}})
			}
			var log strings.Builder
			var l *Leaver
			if mode == "names" {
				l = w.leaver(w.user(w.ours(), doomed, stays), &log, doomed, stays)
			} else {
				l = w.leaver(w.admin, &log)
			}
			w.deleteNamespace(doomed)
			before := w.finalizers(stays)
			w.Expect(l.Leave(t.Context())).To(Succeed())

			w.Expect(w.finalizers(doomed)).To(Equal(map[string]string{"plain": "", "shared": foreign, "others": v1.FinalizerTopicOperator}))
			w.Expect(w.finalizers(stays)).To(Equal(before))
			w.Expect(strings.Count(log.String(), "Released a KafkaTopic because its namespace is being deleted; its topic stays in Kafka")).
				To(Equal(3), log.String())
			w.Expect(log.String()).To(ContainSubstring("KafkaTopic=" + doomed + "/shared topic=shared"))
		})
	}
}

func TestStrimzisRightsAreEnough(t *testing.T) {
	w := newWorld(t)
	ns := w.namespace()
	w.topic(ns, "a", "mine", v1.FinalizerTopicOperator)
	var log strings.Builder
	l := w.leaver(w.user(strimzis, ns), &log, ns)
	w.Expect(l.Leave(t.Context())).To(Succeed())
	w.Expect(w.finalizers(ns)).To(Equal(map[string]string{"a": v1.FinalizerTopicOperator}), "the namespace stays")
	w.deleteNamespace(ns)
	w.Expect(l.Leave(t.Context())).To(Succeed())
	w.Expect(w.finalizers(ns)).To(Equal(map[string]string{"a": ""}))
}

func TestAStandbyReleasesNothing(t *testing.T) {
	w := newWorld(t)
	ns := w.namespace()
	w.topic(ns, "a", "mine", v1.FinalizerTopicOperator)
	w.deleteNamespace(ns)
	l := &Leaver{Client: w.admin, Namespaces: []string{ns}, Selects: func(map[string]string) bool { return true }}
	w.Expect(l.Leave(t.Context())).To(Succeed())
	w.Expect(w.finalizers(ns)).To(Equal(map[string]string{"a": v1.FinalizerTopicOperator}))
}

// kafka creates a Kafka.
func (w *world) kafka(namespace, name string, finalizers ...string) {
	w.t.Helper()
	w.Expect(w.admin.Create(w.t.Context(), unstructuredOf(map[string]any{"apiVersion": v1.GroupVersion.String(), "kind": "Kafka",
		"metadata": map[string]any{"namespace": namespace, "name": name, "finalizers": finalizers},
		"spec": map[string]any{"kafka": map[string]any{"listeners": []any{map[string]any{"name": "plain", "port": int64(9092),
			"type": "internal", "tls": false}}}}}))).To(Succeed())
}

func TestTheTopicsOfADeletedKafkaAreReleased(t *testing.T) {
	kafka := func(ns, name string) *v1.Kafka {
		return &v1.Kafka{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: &v1.KafkaSpec{}}
	}
	create := func(w *world, k *v1.Kafka) { w.kafka(k.Namespace, k.Name, k.Finalizers...) }
	for name, c := range map[string]struct {
		before, after func(w *world, ns string)
		released      bool
	}{
		"it is gone": {func(w *world, ns string) { create(w, kafka(ns, "mine")) },
			func(w *world, ns string) { w.delete(kafka(ns, "mine")) }, true},
		"it is about to go": {func(w *world, ns string) { k := kafka(ns, "mine"); k.Finalizers = []string{foreign}; create(w, k) },
			func(w *world, ns string) { w.delete(kafka(ns, "mine")) }, true},
		"another one has its name": {func(w *world, ns string) { create(w, kafka(ns, "mine")) },
			func(w *world, ns string) { w.delete(kafka(ns, "mine")); create(w, kafka(ns, "mine")) }, true},
		"it is still there": {func(w *world, ns string) { create(w, kafka(ns, "mine")) }, func(*world, string) {}, false},
		"another one was deleted": {func(w *world, ns string) { create(w, kafka(ns, "other")) },
			func(w *world, ns string) { w.delete(kafka(ns, "other")) }, false},
		"there was never one": {func(*world, string) {}, func(*world, string) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ns := w.namespace()
			w.topic(ns, "a", "mine", v1.FinalizerTopicOperator)
			c.before(w, ns)
			var log strings.Builder
			l := w.leaver(w.user(w.ours(), ns), &log, ns)
			c.after(w, ns)
			w.Expect(l.Leave(t.Context())).To(Succeed())
			want := map[bool]string{true: "", false: v1.FinalizerTopicOperator}[c.released]
			w.Expect(w.finalizers(ns)).To(Equal(map[string]string{"a": want}), log.String())
			w.Expect(strings.Contains(log.String(), "because its Kafka is being deleted")).To(Equal(c.released), log.String())
		})
	}
}

func TestKafkasOfAnUnreadableNamespaceHideNoOthers(t *testing.T) {
	w := newWorld(t)
	allowed, forbidden := w.namespace(), w.namespace()
	var log strings.Builder
	l := &Leaver{Client: w.user(w.ours(), allowed), Namespaces: []string{forbidden, allowed}, Interval: time.Millisecond,
		Log: logging.New(&log, logging.Options{}), Selects: func(map[string]string) bool { return true }}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- l.Start(ctx) }()
	known := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.kafkas)
	}
	for i, name := range []string{"first", "second"} { // the second one is found by a later list than the first
		w.kafka(allowed, name)
		w.Eventually(known).Should(Equal(i + 1))
	}
	cancel()
	w.Expect(<-ended).To(Succeed())
	w.Expect(strings.Count(log.String(), "Failed to list all Kafkas")).To(Equal(1), log.String())
}

func TestTheNameOfAReleasedTopicIsThatOfTheStatus(t *testing.T) {
	w := newWorld(t)
	ns := w.namespace()
	w.topic(ns, "a", "mine", v1.FinalizerTopicOperator)
	kt := &v1.KafkaTopic{}
	w.Expect(w.admin.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "a"}, kt)).To(Succeed())
	kt.Status.TopicName = "was"
	w.Expect(w.admin.Status().Update(t.Context(), kt)).To(Succeed())
	status, out, _ := execute(t, "", "--namespace", ns, "--kubeconfig", w.kubeconfig(), "--all", "--yes")
	w.Expect(status).To(Equal(exitDone))
	w.Expect(out).To(ContainSubstring("released " + ns + "/a, topic was stays in Kafka"))
	w.Expect(strings.Count(out, " was ")).To(Equal(2), out)
}

func TestAnObjectThatWasReplacedIsNotReleased(t *testing.T) {
	w := newWorld(t)
	ns := w.namespace()
	w.topic(ns, "a", "mine", v1.FinalizerTopicOperator)
	old := &v1.KafkaTopic{}
	w.Expect(w.admin.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "a"}, old)).To(Succeed())
	w.Expect(free(t.Context(), w.admin, old.DeepCopy())).To(Succeed())
	w.delete(old)
	w.topic(ns, "a", "mine", v1.FinalizerTopicOperator)
	w.Expect(freeAll(t.Context(), w.admin, []v1.KafkaTopic{*old}, func(_ *v1.KafkaTopic, err error) {
		w.Expect(err).To(MatchError(errReplaced))
	})).To(Succeed())
	w.Expect(w.finalizers(ns)).To(Equal(map[string]string{"a": v1.FinalizerTopicOperator}))
}

func TestWithoutRightsNothingIsReleasedAndItIsSaid(t *testing.T) {
	w := newWorld(t)
	ns := w.namespace()
	w.topic(ns, "a", "mine", v1.FinalizerTopicOperator)
	var log strings.Builder
	rules := []rbacv1.PolicyRule{{APIGroups: []string{"kafka.strimzi.io"}, Resources: []string{"kafkatopics", "kafkas"},
		Verbs: []string{"get", "list"}}}
	l := w.leaver(w.user(rules, ns), &log, ns)
	w.deleteNamespace(ns)
	w.Expect(l.Leave(t.Context())).To(Succeed())
	w.Expect(w.finalizers(ns)).To(Equal(map[string]string{"a": v1.FinalizerTopicOperator}))
	w.Expect(log.String()).To(And(ContainSubstring("level=WARN"),
		ContainSubstring("Failed to decide for all KafkaTopics whether to release them")))
}

func TestCommand(t *testing.T) {
	w := newWorld(t)
	ns := w.namespace()
	w.topic(ns, "deleted", "mine", v1.FinalizerTopicOperator)
	w.topic(ns, "alive", "mine", v1.FinalizerTopicOperator)
	w.topic(ns, "free", "mine")
	w.delete(&v1.KafkaTopic{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "deleted"}})
	call := func(answer string, args ...string) (exit.Status, string, string) {
		w.t.Helper()
		return execute(t, answer, append([]string{"--namespace", ns, "--kubeconfig", w.kubeconfig()}, args...)...)
	}
	for _, answer := range []string{"", "n\n", "\n", "perhaps\n"} {
		status, out, question := call(answer)
		w.Expect(status).To(Equal(exitNotDone))
		w.Expect(out).To(And(ContainSubstring("NAMESPACE"), ContainSubstring("deleted"), Not(ContainSubstring("alive")),
			Not(ContainSubstring("released"))))
		w.Expect(question).To(And(ContainSubstring("from 1 KafkaTopics? Their topics stay in Kafka. [y/N]"),
			ContainSubstring("Nothing was changed.")))
	}
	w.Expect(w.finalizers(ns)).To(HaveLen(3))
	status, out, _ := call("y\n")
	w.Expect(status).To(Equal(exitDone))
	w.Expect(out).To(ContainSubstring("released " + ns + "/deleted, topic deleted stays in Kafka"))
	w.Expect(w.finalizers(ns)).To(Equal(map[string]string{"alive": v1.FinalizerTopicOperator, "free": ""}))

	status, out, _ = call("")
	w.Expect(status).To(Equal(exitDone))
	w.Expect(out).To(Equal("Nothing to release in namespace " + ns + ".\n"))
	status, _, _ = call("", "--all", "--yes", "-l", "strimzi.io/cluster=other")
	w.Expect(status).To(Equal(exitDone))
	w.Expect(w.finalizers(ns)).To(HaveKeyWithValue("alive", v1.FinalizerTopicOperator))
	status, _, question := call("", "--all", "--yes")
	w.Expect(status).To(Equal(exitDone))
	w.Expect(question).To(BeEmpty())
	w.Expect(w.finalizers(ns)).To(Equal(map[string]string{"alive": "", "free": ""}))
}

func TestWrongUsageOfTheCommand(t *testing.T) {
	for want, args := range map[string][]string{
		"release needs --namespace": {"--yes"},
		`unknown command "extra"`:   {"--namespace", "a", "extra"},
		"unknown flag: --force":     {"--namespace", "a", "--force"},
		"--selector=a b: ":          {"--namespace", "a", "--selector", "a b"},
	} {
		t.Run(want, func(t *testing.T) {
			g := NewWithT(t)
			status, _, problems := execute(t, "", args...)
			g.Expect(status).To(Equal(exit.Usage), problems)
			g.Expect(problems).To(ContainSubstring(want))
		})
	}
	g := NewWithT(t)
	status, out, problems := execute(t, "", "--help")
	g.Expect(status).To(Equal(exitDone), problems)
	g.Expect(out).To(ContainSubstring("Exit status: 0 done"))
}

// kubectl's flags lead to the cluster.
func TestTheConnectionOfTheCommand(t *testing.T) {
	w := newWorld(t)
	ns := w.namespace()
	file := w.kubeconfig()
	for _, c := range []struct {
		args   []string
		status exit.Status
		want   string
	}{
		{[]string{"--kubeconfig", file}, exitDone, "Nothing to release"},
		{[]string{"--kubeconfig", file, "--context", "nowhere"}, exitNotDone, `context "nowhere" does not exist`},
		{[]string{"--kubeconfig", file, "--as", "nobody"}, exitNotDone, `User "nobody" cannot list`},
		{[]string{"--kubeconfig", file, "--server", "http://127.0.0.1:1"}, exitNotDone, "127.0.0.1:1"},
		{[]string{"--kubeconfig", filepath.Join(t.TempDir(), "none")}, exitNotDone, "no Kubernetes cluster"},
	} {
		status, out, problems := execute(t, "", append([]string{"-n", ns}, c.args...)...)
		w.Expect(status).To(Equal(c.status), problems)
		w.Expect(out + problems).To(ContainSubstring(c.want))
	}
}

// execute runs the subcommand.
func execute(t *testing.T, answer string, args ...string) (exit.Status, string, string) {
	var out, problems strings.Builder
	c := Command(t.Context)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	c.SetIn(strings.NewReader(answer))
	c.SetOut(&out)
	c.SetErr(&problems)
	err := c.Execute()
	status, ok := errors.AsType[exit.Status](err)
	if err != nil && !ok {
		return exit.Usage, out.String(), err.Error()
	}
	return status, out.String(), problems.String()
}

// kubeconfig returns the path of a kubeconfig of the administrator.
func (w *world) kubeconfig() string {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "kubeconfig")
	w.Expect(os.WriteFile(file, server.KubeConfig, 0o600)).To(Succeed())
	return file
}

func unstructuredOf(o map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: o}
}
