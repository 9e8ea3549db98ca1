//go:build linux

package demo

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes"
)

// TestOnNodes checks that the demos on real Kubernetes clusters run their whole story, and that nothing of them remains.
func TestOnNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("real parts take longer than -short allows")
	}
	if err := realnodes.Available(t.Context()); err != nil {
		NewWithT(t).Expect(os.Getenv("CI")).NotTo(Equal("true"), "%v", err)
		t.Skip(err)
	}
	for name, c := range map[string]struct {
		up, down func(*Demo, context.Context) error
		story    []string
	}{
		"cluster": {(*Demo).Cluster, (*Demo).ClusterDown, []string{"Go on playing", "make demo-cluster-down"}},
		"stretch": {(*Demo).Stretch, (*Demo).StretchDown, []string{"Its power comes back", "Go on playing", "make demo-stretch-down"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			temporary, err := os.MkdirTemp("", "demo") // its sockets need a short path
			g.Expect(err).NotTo(HaveOccurred())
			t.Setenv("TMPDIR", temporary)
			out := &bytes.Buffer{}
			d, err := inFolder(filepath.Join(temporary, "demo"), out)
			g.Expect(err).NotTo(HaveOccurred())
			failure := c.up(d, t.Context())
			story := out.String()
			for range 2 { // the second time, nothing runs
				g.Expect(c.down(d, context.WithoutCancel(t.Context()))).To(Succeed())
			}
			g.Expect(failure).NotTo(HaveOccurred(), "%s", story)
			for _, want := range c.story {
				g.Expect(story).To(ContainSubstring(want))
			}
			g.Expect(processesOf(t, temporary)).To(BeEmpty())
			g.Expect(os.ReadDir(temporary)).To(BeEmpty())
			g.Expect(os.Remove(temporary)).To(Succeed())
		})
	}
}
