package operatorproc

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
)

// Build builds the operator of this checkout, as in its image or with the race detector (which needs a C compiler), and returns the path of
// the binary. The binary stays in the user's cache; with Go's build cache, a second build takes about a second.
func Build(ctx context.Context, race bool) (string, error) {
	root, err := assets.Root()
	if err != nil {
		return "", err
	}
	path, err := binaryPath(root, race)
	if err != nil {
		return "", err
	}
	// Build to another file and rename it, because the old binary may be running.
	part := fmt.Sprintf("%s.%d", path, os.Getpid())
	defer func() { _ = os.Remove(part) }() // the file was renamed if the build succeeded
	args, env := []string{"build", "-trimpath", "-buildvcs=false", "-o", part}, os.Environ()
	if race {
		args = append(args, "-race")
	} else {
		env = append(env, "CGO_ENABLED=0") // as for images: with cgo, Kubernetes' libraries would be compiled once more
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./topic-operator/cmd")...)
	cmd.Dir, cmd.Env = root, env
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the topic-operator: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	return path, os.Rename(part, path)
}

// RepositoryPath returns a path in the checkout that the operator is built from, for example the path of its CRDs.
func RepositoryPath(elements ...string) (string, error) {
	root, err := assets.Root()
	return filepath.Join(append([]string{root}, elements...)...), err
}

// binaryPath returns the path of the binary. The name depends on the checkout, so that two checkouts don't overwrite each other's.
func binaryPath(root string, race bool) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "kafka-operators", "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(root)) // documented never to fail
	name := fmt.Sprintf("topic-operator-%x", h.Sum64())
	if race {
		name += "-race"
	}
	return filepath.Join(dir, name), nil
}
