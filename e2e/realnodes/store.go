//go:build linux

package realnodes

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// copyStore copies a container runtime's store. The files of images are never written again, so they are hard-linked where the file system
// allows it, which takes neither time nor disk space. The databases are copied.
func copyStore(from, to string) error {
	return filepath.WalkDir(from, func(source string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(source, from))
		switch {
		case d.IsDir():
			return copyFolder(target, info)
		case info.Mode()&fs.ModeSymlink != 0:
			link, err := os.Readlink(source)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case strings.HasSuffix(source, ".db"):
			return copyFile(source, target, info)
		default:
			if err := os.Link(source, target); !errors.Is(err, syscall.EXDEV) {
				return err
			}
			return copyFile(source, target, info)
		}
	})
}

// copyFolder creates a folder with the permissions of another, regardless of the umask.
func copyFolder(target string, info fs.FileInfo) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	return sameRights(target, info)
}

func copyFile(source, target string, info fs.FileInfo) (err error) {
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return sameRights(target, info)
}

func sameRights(target string, info fs.FileInfo) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		if err := os.Lchown(target, int(stat.Uid), int(stat.Gid)); err != nil {
			return err
		}
	}
	// Set the mode after the owner: a change of the owner clears special bits.
	return os.Chmod(target, info.Mode())
}
