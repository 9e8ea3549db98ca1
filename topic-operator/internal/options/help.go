package options

import (
	"fmt"
	"strings"
)

// Help returns the text of --help: the subcommands, as their own usage texts tell of them, and every setting with its variable, flag, default and
// meaning.
func Help(subcommands ...string) string {
	var b strings.Builder
	b.WriteString("topic-operator makes the topics of a Kafka cluster follow KafkaTopic objects.\n\n" + strings.Join(append(subcommands, ""), "\n") +
		"Each setting is a variable or a flag; the flag wins. An empty variable counts as unset.\n")
	for _, g := range table(&draft{}) {
		fmt.Fprintf(&b, "\n%s\n", g.title)
		for _, s := range g.settings {
			fmt.Fprintf(&b, "\n  %s%s\n", s.env, s.flagHelp())
			for _, line := range wrap(strings.ReplaceAll(s.help, "`", ""), 100) {
				b.WriteString("      " + line + "\n")
			}
			if def := s.defaultText(); def != "" {
				fmt.Fprintf(&b, "      Default: %s\n", strings.ReplaceAll(def, "`", ""))
			}
		}
	}
	return b.String()
}

func (s setting) flagHelp() string {
	switch {
	case s.secret:
		return ""
	case s.boolean:
		return ", --" + s.flagName()
	}
	return ", --" + s.flagName() + "=..."
}

// defaultText is the default as documentation shows it; empty for settings without effect.
func (s setting) defaultText() string {
	switch {
	case s.mandatory:
		return "none, mandatory"
	case s.shown != "":
		return s.shown
	}
	return s.fallback
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
