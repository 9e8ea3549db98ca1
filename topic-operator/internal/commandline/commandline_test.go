package commandline

import (
	"context"
	"errors"
	"flag"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/topic-operator/internal/exit"
)

// run runs a command line, and returns the arguments of the operator; nil if it was not run.
func run(t *testing.T, operator error, args ...string) (status int, out, problems string, operators []string) {
	var stdout, stderr strings.Builder
	p := Program{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Signals: func() context.Context { return t.Context() },
		Operator: func(args []string) error { operators = append([]string{}, args...); return operator }}
	status = p.Run(args)
	return status, stdout.String(), stderr.String(), operators
}

// Strimzi's Deployment passes its start script, and flags of settings may have values that are names of subcommands.
func TestWithoutASubcommandTheOperatorGetsAllArguments(t *testing.T) {
	g := NewWithT(t)
	for _, args := range [][]string{
		{}, {"--namespace=kafka"}, {"-namespace", "policy"}, {"--namespace", "release", "--log-level=DEBUG"},
		{"/opt/strimzi/bin/topic_operator_run.sh"}, {"/opt/strimzi/bin/topic_operator_run.sh", "--namespace", "policy"}, {"unknown"},
	} {
		status, out, problems, operators := run(t, nil, args...)
		g.Expect(operators).To(Equal(args))
		g.Expect([]any{status, out, problems}).To(Equal([]any{0, "", ""}), "%v", args)
	}
	status, out, problems, _ := run(t, exit.Status(1))
	g.Expect([]any{status, out, problems}).To(Equal([]any{1, "", ""}), "the operator has reported its failure")
}

func TestHelpListsSettingsAndSubcommands(t *testing.T) {
	g := NewWithT(t)
	for _, args := range [][]string{{"--help"}, {"/opt/strimzi/bin/topic_operator_run.sh", "-h"}, {"help"}} {
		status, out, problems, _ := run(t, flag.ErrHelp, args...)
		g.Expect([]any{status, problems}).To(Equal([]any{0, ""}))
		g.Expect(out).To(And(ContainSubstring("STRIMZI_KAFKA_BOOTSTRAP_SERVERS"), ContainSubstring("topic-operator policy "),
			ContainSubstring("topic-operator release "), ContainSubstring("topic-operator completion ")))
	}
}

func TestSubcommandsRunWithoutTheOperator(t *testing.T) {
	g := NewWithT(t)
	for what, c := range map[string]struct {
		args          []string
		status        int
		out, problems string
	}{
		"a group prints help": {[]string{"policy"}, 0, "topic-operator policy [command]", ""},
		"help of one":         {[]string{"help", "release"}, 0, "topic-operator release -n NAMESPACE", ""},
		"completion":          {[]string{"completion", "bash"}, 0, "__start_topic-operator", ""},
		"names for the shell": {[]string{"__complete", "policy", ""}, 0, "explain\tShow", ""},
		"its own status":      {[]string{"policy", "check", "-"}, 1, "", "the policy is empty"},
		"wrong usage": {[]string{"policy", "check"}, 2, "",
			"topic-operator: accepts 1 arg(s), received 0\nSee 'topic-operator policy check --help'.\n"},
		"an unknown flag": {[]string{"release", "--force"}, 2, "",
			"topic-operator: unknown flag: --force\nSee 'topic-operator release --help'.\n"},
	} {
		status, out, problems, operators := run(t, errors.New("the operator runs"), c.args...)
		g.Expect(status).To(Equal(c.status), what)
		g.Expect(out).To(ContainSubstring(c.out), what)
		g.Expect(problems).To(ContainSubstring(c.problems), what)
		g.Expect(operators).To(BeNil(), what)
	}
}
