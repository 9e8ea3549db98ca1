// Package assets finds the workspace of a test, builds its programs, and lets its script hack/assets.sh provide the real programs that
// tests and the demo run: Kafka's jars, and the programs of a Kubernetes control plane.
package assets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Root returns the root of the workspace: the first folder with a go.work above the working directory, else above this
// source file (for a test binary that runs elsewhere).
func Root() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	_, source, _, _ := runtime.Caller(0)
	for _, start := range []string{wd, filepath.Dir(source)} {
		for dir := start; ; dir = filepath.Dir(dir) {
			if isFile(filepath.Join(dir, "go.work")) && isFile(filepath.Join(dir, "hack", "assets.sh")) {
				return dir, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", errors.New("there is no workspace with hack/assets.sh above the working directory")
}

// Dir returns the folder of an asset (controlplane, kafka). It downloads or builds the asset if this machine does not have it yet, and
// writes the script's progress to progress.
func Dir(ctx context.Context, asset string, progress io.Writer) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, filepath.Join(root, "hack", "assets.sh"), asset)
	cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(&said, progress)
	// On an interrupt the script ends its own children.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return "", fmt.Errorf("hack/assets.sh %s: %w: %s", asset, err, lines[len(lines)-1])
	}
	return strings.TrimSpace(out.String()), nil
}

// Build compiles Go packages, named relative to a folder of their module, into a static program, or into a folder of programs if the path
// ends with a separator. All tests build their programs with the same flags, those of images: with others, Go would compile Kubernetes'
// libraries again. With Go's build cache, a second build takes about a second.
func Build(ctx context.Context, path, folder string, packages ...string) error {
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path}, packages...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", strings.Join(packages, ", "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
