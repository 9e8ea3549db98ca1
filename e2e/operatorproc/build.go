package operatorproc

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
)

// Build builds the operator of this checkout, as in its image, and returns the path of the binary, which stays in the user's cache.
func Build(ctx context.Context) (string, error) {
	root, err := assets.Root()
	if err != nil {
		return "", err
	}
	path, err := binaryPath(root)
	if err != nil {
		return "", err
	}
	// Build to another file and rename it, because the old binary may be running.
	part := fmt.Sprintf("%s.%d", path, os.Getpid())
	defer func() { _ = os.Remove(part) }() // the file was renamed if the build succeeded
	if err := assets.Build(ctx, part, root, "./topic-operator/cmd"); err != nil {
		return "", err
	}
	return path, os.Rename(part, path)
}

// RepositoryPath returns a path in the checkout that the operator is built from, for example the path of its CRDs.
func RepositoryPath(elements ...string) (string, error) {
	root, err := assets.Root()
	return filepath.Join(append([]string{root}, elements...)...), err
}

// binaryPath returns the path of the binary. The name depends on the checkout, so that two checkouts don't overwrite each other's.
func binaryPath(root string) (string, error) {
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
	return filepath.Join(dir, fmt.Sprintf("topic-operator-%x", h.Sum64())), nil
}
