package operatorproc

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Metrics maps each series of a scrape to its sample. A series is written as in the exposition format, name{label="value",...}, with the
// labels sorted by name.
type Metrics map[string]float64

// Metrics scrapes the operator.
func (op *Process) Metrics(ctx context.Context) (Metrics, error) {
	body, err := op.get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	return ParseMetrics(string(body))
}

// Scrape reads the metrics of any program at a URL.
func Scrape(ctx context.Context, url string) (Metrics, error) {
	body, err := fetch(ctx, http.DefaultClient, url)
	if err != nil {
		return nil, err
	}
	return ParseMetrics(string(body))
}

// ParseMetrics reads the text of a scrape.
func ParseMetrics(text string) (Metrics, error) {
	metrics := Metrics{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		// A label's value may contain spaces, the sample's does not. The operator writes no timestamps.
		split := strings.LastIndexByte(line, ' ')
		if split < 0 {
			return nil, fmt.Errorf("the sample %q has no value", line)
		}
		value, err := strconv.ParseFloat(line[split+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("the sample %q: %w", line, err)
		}
		metrics[line[:split]] = value
	}
	return metrics, nil
}

// Sum returns the sum of all series with this name and all of the given labels, each written as label="value".
func (m Metrics) Sum(name string, labels ...string) float64 {
	total := 0.0
	for series, value := range m {
		if matches(series, name, labels) {
			total += value
		}
	}
	return total
}

// Has reports whether there is a series of the name with all of the given labels.
func (m Metrics) Has(name string, labels ...string) bool {
	for series := range m {
		if matches(series, name, labels) {
			return true
		}
	}
	return false
}

func matches(series, name string, labels []string) bool {
	rest, ok := strings.CutPrefix(series, name)
	if !ok || (rest != "" && rest[0] != '{') {
		return false
	}
	for _, label := range labels {
		if !strings.Contains(rest, "{"+label) && !strings.Contains(rest, ","+label) {
			return false
		}
	}
	return true
}
