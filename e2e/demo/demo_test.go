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
	if err := controlplane.Available(t.Context()); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := filepath.Join(t.TempDir(), "demo")
	t.Setenv(folderVariable, dir)
	out := &bytes.Buffer{}
	d, err := inFolder(dir, out)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if err := d.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if left := processesOf(t, dir); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	})
	return d, out
}

// TestRoll checks that the roller's demo runs its whole story, that no client notices the roll, and that nothing remains.
func TestRoll(t *testing.T) {
	if testing.Short() {
		t.Skip("real parts take longer than -short allows")
	}
	d, out := newDemo(t)
	if err := realkafka.Available(t.Context()); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	if err := d.Roll(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"Nothing to do: 3 nodes are up to date.", "3 of 3 nodes need a restart, in 3 batches", "Hold: it is annotated",
		"Done: 3 nodes restarted", "and 0 refused", "log.cleaner.threads of all brokers", "All three nodes have it.",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the story lacks %q:\n%s", want, out)
		}
	}
	if left := processesOf(t, os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v %v", left, err)
	}
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
	d, out := newDemo(t)
	if err := d.Up(t.Context(), ""); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"orders", "Go on playing", "It was back after", "Kafka has no topic hello any more"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the story lacks %q:\n%s", want, out)
		}
	}

	out.Reset()
	if err := d.Up(t.Context(), kafkaEmbedded); err != nil || !strings.Contains(out.String(), "running already") {
		t.Errorf("a second up: %v\n%s", err, out)
	}
	if err := d.Up(t.Context(), kafkaReal); err == nil {
		t.Error("an up with another Kafka is fine with the one that runs")
	}

	out.Reset()
	if err := d.Topics(t.Context()); err != nil || !strings.Contains(out.String(), "Orders_DEAD.Letters") {
		t.Errorf("topics: %v\n%s", err, out)
	}
}

func TestUpAfterTheSupervisorWasKilled(t *testing.T) {
	g := NewWithT(t)
	d, out := newDemo(t)
	if err := d.Up(t.Context(), ""); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s, err := d.running()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Supervisor.signal(syscall.SIGKILL)).To(Succeed())
	deadline := time.After(time.Minute)
	for len(processesOf(t, d.dir)) > 0 {
		select {
		case <-deadline:
			t.Fatalf("processes outlive the supervisor: %v", processesOf(t, d.dir))
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err := d.Topics(t.Context()); err == nil {
		t.Error("topics of a demo that does not run")
	}
	out.Reset()
	if err := d.Up(t.Context(), ""); err != nil || !strings.Contains(out.String(), "without cleaning up") {
		t.Errorf("up after a crash: %v\n%s", err, out)
	}
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
	if err := d.Up(ctx, ""); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("up: %v\n%s", err, out)
	}
}

func TestAReusedProcessIDIsNotOurs(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	NewWithT(t).Expect(cmd.Start()).To(Succeed())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	id, err := identify(cmd.Process.Pid)
	if err != nil || !id.alive() {
		t.Fatalf("%v, %v: not alive", id, err)
	}
	stranger := identity{PID: id.PID, Start: "1"}
	if stranger.alive() || stranger.signal(syscall.SIGKILL) != nil || !id.alive() {
		t.Error("a process that was started at another time was taken for ours")
	}
}
