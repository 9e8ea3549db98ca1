package image

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// ProgramPath is where the program is in the image of an operator: where the Dockerfile puts it.
const ProgramPath = "/operator"

// BuildOperator compiles a Go package, as BuildProgram does, and writes an image with nothing else but files to name.tar in dir, as the
// Dockerfile makes it. It returns the archive. reference is the image's name in Kubernetes.
func BuildOperator(ctx context.Context, dir, name, reference, folder, pkg string, files ...File) (archive string, err error) {
	program, archive := filepath.Join(dir, name), filepath.Join(dir, name+".tar")
	if err := BuildProgram(ctx, program, folder, pkg); err != nil {
		return "", err
	}
	i := Image{
		Name: reference, Files: append([]File{{Path: ProgramPath, Source: program}}, files...),
		Config: Config{Entrypoint: []string{ProgramPath}, User: "65532:65532"},
	}
	return archive, i.Write(archive)
}
