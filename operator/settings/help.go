package settings

import (
	"fmt"
	"strings"
)

// Help returns the text of --help: the subcommands, and every setting with its variable, flag, default and meaning.
func (t Table) Help() string {
	var b strings.Builder
	b.WriteString(t.Summary + "\n\n" + strings.Join(append(t.Subcommands, ""), "\n") +
		"Each setting is a variable or a flag; the flag takes precedence. An empty variable counts as unset. --version prints the version.\n")
	for _, g := range t.Groups {
		fmt.Fprintf(&b, "\n%s\n", g.Title)
		for _, s := range g.Settings {
			fmt.Fprintf(&b, "\n  %s\n", strings.TrimPrefix(s.Env+s.flagHelp(), ", "))
			for _, line := range wrap(strings.ReplaceAll(s.Doc, "`", ""), 100) {
				b.WriteString("      " + line + "\n")
			}
			if def := s.DefaultText(); def != "" {
				fmt.Fprintf(&b, "      Default: %s\n", strings.ReplaceAll(def, "`", ""))
			}
		}
	}
	return b.String()
}

func (s Setting) flagHelp() string {
	switch {
	case s.Secret:
		return ""
	case s.Boolean:
		return ", --" + s.FlagName()
	}
	return ", --" + s.FlagName() + "=..."
}

// Markdown returns all settings, with a heading and a table for each group. Package settingstest keeps a document equal to it.
func (t Table) Markdown() string {
	var b strings.Builder
	for _, g := range t.Groups {
		fmt.Fprintf(&b, "### %s\n\n| Variable | Flag | Default | Meaning |\n|---|---|---|---|\n", g.Title)
		for _, s := range g.Settings {
			name, flagName, def := "`"+s.Env+"`", "`--"+s.FlagName()+"`", s.DefaultText()
			if s.Env == "" {
				name = ""
			} else if s.Added {
				name += " (ours)"
			}
			if s.Secret {
				flagName = ""
			}
			if s.Default != "" && s.DefaultDoc == "" {
				def = "`" + def + "`"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, flagName, def, strings.ReplaceAll(s.Doc, "|", "\\|"))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// wrap breaks a text between words into lines of at most width bytes, where words allow.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && len(line)+1+len(w) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + w)
	}
	return append(lines, line)
}
