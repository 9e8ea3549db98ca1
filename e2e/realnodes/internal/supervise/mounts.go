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

// furnish turns the mount namespace of this process, which has all mounts of the machine, into that of a node.
func furnish(spec *nodespec.Spec) error {
	if err := unix.Sethostname([]byte(spec.Hostname)); err != nil {
		return fmt.Errorf("set the hostname: %w", err)
	}
	// From here on, mounts do not propagate to the machine.
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	for _, step := range []func(*nodespec.Spec) error{mountProc, mountCgroups, mountFolders} {
		if err := step(spec); err != nil {
			return err
		}
	}
	// Mounts that kubelet makes for volumes have to propagate to the pods' mount namespaces.
	return mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "")
}

// mountProc mounts a /proc with the processes of the node only. Kernel parameters other than the network's belong to the machine and are
// read-only here. Kubelet requires some values, and gets files with these values.
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

// mountCgroups mounts the node's own cgroup as the root of each hierarchy, as a cgroup namespace shows it. That requires new mounts: the
// machine's mounts still show the machine's root.
func mountCgroups(spec *nodespec.Spec) error {
	if err := unix.Unmount(cgroups, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount %s: %w", cgroups, err)
	}
	// A sysfs shows the network namespace in which it was mounted.
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

// mountFolders covers folders of the machine with empty ones, and mounts the node's folders where programs expect them. So the machine gets
// no mount points.
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
