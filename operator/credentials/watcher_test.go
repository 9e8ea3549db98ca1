package credentials

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// A Watcher runs in controller-runtime's manager, and does not wait for the lease.
var (
	_ manager.Runnable               = (*Watcher)(nil)
	_ manager.LeaderElectionRunnable = (*Watcher)(nil)
)

// patience bounds each wait of these tests; only a failing test reaches it.
const patience = time.Minute

// cluster is a Kubernetes cluster with namespace kafka, and two clients.
type cluster struct {
	// admin has all rights, operator only the documented ones.
	admin, operator kubernetes.Interface
	// watched returns once the operator watches n Secrets.
	watched func(n int)
}

func fakeCluster(t *testing.T) cluster {
	client := fake.NewClientset()
	began := make(chan struct{}, 10)
	// The fake client loses events between list and watch, so the test must know when the watch has started.
	client.PrependWatchReactor("secrets", func(action clienttesting.Action) (bool, watch.Interface, error) {
		w, err := client.Tracker().Watch(action.GetResource(), action.GetNamespace())
		began <- struct{}{}
		return true, w, err
	})
	return cluster{admin: client, operator: client, watched: func(n int) {
		for range n {
			receive(t, began, "a watch")
		}
	}}
}

// realCluster returns an API server on which the operator may only get, list and watch Secrets ca and login by their names.
func realCluster(t *testing.T) cluster {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("KUBEBUILDER_ASSETS is not set, so there is no API server")
		}
		t.Skip("KUBEBUILDER_ASSETS is not set, so there is no API server (make test builds one)")
	}
	env := &envtest.Environment{ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute}
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	user, err := env.AddUser(envtest.User{Name: "topic-operator"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := cluster{admin: kubernetes.NewForConfigOrDie(config), operator: kubernetes.NewForConfigOrDie(user.Config()), watched: func(int) {}}
	meta := metav1.ObjectMeta{Namespace: "kafka", Name: "topic-operator-secrets"}
	_, err = c.admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kafka"}},
		metav1.CreateOptions{})
	if err == nil {
		_, err = c.admin.RbacV1().Roles("kafka").Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"ca", "login"},
				Verbs: []string{"get", "list", "watch"}},
		}}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = c.admin.RbacV1().RoleBindings("kafka").Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "topic-operator"}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	// The authorizer applies the Role with a delay. Until then the operator's requests are forbidden, and it can't find out what is
	// missing.
	err = wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		_, err := c.operator.CoreV1().Secrets("kafka").Get(ctx, "ca", metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		t.Fatalf("still waiting for %s", what)
		panic("unreachable")
	}
}

// journal is a log that a test can wait on and search.
type journal struct {
	lines chan string
	mutex sync.Mutex
	all   strings.Builder
}

func (j *journal) Write(line []byte) (int, error) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.all.Write(line)
	j.lines <- string(line)
	return len(line), nil
}

func (j *journal) text() string {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.all.String()
}

func (j *journal) expect(t *testing.T, level, text string) {
	t.Helper()
	if line := receive(t, j.lines, text); !strings.Contains(line, "level="+level) || !strings.Contains(line, text) {
		t.Errorf("log: %s\nwant: %s %s", line, level, text)
	}
}

func watcherVariables() map[string]string {
	return map[string]string{
		"STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME": "ca", "STRIMZI_SASL_ENABLED": "true", "STRIMZI_SASL_MECHANISM": "scram-sha-512",
		"STRIMZI_SASL_SECRET_NAME": "login",
	}
}

func TestWatcher(t *testing.T) {
	t.Run("fake client", func(t *testing.T) { followsSecrets(t, fakeCluster(t)) })
	t.Run("API server", func(t *testing.T) { followsSecrets(t, realCluster(t)) })
}

