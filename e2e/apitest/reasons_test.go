package apitest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// module is the path that the import paths of this repository begin with.
const module = "github.com/kafka-operators/kafka-operators/"

// word matches a reason in code, and quoted one in the first cell of a table.
var (
	word   = regexp.MustCompile(`^[A-Z]+[a-z]\w*$`)
	quoted = regexp.MustCompile("`([A-Z]+[a-z]\\w*)`")
)

// TestReasonsAreDocumented checks that the documentation lists the reasons of conditions and Events that the code has, and no others.
func TestReasonsAreDocumented(t *testing.T) {
	for name, test := range map[string]struct {
		dirs               []string
		conditions, events []string // the tables of each: page#heading
		others             []string // reasons of Events that are values of variables
	}{
		"cluster-operator": {
			dirs: []string{"cluster-operator/internal", "cluster-operator/podset"},
			conditions: []string{"cluster-operator/conditions.md#Kafka and KafkaNodePool", "cluster-operator/conditions.md#StrimziPodSet",
				"cluster-operator/stretch.md#When a cluster is away"},
			events: []string{"cluster-operator/conditions.md#Events"},
			others: []string{"Created", "Changed", "Deleted"}, // apply.Outcome
		},
		"roller": {dirs: []string{"roller/internal"}, events: []string{"roller/README.md#Events"}}, // its README tells about roller.ReasonKind
		"topic-operator": {
			dirs: []string{"topic-operator/internal/controller", "topic-operator/internal/ownership", "topic-operator/internal/policy",
				"topic-operator/internal/topic"},
			conditions: []string{"topic-operator/README.md#What its status says"}, events: []string{"topic-operator/README.md#Events"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := sources{g: g, files: map[string][]*ast.File{}}
			found := &reasons{conditions: map[string]bool{}, events: map[string]bool{}}
			for _, dir := range test.dirs {
				s.collect(dir, found)
			}
			for _, reason := range test.others {
				found.events[reason] = true
			}
			maps.DeleteFunc(found.events, func(reason string, _ bool) bool { return found.conditions[reason] }) // these are listed once
			conditions, events := tables(g, test.conditions), tables(g, test.events)
			g.Expect(slices.Sorted(maps.Keys(conditions))).To(Equal(slices.Sorted(maps.Keys(found.conditions))), "conditions")
			g.Expect(slices.Sorted(maps.Keys(events))).To(Equal(slices.Sorted(maps.Keys(found.events))), "Events")
		})
	}
}

// tables returns the reasons in the tables below headings of pages. They are in the first cell, or in the second if the first is about a
// condition.
func tables(g *WithT, places []string) map[string]bool {
	all := map[string]bool{}
	for _, place := range places {
		page, heading, _ := strings.Cut(place, "#")
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", filepath.FromSlash(page)))
		g.Expect(err).NotTo(HaveOccurred())
		_, section, is := strings.Cut(string(text), "# "+heading+"\n")
		g.Expect(is).To(BeTrue(), place)
		section, _, _ = strings.Cut(section, "\n#")
		inSecond := strings.Contains(section, "| condition | reason |")
		for line := range strings.Lines(section) {
			cells := strings.Split(line, "|")
			if len(cells) < 4 {
				continue
			}
			cell := cells[1]
			if inSecond {
				cell = cells[2]
			}
			for _, reason := range quoted.FindAllStringSubmatch(cell, -1) {
				all[reason[1]] = true
			}
		}
	}
	return all
}

// sources are packages of this repository.
type sources struct {
	g     *WithT
	files map[string][]*ast.File
}

// read returns the files of a package, without tests.
func (s sources) read(dir string) []*ast.File {
	if files, known := s.files[dir]; known {
		return files
	}
	names, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(dir), "*.go"))
	s.g.Expect(err).NotTo(HaveOccurred())
	s.files[dir] = nil
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			s.g.Expect(err).NotTo(HaveOccurred())
			s.files[dir] = append(s.files[dir], file)
		}
	}
	return s.files[dir]
}

func (s sources) eachConstant(dir string, visit func(spec *ast.ValueSpec, i int)) {
	for _, file := range s.read(dir) {
		for _, d := range file.Decls {
			if all, is := d.(*ast.GenDecl); is && all.Tok == token.CONST {
				for _, spec := range all.Specs {
					spec := spec.(*ast.ValueSpec)
					for i := range spec.Values {
						visit(spec, i)
					}
				}
			}
		}
	}
}

// constant returns the value of a constant; "" if there is none.
func (s sources) constant(dir, name string) (value string) {
	s.eachConstant(dir, func(spec *ast.ValueSpec, i int) {
		if spec.Names[i].Name == name {
			value = literal(spec.Values[i])
		}
	})
	return value
}

