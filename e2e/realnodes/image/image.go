// Package image builds container images from files, without a registry and without a container engine: OCI archives with one layer, which
// container runtimes can import (`ctr images import`). The same files give the same archive, byte for byte.
package image

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Image describes an image.
type Image struct {
	// Name is the full reference with registry and tag, such as docker.io/library/busybox:1. A container runtime does not find
	// an image under a short name.
	Name string
	// Files are the content of the only layer. Their parent folders are created.
	Files []File
	// Config describes how the image runs.
	Config Config
}

// Config describes how an image runs, with the field names of the OCI image specification.
type Config struct {
	Entrypoint []string `json:",omitempty"`
	Cmd        []string `json:",omitempty"`
	// Env are NAME=value lines. Without a PATH the usual one is added.
	Env        []string `json:",omitempty"`
	User       string   `json:",omitempty"`
	WorkingDir string   `json:",omitempty"`
}

// usualPath is the default of PATH in images.
const usualPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Media types and names of the OCI image specification, and the annotation with the name under which containerd imports an image.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar"
	layout       = `{"imageLayoutVersion":"1.0.0"}`
	nameKey      = "io.containerd.image.name"
	tagKey       = "org.opencontainers.image.ref.name"
)

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Platform    *platform         `json:"platform,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

type imageConfig struct {
	platform
	Config Config `json:"config"`
	RootFS rootFS `json:"rootfs"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

// OfBinary returns an image that has only one static program, /program, as its entry point.
func OfBinary(name, path string) Image {
	return Image{
		Name:   name,
		Files:  []File{{Path: "/program", Source: path}},
		Config: Config{Entrypoint: []string{"/program"}},
	}
}

// Write writes the image as an archive. On an error, there is no archive.
func (i Image) Write(archive string) (err error) {
	tag := i.Name[strings.LastIndex(i.Name, "/")+1:]
	if _, tag, _ = strings.Cut(tag, ":"); tag == "" || !strings.Contains(i.Name, "/") {
		return fmt.Errorf("image %q: the name needs a registry and a tag", i.Name)
	}
	dir, err := os.MkdirTemp(filepath.Dir(archive), ".image-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	layer := filepath.Join(dir, "layer")
	layerBlob, err := writeLayer(layer, i.Files)
	if err != nil {
		return fmt.Errorf("image %s: %w", i.Name, err)
	}
	part := filepath.Join(dir, "archive")
	if err := writeArchive(part, layer, i.blobs(tag, layerBlob)); err != nil {
		return fmt.Errorf("image %s: %w", i.Name, err)
	}
	return os.Rename(part, archive)
}

// documents are the JSON documents of an archive.
type documents struct {
	index            []byte
	manifest, config []byte
	layer            descriptor
}

func (i Image) blobs(tag string, layer descriptor) documents {
	here := platform{runtime.GOARCH, "linux"}
	config := i.Config
	if !hasPath(config.Env) {
		config.Env = append([]string{usualPath}, config.Env...)
	}
	d := documents{layer: layer}
	d.config = encode(imageConfig{here, config, rootFS{"layers", []string{layer.Digest}}})
	d.manifest = encode(manifest{2, typeManifest, describe(typeConfig, d.config), []descriptor{layer}})
	described := describe(typeManifest, d.manifest)
	described.Platform, described.Annotations = &here, map[string]string{nameKey: i.Name, tagKey: tag}
	d.index = encode(index{2, typeIndex, []descriptor{described}})
	return d
}

func hasPath(env []string) bool {
	for _, e := range env {
		if strings.HasPrefix(e, "PATH=") {
			return true
		}
	}
	return false
}

func writeArchive(path, layer string, d documents) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := tar.NewWriter(out)
	for _, part := range []struct {
		name    string
		content []byte
	}{
		{"oci-layout", []byte(layout)},
		{"index.json", d.index},
		{blobPath(digest(d.manifest)), d.manifest},
		{blobPath(digest(d.config)), d.config},
	} {
		if err := writeEntry(w, part.name, int64(len(part.content)), strings.NewReader(string(part.content))); err != nil {
			return err
		}
	}
	content, err := os.Open(layer)
	if err != nil {
		return err
	}
	defer content.Close()
	if err := writeEntry(w, blobPath(d.layer.Digest), d.layer.Size, content); err != nil {
		return err
	}
	return w.Close()
}

func writeEntry(w *tar.Writer, name string, size int64, content io.Reader) error {
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size, ModTime: time.Unix(0, 0)}); err != nil {
		return err
	}
	_, err := io.Copy(w, content)
	return err
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // these types can be encoded
	}
	return b
}

func describe(mediaType string, content []byte) descriptor {
	return descriptor{MediaType: mediaType, Digest: digest(content), Size: int64(len(content))}
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func blobPath(digest string) string { return "blobs/sha256/" + strings.TrimPrefix(digest, "sha256:") }
