package operatorproc

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestParseMetrics(t *testing.T) {
	g := NewWithT(t)
	m, err := ParseMetrics(`# HELP requests_total Some.
# TYPE requests_total counter
requests_total{kind="A b",namespace="x"} 3
requests_total{kind="B",namespace="x"} 4.5
requests_total_other 100
up 1
latency_bucket{le="+Inf"} 7
worst +Inf
`)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m[`requests_total{kind="A b",namespace="x"}`]).To(BeEquivalentTo(3))
	g.Expect(m.Sum("requests_total", `namespace="x"`)).To(Equal(7.5))
	g.Expect(m.Sum("requests_total", `kind="B"`, `namespace="x"`)).To(Equal(4.5))
	g.Expect(m.Has("requests_total", `kind="C"`)).To(BeFalse())
	g.Expect(m.Has("requests")).To(BeFalse())
	g.Expect(m.Has("up")).To(BeTrue())
	_, err = ParseMetrics("up one\n")
	g.Expect(err).To(HaveOccurred(), "a sample without a number")
}

func TestUsageOfThisProcess(t *testing.T) {
	g := NewWithT(t)
	u, err := UsageOf(os.Getpid())
	if err != nil {
		t.Skip(err)
	}
	g.Expect(u.RSS).To(BeNumerically(">=", 1<<20))
	g.Expect(u.PeakRSS).To(BeNumerically(">=", u.RSS))
	cpu, err := parseCPU([]byte("1 (a) b) S 1 1 1 0 -1 4194304 1 0 0 0 250 50 0 0 20 0 1 0 1 1 1"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cpu).To(Equal(3 * time.Second))
}

// fakeOperator writes a shell script that replaces the binary.
func fakeOperator(t *testing.T, script string) string {
	t.Helper()
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "operator")
	g.Expect(os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700)).To(Succeed())
	return path
}

func TestEnvironmentLogAndExit(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("STRIMZI_NAMESPACE", "from-outside")
	t.Setenv("STRIMZI_CLIENT_ID", "from-outside")
	op, err := Start(t.Context(), Options{
		Binary:     fakeOperator(t, `env | grep -E '^(STRIMZI|KUBE)' ; exit 3`),
		Kubeconfig: "the-kubeconfig",
		Bootstrap:  []string{"a:1", "b:2"},
		Env:        map[string]string{"STRIMZI_LEADER_ELECTION_ENABLED": "true"},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(op.WaitReady(t.Context())).To(MatchError(ContainSubstring("code 3")))
	for _, want := range []string{
		"KUBECONFIG=the-kubeconfig", "STRIMZI_NAMESPACE=default", "STRIMZI_KAFKA_BOOTSTRAP_SERVERS=a:1,b:2",
		"STRIMZI_LEADER_ELECTION_ENABLED=true", "STRIMZI_HTTP_ADDRESS=" + op.Address(),
	} {
		g.Expect(op.LogLines(want)).To(HaveLen(1), want)
	}
	g.Expect(op.LogLines("from-outside")).To(BeEmpty(), "the test's own environment")
	g.Expect(op.Close()).To(Succeed())
	g.Expect(op.LogFile()).NotTo(BeAnExistingFile())
}

func TestTerminateReturnsTheCode(t *testing.T) {
	g := NewWithT(t)
	op, err := Start(t.Context(), Options{Binary: fakeOperator(t, `trap 'exit 7' TERM; echo up; while :; do sleep 0.05; done`)})
	g.Expect(err).NotTo(HaveOccurred())
	defer op.Close()
	g.Eventually(op.LogLines).WithArguments("up").WithTimeout(time.Minute).ShouldNot(BeEmpty())
	code, err := op.Terminate()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(code).To(Equal(7))
}
