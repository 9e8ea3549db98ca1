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

// controllers are the cgroup controllers that kubelet and the container runtime use. Each has its own hierarchy, or shares one.
// name=systemd is the hierarchy without a controller, by which programs identify a process.
var controllers = []string{"cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids", "name=systemd"}

// programs are the paths of a lab's programs.
type programs struct {
	// nodes is the folder of the programs from hack/assets.sh nodes, controlPlane that of controlplane.
	nodes, controlPlane string
	// store is the container runtime's store with the images of hack/assets.sh images.
	store string
	// agent is the folder of this package's programs.
	agent string
	// hierarchies are the machine's cgroup hierarchies.
	hierarchies []nodespec.Hierarchy
}

// Available returns nil if Start can work, else a one-line error that says what is missing. It may build the programs, which takes minutes.
func Available(ctx context.Context) error { return Prepare(ctx, io.Discard) }

// Require skips a test that needs nodes if there can be none, or if they take too long (-short). In CI, it fails the test instead.
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

// Prepare is Available with a report of its progress.
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
		// A hierarchy can be mounted again only with the same controllers.
		shared := slices.DeleteFunc(options, func(o string) bool { return !slices.Contains(controllers, o) && !strings.HasPrefix(o, "net_") })
		if strings.HasPrefix(controller, "name=") {
			shared = append(shared, "none")
		}
		return nodespec.Hierarchy{Name: strings.TrimPrefix(controller, "name="), Source: fields[1], Options: strings.Join(shared, ",")}, true
	}
	return nodespec.Hierarchy{}, false
}

// unsuitable returns an error if a folder can't hold a lab: containers' file systems are overlays, which can't be on another overlay.
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

// building prevents two labs of this process from building at once. Go's build cache handles other processes.
var building sync.Mutex

// buildAgent builds this package's programs for nodes. The Go command skips those that are up to date.
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
	// The name depends on the checkout, so that two checkouts don't overwrite each other's programs.
	dir := filepath.Join(cache, "kafka-operators", "bin", "realnodes-"+shortHash(root))
	unlock, err := lockFile(dir+".lock", syscall.LOCK_EX)
	if err != nil {
		return "", err
	}
	defer unlock()
	const programs = "./realnodes/internal/cmd/"
	if err := assets.Build(ctx, dir+string(filepath.Separator), filepath.Join(root, "e2e"), programs+"nodeinit", programs+"reaper",
		programs+"volumes"); err != nil {
		return "", fmt.Errorf("no nodes: %w", err)
	}
	return dir, nil
}
