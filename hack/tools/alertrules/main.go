// Command alertrules reads manifests from standard input and writes the rules of all their PrometheusRules as one rule file for promtool.
// It leaves out texts without variables, because promtool would require each test to repeat them. Its arguments are the root of the
// repository and promtool's test files. It prints each finding on its own line: an alert without a severity, instructions or a runbook, and
// an alert for which no test checks that it fires or that it does not fire.
package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: alertrules ROOT TEST... < MANIFESTS > RULES")
		os.Exit(2)
	}
	findings, err := run(os.Args[1], os.Args[2:], os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "alertrules:", err)
		os.Exit(2)
	}
	slices.Sort(findings)
	findings = slices.Compact(findings)
	for _, finding := range findings {
		fmt.Fprintln(os.Stderr, "alertrules:", finding)
	}
	if len(findings) > 0 {
		os.Exit(1)
	}
}

// manifest has the fields of a manifest that alertrules needs.
type manifest struct {
	Kind string `json:"kind"`
	Spec struct {
		Groups []group `json:"groups"`
	} `json:"spec"`
}

// group and rule have the fields of a rule file. An unknown field is an error, so that none is dropped before promtool sees it.
type group struct {
	Name     string `json:"name"`
	Interval string `json:"interval,omitempty"`
	Rules    []rule `json:"rules"`
}

type rule struct {
	Record        string            `json:"record,omitempty"`
	Alert         string            `json:"alert,omitempty"`
	Expr          string            `json:"expr"`
	For           string            `json:"for,omitempty"`
	KeepFiringFor string            `json:"keep_firing_for,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// testFile has the fields of promtool's test files that alertrules checks.
type testFile struct {
	Tests []struct {
		Alerts []struct {
			Name     string `json:"alertname"`
			Expected []struct {
				Annotations map[string]string `json:"exp_annotations"`
			} `json:"exp_alerts"`
		} `json:"alert_rule_test"`
	} `json:"tests"`
}

func run(root string, tests []string, in io.Reader, out io.Writer) ([]string, error) {
	groups, err := extract(in)
	if err != nil {
		return nil, err
	}
	fires, silent, findings, err := tested(root, tests)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Alert == "" {
				continue
			}
			findings = append(findings, checkTexts(root, r)...)
			if !fires[r.Alert] {
				findings = append(findings, r.Alert+": no test shows that it fires")
			}
			if !silent[r.Alert] {
				findings = append(findings, r.Alert+": no test shows that it stays silent")
			}
			maps.DeleteFunc(r.Annotations, func(_, text string) bool { return !strings.Contains(text, "{{") })
		}
	}
	plain, err := yaml.Marshal(map[string]any{"groups": groups})
	if err != nil {
		return nil, err
	}
	_, err = out.Write(plain)
	return findings, err
}

// extract returns the groups of all PrometheusRules.
func extract(in io.Reader) ([]group, error) {
	all, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	var groups []group
	for document := range strings.SplitSeq(string(all), "\n---\n") {
		var m manifest
		if err := yaml.Unmarshal([]byte(document), &m); err != nil {
			return nil, err
		}
		if m.Kind != "PrometheusRule" {
			continue
		}
		var strict struct {
			manifest   `json:",inline"`
			APIVersion string `json:"apiVersion"`
			Metadata   any    `json:"metadata"`
		}
		if err := yaml.UnmarshalStrict([]byte(document), &strict); err != nil {
			return nil, err
		}
		groups = append(groups, strict.Spec.Groups...)
	}
	if len(groups) == 0 {
		return nil, errors.New("there is no PrometheusRule among the manifests")
	}
	return groups, nil
}

// tested returns the alerts that a test expects to fire, and those that a test expects not to fire. It also checks that the runbooks in the
// tests exist.
func tested(root string, files []string) (fires, silent map[string]bool, findings []string, err error) {
	fires, silent = map[string]bool{}, map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, nil, err
		}
		var tests testFile
		if err := yaml.Unmarshal(text, &tests); err != nil {
			return nil, nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, test := range tests.Tests {
			for _, a := range test.Alerts {
				if len(a.Expected) == 0 {
					silent[a.Name] = true
				}
				for _, expected := range a.Expected {
					fires[a.Name] = true
					if runbook := expected.Annotations["runbook"]; runbook != "" {
						findings = append(findings, checkRunbook(root, a.Name, runbook)...)
					}
				}
			}
		}
	}
	return fires, silent, findings, nil
}

// checkTexts checks the labels and annotations of an alert.
func checkTexts(root string, r rule) []string {
	var findings []string
	if !slices.Contains([]string{"info", "warning", "critical"}, r.Labels["severity"]) {
		findings = append(findings, r.Alert+": the label severity is not info, warning or critical")
	}
	for _, name := range []string{"summary", "description", "runbook"} {
		if r.Annotations[name] == "" {
			findings = append(findings, r.Alert+": the annotation "+name+" is missing")
		}
	}
	return append(findings, checkRunbook(root, r.Alert, r.Annotations["runbook"])...)
}

// notInAnchors matches the characters that the anchor of a Markdown heading leaves out.
var notInAnchors = regexp.MustCompile(`[^a-z0-9 _-]`)

// checkRunbook checks that the page and the heading of an alert's runbook exist. If a label chooses the heading, the tests have to name the
// existing ones.
func checkRunbook(root, alert, runbook string) []string {
	page, anchor, _ := strings.Cut(runbook, "#")
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return []string{alert + ": there is no runbook " + page}
	}
	if strings.Contains(anchor, "{{") {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		heading := strings.TrimLeft(line, "#")
		if heading == line {
			continue
		}
		slug := notInAnchors.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
		if strings.ReplaceAll(slug, " ", "-") == anchor {
			return nil
		}
	}
	return []string{alert + ": " + page + " has no heading for #" + anchor}
}
