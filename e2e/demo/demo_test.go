package demo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// inFolder returns a demo that uses this folder, so that it does not collide with a demo of a user of this machine.
func inFolder(dir string, out *bytes.Buffer) (*Demo, error) {
	d, err := New(out)
	if err == nil {
		d.dir = dir
	}
	return d, err
}

const folderVariable = "DEMO_TEST_FOLDER"

// TestMain makes this binary run as the supervisor that the tested demo starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == SuperviseCommand {
		os.Exit(supervise())
	}
	os.Exit(m.Run())
}

func supervise() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	d, err := inFolder(os.Getenv(folderVariable), &bytes.Buffer{})
	if err == nil {
		err = d.Supervise(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func newDemo(t *testing.T) (*Demo, *bytes.Buffer) {
	t.Helper()
	g := NewWithT(t)
	if err := controlplane.Available(t.Context()); err != nil {
		g.Expect(os.Getenv("CI")).NotTo(Equal("true"), "%v", err)
		t.Skip(err)
	}
	dir := filepath.Join(t.TempDir(), "demo")
	t.Setenv(folderVariable, dir)
	out := &bytes.Buffer{}
	d, err := inFolder(dir, out)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		g.Expect(d.Down(context.WithoutCancel(t.Context()))).To(Succeed())
		g.Expect(processesOf(t, dir)).To(BeEmpty())
		g.Expect(dir).NotTo(BeAnExistingFile())
	})
	return d, out
}

// TestRoll checks that the roller's demo runs its whole story, that no client notices the roll, and that nothing remains.
func TestRoll(t *testing.T) {
	if testing.Short() {
		t.Skip("real parts take longer than -short allows")
	}
	g := NewWithT(t)
	d, out := newDemo(t)
	if err := realkafka.Available(t.Context()); err != nil {
		g.Expect(os.Getenv("CI")).NotTo(Equal("true"), "%v", err)
		t.Skip(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	g.Expect(d.Roll(t.Context())).To(Succeed(), out.String)
	for _, want := range []string{
		"Nothing to do: 3 nodes are up to date.", "3 of 3 nodes need a restart, in 3 batches", "Hold: it is annotated",
		"Done: 3 nodes restarted", "and 0 refused", "log.cleaner.threads of all brokers", "All three nodes have it.",
	} {
		g.Expect(out.String()).To(ContainSubstring(want))
	}
	g.Expect(processesOf(t, os.Getenv("TMPDIR"))).To(BeEmpty())
	g.Expect(os.ReadDir(os.Getenv("TMPDIR"))).To(BeEmpty())
}

// processesOf returns the processes that have the folder in their arguments.
func processesOf(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var found []string
	for _, file := range files {
		if args, err := os.ReadFile(file); err == nil && strings.Contains(string(args), dir+"/") {
			found = append(found, file)
		}
	}
	return found
}

func TestUpTwiceTopicsDown(t *testing.T) {
	g := NewWithT(t)
	d, out := newDemo(t)
	g.Expect(d.Up(t.Context(), "")).To(Succeed(), out.String)
	for _, want := range []string{"orders", "Go on playing", "It was back after", "Kafka has no topic hello any more"} {
		g.Expect(out.String()).To(ContainSubstring(want))
	}

	out.Reset()
	g.Expect(d.Up(t.Context(), kafkaEmbedded)).To(Succeed(), out.String)
	g.Expect(out.String()).To(ContainSubstring("running already"))
	g.Expect(d.Up(t.Context(), kafkaReal)).NotTo(Succeed(), "another Kafka runs")

	out.Reset()
	g.Expect(d.Topics(t.Context())).To(Succeed(), out.String)
	g.Expect(out.String()).To(ContainSubstring("Orders_DEAD.Letters"))
}

func TestUpAfterTheSupervisorWasKilled(t *testing.T) {
	g := NewWithT(t)
	d, out := newDemo(t)
	g.Expect(d.Up(t.Context(), "")).To(Succeed(), out.String)
	s, err := d.running()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Supervisor.signal(syscall.SIGKILL)).To(Succeed())
	g.Eventually(func() []string { return processesOf(t, d.dir) }, time.Minute).Should(BeEmpty(), "none outlives the supervisor")
	g.Expect(d.Topics(t.Context())).NotTo(Succeed(), "the demo does not run")
	out.Reset()
	g.Expect(d.Up(t.Context(), "")).To(Succeed(), out.String)
	g.Expect(out.String()).To(ContainSubstring("without cleaning up"))
}

func TestInterruptedUpLeavesNothing(t *testing.T) {
	d, out := newDemo(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// Interrupt the demo as soon as there is something to clean up.
	go func() {
		defer cancel()
		for len(processesOf(t, d.dir)) == 0 {
			select {
			case <-ctx.Done():
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	NewWithT(t).Expect(d.Up(ctx, "")).To(MatchError(ContainSubstring("interrupted")), out.String)
}

func TestAReusedProcessIDIsNotOurs(t *testing.T) {
	g := NewWithT(t)
	cmd := exec.Command("sleep", "60")
	g.Expect(cmd.Start()).To(Succeed())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	id, err := identify(cmd.Process.Pid)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(id.alive()).To(BeTrue())
	stranger := identity{PID: id.PID, Start: "1"}
	g.Expect(stranger.alive()).To(BeFalse(), "it was started at another time")
	g.Expect(stranger.signal(syscall.SIGKILL)).To(Succeed())
	g.Expect(id.alive()).To(BeTrue())
}
