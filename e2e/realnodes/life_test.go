//go:build linux

package realnodes

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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
		Expect(usual()).To(Equal(foldersBefore), "no folder of the machine's was made")
		_, err = net.Dial("tcp", forwarded)
		Expect(err).To(HaveOccurred())
	})
})

// usualFolders are the folders that the programs of a node create when they are installed in the usual way.
var usualFolders = []string{
	"/etc/cni", "/etc/containerd", "/etc/kubernetes", "/opt/cni", "/opt/containerd", "/run/cni", "/run/containerd", "/run/netns", "/run/nri",
	"/usr/libexec/kubernetes", "/var/lib/cni", "/var/lib/containerd", "/var/lib/etcd", "/var/lib/kubelet", "/var/lib/volumes",
	"/var/log/containers", "/var/log/pods", "/var/run/kubernetes",
}

// usual returns those of usualFolders that exist.
func usual() []string {
	var found []string
	for _, folder := range usualFolders {
		if _, err := os.Lstat(folder); err == nil {
			found = append(found, folder)
		}
	}
	return found
}

// killedChild is the environment variable of a child of this test with the name of the file that the child writes when its lab has started.
const killedChild = "REALNODES_TEST_STARTED"

// TestNothingSurvivesAKill makes this test binary start a lab and kills it; and a second time together with the lab's reaper.
func TestNothingSurvivesAKill(t *testing.T) {
	if started := os.Getenv(killedChild); started != "" {
		startAndWaitForTheEnd(t, started)
	}
	needNodes(t)
	t.Run("with a reaper", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		dir, kill := startChild(t)
		g.Expect(traces(dir)).NotTo(BeEmpty())
		kill()
		g.Eventually(func() ([]string, error) { return traces(dir) }, testPatience, 50*time.Millisecond).Should(BeEmpty())
	})
	t.Run("without", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		dir, kill := startChild(t)
		p, err := findPrograms(t.Context(), io.Discard)
		g.Expect(err).NotTo(HaveOccurred())
		reapers, err := processes(func(args string) bool { return strings.Contains(args, "/reaper "+dir+" ") })
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(reapers).To(HaveLen(1))
		for pid := range reapers {
			g.Expect(syscall.Kill(pid, syscall.SIGKILL)).To(Succeed())
		}
		g.Expect(running(dir)).NotTo(BeEmpty())
		kill()
		// The nodes end by themselves. The next lab removes their remains, but only after a minute.
		g.Eventually(func() ([]string, error) { return running(dir) }, testPatience, 50*time.Millisecond).Should(BeEmpty())
		g.Expect(dir).To(BeADirectory())
		hourAgo := time.Now().Add(-time.Hour)
		g.Expect(os.Chtimes(filepath.Join(dir, ownerLock), hourAgo, hourAgo)).To(Succeed())
		sweep(t.Context(), filepath.Dir(dir), sources(p.hierarchies))
		g.Expect(traces(dir)).To(BeEmpty())
	})
}

func startAndWaitForTheEnd(t *testing.T, started string) {
	l, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Write to a temporary file and rename it, so that readers never see half of it.
	if err := os.WriteFile(started+".part", []byte(l.Dir()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(started+".part", started); err != nil {
		t.Fatal(err)
	}
	select {}
}

// startChild makes this test binary start a lab, and returns the lab's folder and a function that kills the child.
func startChild(t *testing.T) (dir string, kill func()) {
	t.Helper()
	g := NewWithT(t)
	started := filepath.Join(t.TempDir(), "started")
	cmd := exec.Command(os.Args[0], "-test.run=^TestNothingSurvivesAKill$")
	cmd.Env = append(os.Environ(), killedChild+"="+started)
	output := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = output, output
	g.Expect(cmd.Start()).To(Succeed())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the process state has the result
		close(ended)
	}()
	kill = func() {
		_ = cmd.Process.Kill() // it may have been killed
		<-ended
	}
	t.Cleanup(kill)
	g.Eventually(func(g Gomega) {
		select {
		case <-ended:
			StopTrying(fmt.Sprintf("the child ended: %v: %s", cmd.ProcessState, output)).Now()
		default:
		}
		b, err := os.ReadFile(started)
		g.Expect(err).NotTo(HaveOccurred())
		dir = string(b)
	}, 2*testPatience, 50*time.Millisecond).Should(Succeed())
	return dir, kill
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

// traces returns the remains of a lab on the machine: its folder, cgroups, mounts, and processes.
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
	ours, err := processes(func(args string) bool { return strings.Contains(args, dir+"/") || strings.Contains(args, dir+" ") })
	if err != nil {
		return nil, err
	}
	for _, args := range ours {
		found = append(found, args)
	}
	return found, nil
}

// running returns the processes in the cgroups of a lab.
func running(dir string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(filepath.Join("/sys/fs/cgroup/pids", filepath.Base(dir)), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "cgroup.procs" {
			return err
		}
		b, err := os.ReadFile(path)
		found = append(found, strings.Fields(string(b))...)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		err = nil // the cgroup was removed meanwhile
	}
	return found, err
}

// processes returns the processes of this machine whose arguments match, by process id. Each argument is followed by a space.
func processes(such func(args string) bool) (map[int]string, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	found := map[int]string{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended meanwhile
		}
		args := strings.ReplaceAll(string(b), "\x00", " ")
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, err
		}
		if such(args) {
			found[pid] = args
		}
	}
	return found, nil
}

func usageText(u Usage) string {
	return fmt.Sprintf("%d MiB, %v of CPU", u.Memory>>20, u.CPU.Round(10*time.Millisecond))
}
