package controlplane

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// needControlPlane skips the test if there can be no control plane. In CI, it fails the test.
func needControlPlane(t *testing.T) {
	t.Helper()
	if err := Available(t.Context()); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func startForTest(t *testing.T, o Options) *ControlPlane {
	t.Helper()
	needControlPlane(t)
	o.Log = testLog{t}
	p, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(p.dir); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", p.dir, err)
		}
	})
	return p
}

type testLog struct{ t *testing.T }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("not in a minute: %s", what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func newClient(t *testing.T, p *ControlPlane) client.Client {
	t.Helper()
	c, err := client.New(p.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestControllerManagerCollectsGarbage(t *testing.T) {
	p := startForTest(t, Options{ControllerManager: true})
	c := newClient(t, p)
	owner := configMap("owner")
	if err := c.Create(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	owned := configMap("owned")
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
	if err := c.Create(t.Context(), owned); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the owned object is gone", func() bool {
		return apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(owned), owned))
	})

	if _, err := p.Kubectl(t.Context(), "create", "namespace", "short-lived"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Kubectl(t.Context(), "delete", "namespace", "short-lived", "--timeout=60s"); err != nil {
		t.Fatal(err)
	}
}

func TestRequestsAreCountedByUser(t *testing.T) {
	p := startForTest(t, Options{Audit: true})
	account, err := p.AddServiceAccount("default", "reader")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"create", "role", "reader", "--verb=get", "--resource=configmaps", "-n", "default"},
		{"create", "rolebinding", "reader", "--role=reader", "--serviceaccount=default:reader", "-n", "default"},
	} {
		if _, err := p.Kubectl(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	config := account.RESTConfig
	config.UserAgent = "the-reader"
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := newClient(t, p).Create(t.Context(), configMap("letter")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the role is in force", func() bool {
		return c.Get(t.Context(), client.ObjectKeyFromObject(configMap("letter")), configMap("letter")) == nil
	})
	mark, err := p.Mark()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(configMap("letter")), configMap("letter")); err != nil {
			t.Error(err)
		}
	}
	if err := c.Create(t.Context(), configMap("forbidden")); !apierrors.IsForbidden(err) {
		t.Errorf("a reader's create: %v, want forbidden", err)
	}
	byVerb := map[string]int{}
	eventually(t, "the last request is logged", func() bool {
		requests, err := p.Requests(mark, func(r Request) bool { return r.UserAgent == "the-reader" && r.User == account.Name })
		if err != nil {
			t.Fatal(err)
		}
		byVerb = Tally(requests, func(r Request) string { return r.Verb + " " + r.Resource })
		return byVerb["create configmaps"] == 1
	})
	if byVerb["get configmaps"] != 3 || len(byVerb) != 2 {
		t.Errorf("requests %v, want three gets and a create", byVerb)
	}
}

func TestTwoAtOnce(t *testing.T) {
	a, b := startForTest(t, Options{}), startForTest(t, Options{SyncWrites: true})
	if err := newClient(t, a).Create(t.Context(), configMap("only-in-a")); err != nil {
		t.Fatal(err)
	}
	err := newClient(t, b).Get(t.Context(), client.ObjectKeyFromObject(configMap("only-in-a")), configMap("only-in-a"))
	if !apierrors.IsNotFound(err) {
		t.Errorf("the other control plane answers %v, want not found", err)
	}
}

// TestNothingSurvivesAKill makes this test binary start a control plane, and kills it.
func TestNothingSurvivesAKill(t *testing.T) {
	const child = "CONTROLPLANE_TEST_DIR"
	if dir := os.Getenv(child); dir != "" {
		if _, err := Start(t.Context(), Options{Dir: dir, ControllerManager: true}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "started"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		select {}
	}
	needControlPlane(t)
	dir := filepath.Join(t.TempDir(), "killed")
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), child+"="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the control plane runs", func() bool {
		_, err := os.Stat(filepath.Join(dir, "started"))
		return err == nil
	})
	if n := len(processesOf(t, dir)); n != 3 {
		t.Errorf("%d processes, want etcd, kube-apiserver and kube-controller-manager", n)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "the processes and the folder are gone", func() bool {
		_, err := os.Stat(dir)
		return os.IsNotExist(err) && len(processesOf(t, dir)) == 0
	})
}

// processesOf returns the processes that have the folder in their arguments.
func processesOf(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		if args, err := os.ReadFile(file); err == nil && strings.Contains(string(args), dir+"/") {
			found = append(found, file)
		}
	}
	return found
}
