// Command commentsample prints random comments of the Go files in the given folders, for a reader who reviews them like a new contributor,
// and counts those that are not idiomatic or not understood at first reading. It prints its seed first, which repeats the selection as long
// as the files stay the same.
package main

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	seed := flag.Int64("seed", time.Now().UnixNano(), "chooses the comments")
	n := flag.Int("n", 100, "how many comments to print")
	tests := flag.Bool("tests", true, "choose from tests too")
	flag.Parse()
	var all []string
	for _, root := range flag.Args() {
		found, err := comments(root, *tests)
		if err != nil {
			fmt.Fprintln(os.Stderr, "commentsample:", err)
			os.Exit(1)
		}
		all = append(all, found...)
	}
	fmt.Printf("%d of %d comments; the same again with -seed=%d\n", min(*n, len(all)), len(all), *seed)
	random := rand.New(rand.NewSource(*seed))
	for i, at := range random.Perm(len(all))[:min(*n, len(all))] {
		fmt.Printf("\n%d. %s\n", i+1, all[at])
	}
}

// comments returns the comments of all files below a folder, each with its position and the line that follows it. It leaves out generated
// files and comments for tools.
func comments(root string, tests bool) ([]string, error) {
	var all []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || !tests && strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return errors.Join(fmt.Errorf("parse %s", path), err)
		}
		if ast.IsGenerated(file) {
			return nil
		}
		lines := strings.Split(string(text), "\n")
		for _, group := range file.Comments {
			said := strings.TrimSpace(group.Text()) // without //go:, //nolint and the like
			if said == "" || strings.HasPrefix(said, "+kubebuilder:") {
				continue
			}
			place, next := files.Position(group.Pos()), files.Position(group.End()).Line
			subject := ""
			if next < len(lines) {
				subject = "\n    > " + strings.TrimSpace(lines[next])
			}
			all = append(all, fmt.Sprintf("%s:%d\n    %s%s", path, place.Line, strings.ReplaceAll(said, "\n", "\n    "), subject))
		}
		return nil
	})
	return all, err
}
