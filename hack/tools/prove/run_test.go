package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestAProofThatDidLessThanPromisedFails(t *testing.T) {
	failed := errors.New("exit status 1")
	says := func(count, violations int) string {
		return fmt.Sprintf("=== RUN TestX\nPROOF {\"name\":\"x\",\"count\":%d,\"violations\":%d,\"seed\":7}\nok\n", count, violations)
	}
	steps := job{test: "TestX", what: "steps", least: 1000}
	fuzzing := job{test: "FuzzX", what: "executions", fuzz: true}
	for name, c := range map[string]struct {
		job    job
		output string
		err    error
		want   string // part of the error; empty: none
	}{
		"as many as promised":         {steps, says(1000, 0), nil, ""},
		"more":                        {steps, says(1001, 0), nil, ""},
		"one less":                    {steps, says(999, 0), nil, "it counted 999 steps, and 1000 are promised"},
		"none":                        {steps, says(0, 0), nil, "it counted 0 steps"},
		"a promise was broken":        {steps, says(1000, 1), nil, "promises were broken"},
		"it failed for another cause": {steps, says(1000, 0), failed, "exit status 1"},
		"it failed and did less":      {steps, says(1, 1), failed, "exit status 1"},
		"it said nothing":             {steps, "ok\n", nil, "no PROOF line"},
		"it failed before it spoke":   {steps, "FAIL\n", failed, "exit status 1"},
		"it said something else":      {steps, "PROOF {\"count\":\"many\"}\n", nil, "no JSON"},
		"fuzzing":                     {fuzzing, "fuzz: elapsed: 3s, execs: 12 (4/sec)\n", nil, ""},
		"fuzzing executed nothing":    {fuzzing, "ok\n", nil, "it executed nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.job.result([]byte(c.output), c.err)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
}

// TestEachProofPromisesACount checks that each proof promises a count: one whose count became 0 would pass otherwise.
func TestEachProofPromisesACount(t *testing.T) {
	for _, j := range tests {
		if j.least < 1 {
			t.Errorf("%s %s promises no count", j.pkg, j.test)
		}
	}
}
