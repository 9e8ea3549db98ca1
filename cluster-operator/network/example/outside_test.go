package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestAnyoneCanBuildAProvider builds the example, and runs its tests, as a module outside of this repository with the go.mod of
// docs/cluster-operator/network-providers.md.
func TestAnyoneCanBuildAProvider(t *testing.T) {
	g := NewWithT(t)
	repository, err := filepath.Abs("../../..")
	g.Expect(err).NotTo(HaveOccurred())
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(name)
		g.Expect(err).NotTo(HaveOccurred())
		return string(text)
	}
	_, rest, found := strings.Cut(read(filepath.Join(repository, "docs/cluster-operator/network-providers.md")), "```\nmodule ")
	g.Expect(found).To(BeTrue())
	module, _, _ := strings.Cut(rest, "```")
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       strings.ReplaceAll("module "+module, "../kafka-operators/", repository+"/"),
		"go.sum":       read("../../go.sum"),
		"main.go":      read("main.go"),
		"main_test.go": read("main_test.go"),
	} {
		g.Expect(os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600)).To(Succeed())
	}
	// With the flags of other programs of tests, so that Kubernetes' libraries are compiled already.
	build := exec.CommandContext(t.Context(), "go", "test", "-trimpath", "-vet=off", ".")
	build.Dir = folder
	// The modules are there, because this test was built of them.
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOPROXY=off", "GOFLAGS=-mod=mod -p=1")
	output, err := build.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s", output)
}
