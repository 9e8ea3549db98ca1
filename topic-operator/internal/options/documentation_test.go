package options

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table of settings in the documentation")

const (
	documentation = "../../../docs/topic-operator/configuration.md"
	tableBegins   = "<!-- Generated from internal/options/settings.go: go generate ./internal/options -->\n"
	tableEnds     = "<!-- End of the generated part. -->\n"
)

// The table in the documentation is generated from the settings. go generate ./internal/options rewrites it.
func TestDocumentationIsUpToDate(t *testing.T) {
	content, err := os.ReadFile(documentation)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(content), tableBegins)
	_, after, ok2 := strings.Cut(rest, tableEnds)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the marks %q and %q", documentation, tableBegins, tableEnds)
	}
	want := before + tableBegins + "\n" + markdown() + tableEnds + after
	if want == string(content) {
		return
	}
	if !*update {
		t.Fatalf("the table in %s is out of date: run go generate ./internal/options in topic-operator", documentation)
	}
	if err := os.WriteFile(documentation, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// markdown returns all settings, a table per group.
func markdown() string {
	var b strings.Builder
	for _, g := range table(&draft{}) {
		fmt.Fprintf(&b, "### %s\n\n| Variable | Flag | Default | Meaning |\n|---|---|---|---|\n", g.title)
		for _, s := range g.settings {
			name, flagName, def := "`"+s.env+"`", "`--"+s.flagName()+"`", s.defaultText()
			if s.ours {
				name += " (ours)"
			}
			if s.secret {
				flagName = ""
			}
			if s.fallback != "" && s.shown == "" {
				def = "`" + def + "`"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, flagName, def, strings.ReplaceAll(s.help, "|", "\\|"))
		}
		b.WriteString("\n")
	}
	return b.String()
}
