// Package settingstest keeps the documentation of settings equal to their table, and the table true to its own advice.
package settingstest

import (
	"os"
	"strings"
	"testing"

	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// The lines before and after the tables of settings in a document.
const (
	Begin = "<!-- The tables of settings begin here. They are generated: go generate ./internal/options -->\n"
	End   = "<!-- The tables of settings end here. -->\n"
)

// CheckDocument compares the tables of settings in a Markdown file with the table. With update it writes the file instead.
func CheckDocument(t testing.TB, table settings.Table, file string, update bool) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(content), Begin)
	_, after, ok2 := strings.Cut(rest, End)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the lines %q and %q", file, Begin, End)
	}
	want := before + Begin + "\n" + table.Markdown() + End + after
	if want == string(content) {
		return
	}
	if !update {
		t.Fatalf("the tables in %s are out of date: run go generate ./internal/options in %s", file, table.Program)
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
