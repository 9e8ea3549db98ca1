package policy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// Subcommand is the program's argument that calls Command.
const Subcommand = "policy"

// Usage describes how to call the subcommand.
const Usage = `topic-operator policy check FILE
    Reports whether FILE is a valid namespace policy, and all of its problems.
topic-operator policy explain FILE TOPIC [NAMESPACE]
    Shows from which namespace TOPIC can be managed, and why; with NAMESPACE, whether it can be managed from there.
FILE is a policy in the format of STRIMZI_NAMESPACE_POLICY_FILE; - reads standard input.
Exit status: 0 yes, 1 no (invalid policy; not from NAMESPACE), 2 wrong usage or unreadable file.
`

// The exit statuses.
const (
	exitYes = iota
	exitNo
	exitTrouble
)

// Command runs the subcommand with the arguments that follow it, and returns the exit status: 0 for yes, 1 for an illegal policy or a
// namespace without permission, 2 for wrong usage or a file that can't be read. It prints answers to stdout, and problems, one per line, to
// stderr.
func Command(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	verb, rest := "", args
	if len(args) > 0 {
		verb, rest = args[0], args[1:]
	}
	problem := ""
	switch verb {
	case "check":
		if len(rest) == 1 {
			return check(rest[0], stdin, stdout, stderr)
		}
		problem = "policy check takes one argument"
	case "explain":
		if len(rest) == 2 || len(rest) == 3 {
			return explain(rest[0], rest[1], rest[2:], stdin, stdout, stderr)
		}
		problem = "policy explain takes two or three arguments"
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stdout, Usage)
		return exitYes
	case "":
		problem = "policy needs a subcommand"
	default:
		problem = fmt.Sprintf("unknown policy subcommand %q", verb)
	}
	fmt.Fprintf(stderr, "topic-operator: %s\n\n%s", problem, Usage)
	return exitTrouble
}

func check(file string, stdin io.Reader, stdout, stderr io.Writer) int {
	p, status := open(file, stdin, stderr)
	if p != nil {
		fmt.Fprint(stdout, p.summary())
	}
	return status
}

// explain prints which namespace may manage a topic; or whether the given namespaces may.
func explain(file, topicName string, namespaces []string, stdin io.Reader, stdout, stderr io.Writer) int {
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
func open(file string, stdin io.Reader, stderr io.Writer) (*Policy, int) {
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
