package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	proofLine   = regexp.MustCompile(`(?m)^PROOF (\{.*\})\s*$`)
	executions  = regexp.MustCompile(`execs: (\d+)`)
	fuzzDeclare = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
)

// errSilent is the error for a proof that passed without a result.
var errSilent = errors.New("it passed, but printed no PROOF line")

// run runs the proof and returns its result, and its output for the analysis of an error.
func (j job) run(fuzzTime time.Duration) (*proof, string, error) {
	args := []string{"test", "-count=1", "-timeout=3h", "-v", "-run", "^" + j.test + "$", j.pkg}
	if j.fuzz {
		args = []string{"test", "-run", "^$", "-fuzz", "^" + j.test + "$", "-fuzztime", fuzzTime.String(), j.pkg}
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "PROVE=full")
	if os.Getenv("GOGC") == "" {
		cmd.Env = append(cmd.Env, "GOGC=400") // histories allocate much and keep little
	}
	output, err := cmd.CombinedOutput()
	p, err := j.result(output, err)
	return p, string(output), err
}

// result returns the result in the output of the proof. A proof that passed with less than the promised count is an error, too.
func (j job) result(output []byte, err error) (*proof, error) {
	if j.fuzz {
		p := j.fuzzed(output, err)
		if err == nil && p.Count == 0 {
			err = errors.New("it executed nothing: give it more time")
		}
		return p, err
	}
	found := proofLine.FindSubmatch(output)
	if found == nil {
		return nil, cmpErr(err, errSilent)
	}
	p := &proof{}
	if problem := json.Unmarshal(found[1], p); problem != nil {
		return nil, fmt.Errorf("its PROOF line is no JSON of this form: %w", problem)
	}
	switch {
	case err == nil && p.Violations > 0:
		err = errors.New("promises were broken")
	case err == nil && p.Count < j.least:
		err = fmt.Errorf("it counted %d %s, and %d are promised", p.Count, j.what, j.least)
	}
	return p, err
}

func cmpErr(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// fuzzed returns the result of a fuzz target. Go keeps a failing input in testdata, which serves as the seed to repeat it.
func (j job) fuzzed(output []byte, err error) *proof {
	p := &proof{Name: "fuzzing: " + strings.TrimPrefix(j.pkg, "./") + " " + j.test, Seed: "0"}
	if all := executions.FindAllSubmatch(output, -1); len(all) > 0 {
		p.Count, _ = strconv.ParseInt(string(all[len(all)-1][1]), 10, 64) // digits, by the expression
	}
	if err != nil {
		p.Violations = 1
	}
	return p
}

// repeat returns the command that repeats the proof.
func (j job) repeat(seed json.Number) string {
	if j.fuzz {
		return fmt.Sprintf("go test -run '^$' -fuzz '^%s$' -fuzztime 60s %s", j.test, j.pkg)
	}
	return fmt.Sprintf("PROVE=full PROVE_SEED=%s go test -count=1 -timeout=3h -v -run '^%s$' %s", seed, j.test, j.pkg)
}

// fuzzTargets returns the fuzz targets of all modules of the workspace, sorted.
func fuzzTargets() ([]job, error) {
	var jobs []job
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "hack" || d.Name() == "testdata"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path) // a file of the repository
		if err != nil {
			return err
		}
		for _, m := range fuzzDeclare.FindAllSubmatch(text, -1) {
			jobs = append(jobs, job{pkg: "./" + filepath.ToSlash(filepath.Dir(path)), test: string(m[1]), what: "executions", fuzz: true})
		}
		return nil
	})
	slices.SortFunc(jobs, func(a, b job) int { return strings.Compare(a.pkg+" "+a.test, b.pkg+" "+b.test) })
	return jobs, err
}
