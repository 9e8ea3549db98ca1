package policy

import (
	"fmt"
	"slices"
	"strings"
)

// maxListed is how many problems an IllegalError lists. More would be too long for a log line or a terminal.
const maxListed = 100

// IllegalError lists all problems of a policy.
type IllegalError struct {
	// Problems are the problems, one sentence each: what is wrong, where, and what to do. At least one, at most 100. Every pair of entries
	// that break a rule together is a separate problem.
	Problems []string
	// More is the number of further problems.
	More int
}

// Lines returns the problems, and a last line with the number of further ones, if any.
func (e *IllegalError) Lines() []string {
	if e.More == 0 {
		return slices.Clone(e.Problems)
	}
	return append(slices.Clone(e.Problems), fmt.Sprintf("and %d more", e.More))
}

// Error returns all of Lines in one line.
func (e *IllegalError) Error() string {
	return "the namespace policy is illegal: " + strings.Join(e.Lines(), "; ")
}

// findings collects problems.
type findings struct {
	problems []string
	more     int
}

func (f *findings) add(format string, args ...any) {
	f.addEach(1, func(int) string { return fmt.Sprintf(format, args...) })
}

// addEach adds n problems. It formats only those that are listed, so that millions of them cost nothing.
func (f *findings) addEach(n int, text func(int) string) {
	listed := min(n, maxListed-len(f.problems))
	for i := range listed {
		f.problems = append(f.problems, text(i))
	}
	f.more += n - listed
}

// err returns the problems as an error; nil if there is none.
func (f *findings) err() error {
	if len(f.problems) == 0 {
		return nil
	}
	return &IllegalError{Problems: f.problems, More: f.more}
}
