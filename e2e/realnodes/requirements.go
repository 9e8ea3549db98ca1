//go:build linux

package realnodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/nodespec"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/stock"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
)

// controllers are the cgroup controllers that kubelet and the container runtime work with. Each has a hierarchy of its own, or
// shares one; name=systemd is the one without a controller, which programs know a process by.
var controllers = []string{"cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids", "name=systemd"}

// programs are where a lab's programs are.
type programs struct {
	// nodes is the folder of hack/assets.sh nodes, controlPlane that of controlplane.
	nodes, controlPlane string
	// store is the container runtime's store with the images of hack/assets.sh images.
	store string
	// agent is the folder of the programs of this package.
	agent string
	// hierarchies are those of the machine's cgroups.
	hierarchies []nodespec.Hierarchy
}

// Available returns nil if Start can work, else one line that says what is missing. It may build the programs, which takes
// minutes.
func Available(ctx context.Context) error { return Prepare(ctx, io.Discard) }

// Require skips a test that needs nodes where there can be none, or where they take too long (-short); in CI it fails then.
func Require(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("real nodes take longer than -short allows")
	}
	if err := Available(t.Context()); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// Prepare is Available for those who want to watch: it tells its progress.
func Prepare(ctx context.Context, progress io.Writer) error {
	_, err := findPrograms(ctx, progress)
	return err
}

func findPrograms(ctx context.Context, progress io.Writer) (*programs, error) {
	p := &programs{}
	if os.Geteuid() != 0 {
		return nil, errors.New("no nodes: they need root, which makes namespaces, cgroups and mounts")
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, fmt.Errorf("no nodes: %w", err)
	}
	if p.hierarchies, err = findHierarchies(string(mounts)); err != nil {
		return nil, fmt.Errorf("no nodes: %w", err)
	}
	if err := unsuitable(os.TempDir()); err != nil {
		return nil, fmt.Errorf("no nodes: %w", err)
	}
	p.controlPlane = os.Getenv("KUBEBUILDER_ASSETS")
	if p.controlPlane == "" {
		if p.controlPlane, err = assets.Dir(ctx, "controlplane", progress); err != nil {
			return nil, fmt.Errorf("no nodes: %w", err)
		}
	}
	if _, err := exec.LookPath(filepath.Join(p.controlPlane, "kube-controller-manager")); err != nil {
		return nil, fmt.Errorf("no nodes: %w (in KUBEBUILDER_ASSETS)", err)
	}
	if p.nodes, err = assets.Dir(ctx, "nodes", progress); err != nil {
		return nil, fmt.Errorf("no nodes: %w", err)
	}
	images, err := assets.Dir(ctx, "images", progress)
	if err != nil {
		return nil, fmt.Errorf("no nodes: %w", err)
	}
	p.store = filepath.Join(images, stock.StoreDir)
	p.agent, err = buildAgent(ctx)
	return p, err
}

// findHierarchies finds the version 1 hierarchy of each controller among the machine's mounts (proc_pid_mounts(5)).
func findHierarchies(mounts string) ([]nodespec.Hierarchy, error) {
	var found []nodespec.Hierarchy
	var missing []string
	for _, controller := range controllers {
		h, ok := findHierarchy(mounts, controller)
		if !ok {
			missing = append(missing, controller)
			continue
		}
		found = append(found, h)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("this machine has no cgroup hierarchy (version 1) of %s", strings.Join(missing, ", "))
	}
	return found, nil
}

func findHierarchy(mounts, controller string) (nodespec.Hierarchy, bool) {
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[2] != "cgroup" {
			continue
		}
		options := strings.Split(fields[3], ",")
		if !slices.Contains(options, controller) {
			continue
		}
		// The same hierarchy is mounted again only with the same controllers.
		shared := slices.DeleteFunc(options, func(o string) bool { return !slices.Contains(controllers, o) && !strings.HasPrefix(o, "net_") })
		if strings.HasPrefix(controller, "name=") {
			shared = append(shared, "none")
		}
		return nodespec.Hierarchy{Name: strings.TrimPrefix(controller, "name="), Source: fields[1], Options: strings.Join(shared, ",")}, true
	}
	return nodespec.Hierarchy{}, false
}

// unsuitable explains why a folder can't hold a lab: the containers' file systems are overlays, which can't lie on another overlay.
func unsuitable(dir string) error {
	const overlay = 0x794c7630
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if fs.Type == overlay {
		return fmt.Errorf("%s is on an overlay file system, on which containers' own can't lie: set TMPDIR to a folder on another", dir)
	}
	return nil
}

// building keeps two labs of this process from building at once; Go's own build cache does the rest.
var building sync.Mutex

// buildAgent builds the programs of a node that are this package's own. The Go command leaves alone what is up to date.
func buildAgent(ctx context.Context) (string, error) {
	building.Lock()
	defer building.Unlock()
	root, err := assets.Root()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	// Named after the checkout, so that two of them don't exchange theirs.
	dir := filepath.Join(cache, "kafka-operators", "bin", "realnodes-"+shortHash(root))
	unlock, err := lockFile(dir+".lock", syscall.LOCK_EX)
	if err != nil {
		return "", err
	}
	defer unlock()
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", dir+string(filepath.Separator),
		"./realnodes/internal/cmd/nodeinit", "./realnodes/internal/cmd/reaper", "./realnodes/internal/cmd/volumes")
	cmd.Dir = filepath.Join(root, "e2e")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("no nodes: build their programs: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return dir, nil
}
