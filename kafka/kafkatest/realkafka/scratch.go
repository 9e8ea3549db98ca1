package realkafka

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	scratchPrefix = "realkafka-"
	ownerLock     = ".owner"
)

// scratch is a temporary folder with a locked file. Another process may remove the folder once the lock is free.
type scratch struct {
	dir    string
	unlock func()
}

func newScratch(dir string) (*scratch, error) {
	var err error
	if dir == "" {
		parent := temporary()
		sweep(parent)
		dir, err = os.MkdirTemp(parent, scratchPrefix)
	} else {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	unlock, err := lockFile(filepath.Join(dir, ownerLock), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		return nil, fmt.Errorf("%s is in use: %w", dir, err)
	}
	return &scratch{dir: dir, unlock: unlock}, nil
}

func (s *scratch) remove() error {
	err := os.RemoveAll(s.dir)
	s.unlock()
	return err
}

// sweep removes the folders of killed test processes. A folder younger than a minute may not have its lock yet.
func sweep(tmp string) {
	dirs, _ := filepath.Glob(filepath.Join(tmp, scratchPrefix+"*"))
	for _, dir := range dirs {
		info, err := os.Stat(filepath.Join(dir, ownerLock))
		if err != nil || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		if unlock, err := lockFile(filepath.Join(dir, ownerLock), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			_ = os.RemoveAll(dir)
			unlock()
		}
	}
}
