package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func startScript(t *testing.T, script string) (*Process, string) {
	t.Helper()
	output := filepath.Join(t.TempDir(), "output")
	p, err := Start(Options{Args: []string{"sh", "-c", script}, Output: output})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p, output
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("not in a minute: %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func says(output, text string) func() bool {
	return func() bool {
		b, _ := os.ReadFile(output)
		return strings.Contains(string(b), text)
	}
}

func TestTerminateReachesASuspendedProcess(t *testing.T) {
	p, output := startScript(t, `trap 'echo bye; exit 4' TERM; echo up; while :; do sleep 0.01; done`)
	eventually(t, "it is up", says(output, "up"))
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := p.Terminate(time.Minute); err != nil {
		t.Error(err)
	}
	if p.Running() || p.ExitCode() != 4 || !says(output, "bye")() {
		t.Errorf("running %t, code %d, want an orderly end with code 4", p.Running(), p.ExitCode())
	}
	if err := p.Signal(syscall.SIGCONT); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a signal to a process that is gone: %v", err)
	}
}

func TestTerminateKillsWhoDoesNotListen(t *testing.T) {
	p, output := startScript(t, `trap '' TERM; echo up; while :; do sleep 0.01; done`)
	eventually(t, "it is up", says(output, "up"))
	if err := p.Terminate(50 * time.Millisecond); err == nil || p.Running() {
		t.Errorf("error %v, running %t, want an error and a dead process", err, p.Running())
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	o := Options{Args: []string{"sleep", "60"}, Output: filepath.Join(t.TempDir(), "output")}
	if err := Run(ctx, o); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the deadline", err)
	}
	o.Args = []string{"false"}
	if err := Run(t.Context(), o); err == nil {
		t.Error("a program that failed is fine")
	}
}

func TestManyFiles(t *testing.T) {
	output := filepath.Join(t.TempDir(), "output")
	if err := Run(t.Context(), Options{Args: []string{"sh", "-c", "ulimit -Sn; ulimit -Hn"}, Output: output, ManyFiles: true}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	limits := strings.Fields(string(b))
	if len(limits) != 2 || limits[0] != limits[1] {
		t.Errorf("soft and hard limit are %v, want them equal", limits)
	}
}

// TestNothingOutlivesItsParent lets this test binary start a child, and kills the binary.
func TestNothingOutlivesItsParent(t *testing.T) {
	const child = "PROCESS_TEST_OUTPUT"
	if output := os.Getenv(child); output != "" {
		p, err := Start(Options{Args: []string{"sleep", "600"}, Output: output})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(output, []byte(strconv.Itoa(p.PID())+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		<-p.Exited()
	}
	output := filepath.Join(t.TempDir(), "output")
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), child+"="+output)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the child has started its own", says(output, "\n"))
	b, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "the grandchild is gone", func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}
