package image

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// BuildProgram compiles a Go package, named as seen from a folder of its module, into a static program, as an image wants it that
// has nothing else. Go's own build cache makes a second time a matter of a second.
func BuildProgram(ctx context.Context, program, folder, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", program, pkg)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", pkg, err, strings.TrimSpace(string(out)))
	}
	return nil
}
