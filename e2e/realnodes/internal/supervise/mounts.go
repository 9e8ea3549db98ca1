//go:build linux

package supervise

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/nodespec"
)

const cgroups = "/sys/fs/cgroup"

// furnish makes the mount namespace of this process, which still has all mounts of the machine, that of a node.
func furnish(spec *nodespec.Spec) error {
	if err := unix.Sethostname([]byte(spec.Hostname)); err != nil {
		return fmt.Errorf("set the hostname: %w", err)
	}
	// From here on no mount reaches the machine.
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	for _, step := range []func(*nodespec.Spec) error{mountProc, mountCgroups, mountFolders} {
		if err := step(spec); err != nil {
			return err
		}
	}
	// The mounts that kubelet makes for volumes have to reach the pods, which have mount namespaces of their own.
	return mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "")
}

// mountProc shows the processes of the node only. Settings of the kernel that are not the network's are the machine's, and
// read-only here; kubelet insists on some, and is shown files that have the values it wants.
func mountProc(spec *nodespec.Spec) error {
	if err := mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	for _, dir := range []string{"/proc/sys/kernel", "/proc/sys/vm", "/proc/sys/fs"} {
		if err := bind(dir, dir); err != nil {
			return err
		}
		if err := mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(spec.Kernel)) {
		shown := filepath.Join(spec.Dir, "kernel", strings.ReplaceAll(strings.TrimPrefix(path, "/proc/sys/"), "/", "."))
		if err := os.MkdirAll(filepath.Dir(shown), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(shown, []byte(spec.Kernel[path]+"\n"), 0o644); err != nil {
			return err
		}
		if err := bind(shown, path); err != nil {
			return err
		}
	}
	return nil
}

// mountCgroups shows the node's own cgroup as the root of each hierarchy, which is what a cgroup namespace is for. It takes
// new mounts: those of the machine still show the machine's root.
func mountCgroups(spec *nodespec.Spec) error {
	if err := unix.Unmount(cgroups, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount %s: %w", cgroups, err)
	}
	// A sysfs shows the network that its mounter is in.
	if err := mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return err
	}
	if err := mount("cgroup", cgroups, "tmpfs", 0, "mode=755,size=1m"); err != nil {
		return err
	}
	for _, h := range spec.Hierarchies {
		dir := filepath.Join(cgroups, h.Name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := mount("cgroup", dir, "cgroup", 0, h.Options); err != nil {
			return err
		}
	}
	return nil
}

// mountFolders covers folders of the machine with empty ones, and puts the node's own where programs look for them. The
// machine gets no mount points that way.
func mountFolders(spec *nodespec.Spec) error {
	for _, dir := range spec.Scratch {
		if err := mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
			return err
		}
	}
	for _, target := range slices.Sorted(maps.Keys(spec.Folders)) {
		source := spec.Folders[target]
		for _, dir := range []string{source, target} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		if err := bind(source, target); err != nil {
			return err
		}
	}
	return nil
}

func bind(source, target string) error { return mount(source, target, "", unix.MS_BIND, "") }

func mount(source, target, kind string, flags uintptr, data string) error {
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		return fmt.Errorf("mount %s %s on %s (%s): %w", kind, source, target, data, err)
	}
	return nil
}
