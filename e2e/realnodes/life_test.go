//go:build linux

package realnodes

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("a lab", func() {
	It("runs beside another, loses one of two nodes, and leaves nothing", func() {
		second, err := Start(ctx, Options{Nodes: 2, NodeGrace: 8 * time.Second, Log: GinkgoWriter})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(second.Close()).To(Succeed()) })
		c := second.Clusters()[0]
		worker := c.Nodes()[1]
		k8s := clientOf(c)
		var node corev1.Node
		Expect(k8s.Get(ctx, client.ObjectKey{Name: worker.Name()}, &node)).To(Succeed())
		Expect(nodeReady(&node, time.Time{})).To(BeTrue())

		Expect(worker.PowerOff(ctx)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, client.ObjectKey{Name: worker.Name()}, &node)).To(Succeed())
			g.Expect(nodeReady(&node, time.Time{})).To(BeFalse())
		}).Should(Succeed())
		Expect(worker.PowerOn()).To(Succeed())
		Expect(c.WaitReady(ctx)).To(Succeed())

		forwarded := c.forwarded
		for range 2 {
			Expect(second.Close()).To(Succeed())
		}
		Expect(traces(second.Dir())).To(BeEmpty())
		_, err = net.Dial("tcp", forwarded)
		Expect(err).To(HaveOccurred())
	})
})

// TestNothingSurvivesAKill has this test binary start a lab and kills it.
func TestNothingSurvivesAKill(t *testing.T) {
	const child = "REALNODES_TEST_STARTED"
	if started := os.Getenv(child); started != "" {
		l, err := Start(t.Context(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		// Renamed, so that it is whole when it is seen.
		if err := os.WriteFile(started+".part", []byte(l.Dir()), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(started+".part", started); err != nil {
			t.Fatal(err)
		}
		select {}
	}
	needNodes(t)
	g := NewWithT(t)
	started := filepath.Join(t.TempDir(), "started")
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), child+"="+started)
	output := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = output, output
	g.Expect(cmd.Start()).To(Succeed())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var dir string
	g.Eventually(func(g Gomega) {
		select {
		case err := <-ended:
			StopTrying(fmt.Sprintf("the child ended: %v: %s", err, output)).Now()
		default:
		}
		b, err := os.ReadFile(started)
		g.Expect(err).NotTo(HaveOccurred())
		dir = string(b)
	}, 3*time.Minute, 50*time.Millisecond).Should(Succeed())
	g.Expect(traces(dir)).NotTo(BeEmpty())
	g.Expect(cmd.Process.Kill()).To(Succeed())
	g.Expect(<-ended).To(MatchError(ContainSubstring("killed")))
	g.Eventually(func() ([]string, error) { return traces(dir) }, testPatience, 50*time.Millisecond).Should(BeEmpty())
}

func TestALabWhoseReaperWasKilledTooIsSweptByTheNext(t *testing.T) {
	needNodes(t)
	g := NewWithT(t)
	p, err := findPrograms(t.Context(), GinkgoWriter)
	g.Expect(err).NotTo(HaveOccurred())
	parent := t.TempDir()
	dir := filepath.Join(parent, scratchPrefix+filepath.Base(filepath.Dir(parent)))
	g.Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
	lock := filepath.Join(dir, ownerLock)
	unlock, err := lockFile(lock, syscall.LOCK_EX)
	g.Expect(err).NotTo(HaveOccurred())
	hourAgo := time.Now().Add(-time.Hour)
	g.Expect(os.Chtimes(lock, hourAgo, hourAgo)).To(Succeed())
	hierarchies := sources(p.hierarchies)
	cgroup := filepath.Join(hierarchies[0], filepath.Base(dir), "c1-n1")
	g.Expect(os.MkdirAll(cgroup, 0o755)).To(Succeed())

	sweep(t.Context(), parent, hierarchies)
	g.Expect(traces(dir)).NotTo(BeEmpty(), "it has an owner")
	unlock()
	sweep(t.Context(), parent, hierarchies)
	g.Expect(traces(dir)).To(BeEmpty())
}

// traces returns what there is of a lab on the machine: its folder, its cgroups, mounts, and processes.
func traces(dir string) ([]string, error) {
	var found []string
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		found = append(found, dir)
	}
	name := filepath.Base(dir)
	cgroups, err := filepath.Glob(filepath.Join("/sys/fs/cgroup", "*", name))
	if err != nil {
		return nil, err
	}
	found = append(found, cgroups...)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	if strings.Contains(string(mounts), name) {
		found = append(found, "a mount")
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	for _, process := range processes {
		args, err := os.ReadFile(process)
		if err != nil {
			continue // it has ended meanwhile
		}
		// Not this one, should it have the folder among its arguments.
		if strings.Contains(string(args), dir+"/") || strings.HasSuffix(strings.TrimRight(string(args), "\x00"), dir) {
			found = append(found, strings.ReplaceAll(string(args), "\x00", " "))
		}
	}
	return found, nil
}

func usageText(u Usage) string {
	return fmt.Sprintf("%d MiB, %v of CPU", u.Memory>>20, u.CPU.Round(10*time.Millisecond))
}
