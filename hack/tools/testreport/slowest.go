package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// slowest returns a line for each of the n tests that took longest, the longest first. Subtests belong to their tests.
func slowest(files []string, n int) ([]string, error) {
	took := map[string]time.Duration{}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		err = durations(file, took)
		if err := file.Close(); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	ids := make([]string, 0, len(took))
	for id := range took {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(took[b], took[a]), strings.Compare(a, b)) })
	var lines []string
	for _, id := range ids[:min(n, len(ids))] {
		lines = append(lines, fmt.Sprintf("%6.1f s  %s", took[id].Seconds(), short(id)))
	}
	return lines, nil
}

// durations adds how long each test ran in a stream of events. The times that go test reports are without parallel subtests, so they are
// taken from the events: a test runs from its start, or from when it goes on after it waited for tests that are not parallel.
func durations(stream io.Reader, took map[string]time.Duration) error {
	began := map[string]time.Time{}
	decoder := json.NewDecoder(stream)
	for {
		var e event
		if err := decoder.Decode(&e); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if e.Test == "" || strings.Contains(e.Test, "/") {
			continue
		}
		id := e.Package + " " + e.Test
		switch e.Action {
		case "run", "cont":
			began[id] = e.Time
		case "pause", "pass", "fail", "skip":
			took[id] += e.Time.Sub(began[id])
		}
	}
}
