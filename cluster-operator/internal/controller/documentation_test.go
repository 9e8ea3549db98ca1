package controller

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

// repository is the root of the repository. The paths in the checklist are relative to it.
const repository = "../../.."

// shownBy is a test in the checklist: `file: TestName`, `file: TestName/a case of it`, or `file: It/a spec`.
var shownBy = regexp.MustCompile("`([a-z0-9_/-]+\\.go): (\\w+)(?:/([^`]+))?`")

// TestTheStretchChecklistIsTrue checks that the checklist has a line for each of the 128 rules, and that each line names a test that
// exists, or says that the rule is not built.
func TestTheStretchChecklistIsTrue(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile(filepath.Join(repository, "docs", "cluster-operator", "stretch-checklist.md"))
	g.Expect(err).NotTo(HaveOccurred())
	files, next := map[string]*ast.File{}, 1
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		number, err := strconv.Atoi(strings.TrimSpace(cells[0]))
		if err != nil || !strings.HasPrefix(line, "|") {
			continue
		}
		g.Expect(number).To(Equal(next), line)
		g.Expect(cells).To(HaveLen(4), line)
		next++
		if tests := strings.TrimSpace(cells[3]); tests == "no test" {
			g.Expect(strings.ToLower(cells[2])).To(Or(ContainSubstring("not built"), ContainSubstring("not measured")), line)
			continue
		}
		g.Expect(strings.Trim(shownBy.ReplaceAllString(cells[3], ""), ", ")).To(BeEmpty(), "%s: this is no reference to a test", line)
		for _, r := range shownBy.FindAllStringSubmatch(cells[3], -1) {
			if files[r[1]] == nil {
				files[r[1]], err = parser.ParseFile(token.NewFileSet(), filepath.Join(repository, filepath.FromSlash(r[1])), nil,
					parser.SkipObjectResolution)
				g.Expect(err).NotTo(HaveOccurred(), line)
			}
			g.Expect(declares(files[r[1]], r[2], r[3])).To(BeTrue(), "%s: there is no %s in %s", line, r[2]+"/"+r[3], r[1])
		}
	}
	g.Expect(next).To(Equal(129))
}

// TestTheDesignNamesTheStepsOfAPass checks that DESIGN.md lists the steps of pass.go, in their order.
func TestTheDesignNamesTheStepsOfAPass(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "DESIGN.md"))
	g.Expect(err).NotTo(HaveOccurred())
	_, list, found := strings.Cut(string(text), "```\n")
	g.Expect(found).To(BeTrue())
	list, _, _ = strings.Cut(list, "```\n")
	var listed []string
	for _, row := range regexp.MustCompile(`(?m)^(\S.*?)  +\S`).FindAllStringSubmatch(list, -1) {
		listed = append(listed, row[1])
	}
	file, err := parser.ParseFile(token.NewFileSet(), "pass.go", nil, parser.SkipObjectResolution)
	g.Expect(err).NotTo(HaveOccurred())
	var steps []string
	for _, d := range file.Decls {
		f, is := d.(*ast.FuncDecl)
		if !is || f.Name.Name != "carryOutSteps" {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if step, is := n.(*ast.CompositeLit); is && step.Type == nil { // one of the rows
				name, err := strconv.Unquote(step.Elts[0].(*ast.BasicLit).Value)
				g.Expect(err).NotTo(HaveOccurred())
				steps = append(steps, name)
			}
			return true
		})
	}
	g.Expect(steps).NotTo(BeEmpty())
	g.Expect(listed).To(Equal(steps))
}

// declares reports whether a file has a test with a case of that name, or a spec.
func declares(file *ast.File, test, name string) bool {
	if test == "It" {
		return hasLiteral(file, name)
	}
	for _, d := range file.Decls {
		if f, is := d.(*ast.FuncDecl); is && f.Recv == nil && f.Name.Name == test {
			return name == "" || hasLiteral(f, name)
		}
	}
	return false
}

// hasLiteral reports whether code contains a string literal.
func hasLiteral(code ast.Node, text string) (found bool) {
	ast.Inspect(code, func(n ast.Node) bool {
		if l, is := n.(*ast.BasicLit); is && l.Kind == token.STRING {
			literal, err := strconv.Unquote(l.Value)
			found = found || err == nil && literal == text
		}
		return true
	})
	return found
}
