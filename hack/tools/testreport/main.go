// Command testreport reads the output of `go test -json`, and prints the ten slowest tests, and in its last lines which tests did not run,
// and why. A skipped test proves nothing; in CI (--strict) it is a failure. Lines of standard input name other checks that could not run,
// one per line.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is one line of `go test -json`.
type event struct {
	Time    time.Time
	Action  string
	Package string
	Test    string
	Output  string
}

// Ginkgo runs all its specs as one Go test, so only Ginkgo's summary has the skipped and pending ones.
var (
	ginkgoSummary = regexp.MustCompile(`(\d+) Pending.*?(\d+) Skipped`)
	ginkgoSkip    = regexp.MustCompile(`\[SKIPPED\] (.+)`)
	colours       = regexp.MustCompile("\x1b\\[[0-9;]*m")
	skipPlace     = regexp.MustCompile(`^\s*\S+\.go:\d+: `)
)

func main() {
	strict := flag.Bool("strict", false, "exit with 1 if anything could not run")
	flag.Parse()
	slow, err := slowest(flag.Args(), 10)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(2)
	}
	for _, line := range slow {
		fmt.Println("slow:", line)
	}
	unrun, err := report(flag.Args(), os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(2)
	}
	if len(unrun) == 0 {
		fmt.Println("Nothing was skipped.")
		return
	}
	fmt.Printf("Could not run (%d):\n", len(unrun))
	for _, line := range unrun {
		fmt.Println("  " + line)
	}
	if *strict {
		fmt.Println("In CI everything must run: this is a failure.")
		os.Exit(1)
	}
}

// report collects the skipped tests from event files, and the lines of more.
func report(files []string, more io.Reader) ([]string, error) {
	var unrun []string
	lines := bufio.NewScanner(more)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" {
			unrun = append(unrun, line)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		skipped, err := skips(file)
		if err := file.Close(); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		unrun = append(unrun, skipped...)
	}
	return unrun, nil
}

// skips returns a line for each skipped test in a stream of events, with its reason, and for each Ginkgo suite that skipped specs.
func skips(stream io.Reader) ([]string, error) {
	said := map[string][]string{}    // by test: its output
	reasons := map[string]string{}   // by package: the last reason for which Ginkgo skipped a spec
	summaries := map[string]string{} // by package: the skipped specs in Ginkgo's summary
	var unrun []string
	decoder := json.NewDecoder(stream)
	for {
		var e event
		if err := decoder.Decode(&e); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		id := e.Package + " " + e.Test
		switch {
		case e.Action == "output":
			text := colours.ReplaceAllString(e.Output, "")
			if e.Test != "" {
				said[id] = append(said[id], text)
			}
			if match := ginkgoSkip.FindStringSubmatch(text); match != nil {
				reasons[e.Package] = strings.TrimSpace(match[1])
			}
			if match := ginkgoSummary.FindStringSubmatch(text); match != nil && (match[1] != "0" || match[2] != "0") {
				summaries[e.Package] = match[1] + " specs pending, " + match[2] + " skipped"
			}
		case e.Action == "skip" && e.Test != "":
			unrun = append(unrun, short(id)+": "+reason(said[id]))
		case e.Action == "pass" || e.Action == "fail":
			delete(said, id)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(summaries)) {
		line := short(pkg) + ": " + summaries[pkg]
		if reason := reasons[pkg]; reason != "" {
			line += ", for example: " + reason
		} else {
			line += " (go test " + pkg + " -ginkgo.v says why)"
		}
		unrun = append(unrun, line)
	}
	return unrun, nil
}

// short removes the prefix that all packages have in common.
func short(id string) string {
	return strings.TrimPrefix(id, "github.com/kafka-operators/kafka-operators/")
}

// reason returns the text of t.Skip from a skipped test's output.
func reason(output []string) string {
	for _, line := range slices.Backward(output) {
		line = strings.TrimRight(line, "\n")
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "--- ") || strings.HasPrefix(trimmed, "=== ") {
			continue
		}
		return strings.TrimSpace(skipPlace.ReplaceAllString(line, ""))
	}
	return "no reason given"
}
