package image

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// entries is the content of an archive, or of a layer in it: headers and contents by name.
type entries struct {
	order    []string
	headers  map[string]*tar.Header
	contents map[string][]byte
}

func read(g *WithT, r io.Reader) entries {
	e := entries{headers: map[string]*tar.Header{}, contents: map[string][]byte{}}
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return e
		}
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(e.headers).NotTo(HaveKey(header.Name), "twice")
		e.order = append(e.order, header.Name)
		e.headers[header.Name] = header
		e.contents[header.Name], err = io.ReadAll(archive)
		g.Expect(err).NotTo(HaveOccurred())
	}
}

// layerOf reads an archive from its index to its layer, and checks all digests and sizes.
func layerOf(g *WithT, path string) (entries, imageConfig, descriptor) {
	file, err := os.Open(path)
	g.Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	archive := read(g, file)
	g.Expect(string(archive.contents["oci-layout"])).To(Equal(`{"imageLayoutVersion":"1.0.0"}`))
	blob := func(d descriptor) []byte {
		content := archive.contents[blobPath(d.Digest)]
		g.Expect(digest(content)).To(Equal(d.Digest))
		g.Expect(content).To(HaveLen(int(d.Size)))
		return content
	}
	var i index
	g.Expect(json.Unmarshal(archive.contents["index.json"], &i)).To(Succeed())
	g.Expect(i.Manifests).To(HaveLen(1))
	var m manifest
	g.Expect(json.Unmarshal(blob(i.Manifests[0]), &m)).To(Succeed())
	g.Expect(m.Layers).To(HaveLen(1))
	var c imageConfig
	g.Expect(json.Unmarshal(blob(m.Config), &c)).To(Succeed())
	g.Expect(c.RootFS.DiffIDs).To(Equal([]string{m.Layers[0].Digest}))
	return read(g, strings.NewReader(string(blob(m.Layers[0])))), c, i.Manifests[0]
}

func TestAnImageHoldsItsFiles(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	g.Expect(os.MkdirAll(filepath.Join(tree, "sub"), 0o755)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(tree, "sub", "tool"), []byte("tool"), 0o755)).To(Succeed())
	g.Expect(os.Symlink("sub/tool", filepath.Join(tree, "link"))).To(Succeed())
	g.Expect(os.Symlink("tree", filepath.Join(dir, "alias"))).To(Succeed())

	archive := filepath.Join(dir, "image.tar")
	g.Expect(Image{
		Name: "registry.test:5000/team/thing:2.1",
		Files: []File{
			{Path: "/opt/tree", Source: filepath.Join(dir, "alias")},
			{Path: "/opt/tree/more", Content: "more", Mode: 0o600},
			{Path: "/tmp", Dir: true, Mode: 0o777 | fs.ModeSticky},
			{Path: "/bin/tool", Link: "/opt/tree/sub/tool"},
		},
		Config: Config{Cmd: []string{"tool"}, Env: []string{"A=b"}, User: "1000"},
	}.Write(archive)).To(Succeed())

	layer, config, described := layerOf(g, archive)
	g.Expect(layer.order).To(Equal([]string{
		"opt/", "opt/tree/", "opt/tree/link", "opt/tree/sub/", "opt/tree/sub/tool", "opt/tree/more", "tmp/", "bin/", "bin/tool",
	}), "each once, folders first")
	g.Expect(string(layer.contents["opt/tree/sub/tool"])).To(Equal("tool"))
	g.Expect(layer.headers["opt/tree/sub/tool"].Mode).To(BeEquivalentTo(0o755))
	g.Expect(layer.headers["opt/tree/link"].Linkname).To(Equal("sub/tool"), "a link within a folder stays one")
	g.Expect(layer.headers["opt/tree/more"].Mode).To(BeEquivalentTo(0o600))
	g.Expect(layer.headers["tmp/"].Mode).To(BeEquivalentTo(0o1777))
	g.Expect(layer.headers["bin/tool"].Linkname).To(Equal("/opt/tree/sub/tool"))
	g.Expect(config.Config.Env).To(ConsistOf("A=b", usualPath))
	g.Expect(config.Config.User).To(Equal("1000"))
	g.Expect(described.Annotations).To(Equal(map[string]string{
		"io.containerd.image.name": "registry.test:5000/team/thing:2.1", "org.opencontainers.image.ref.name": "2.1",
	}))
}

func TestTheSameFilesMakeTheSameImage(t *testing.T) {
	g := NewWithT(t)
	var archives [2][]byte
	for i := range archives {
		dir := t.TempDir()
		program := filepath.Join(dir, "program")
		g.Expect(os.WriteFile(program, []byte("#!"), 0o755)).To(Succeed())
		archive := filepath.Join(dir, "image.tar")
		g.Expect(OfBinary("registry.test/thing:1", program).Write(archive)).To(Succeed())
		var err error
		archives[i], err = os.ReadFile(archive)
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(archives[0]).To(Equal(archives[1]))
}

func TestAnImageThatCanNotBeMadeLeavesNothing(t *testing.T) {
	for what, i := range map[string]Image{
		"no tag":        {Name: "registry.test/thing"},
		"port, no tag":  {Name: "registry.test:5000/thing"},
		"short name":    {Name: "thing:1"},
		"missing files": OfBinary("registry.test/thing:1", "/no/such/file"),
		"a device":      {Name: "registry.test/thing:1", Files: []File{{Path: "/null", Source: os.DevNull}}},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			dir := t.TempDir()
			g.Expect(i.Write(filepath.Join(dir, "image.tar"))).NotTo(Succeed())
			left, err := os.ReadDir(dir)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(left).To(BeEmpty())
		})
	}
}

func TestLibrariesOfAProgramAreFound(t *testing.T) {
	g := NewWithT(t)
	shell, err := exec.LookPath("bash")
	g.Expect(err).NotTo(HaveOccurred())
	files, err := Libraries(t.Context(), nil, shell, shell)
	g.Expect(err).NotTo(HaveOccurred())
	seen := map[string]bool{}
	for _, f := range files {
		g.Expect(f.Source).To(BeARegularFile())
		g.Expect(seen).NotTo(HaveKey(f.Path), "once")
		seen[f.Path] = true
	}
	g.Expect(fmt.Sprint(seen)).To(And(ContainSubstring("/libc.so"), ContainSubstring("/ld-")))
	_, err = Libraries(t.Context(), nil, "/no/such/program")
	g.Expect(err).To(HaveOccurred())
}