// value returns the value of an expression in a file; "" if it is no constant.
func (s sources) value(dir string, file *ast.File, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return literal(e)
	case *ast.Ident:
		return s.constant(dir, e.Name)
	case *ast.SelectorExpr:
		of, is := e.X.(*ast.Ident)
		if !is {
			return ""
		}
		for _, i := range file.Imports {
			from, inside := strings.CutPrefix(literal(i.Path), module)
			if inside && (i.Name != nil && i.Name.Name == of.Name || i.Name == nil && path.Base(from) == of.Name) {
				return s.constant(from, e.Sel.Name)
			}
		}
	case *ast.CallExpr: // of a conversion
		if f, is := e.Fun.(*ast.Ident); is && f.Name == "string" {
			return s.value(dir, file, e.Args[0])
		}
	}
	return ""
}

// collect adds the reasons in the packages below a directory.
func (s sources) collect(root string, into *reasons) {
	top := filepath.Join("..", "..")
	s.g.Expect(filepath.WalkDir(filepath.Join(top, filepath.FromSlash(root)), func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		dir, err := filepath.Rel(top, p)
		dir = filepath.ToSlash(dir)
		takes := s.takers(dir)
		for _, file := range s.read(dir) {
			ast.Inspect(file, func(n ast.Node) bool { return s.visit(dir, file, takes, n, into) })
		}
		return err
	})).To(Succeed())
}

// visit adds the reasons in a node, and reports whether those of its parts count as well.
func (s sources) visit(dir string, file *ast.File, takes map[string]int, n ast.Node, into *reasons) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok != token.CONST && n.Tok != token.IMPORT
	case *ast.BinaryExpr:
		return n.Op != token.EQL && n.Op != token.NEQ // a comparison reports nothing
	case *ast.KeyValueExpr:
		if key, is := n.Key.(*ast.Ident); is && key.Name == "Reason" && !isEvent(n.Value) {
			into.add(into.conditions, s.value(dir, file, n.Value))
		}
	case *ast.FuncDecl:
		chosen(n, into)
	case *ast.CallExpr:
		return s.visitCall(dir, file, takes, n, into)
	case *ast.SelectorExpr:
		into.named(n.Sel.Name, s.value(dir, file, n))
	case *ast.Ident:
		into.named(n.Name, s.value(dir, file, n))
	}
	return true
}

// visitCall is visit for a call.
func (s sources) visitCall(dir string, file *ast.File, takes map[string]int, call *ast.CallExpr, into *reasons) bool {
	name := called(call)
	if at, is := recorders[name]; is && len(call.Args) > at {
		into.add(into.events, s.value(dir, file, call.Args[at]))
		return false
	}
	if at, is := takes[name]; is && len(call.Args) > at {
		into.add(into.conditions, s.value(dir, file, call.Args[at]))
	}
	return name != "Conflicted" && name != "Refused" // these are metrics
}

// chosen adds the reasons among which a function chooses that returns that of an Event.
func chosen(f *ast.FuncDecl, into *reasons) {
	if f.Type.Results == nil || position(f.Type.Results, "reason") < 0 {
		return
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if l, is := n.(*ast.BasicLit); is {
			into.add(into.events, literal(l))
		}
		return true
	})
}

// recorders are the functions that record an Event, and the positions of its reason.
var recorders = map[string]int{"Normal": 1, "Warning": 1, "Record": 2, "record": 3}

// eventPrefix begins the names of constants that are reasons of Events alone.
const eventPrefix = "Event"

func isEvent(e ast.Expr) bool {
	name, is := e.(*ast.Ident)
	return is && strings.HasPrefix(name.Name, eventPrefix)
}

// reasons are those that a program has.
type reasons struct{ conditions, events map[string]bool }

func (r *reasons) add(to map[string]bool, reason string) {
	if word.MatchString(reason) {
		to[reason] = true
	}
}

// named adds the value of a constant, if its name says that it is a reason.
func (r *reasons) named(constant, value string) {
	switch {
	case strings.HasPrefix(strings.ToLower(constant), "reason"):
		r.add(r.conditions, value)
	case strings.HasPrefix(constant, eventPrefix):
		r.add(r.events, value)
	}
}

// takers returns the functions and methods of a package with a parameter called reason, and its position.
func (s sources) takers(dir string) map[string]int {
	found := map[string]int{}
	for _, file := range s.read(dir) {
		for _, d := range file.Decls {
			if f, is := d.(*ast.FuncDecl); is {
				if at := position(f.Type.Params, "reason"); at >= 0 {
					found[f.Name.Name] = at
				}
			}
		}
	}
	return found
}

// position returns the position of a parameter or result; -1 if there is none of that name.
func position(list *ast.FieldList, name string) int {
	at := 0
	for _, field := range list.List {
		for _, n := range field.Names {
			if n.Name == name {
				return at
			}
			at++
		}
	}
	return -1
}

// called returns the name of a called function or method.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// literal returns the text of a string literal; "" for others.
func literal(e ast.Expr) string {
	if l, is := e.(*ast.BasicLit); is && l.Kind == token.STRING {
		if text, err := strconv.Unquote(l.Value); err == nil {
			return text
		}
	}
	return ""
}
