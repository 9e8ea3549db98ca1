//go:build linux

package demo

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
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
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
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
			if err := c.up(d, t.Context()); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			for _, want := range c.story {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the story lacks %q:\n%s", want, out)
				}
			}
			for range 2 { // the second time, nothing runs
				g.Expect(c.down(d, context.WithoutCancel(t.Context()))).To(Succeed())
			}
			if left := processesOf(t, temporary); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
			if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
				t.Errorf("files are left: %v %v", left, err)
			}
			g.Expect(os.Remove(temporary)).To(Succeed())
		})
	}
}
