package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	// place matches the folder of the tests in a section of the documentation of proofs.
	place = regexp.MustCompile("^In `([^`]+)`, if no path is given")
	// named matches a test, or a case of one.
	named = regexp.MustCompile("`([A-Za-z0-9_/-]+_test\\.go): (Test\\w+)(?:/([^`]+))?`")
)

// TestTheDocumentationOfProofsNamesTestsThatExist checks that each row of docs/proofs.md names tests, and that these exist.
func TestTheDocumentationOfProofsNamesTestsThatExist(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "proofs.md"))
	if err != nil {
		t.Fatal(err)
	}
	folder, found := "", 0
	for line := range strings.Lines(string(text)) {
		if m := place.FindStringSubmatch(line); m != nil {
			folder = m[1]
		}
		if !strings.HasPrefix(line, "| ") || strings.HasSuffix(strings.TrimSpace(line), "| found by |") {
			continue
		}
		references := named.FindAllStringSubmatch(line, -1)
		if len(references) == 0 {
			t.Errorf("no test: %s", line)
		}
		for _, r := range references {
			found++
			file := r[1]
			if !strings.Contains(file, "/") {
				file = folder + "/" + file
			}
			if why := lacks(filepath.Join(root, file), r[2], r[3]); why != "" {
				t.Errorf("%s: %s", file, why)
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d tests were found", found)
	}
}

// lacks returns why a file has no such test, or no text that is the name of its case; empty if it has.
func lacks(path, test, name string) string {
	parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err.Error()
	}
	has, hasName := false, name == ""
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			has = has || n.Recv == nil && n.Name.Name == test
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && text == name {
				hasName = true
			}
		}
		return true
	})
	switch {
	case !has:
		return "there is no " + test
	case !hasName:
		return "nothing is named " + name
	}
	return ""
}
