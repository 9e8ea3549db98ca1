package controlplane

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
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
	g := NewWithT(t)
	needControlPlane(t)
	o.Log = testLog{t}
	p, err := Start(t.Context(), o)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		g.Expect(p.Stop()).To(Succeed())
		g.Expect(p.dir).NotTo(BeADirectory())
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
	NewWithT(t).Eventually(condition).WithTimeout(time.Minute).Should(BeTrue(), what)
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func newClient(t *testing.T, p *ControlPlane) client.Client {
	t.Helper()
	g := NewWithT(t)
	c, err := client.New(p.RESTConfig(), client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}

func TestControllerManagerCollectsGarbage(t *testing.T) {
	g := NewWithT(t)
	p := startForTest(t, Options{ControllerManager: true})
	c := newClient(t, p)
	owner := configMap("owner")
	g.Expect(c.Create(t.Context(), owner)).To(Succeed())
	owned := configMap("owned")
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
	g.Expect(c.Create(t.Context(), owned)).To(Succeed())
	g.Expect(c.Delete(t.Context(), owner)).To(Succeed())
	eventually(t, "the owned object is gone", func() bool {
		return apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(owned), owned))
	})

	for _, args := range [][]string{{"create", "namespace", "short-lived"}, {"delete", "namespace", "short-lived", "--timeout=60s"}} {
		_, err := p.Kubectl(t.Context(), args...)
		g.Expect(err).NotTo(HaveOccurred())
	}
}

func TestRequestsAreCountedByUser(t *testing.T) {
	g := NewWithT(t)
	p := startForTest(t, Options{Audit: true})
	account, err := p.AddServiceAccount("default", "reader")
	g.Expect(err).NotTo(HaveOccurred())
	for _, args := range [][]string{
		{"create", "role", "reader", "--verb=get", "--resource=configmaps", "-n", "default"},
		{"create", "rolebinding", "reader", "--role=reader", "--serviceaccount=default:reader", "-n", "default"},
	} {
		_, err := p.Kubectl(t.Context(), args...)
		g.Expect(err).NotTo(HaveOccurred())
	}
	config := account.RESTConfig
	config.UserAgent = "the-reader"
	c, err := client.New(config, client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(newClient(t, p).Create(t.Context(), configMap("letter"))).To(Succeed())
	eventually(t, "the role is in force", func() bool {
		return c.Get(t.Context(), client.ObjectKeyFromObject(configMap("letter")), configMap("letter")) == nil
	})
	mark, err := p.Mark()
	g.Expect(err).NotTo(HaveOccurred())
	for range 3 {
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(configMap("letter")), configMap("letter"))).To(Succeed())
	}
	g.Expect(c.Create(t.Context(), configMap("forbidden"))).To(MatchError(apierrors.IsForbidden, "forbidden"))
	byVerb := map[string]int{}
	eventually(t, "the last request is logged", func() bool {
		requests, err := p.Requests(mark, func(r Request) bool { return r.UserAgent == "the-reader" && r.User == account.Name })
		g.Expect(err).NotTo(HaveOccurred())
		byVerb = Tally(requests, func(r Request) string { return r.Verb + " " + r.Resource })
		return byVerb["create configmaps"] == 1
	})
	g.Expect(byVerb).To(Equal(map[string]int{"get configmaps": 3, "create configmaps": 1}))
}

func TestTwoAtOnce(t *testing.T) {
	g := NewWithT(t)
	a, b := startForTest(t, Options{}), startForTest(t, Options{SyncWrites: true})
	g.Expect(newClient(t, a).Create(t.Context(), configMap("only-in-a"))).To(Succeed())
	err := newClient(t, b).Get(t.Context(), client.ObjectKeyFromObject(configMap("only-in-a")), configMap("only-in-a"))
	g.Expect(err).To(MatchError(apierrors.IsNotFound, "not found"))
}

// TestNothingSurvivesAKill makes this test binary start a control plane, and kills it.
func TestNothingSurvivesAKill(t *testing.T) {
	g := NewWithT(t)
	const child = "CONTROLPLANE_TEST_DIR"
	if dir := os.Getenv(child); dir != "" {
		_, err := Start(t.Context(), Options{Dir: dir, ControllerManager: true})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(filepath.Join(dir, "started"), nil, 0o600)).To(Succeed())
		select {}
	}
	needControlPlane(t)
	dir := filepath.Join(t.TempDir(), "killed")
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), child+"="+dir)
	g.Expect(cmd.Start()).To(Succeed())
	eventually(t, "the control plane runs", func() bool {
		_, err := os.Stat(filepath.Join(dir, "started"))
		return err == nil
	})
	g.Expect(processesOf(t, dir)).To(HaveLen(3), "etcd, kube-apiserver and kube-controller-manager")
	g.Expect(cmd.Process.Kill()).To(Succeed())
	_ = cmd.Wait()
	eventually(t, "the processes and the folder are gone", func() bool {
		_, err := os.Stat(dir)
		return os.IsNotExist(err) && len(processesOf(t, dir)) == 0
	})
}

// processesOf returns the processes that have the folder in their arguments.
func processesOf(t *testing.T, dir string) []string {
	t.Helper()
	g := NewWithT(t)
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	g.Expect(err).NotTo(HaveOccurred())
	var found []string
	for _, file := range files {
		if args, err := os.ReadFile(file); err == nil && strings.Contains(string(args), dir+"/") {
			found = append(found, file)
		}
	}
	return found
}
