package image

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// library is a line of ldd: a name, and where it was found on this machine; or only the path, of the loader.
var library = regexp.MustCompile(`(?m)^\s*(?:\S+ => )?(/\S+) \(0x[0-9a-f]+\)$`)

// Libraries returns the shared libraries that programs of this machine need, at their own places, for an image that has the
// programs. A static program needs none. The folders are those in which the programs' own libraries are, which they find by
// other means at run time.
func Libraries(ctx context.Context, folders []string, programs ...string) ([]File, error) {
	var files []File
	seen := map[string]bool{}
	for _, program := range programs {
		cmd := exec.CommandContext(ctx, "ldd", program)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(folders, ":"))
		out, err := cmd.CombinedOutput()
		said := string(out)
		switch {
		case strings.Contains(said, "not a dynamic executable") || strings.Contains(said, "statically linked"):
			continue
		case err != nil:
			return nil, fmt.Errorf("ldd %s: %w: %s", program, err, strings.TrimSpace(said))
		case strings.Contains(said, "=> not found"):
			return nil, fmt.Errorf("ldd %s: a library is missing: %s", program, strings.TrimSpace(said))
		}
		for _, match := range library.FindAllStringSubmatch(said, -1) {
			if path := match[1]; !seen[path] {
				seen[path] = true
				files = append(files, File{Path: path, Source: path})
			}
		}
	}
	return files, nil
}
