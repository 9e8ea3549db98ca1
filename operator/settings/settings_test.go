package settings

import (
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka/credentials"
)

// values are the settings of a small program.
type values struct {
	name     string
	size     int
	interval time.Duration
	on       bool
	password credentials.Masked
	mode     string
}

func (v *values) table() Table {
	return Table{
		Program: "test", Summary: "test is a test.", Subcommands: []string{"test run\n"},
		Hints: map[string]string{"STRIMZI_OLD": "use STRIMZI_NAME"},
		Groups: []Group{
			{Title: "One", Settings: []Setting{
				{Env: "STRIMZI_NAME", Mandatory: true, Parse: Into(&v.name, Name), Doc: "The name, such as `a|b`."},
				{Env: "STRIMZI_BATCH_SIZE", Default: "7", Parse: Into(&v.size, Positive), Doc: "The size."},
				{Env: "STRIMZI_INTERVAL_MS", Default: "120000", DefaultDoc: "two minutes", Parse: Into(&v.interval, Millis(1)),
					Doc: "How often, in milliseconds."},
			}},
			{Title: "Two", Settings: []Setting{
				{Env: "STRIMZI_ON", Flag: "switch", Default: "false", Boolean: true, Added: true, Parse: Into(&v.on, Bool), Doc: "Whether it is on."},
				{Env: "STRIMZI_PASSWORD", DefaultDoc: "none", Secret: true, Parse: Into(&v.password, Secret), Doc: "The password."},
				{Env: "STRIMZI_MODE", Default: "soft", EmptyCounts: true, Parse: Into(&v.mode, Text), Doc: "The mode; empty is one."},
			}},
		},
	}
}

func environment(entries ...string) Environment {
	all := map[string]string{}
	for _, e := range entries {
		name, value, _ := strings.Cut(e, "=")
		all[name] = value
	}
	return Environment{Variables: entries, Lookup: func(name string) (string, bool) {
		value, ok := all[name]
		return value, ok
	}}
}

func TestFlagsOverrideVariablesOverrideDefaults(t *testing.T) {
	var v values
	r, err := v.table().Parse([]string{"--batch-size=9", "--switch"},
		environment("STRIMZI_NAME=a", "STRIMZI_BATCH_SIZE=8", "STRIMZI_INTERVAL_MS= ", "STRIMZI_MODE=", "STRIMZI_PASSWORD= x "))
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	if v.name != "a" || v.size != 9 || v.interval != 2*time.Minute || !v.on || v.password.Reveal() != " x " || v.mode != "" {
		t.Errorf("%+v", v)
	}
	if !r.Given("STRIMZI_BATCH_SIZE") || r.Given("STRIMZI_INTERVAL_MS") {
		t.Error("Given is wrong about a flag, or about an empty variable")
	}
	want := `STRIMZI_NAME="a" STRIMZI_BATCH_SIZE="9" STRIMZI_INTERVAL_MS="120000" STRIMZI_ON="true" STRIMZI_PASSWORD="********" ` +
		`STRIMZI_MODE=""`
	if got := r.String(); got != want {
		t.Errorf("String is\n%s, want\n%s", got, want)
	}
}

func TestEverythingWrongIsReportedAtOnce(t *testing.T) {
	var v values
	r, err := v.table().Parse([]string{"--switch=perhaps", "--interval-ms=1", "--interval-ms=2", "extra"},
		environment("STRIMZI_BATCH_SIZE=0", "STRIMZI_BATCH_SIZE=0", "STRIMZI_NAMES=x", "STRIMZI_OLD=1", "STRIMZI_X_SERVICE_HOST=1"))
	if err != nil {
		t.Fatal(err)
	}
	r.Reject("STRIMZI_NAME", "b", "taken", "use another")
	all := r.Err().Error()
	for _, want := range []string{
		"Config value: STRIMZI_NAME is mandatory; set the variable or --name",
		`STRIMZI_BATCH_SIZE="0": Failed to parse. Negative value is not supported for this configuration; use a whole number from 1`,
		`--switch="perhaps": neither true nor false; use true or false`,
		"duplicate key: STRIMZI_BATCH_SIZE", "duplicate key: --interval-ms", `argument without a flag: "extra"`,
		`STRIMZI_NAME="b": taken; use another`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("missing: %s\nin:\n%s", want, all)
		}
	}
	if r.OK("STRIMZI_NAME") || !r.OK("STRIMZI_MODE") {
		t.Error("OK is wrong about what could be read")
	}
	warnings := r.Warnings()
	if len(warnings) != 2 || warnings[0] != "STRIMZI_NAMES has no effect: there is no such setting; did you mean STRIMZI_NAME?" ||
		warnings[1] != "STRIMZI_OLD has no effect: use STRIMZI_NAME" {
		t.Errorf("warnings: %q", warnings)
	}
}

func TestHelpAndVersion(t *testing.T) {
	var v values
	if _, err := v.table().Parse([]string{"--help"}, environment()); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
	if _, err := v.table().Parse([]string{"--version"}, environment()); !errors.Is(err, ErrVersion) {
		t.Error(err)
	}
	help := v.table().Help()
	for _, want := range []string{"test is a test.\n\ntest run\n\nEach setting",
		"\n  STRIMZI_BATCH_SIZE, --batch-size=...\n      The size.\n      Default: 7\n", "  STRIMZI_ON, --switch\n", "  STRIMZI_PASSWORD\n"} {
		if !strings.Contains(help, want) {
			t.Errorf("missing: %q in\n%s", want, help)
		}
	}
	for _, want := range []string{"### One\n", "| `STRIMZI_NAME` | `--name` | none, mandatory | The name, such as `a\\|b`. |",
		"| `STRIMZI_ON` (ours) | `--switch` | `false` |", "| `STRIMZI_PASSWORD` |  | none |",
		"| `STRIMZI_INTERVAL_MS` | `--interval-ms` | two minutes |"} {
		if !strings.Contains(v.table().Markdown(), want) {
			t.Errorf("missing: %q in\n%s", want, v.table().Markdown())
		}
	}
}

// A program whose framework parses flags itself, such as cobra, passes the parsed flags in.
func TestParsedFlagsAreHandedIn(t *testing.T) {
	var v values
	table := v.table()
	set := table.FlagSet()
	if err := set.Parse([]string{"--name", "b", "--switch", "rest"}); err != nil {
		t.Fatal(err)
	}
	if err := table.Read(set, environment("STRIMZI_NAME=a")).Err(); err != nil || v.name != "b" || !v.on {
		t.Errorf("%+v, %v", v, err)
	}
	if set.Lookup("password") != nil {
		t.Error("a secret has a flag")
	}
}
