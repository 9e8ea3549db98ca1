package operatorproc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParseMetrics(t *testing.T) {
	m, err := parseMetrics(`# HELP requests_total Some.
# TYPE requests_total counter
requests_total{kind="A b",namespace="x"} 3
requests_total{kind="B",namespace="x"} 4.5
requests_total_other 100
up 1
latency_bucket{le="+Inf"} 7
worst +Inf
`)
	if err != nil {
		t.Fatal(err)
	}
	if got := m[`requests_total{kind="A b",namespace="x"}`]; got != 3 {
		t.Errorf("a series by its name is %v, want 3", got)
	}
	if got := m.Sum("requests_total", `namespace="x"`); got != 7.5 {
		t.Errorf("sum over the kinds is %v, want 7.5", got)
	}
	if got := m.Sum("requests_total", `kind="B"`, `namespace="x"`); got != 4.5 {
		t.Errorf("sum of one kind is %v, want 4.5", got)
	}
	if m.Has("requests_total", `kind="C"`) || m.Has("requests") || !m.Has("up") {
		t.Error("Has finds what isn't there, or not what is")
	}
	if _, err := parseMetrics("up one\n"); err == nil {
		t.Error("a sample without a number is taken")
	}
}

func TestUsageOfThisProcess(t *testing.T) {
	u, err := UsageOf(os.Getpid())
	if err != nil {
		t.Skip(err)
	}
	if u.RSS < 1<<20 || u.PeakRSS < u.RSS {
		t.Errorf("memory %d, at most %d: not that of a Go program", u.RSS, u.PeakRSS)
	}
	cpu, err := parseCPU([]byte("1 (a) b) S 1 1 1 0 -1 4194304 1 0 0 0 250 50 0 0 20 0 1 0 1 1 1"))
	if err != nil || cpu != 3*time.Second {
		t.Errorf("CPU time %v, %v, want 3s", cpu, err)
	}
}

// fakeOperator writes a shell script that replaces the binary.
func fakeOperator(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "operator")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEnvironmentLogAndExit(t *testing.T) {
	t.Setenv("STRIMZI_NAMESPACE", "from-outside")
	t.Setenv("STRIMZI_CLIENT_ID", "from-outside")
	op, err := Start(t.Context(), Options{
		Binary:     fakeOperator(t, `env | grep -E '^(STRIMZI|KUBE)' ; exit 3`),
		Kubeconfig: "the-kubeconfig",
		Bootstrap:  []string{"a:1", "b:2"},
		Env:        map[string]string{"STRIMZI_LEADER_ELECTION_ENABLED": "true"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := op.WaitReady(t.Context()); err == nil || !strings.Contains(err.Error(), "code 3") {
		t.Errorf("waiting for an operator that ended: %v", err)
	}
	for _, want := range []string{
		"KUBECONFIG=the-kubeconfig", "STRIMZI_NAMESPACE=default", "STRIMZI_KAFKA_BOOTSTRAP_SERVERS=a:1,b:2",
		"STRIMZI_LEADER_ELECTION_ENABLED=true", "STRIMZI_HTTP_ADDRESS=" + op.Address(),
	} {
		if len(op.LogLines(want)) != 1 {
			t.Errorf("the environment lacks %s", want)
		}
	}
	if lines := op.LogLines("from-outside"); len(lines) > 0 {
		t.Errorf("the test's own environment shines through: %v", lines)
	}
	if err := op.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(op.LogFile()); !os.IsNotExist(err) {
		t.Errorf("the log is still there: %v", err)
	}
}

func TestTerminateReturnsTheCode(t *testing.T) {
	op, err := Start(t.Context(), Options{Binary: fakeOperator(t, `trap 'exit 7' TERM; echo up; while :; do sleep 0.05; done`)})
	if err != nil {
		t.Fatal(err)
	}
	defer op.Close()
	for len(op.LogLines("up")) == 0 {
		select {
		case <-op.Exited():
			t.Fatal("it ended by itself")
		case <-time.After(10 * time.Millisecond):
		}
	}
	if code, err := op.Terminate(); code != 7 || err != nil {
		t.Errorf("code %d, %v, want 7", code, err)
	}
}
