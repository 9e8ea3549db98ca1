package image

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// File is a file, a folder or a symbolic link of an image. Exactly one of Source, Content, Link and Dir is set.
type File struct {
	// Path is the path in the image.
	Path string
	// Source is a file on this machine, or a folder with everything in it. If the source itself is a symbolic link, it is followed; links
	// within a folder are kept.
	Source string
	// Content is the content of a file.
	Content string
	// Link is the target of a symbolic link.
	Link string
	// Dir creates an empty folder.
	Dir bool
	// Mode is the permissions. Zero means those of the source, or 0644 for content and 0755 for a folder.
	Mode fs.FileMode
}

// layerWriter writes a layer: the entries of a tar archive, with each folder once and before its content.
type layerWriter struct {
	tar  *tar.Writer
	dirs map[string]bool
}

// writeLayer writes a layer with the files, and returns its descriptor.
func writeLayer(path string, files []File) (layer descriptor, err error) {
	out, err := os.Create(path)
	if err != nil {
		return layer, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	sum := sha256.New()
	w := &layerWriter{tar.NewWriter(io.MultiWriter(out, sum)), map[string]bool{"/": true}}
	for _, f := range files {
		if err := w.add(f); err != nil {
			return layer, fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	if err := w.tar.Close(); err != nil {
		return layer, err
	}
	info, err := out.Stat()
	if err != nil {
		return layer, err
	}
	return descriptor{MediaType: typeLayer, Digest: "sha256:" + hex.EncodeToString(sum.Sum(nil)), Size: info.Size()}, nil
}

func (w *layerWriter) add(f File) error {
	f.Path = path.Clean("/" + f.Path)
	if f.Dir {
		return w.dir(f.Path, orMode(f.Mode, 0o755))
	}
	if err := w.dir(path.Dir(f.Path), 0o755); err != nil {
		return err
	}
	switch {
	case f.Link != "":
		return w.header(tar.Header{Typeflag: tar.TypeSymlink, Name: f.Path, Linkname: f.Link, Mode: 0o777})
	case f.Source != "":
		return w.source(f)
	default:
		return w.file(f.Path, orMode(f.Mode, 0o644), int64(len(f.Content)), strings.NewReader(f.Content))
	}
}

// dir writes a folder and its parents, unless they have been written.
func (w *layerWriter) dir(name string, mode fs.FileMode) error {
	if w.dirs[name] {
		return nil
	}
	if err := w.dir(path.Dir(name), 0o755); err != nil {
		return err
	}
	w.dirs[name] = true
	return w.header(tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: tarMode(mode)})
}

// source writes a file or a whole folder of this machine. WalkDir sorts by name, so that the result is always the same.
func (w *layerWriter) source(f File) error {
	root, err := filepath.EvalSymlinks(f.Source)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(from string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, from)
		if err != nil {
			return err
		}
		name := path.Join(f.Path, filepath.ToSlash(relative))
		switch {
		case d.IsDir():
			return w.dir(name, info.Mode())
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(from)
			if err != nil {
				return err
			}
			return w.header(tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777})
		case info.Mode().IsRegular():
			return w.copy(name, from, orMode(f.Mode, info.Mode()), info.Size())
		default:
			return fmt.Errorf("%s is neither a file nor a folder nor a link", from)
		}
	})
}

func (w *layerWriter) copy(name, from string, mode fs.FileMode, size int64) error {
	content, err := os.Open(from)
	if err != nil {
		return err
	}
	defer content.Close()
	return w.file(name, mode, size, content)
}

func (w *layerWriter) file(name string, mode fs.FileMode, size int64, content io.Reader) error {
	if err := w.header(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: tarMode(mode), Size: size}); err != nil {
		return err
	}
	_, err := io.Copy(w.tar, content)
	return err
}

// header writes the header of an entry. All entries belong to root and have a time in 1970, so that builds do not differ.
func (w *layerWriter) header(h tar.Header) error {
	h.Name = strings.TrimPrefix(h.Name, "/")
	h.ModTime = time.Unix(0, 0)
	return w.tar.WriteHeader(&h)
}

func orMode(mode, otherwise fs.FileMode) fs.FileMode {
	if mode == 0 {
		return otherwise
	}
	return mode
}

// tarMode returns the permissions with the sticky bit, which a folder such as /tmp has.
func tarMode(mode fs.FileMode) int64 {
	m := int64(mode.Perm())
	if mode&fs.ModeSticky != 0 {
		m |= 0o1000
	}
	return m
}
