//go:build linux

package realnodes

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/nodespec"
	"github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/remains"
)

const (
	scratchPrefix = "realnodes-"
	ownerLock     = ".owner"
)

// scratch is everything that a lab creates on the machine: a folder, which is kept as long as its owner holds the lock in it, and cgroups
// of the same name. A reaper, which is a separate process, removes both when the owner has ended.
type scratch struct {
	remains.Lab
	unlock func()
	reaper *exec.Cmd
	tell   io.WriteCloser
}

func newScratch(ctx context.Context, p *programs) (*scratch, error) {
	hierarchies := sources(p.hierarchies)
	sweep(ctx, os.TempDir(), hierarchies)
	dir, err := os.MkdirTemp("", scratchPrefix)
	if err != nil {
		return nil, err
	}
	s := &scratch{Lab: remains.Lab{Dir: dir, Hierarchies: hierarchies}}
	if s.unlock, err = lockFile(filepath.Join(dir, ownerLock), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.startReaper(filepath.Join(p.agent, "reaper")); err != nil {
		return nil, errors.Join(err, s.remove(ctx))
	}
	return s, nil
}

func (s *scratch) startReaper(program string) error {
	s.reaper = exec.Command(program, append([]string{s.Dir}, s.Hierarchies...)...)
	s.reaper.Dir = "/"
	// In its own session, the reaper survives signals to the test's session.
	s.reaper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var err error
	if s.tell, err = s.reaper.StdinPipe(); err != nil {
		return err
	}
	return s.reaper.Start()
}

// remove stops and removes everything, and then stops the reaper.
func (s *scratch) remove(ctx context.Context) error {
	if err := s.Remove(ctx); err != nil {
		// The reaper tries again when this process has ended.
		return err
	}
	s.unlock()
	if s.tell == nil {
		return nil
	}
	// The reaper finds nothing to remove.
	return errors.Join(s.tell.Close(), s.reaper.Wait())
}

// cgroup returns the path of a node's cgroup below the root of each hierarchy.
func (s *scratch) cgroup(node string) string { return filepath.Join(filepath.Base(s.Dir), node) }

// sweep removes labs whose owners and reapers were killed. It skips folders of less than a minute, which may not have their lock yet.
func sweep(ctx context.Context, tmp string, hierarchies []string) {
	dirs, _ := filepath.Glob(filepath.Join(tmp, scratchPrefix+"*")) // the pattern is well-formed
	for _, dir := range dirs {
		info, err := os.Stat(filepath.Join(dir, ownerLock))
		if err != nil || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		unlock, err := lockFile(filepath.Join(dir, ownerLock), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil {
			continue // it has an owner
		}
		sweepOne(ctx, remains.Lab{Dir: dir, Hierarchies: hierarchies})
		unlock()
	}
}

// sweepPatience limits how long the removal of an old lab may delay the start of a new one.
const sweepPatience = 10 * time.Second

func sweepOne(ctx context.Context, lab remains.Lab) {
	ctx, cancel := context.WithTimeout(ctx, sweepPatience)
	defer cancel()
	_ = lab.Remove(ctx) // a failed removal must not prevent the start
}

// sources returns the distinct folders at which hierarchies are mounted.
func sources(hierarchies []nodespec.Hierarchy) []string {
	var dirs []string
	seen := map[string]bool{}
	for _, h := range hierarchies {
		if !seen[h.Source] {
			seen[h.Source] = true
			dirs = append(dirs, h.Source)
		}
	}
	return dirs
}

// lockFile takes a lock that the kernel releases when this process ends.
func lockFile(path string, how int) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}

func shortHash(s string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // documented never to fail
	return fmt.Sprintf("%x", h.Sum64())
}
