package windows

import (
	"slices"
	"strings"
	"time"
)

// Windows are several windows.
type Windows []*Window

// ParseAll reads all expressions; the error names the first one that is none.
func ParseAll(expressions []string) (Windows, error) {
	var all Windows
	for _, expression := range expressions {
		w, err := Parse(expression)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// Valid returns the windows of those expressions that are some. Another one never opens, as in Strimzi.
func Valid(expressions []string) Windows {
	var all Windows
	for _, expression := range expressions {
		if w, err := Parse(expression); err == nil {
			all = append(all, w)
		}
	}
	return all
}

// Open reports whether one of the windows is open at t.
func (w Windows) Open(t time.Time) bool {
	return slices.ContainsFunc(w, func(w *Window) bool { return w.Open(t) })
}

// Next is the first second from t on in which one of the windows is open; false if there is none in the next ten years.
func (w Windows) Next(t time.Time) (time.Time, bool) {
	var first time.Time
	found := false
	for _, window := range w {
		if next, ok := window.Next(t); ok && (!found || next.Before(first)) {
			first, found = next, true
		}
	}
	return first, found
}

// Closed says that no window is open at t, and when the next one opens; empty if one is open, or there are none.
func (w Windows) Closed(t time.Time) string {
	if len(w) == 0 || w.Open(t) {
		return ""
	}
	if next, found := w.Next(t); found {
		return "the next maintenance window opens at " + next.Format("2006-01-02 15:04:05 UTC")
	}
	return "no maintenance window opens in the next ten years: " + w.String()
}

// String returns the expressions.
func (w Windows) String() string {
	var expressions []string
	for _, window := range w {
		expressions = append(expressions, window.expression)
	}
	return strings.Join(expressions, "; ")
}
