package image

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// library matches a line of ldd: a name and its path on this machine; or only the path, for the loader.
var library = regexp.MustCompile(`(?m)^\s*(?:\S+ => )?(/\S+) \(0x[0-9a-f]+\)$`)

// Libraries returns the shared libraries that programs of this machine need, with their paths on this machine, for an image with the
// programs. A static program needs none. folders are the folders with the programs' own libraries, which programs find by other means at
// run time.
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
