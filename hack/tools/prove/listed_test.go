package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// declarations are what the test files of a package declare: the names that each declaration refers to, by its own name. Those of a blank
// variable, such as Ginkgo's containers, are under "_".
type declarations map[string]map[string]bool

// TestEachTestThatRunsInFullIsAProof checks that each test whose extent depends on PROVE is a proof: otherwise nobody ever runs it in full.
func TestEachTestThatRunsInFullIsAProof(t *testing.T) {
	root := os.DirFS(filepath.Join("..", "..", ".."))
	packages := map[string]declarations{}
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || path == "hack"):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		dir := "./" + filepath.ToSlash(filepath.Dir(path))
		if packages[dir] == nil {
			packages[dir] = declarations{}
		}
		text, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		return packages[dir].add(path, text)
	})
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, j := range tests {
		listed[j.pkg+" "+j.test], listed[j.pkg] = true, true
	}
	found := 0
	for dir, declared := range packages {
		for name := range declared {
			isTest := strings.HasPrefix(name, "Test") && name != "TestMain"
			if !isTest && name != "_" || !declared.reads(name, map[string]bool{}) {
				continue
			}
			found++
			if isTest && !listed[dir+" "+name] {
				t.Errorf("%s of %s runs in full with PROVE=full, and is no proof", name, dir)
			}
			if !listed[dir] { // the specs of a suite are not named
				t.Errorf("a suite of %s runs in full with PROVE=full, and is no proof", dir)
			}
		}
	}
	if found < len(tests)/2 {
		t.Errorf("only %d tests were found", found)
	}
}

// add adds the declarations of a file.
func (d declarations) add(path string, text []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			d.note(decl.Name.Name, decl.Body)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if values, is := spec.(*ast.ValueSpec); is {
					for _, name := range values.Names {
						d.note(name.Name, values)
					}
				}
			}
		}
	}
	return nil
}

// note notes which names a declaration refers to, and the text "PROVE".
func (d declarations) note(name string, node ast.Node) {
	if d[name] == nil {
		d[name] = map[string]bool{}
	}
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			d[name][n.Name] = true
		case *ast.BasicLit:
			if n.Value == `"PROVE"` {
				d[name][n.Value] = true
			}
		}
		return true
	})
}

// reads reports whether a declaration reads PROVE, or refers to one that does.
func (d declarations) reads(name string, seen map[string]bool) bool {
	if seen[name] {
		return false
	}
	seen[name] = true
	for used := range d[name] {
		if used == `"PROVE"` || d[used] != nil && d.reads(used, seen) {
			return true
		}
	}
	return false
}
