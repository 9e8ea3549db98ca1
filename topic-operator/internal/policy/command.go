package policy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/exit"
)

const (
	long = `policy reads a namespace policy, in the format of STRIMZI_NAMESPACE_POLICY_FILE.

FILE is its file; - reads standard input.
Exit status: 0 yes, 1 no (invalid policy; not from NAMESPACE), 2 wrong usage or unreadable file.`
	examples = `  topic-operator policy check policy.yaml                       # is it valid?
  topic-operator policy explain policy.yaml foo-app.x           # from where can the topic be managed, and why?
  topic-operator policy explain policy.yaml foo-app.x team-b    # can it from there?`
)

// The exit statuses.
const (
	exitYes     exit.Status = 0
	exitNo      exit.Status = 1
	exitTrouble exit.Status = 2
)

// Command returns the subcommand. It prints answers to standard output, and problems, one per line, to standard error.
func Command() *cobra.Command {
	policy := &cobra.Command{
		Use: "policy", Short: "Check a namespace policy, and explain which namespace it gives a topic", Long: long, Example: examples,
		Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	policy.AddCommand(
		&cobra.Command{
			Use: "check FILE", Short: "Report whether a policy is valid, and all of its problems", Args: cobra.ExactArgs(1),
			RunE: func(c *cobra.Command, args []string) error {
				return exit.With(check(args[0], c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr()))
			},
		},
		&cobra.Command{
			Use:   "explain FILE TOPIC [NAMESPACE]",
			Short: "Show from which namespace a topic can be managed, and why; with NAMESPACE, whether it can be managed from there",
			Args:  cobra.RangeArgs(2, 3),
			RunE: func(c *cobra.Command, args []string) error {
				return exit.With(explain(args[0], args[1], args[2:], c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr()))
			},
			ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
				if len(args) == 0 {
					return nil, cobra.ShellCompDirectiveDefault // a file
				}
				return nil, cobra.ShellCompDirectiveNoFileComp
			},
		})
	return policy
}

func check(file string, stdin io.Reader, stdout, stderr io.Writer) exit.Status {
	p, status := open(file, stdin, stderr)
	if p != nil {
		fmt.Fprint(stdout, p.summary())
	}
	return status
}

// explain prints which namespace may manage a topic; or whether the given namespaces may.
func explain(file, topicName string, namespaces []string, stdin io.Reader, stdout, stderr io.Writer) exit.Status {
	if !kafka.IsTopicName(topicName) {
		fmt.Fprintf(stderr, "topic-operator: %q is not the name of a topic: Kafka allows letters, digits, '.', '_' and '-', at most 249 of "+
			"them\n", topicName)
		return exitTrouble
	}
	p, status := open(file, stdin, stderr)
	if p == nil {
		return status
	}
	for _, namespace := range namespaces {
		if v := p.Check(namespace, topicName); v != nil {
			fmt.Fprintln(stdout, v.Message())
			return exitNo
		}
	}
	g := p.claim(topicName)
	if g.rule == RuleNone {
		fmt.Fprintf(stdout, "Topic '%s' can't be managed from any namespace (%s)\n", topicName, because(g.rule, g.text))
		return exitYes
	}
	fmt.Fprintf(stdout, "Topic '%s' can be managed from namespace '%s' only (%s, line %d)\n", topicName, g.namespace,
		because(g.rule, g.text), g.line)
	return exitYes
}

// open reads a policy. On failure, it prints the reason and returns the exit status.
func open(file string, stdin io.Reader, stderr io.Writer) (*Policy, exit.Status) {
	var data []byte
	var err error
	if file == "-" {
		data, err = io.ReadAll(stdin)
	} else {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		fmt.Fprintf(stderr, "topic-operator: read the policy: %v\n", err)
		return nil, exitTrouble
	}
	p, err := Parse(data)
	var illegal *IllegalError
	if errors.As(err, &illegal) {
		for _, line := range illegal.Lines() {
			fmt.Fprintln(stderr, line)
		}
		return nil, exitNo
	}
	return p, exitYes
}

// summary prints the contents of a valid policy, and notes about surprising ones.
func (p *Policy) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The policy is legal.\nnamespaces: %s\nprefixes: %d\ntopic names: %d\n", strings.Join(p.namespaces, ", "), len(p.prefixes),
		len(p.names))
	if p.others.rule == RuleNone {
		b.WriteString("other topics: none (a topic that nothing matches can't be managed from any namespace)\n")
	} else {
		fmt.Fprintf(&b, "other topics: %s\n", p.others.namespace)
	}
	for _, namespace := range p.namespaces {
		if len(validation.IsDNS1123Label(namespace)) > 0 {
			fmt.Fprintf(&b, "note: Kubernetes allows no namespace '%s': no dots, and at most 63 characters\n", namespace)
		}
	}
	return b.String()
}
