package roller_test

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

	. "github.com/onsi/gomega"
)

// checklist lists each rule of the roller with its tests.
const checklist = "../docs/roller/checklist.md"

// reference matches a test in the checklist: `file: TestName`, or `file: TestName/a case`.
var reference = regexp.MustCompile("`([a-z_/]+_test\\.go): (Test\\w+)(?:/([^`]+))?`")

// rows returns the cells of the checklist's tables, without headings.
func rows(g *WithT) [][]string {
	text, err := os.ReadFile(checklist)
	g.Expect(err).NotTo(HaveOccurred())
	var all [][]string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") || strings.HasSuffix(line, "| shown by |") {
			continue
		}
		var cells []string
		for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		all = append(all, cells)
	}
	return all
}

// Each of the 46 rules has its line, and each line a test.
func TestTheChecklistIsComplete(t *testing.T) {
	g := NewWithT(t)
	next := 1
	for _, cells := range rows(g) {
		line, tests := strings.Join(cells, " | "), cells[len(cells)-1]
		if number, err := strconv.Atoi(cells[0]); err == nil {
			g.Expect(number).To(Equal(next), line)
			g.Expect(cells).To(HaveLen(4), line)
			g.Expect(cells[1]).NotTo(BeEmpty(), line)
			next++
		} else {
			g.Expect(cells).To(HaveLen(3), line)
		}
		if tests == "no counterpart" {
			g.Expect(cells[1]).NotTo(BeEmpty(), "%s: say why", line)
			continue
		}
		without := strings.Trim(reference.ReplaceAllString(tests, ""), ", ")
		g.Expect(without).To(BeEmpty(), "%s: this is no reference to a test", line)
		g.Expect(reference.FindString(tests)).NotTo(BeEmpty(), "%s: no test shows this", line)
	}
	g.Expect(next).To(Equal(47))
}

// A test that is renamed or deleted must be updated in the checklist too.
func TestTheChecklistNamesTestsThatExist(t *testing.T) {
	g := NewWithT(t)
	files := map[string]map[string]*ast.FuncDecl{}
	for _, cells := range rows(g) {
		for _, r := range reference.FindAllStringSubmatch(cells[len(cells)-1], -1) {
			file, test, name := r[1], r[2], r[3]
			if files[file] == nil {
				files[file] = tests(g, file)
			}
			g.Expect(files[file]).To(HaveKey(test), "%s, which the checklist names, has no such test", file)
			if name != "" {
				g.Expect(texts(files[file][test])).To(HaveKey(name), "%s in %s has no case of that name, which the checklist names", test, file)
			}
		}
	}
	g.Expect(len(files)).To(BeNumerically(">", 10), "the checklist was read")
}

// tests returns the tests of a file, by name.
func tests(g *WithT, file string) map[string]*ast.FuncDecl {
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(file), nil, parser.SkipObjectResolution)
	g.Expect(err).NotTo(HaveOccurred(), "the checklist names %s", file)
	all := map[string]*ast.FuncDecl{}
	for _, d := range parsed.Decls {
		if f, is := d.(*ast.FuncDecl); is && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
			all[f.Name.Name] = f
		}
	}
	return all
}

// texts returns the string literals of a test, which include the names of its cases.
func texts(test *ast.FuncDecl) map[string]bool {
	all := map[string]bool{}
	ast.Inspect(test, func(n ast.Node) bool {
		if l, is := n.(*ast.BasicLit); is && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil {
				all[text] = true
			}
		}
		return true
	})
	return all
}
