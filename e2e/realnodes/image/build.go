package image

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// BuildProgram compiles a Go package, named relative to a folder of its module, into a static program, for an image without other files.
// With Go's build cache, a second build takes about a second.
func BuildProgram(ctx context.Context, program, folder, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", program, pkg)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", pkg, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// ProgramPath is the path of the program in the image of an operator, as in the Dockerfile.
const ProgramPath = "/operator"

// BuildOperator compiles a Go package as BuildProgram does, and writes an image with the program and files to name.tar in dir, like the
// image that the Dockerfile builds. It returns the archive. reference is the image's name in Kubernetes.
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
