package clusters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// home and east are the control planes of all tests of this package. If they could not be started, missing is the reason.
var (
	home, east *envtest.Environment
	missing    error
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	// Expected events come soon, but the machine may be busy.
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(5 * time.Millisecond)
	SetDefaultConsistentlyDuration(300 * time.Millisecond)
	missing = startServers()
	defer stopServers()
	return m.Run()
}

func startServers() error {
	binaries := os.Getenv("KUBEBUILDER_ASSETS")
	if binaries == "" {
		var out bytes.Buffer
		build := exec.Command(filepath.Join("..", "hack", "assets.sh"), "controlplane")
		build.Stdout, build.Stderr = &out, os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build a control plane: %w", err)
		}
		binaries = strings.TrimSpace(out.String())
	}
	home, east = &envtest.Environment{}, &envtest.Environment{}
	errs := make([]error, 2)
	var both sync.WaitGroup
	for i, env := range []*envtest.Environment{home, east} {
		env.BinaryAssetsDirectory = binaries
		env.ControlPlaneStartTimeout, env.ControlPlaneStopTimeout = 2*time.Minute, time.Minute
		both.Go(func() { _, errs[i] = env.Start() })
	}
	both.Wait()
	return errors.Join(errs...)
}

func stopServers() {
	for _, env := range []*envtest.Environment{home, east} {
		if env == nil || env.Config == nil {
			continue
		}
		if err := env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping an API server:", err)
		}
	}
}

// needServers skips the test without API servers. In CI, it fails the test.
func needServers(t *testing.T) {
	t.Helper()
	switch {
	case missing == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("there are no API servers: %v", missing)
	default:
		t.Skipf("there are no API servers: %v", missing)
	}
}

func clientOf(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := client.New(config, client.Options{})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c
}

// newNamespace creates a namespace for the test.
func newNamespace(t *testing.T, c client.Client) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	NewWithT(t).Expect(c.Create(t.Context(), ns)).To(Succeed())
	return ns.Name
}

// user creates a user with all rights until revoke is called. Every user has different credentials.
func user(t *testing.T, env *envtest.Environment) (kubeconfig []byte, revoke func()) {
	t.Helper()
	needServers(t)
	g, c := NewWithT(t), clientOf(t, env.Config)
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	}
	g.Expect(c.Create(t.Context(), binding)).To(Succeed())
	u, err := env.AddUser(envtest.User{Name: binding.Name}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	binding.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: binding.Name}}
	g.Expect(c.Update(t.Context(), binding)).To(Succeed())
	kubeconfig, err = u.KubeConfig()
	g.Expect(err).NotTo(HaveOccurred())
	return kubeconfig, func() {
		t.Helper()
		g.Expect(c.Delete(t.Context(), binding)).To(Succeed())
	}
}

func addressOf(env *envtest.Environment) string {
	return strings.TrimSuffix(strings.TrimPrefix(env.Config.Host, "https://"), "/")
}

// pause stops the process of an API server without closing its connections, and returns the function that resumes it.
func pause(t *testing.T, env *envtest.Environment) (resume func()) {
	t.Helper()
	g := NewWithT(t)
	_, port, err := net.SplitHostPort(addressOf(env))
	g.Expect(err).NotTo(HaveOccurred())
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	g.Expect(err).NotTo(HaveOccurred())
	var pids []int
	for _, line := range lines {
		data, err := os.ReadFile(line)
		if err == nil && strings.Contains(string(data), "kube-apiserver") && strings.Contains(string(data), "--secure-port="+port+"\x00") {
			pid, err := strconv.Atoi(strings.Split(line, "/")[2])
			g.Expect(err).NotTo(HaveOccurred())
			pids = append(pids, pid)
		}
	}
	g.Expect(pids).To(HaveLen(1))
	g.Expect(syscall.Kill(pids[0], syscall.SIGSTOP)).To(Succeed())
	resume = sync.OnceFunc(func() { _ = syscall.Kill(pids[0], syscall.SIGCONT) })
	t.Cleanup(resume)
	g.Eventually(func() []string { return statesOf(pids[0]) }).Should(HaveEach("T"), "its threads stop one after the other")
	return resume
}

// statesOf returns the states of the threads of a process from /proc.
func statesOf(pid int) (states []string) {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, stat := range stats {
		data, _ := os.ReadFile(stat)
		_, after, _ := strings.Cut(string(data), ") ") // the name before it may hold spaces
		states = append(states, strings.SplitN(after, " ", 2)[0])
	}
	return states
}

// tap is a TCP proxy that can stop forwarding in both directions without closing its connections.
type tap struct {
	listener net.Listener
	target   string
	ctx      context.Context

	mu sync.Mutex
	// silent stops new connections as well. frozen stops those that exist when it is closed.
	silent bool
	frozen chan struct{}
}

func newTap(t *testing.T, target string) *tap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	p := &tap{listener: l, target: target, ctx: t.Context(), frozen: make(chan struct{})}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

func (p *tap) url() string { return "https://" + p.listener.Addr().String() }

// freeze permanently stops forwarding on the open connections, and with silent also on new ones.
func (p *tap) freeze(silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = silent
	close(p.frozen)
	p.frozen = make(chan struct{})
}

func (p *tap) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = false
}

func (p *tap) serve(c net.Conn) {
	context.AfterFunc(p.ctx, func() { _ = c.Close() })
	p.mu.Lock()
	silent, frozen := p.silent, p.frozen
	p.mu.Unlock()
	if silent {
		return // open, but without responses
	}
	s, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = c.Close()
		return
	}
	context.AfterFunc(p.ctx, func() { _ = s.Close() })
	go pump(c, s, frozen)
	pump(s, c, frozen)
}

func pump(to, from net.Conn, frozen <-chan struct{}) {
	data := make([]byte, 32<<10)
	for {
		n, err := from.Read(data)
		select {
		case <-frozen:
			return
		default:
		}
		if n > 0 {
			_, _ = to.Write(data[:n])
		}
		if err != nil {
			_ = to.Close()
			_ = from.Close()
			return
		}
	}
}