// followsSecrets changes two Secrets, and checks how a Watcher follows.
func followsSecrets(t *testing.T, c cluster) {
	secrets := c.admin.CoreV1().Secrets("kafka")
	write := func(s *corev1.Secret) {
		t.Helper()
		if _, err := secrets.Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create := func(s *corev1.Secret) {
		t.Helper()
		if _, err := secrets.Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	applied := make(chan kafka.Config, 10)
	log := &journal{lines: make(chan string, 100)}
	w := NewWatcher(c.operator, parse(t, watcherVariables()), func(config kafka.Config) error { applied <- config; return nil },
		slog.New(slog.NewTextHandler(log, nil)))
	if w.NeedLeaderElection() {
		t.Error("standby replicas would not follow the Secrets")
	}

	// A Secret is missing at the start.
	create(secret("login", "username", "alice", "password", "FORBIDDEN-1"))
	err := w.Start(t.Context())
	if err == nil || err.Error() != "Secret ca in namespace kafka with certificates was configured but is missing." {
		t.Fatalf("Start without a Secret: %v", err)
	}

	ca, _ := pair(t, "ca")
	create(secret("ca", "ca.crt", string(ca)))
	create(secret("another", "username", "mallory", "password", "FORBIDDEN-0"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Start(ctx) }()
	first := receive(t, applied, "the first configuration")
	if first.SASL.Password != "FORBIDDEN-1" || string(first.TLS.TrustedCertificates) != string(ca)+"\n" {
		t.Errorf("the first configuration: %+v", first)
	}
	c.watched(2)

	// A change that does not affect connections is ignored; a new password is applied.
	write(secret("another", "username", "mallory", "password", "FORBIDDEN-9"))
	same := secret("login", "username", "alice", "password", "FORBIDDEN-1\n", "unrelated", "x")
	same.Labels = map[string]string{"touched": "true"}
	write(same)
	write(secret("login", "username", "alice", "password", "FORBIDDEN-2"))
	if got := receive(t, applied, "the new password"); got.SASL.Password != "FORBIDDEN-2" {
		t.Errorf("applied %+v", got.SASL)
	}
	log.expect(t, "INFO", "Applied the changed Secrets for Kafka")

	// Malformed, deleted, recreated: the last valid value stays.
	write(secret("ca", "ca.crt", "FORBIDDEN-3"))
	log.expect(t, "WARN", "entry ca.crt: it has no certificate in PEM")
	if err := secrets.Delete(t.Context(), "ca", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	log.expect(t, "WARN", "Secret ca in namespace kafka with certificates was configured but is missing.")
	create(secret("ca", "ca.crt", string(ca)))
	log.expect(t, "INFO", "match the credentials in use again")
	renewed, _ := pair(t, "ca")
	write(secret("ca", "ca.crt", string(renewed)))
	if got := receive(t, applied, "the new authority"); string(got.TLS.TrustedCertificates) != string(renewed)+"\n" ||
		got.SASL.Password != "FORBIDDEN-2" {
		t.Errorf("applied %+v", got)
	}

	cancel()
	if err := receive(t, ended, "the end"); err != nil {
		t.Error(err)
	}
	if len(applied) > 0 {
		t.Errorf("applied %d times more", len(applied))
	}
	if text := log.text(); strings.Contains(text, "FORBIDDEN") || strings.Contains(text, "BEGIN CERT") {
		t.Errorf("the log holds secrets:\n%s", text)
	}
}

func TestLoadDoesNotApply(t *testing.T) {
	c := fakeCluster(t)
	ca, _ := pair(t, "ca")
	for _, s := range []*corev1.Secret{secret("ca", "ca.crt", string(ca)), secret("login", "username", "alice", "password", "1")} {
		if _, err := c.admin.CoreV1().Secrets("kafka").Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	applied := make(chan kafka.Config, 10)
	w := NewWatcher(c.operator, parse(t, watcherVariables()), func(config kafka.Config) error { applied <- config; return nil },
		slog.New(slog.DiscardHandler))
	loaded, err := w.Load(t.Context())
	if err != nil || loaded.SASL.Password != "1" {
		t.Fatalf("%+v, %v", loaded, err)
	}
	// Start reads the Secrets first, so it notices a change between Load and Start.
	if _, err := c.admin.CoreV1().Secrets("kafka").Update(t.Context(), secret("login", "username", "alice", "password", "2"),
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Start(ctx) }()
	if got := receive(t, applied, "the change"); got.SASL.Password != "2" {
		t.Errorf("applied %+v", got.SASL)
	}
	cancel()
	if err := receive(t, ended, "the end"); err != nil {
		t.Error(err)
	}
	if len(applied) > 0 {
		t.Error("applied more than once")
	}
}

// TestSecretsThatTheClientRefuses checks that the log tells of what was applied, and of that alone.
func TestSecretsThatTheClientRefuses(t *testing.T) {
	c := fakeCluster(t)
	ca, _ := pair(t, "ca")
	secrets := c.admin.CoreV1().Secrets("kafka")
	for _, s := range []*corev1.Secret{secret("ca", "ca.crt", string(ca)), secret("login", "username", "alice", "password", "1")} {
		if _, err := secrets.Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	log := &journal{lines: make(chan string, 100)}
	w := NewWatcher(c.operator, parse(t, watcherVariables()), func(config kafka.Config) error {
		if config.SASL.Password == "2" {
			return errors.New("the client refuses it")
		}
		log.lines <- "applied " + config.SASL.Password
		return nil
	}, slog.New(slog.NewTextHandler(log, nil)))
	if _, err := w.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	go func() { _ = w.Start(t.Context()) }()
	c.watched(2)
	change := func(password string) {
		t.Helper()
		if _, err := secrets.Update(t.Context(), secret("login", "username", "alice", "password", password), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	change("2")
	log.expect(t, "WARN", "the client refuses it")
	change("1")
	log.expect(t, "INFO", "match the credentials in use again")
	change("3")
	if line := receive(t, log.lines, "the new password"); line != "applied 3" {
		t.Errorf("got %q before the new password was applied", line)
	}
	log.expect(t, "INFO", "Applied the changed Secrets for Kafka")
}

func TestNothingToFollow(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		t.Errorf("asked Kubernetes: %s %s", action.GetVerb(), action.GetResource().Resource)
		return false, nil, nil
	})
	applied := make(chan kafka.Config, 1)
	w := NewWatcher(client, parse(t, nil), func(config kafka.Config) error { applied <- config; return nil }, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Start(ctx) }()
	receive(t, applied, "the configuration")
	select {
	case err := <-ended:
		t.Errorf("Start returned before its context ended, which would stop the manager: %v", err)
	default:
	}
	cancel()
	if err := receive(t, ended, "the end"); err != nil {
		t.Error(err)
	}
}

func TestForbiddenSecretSaysWhatIsNeeded(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, context.DeadlineExceeded
	})
	_, err := NewWatcher(client, parse(t, watcherVariables()), nil, slog.New(slog.DiscardHandler)).Load(t.Context())
	if err == nil || !strings.Contains(err.Error(), "read Secret ca in namespace kafka (get, list and watch must be allowed)") ||
		!strings.Contains(err.Error(), "Secret login") {
		t.Error(err)
	}
}
