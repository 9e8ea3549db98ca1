//go:build linux

// Package remains stops and removes a lab from outside: its processes, its cgroups, its folder. It needs only the lab's name, so that it
// also works for labs whose processes have ended.
package remains

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Lab identifies the remains of a lab.
type Lab struct {
	// Dir is the lab's folder. The lab's cgroup has the same name in every hierarchy.
	Dir string
	// Hierarchies are the folders where the machine's cgroup hierarchies are mounted.
	Hierarchies []string
}

// Remove kills every process in the lab's cgroups, and removes the cgroups and the folder. It returns when nothing remains, or with the
// reason when the context ends.
func (l Lab) Remove(ctx context.Context) error {
	name := filepath.Base(l.Dir)
	for {
		err := l.removeCgroups(name)
		if err == nil {
			return os.RemoveAll(l.Dir)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("remove the lab %s: %w", name, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Kill kills every process in a cgroup of the lab, and in those below it, and waits until none is left.
func (l Lab) Kill(ctx context.Context, cgroup string) error {
	for {
		alive := 0
		for _, hierarchy := range l.Hierarchies {
			n, err := killAll(filepath.Join(hierarchy, cgroup))
			if err != nil {
				return err
			}
			alive += n
		}
		if alive == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d processes of %s are still there: %w", alive, cgroup, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// RemoveCgroup removes a cgroup of the lab, and those below it, which must be without processes.
func (l Lab) RemoveCgroup(cgroup string) error {
	var errs []error
	for _, hierarchy := range l.Hierarchies {
		errs = append(errs, removeTree(filepath.Join(hierarchy, cgroup)))
	}
	return errors.Join(errs...)
}

func (l Lab) removeCgroups(name string) error {
	var errs []error
	for _, hierarchy := range l.Hierarchies {
		if _, err := killAll(filepath.Join(hierarchy, name)); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, l.RemoveCgroup(name))...)
}

// killAll kills all processes below a cgroup, and returns how many it found.
func killAll(root string) (int, error) {
	found := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if gone(err) {
			return nil
		}
		if err != nil || d.Name() != "cgroup.procs" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil && !gone(err) {
			return err
		}
		for _, field := range strings.Fields(string(b)) {
			// A process of another namespace shows as 0.
			if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
				found++
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}
		}
		return nil
	})
	return found, err
}

// removeTree removes the cgroups from the lowest up. The files in them can't and need not be removed.
func removeTree(root string) error {
	var dirs []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if gone(err) {
			return nil
		}
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, dir := range slices.Backward(dirs) {
		if err := syscall.Rmdir(dir); err != nil && !gone(err) {
			return fmt.Errorf("remove %s: %w", dir, err)
		}
	}
	return nil
}

// gone reports whether an error means that the file or its device no longer exists.
func gone(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENODEV)
}
