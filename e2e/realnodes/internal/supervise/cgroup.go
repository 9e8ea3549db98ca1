//go:build linux

package supervise

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/nodespec"
)

// EnterCgroup creates a cgroup and its parents if necessary, and moves a process into it.
func EnterCgroup(h nodespec.Hierarchy, cgroup string, pid int) error {
	dir := h.Source
	for _, part := range strings.Split(cgroup, "/") {
		parent := dir
		dir = filepath.Join(dir, part)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		if err := inheritCpuset(parent, dir); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644); err != nil {
		return fmt.Errorf("enter the cgroup: %w", err)
	}
	return nil
}

// inheritCpuset copies the processors and memory nodes of the parent to a new cgroup: a cgroup without any accepts no process. Other
// hierarchies do not have these files.
func inheritCpuset(parent, dir string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(parent, file))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file), value, 0o644); err != nil {
			return err
		}
	}
	return nil
}
