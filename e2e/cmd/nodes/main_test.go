//go:build linux

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
)

// asCommand makes this test binary run as the command. The test sets it in the environment of child processes.
const asCommand = "NODES_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestClustersToPlayWith(t *testing.T) {
	if err := realnodes.Available(t.Context()); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	g := NewWithT(t)
	env := append(os.Environ(), append(ownCache(t), asCommand+"=yes")...)
	nodes := func(ctx context.Context, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, os.Args[0], args...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	does := func(args ...string) string {
		t.Helper()
		out, err := nodes(t.Context(), args...)
		g.Expect(err).NotTo(HaveOccurred(), "%v: %s", args, out)
		return out
	}
	refuses := func(args ...string) string {
		t.Helper()
		out, err := nodes(t.Context(), args...)
		g.Expect(err).To(HaveOccurred(), "%v: %s", args, out)
		return out
	}

	g.Expect(refuses("status")).To(ContainSubstring("nodes up"))
	g.Expect(refuses("up", "-clusters", "1000")).To(ContainSubstring("1000"))
	t.Cleanup(func() { _, _ = nodes(context.Background(), "down") }) // it was stopped already if the test succeeded
	up := does("up", "-clusters", "1")
	g.Expect(up).To(ContainSubstring("c1-n1  10.101.0.1"))
	dir := strings.TrimSpace(up[strings.LastIndex(up, "logs: ")+len("logs: "):])
	g.Expect(dir).To(BeADirectory())
	g.Expect(refuses("up")).To(ContainSubstring("nodes down"))

	g.Expect(does("kubectl", "c1", "get", "nodes", "-o", "name")).To(Equal("node/c1-n1\n"))
	g.Expect(refuses("kubectl", "c7", "get", "nodes")).To(ContainSubstring(`no cluster "c7"`))
	g.Expect(refuses("load", "/no/such/archive")).To(ContainSubstring("/no/such/archive"))

	does("cut", "c1", "outside")
	refuses("kubectl", "c1", "get", "nodes", "--request-timeout=1s")
	does("heal")
	does("kubectl", "c1", "get", "nodes")

	does("off", "c1-n1")
	g.Expect(does("status")).To(ContainSubstring("c1-n1  10.101.0.1  off"))
	does("on", "c1-n1")
	g.Eventually(func() error {
		_, err := nodes(t.Context(), "kubectl", "c1", "get", "nodes", "--request-timeout=5s")
		return err
	},
		90*time.Second, 200*time.Millisecond).Should(Succeed())

	does("down")
	g.Expect(dir).NotTo(BeADirectory())
	g.Expect(refuses("status")).To(ContainSubstring("nodes up"))
}

// ownCache returns an environment that has the built programs, but not the clusters of a user of this machine.
func ownCache(t *testing.T) []string {
	t.Helper()
	g := NewWithT(t)
	cache, err := os.UserCacheDir()
	g.Expect(err).NotTo(HaveOccurred())
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	g.Expect(err).NotTo(HaveOccurred())
	env := []string{"XDG_CACHE_HOME=" + t.TempDir(), "GOCACHE=" + strings.TrimSpace(string(out))}
	if os.Getenv("KAFKA_OPERATORS_CACHE") == "" {
		env = append(env, "KAFKA_OPERATORS_CACHE="+filepath.Join(cache, "kafka-operators"))
	}
	return env
}
