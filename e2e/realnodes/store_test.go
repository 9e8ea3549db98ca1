//go:build linux

package realnodes

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestACopyOfAStoreSharesAllButTheDatabases(t *testing.T) {
	g := NewWithT(t)
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	g.Expect(os.MkdirAll(filepath.Join(from, "layer", "tmp"), 0o755)).To(Succeed())
	g.Expect(os.Chmod(filepath.Join(from, "layer", "tmp"), 0o777|os.ModeSticky)).To(Succeed())
	for _, name := range []string{"meta.db", "layer/program"} {
		g.Expect(os.WriteFile(filepath.Join(from, name), []byte(name), 0o751)).To(Succeed())
	}
	g.Expect(os.Symlink("program", filepath.Join(from, "layer", "link"))).To(Succeed())

	g.Expect(copyStore(from, to)).To(Succeed())
	info := func(elements ...string) os.FileInfo {
		found, err := os.Lstat(filepath.Join(elements...))
		g.Expect(err).NotTo(HaveOccurred())
		return found
	}
	g.Expect(os.SameFile(info(from, "layer/program"), info(to, "layer/program"))).To(BeTrue())
	g.Expect(os.SameFile(info(from, "meta.db"), info(to, "meta.db"))).To(BeFalse())
	g.Expect(os.ReadFile(filepath.Join(to, "meta.db"))).To(BeEquivalentTo("meta.db"))
	for _, name := range []string{"meta.db", "layer/program", "layer/tmp", "layer"} {
		g.Expect(info(to, name).Mode()).To(Equal(info(from, name).Mode()), name)
	}
	g.Expect(os.Readlink(filepath.Join(to, "layer", "link"))).To(Equal("program"))
	g.Expect(copyStore(filepath.Join(from, "nothing"), to)).NotTo(Succeed())
}
