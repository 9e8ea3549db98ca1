package demo

import (
	"fmt"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"
)

var trailing = regexp.MustCompile(` +\n`)

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			b.WriteString("    " + line)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// table aligns rows of cells, without spaces at the ends of lines.
func table(rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // to memory
	return trailing.ReplaceAllString(b.String(), "\n")
}

// seconds formats a duration in seconds, with at least a hundredth.
func seconds(d time.Duration) string {
	const blink = 10 * time.Millisecond
	return fmt.Sprintf("%.2f s", max(d, blink).Seconds())
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
