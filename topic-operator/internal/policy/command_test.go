package policy

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/topic-operator/internal/exit"
)

// call runs the subcommand with a policy on standard input.
func call(stdin string, args ...string) (status int, out, problems string) {
	var stdout, stderr strings.Builder
	c := Command()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	c.SetIn(strings.NewReader(stdin))
	c.SetOut(&stdout)
	c.SetErr(&stderr)
	err := c.Execute()
	if s, ok := errors.AsType[exit.Status](err); ok {
		return int(s), stdout.String(), stderr.String()
	}
	if err != nil {
		return int(exit.Usage), stdout.String(), err.Error()
	}
	return 0, stdout.String(), stderr.String()
}

func TestCheckOfALegalPolicySumsItUp(t *testing.T) {
	for name, c := range map[string]struct{ policy, want string }{
		"the example, which Kubernetes could not hold": {policyExample, `The policy is legal.
namespaces: kafka.cluster.admins, team.a, team.b
prefixes: 3
topic names: 2
other topics: kafka.cluster.admins
note: Kubernetes allows no namespace 'kafka.cluster.admins': no dots, and at most 63 characters
note: Kubernetes allows no namespace 'team.a': no dots, and at most 63 characters
note: Kubernetes allows no namespace 'team.b': no dots, and at most 63 characters
`},
		"one that gives the other topics to nobody": {entries("b, topicNames: [x]", "a, topicNames: [z]", "b, topicNamePrefixes: [y]"),
			`The policy is legal.
namespaces: a, b
prefixes: 1
topic names: 2
other topics: none (a topic that nothing matches can't be managed from any namespace)
`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, file := range []string{"-", policyFile(t, c.policy)} {
				status, out, problems := call(c.policy, "check", file)
				NewWithT(t).Expect([]any{status, out, problems}).To(Equal([]any{0, c.want, ""}))
			}
		})
	}
}

func TestCheckOfAnIllegalPolicyPrintsOneProblemALine(t *testing.T) {
	g := NewWithT(t)
	status, out, problems := call(twoPairs, "check", "-")
	g.Expect([]any{status, out}).To(Equal([]any{1, ""}), problems)
	g.Expect(strings.Split(strings.TrimSuffix(problems, "\n"), "\n")).To(HaveLen(2))
	for _, text := range pairs {
		g.Expect(problems).To(ContainSubstring(text))
	}
}

func TestExplainSaysWhoMayAndWhy(t *testing.T) {
	const policy = "policy:\n- {namespace: a, topicNamePrefixes: [x-], topicNames: [z]}\n- {namespace: b, otherTopics: true}\n"
	for name, c := range map[string]struct {
		policy string
		args   []string
		status int
		want   string
	}{
		"by a prefix": {policy, []string{"x-1"}, 0, "Topic 'x-1' can be managed from namespace 'a' only (prefix 'x-', line 2)\n"},
		"by its name": {policy, []string{"z"}, 0, "Topic 'z' can be managed from namespace 'a' only (topic name 'z', line 2)\n"},
		"as another":  {policy, []string{"w"}, 0, "Topic 'w' can be managed from namespace 'b' only (otherTopics, line 3)\n"},
		"nobody": {entries("a"), []string{"w"}, 0,
			"Topic 'w' can't be managed from any namespace (no topic name and no prefix matches, and no namespace has otherTopics)\n"},
		"for the owner": {policy, []string{"z", "a"}, 0, "Topic 'z' can be managed from namespace 'a' only (topic name 'z', line 2)\n"},
		"for somebody else": {policy, []string{"z", "b"}, 1,
			(&Violation{Namespace: "b", Topic: "z", Owner: "a", Rule: RuleTopicName, Entry: "z"}).Message() + "\n"},
		"for one of nobody's": {entries("a"), []string{"w", "a"}, 1, (&Violation{Namespace: "a", Topic: "w"}).Message() + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, problems := call(c.policy, append([]string{"explain", "-"}, c.args...)...)
			NewWithT(t).Expect([]any{status, out, problems}).To(Equal([]any{c.status, c.want, ""}))
		})
	}
	g := NewWithT(t)
	status, out, problems := call(twoPairs, "explain", "-", "x")
	g.Expect([]any{status, out}).To(Equal([]any{1, ""}), "an illegal policy")
	g.Expect(problems).To(ContainSubstring(pairs[0]))
}

func TestWrongUsageExitsWithTwoAndSaysHow(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"an unknown verb":        {[]string{"chekc", "-"}, `unknown command "chekc" for "policy"`},
		"check without a file":   {[]string{"check"}, "accepts 1 arg(s), received 0"},
		"check with two files":   {[]string{"check", "-", "-"}, "accepts 1 arg(s), received 2"},
		"explain without a name": {[]string{"explain", "-"}, "accepts between 2 and 3 arg(s), received 1"},
		"explain with too much":  {[]string{"explain", "-", "a", "b", "c"}, "accepts between 2 and 3 arg(s), received 4"},
		"no topic's name": {[]string{"explain", "-", "a b"},
			"topic-operator: \"a b\" is not the name of a topic: Kafka allows letters, digits, '.', '_' and '-', at most 249 of them\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			status, out, problems := call(ofA, c.args...)
			g.Expect([]any{status, out}).To(Equal([]any{2, ""}), problems)
			g.Expect(problems).To(ContainSubstring(c.want))
		})
	}
}

func TestAFileThatCanNotBeReadExitsWithTwo(t *testing.T) {
	g := NewWithT(t)
	missing := filepath.Join(t.TempDir(), "none.yaml")
	for _, args := range [][]string{{"check", missing}, {"explain", missing, "x"}} {
		status, out, problems := call("", args...)
		g.Expect([]any{status, out}).To(Equal([]any{2, ""}), "%q: %s", args, problems)
		g.Expect(problems).To(ContainSubstring(missing), "%q", args)
	}
}

func TestHelpIsPrintedWithoutAVerb(t *testing.T) {
	g := NewWithT(t)
	for _, args := range [][]string{{}, {"help"}, {"-h"}, {"--help"}} {
		status, out, problems := call("", args...)
		g.Expect([]any{status, problems}).To(Equal([]any{0, ""}), "%v", args)
		g.Expect(out).To(ContainSubstring("Exit status: 0 yes, 1 no"), "%v", args)
	}
}
