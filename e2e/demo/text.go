package demo

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

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

// table aligns rows of cells.
func table(rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // to memory
	return b.String()
}

// seconds rounds a duration for the eye.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
