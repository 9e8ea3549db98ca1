package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const rules = `kind: PrometheusRule
spec:
  groups:
    - name: all
      rules:
        - alert: Down
          expr: up == 0
          labels: {severity: critical}
          annotations: {summary: It is down, description: Start it, runbook: runbook.md#down}
`

const tests = `tests:
  - alert_rule_test:
      - {alertname: Down, eval_time: 1m, exp_alerts: []}
      - {alertname: Down, eval_time: 2m, exp_alerts: [{exp_labels: {severity: critical}}]}
`

// TestAnAlertThatIsNotCheckedIsFound plants faults in an alert, its texts, and its tests.
func TestAnAlertThatIsNotCheckedIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		was, is string
		want    []string
	}{
		"all is well":                 {"", "", nil},
		"no test shows that it fires": {"[{exp_labels: {severity: critical}}]", "[]", []string{"Down: no test shows that it fires"}},
		"no test shows that it stays silent": {"eval_time: 1m, exp_alerts: []", "eval_time: 1m, exp_alerts: [{}]",
			[]string{"Down: no test shows that it stays silent"}},
		"nothing says how urgent it is": {"severity: critical}\n", "severity: high}\n",
			[]string{"Down: the label severity is not info, warning or critical"}},
		"nothing says what to do":      {"description: Start it, ", "", []string{"Down: the annotation description is missing"}},
		"its runbook has another name": {"runbook.md#down", "runbook.md#up", []string{"Down: runbook.md has no heading for #up"}},
		"its runbook does not exist":   {"runbook.md#down", "other.md#down", []string{"Down: there is no runbook other.md"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range map[string]string{"runbook.md": "# Down\n", "tests.yaml": strings.Replace(tests, c.was, c.is, 1)} {
				if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			in := strings.NewReader(strings.Replace(rules, c.was, c.is, 1))
			findings, err := run(root, []string{filepath.Join(root, "tests.yaml")}, in, &strings.Builder{})
			if err != nil || !slices.Equal(findings, c.want) {
				t.Errorf("found %q, %v, want %q", findings, err, c.want)
			}
		})
	}
}
