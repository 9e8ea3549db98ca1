package policy

import (
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// policyExample is the example of the proposal for such policies.
const policyExample = `
policy:
- namespace: team.a
  topicNamePrefixes:
  - foo-app.
  - bar-app-
  topicNames:
  - config-foo
- namespace: team.b
  topicNamePrefixes:
  - quux-app.
  topicNames:
  - config-quux
- namespace: kafka.cluster.admins
  otherTopics: True
`

// The expected meaning of the example, for each namespace.
func TestTheExampleMeansWhatItSays(t *testing.T) {
	p := legal(t, policyExample)
	for name, c := range map[string]struct {
		namespace string
		topics    []string
	}{
		"prefixes and names of team.a": {"team.a", []string{"foo-app.x", "foo-app.y", "bar-app-x", "bar-app-y", "config-foo"}},
		"prefixes and names of team.b": {"team.b", []string{"quux-app.x", "quux-app.y", "config-quux"}},
		"all the others of the cluster's admins": {"kafka.cluster.admins",
			[]string{"config-gee", "__consumer_offsets", "__transaction_state"}},
		"a prefix alone is a name that begins so": {"team.a", []string{"foo-app.", "bar-app-"}},
		"half a prefix and more than a name are not": {"kafka.cluster.admins",
			[]string{"foo-app", "bar-ap", "config-foo2", "config-", "Foo-app.x", "x-foo-app.", "zzz", "."}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			for _, topic := range c.topics {
				for _, namespace := range []string{"team.a", "team.b", "kafka.cluster.admins", "default", ""} {
					v := p.Check(namespace, topic)
					if namespace == c.namespace {
						g.Expect(v).To(BeNil(), "topic %s from namespace %s", topic, namespace)
					} else {
						g.Expect(v).To(HaveField("Owner", c.namespace), "topic %s from namespace %s", topic, namespace)
					}
				}
			}
		})
	}
}

func TestNoPolicyAllowsEverything(t *testing.T) {
	NewWithT(t).Expect((*Policy)(nil).Check("any", "thing")).To(BeNil())
}

func TestAViolationSaysWhoMayAndWhyAndWhatToDo(t *testing.T) {
	without := strings.Replace(policyExample, "otherTopics: True", "otherTopics: False", 1)
	for name, c := range map[string]struct{ policy, namespace, topic, want string }{
		"a prefix": {policyExample, "team.b", "foo-app.x",
			"Topic 'foo-app.x' can be managed from namespace 'team.a' only (namespace policy: prefix 'foo-app.'), not from 'team.b': move the " +
				"KafkaTopic there, rename the topic, or change the policy"},
		"a listed name": {policyExample, "team.a", "config-quux",
			"Topic 'config-quux' can be managed from namespace 'team.b' only (namespace policy: topic name 'config-quux'), not from 'team.a': " +
				"move the KafkaTopic there, rename the topic, or change the policy"},
		"the other topics": {policyExample, "team.a", "gee",
			"Topic 'gee' can be managed from namespace 'kafka.cluster.admins' only (namespace policy: otherTopics), not from 'team.a': move the " +
				"KafkaTopic there, rename the topic, or change the policy"},
		"nothing that matches": {without, "kafka.cluster.admins", "gee",
			"Topic 'gee' can't be managed from namespace 'kafka.cluster.admins', nor from any other (namespace policy: no topic name and no " +
				"prefix matches, and no namespace has otherTopics): rename the topic, or change the policy"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			v := legal(t, c.policy).Check(c.namespace, c.topic)
			g.Expect(v).NotTo(BeNil())
			g.Expect(v.Message()).To(Equal(c.want))
		})
	}
}

// legal parses a policy, and fails the test if it is illegal.
func legal(t *testing.T, text string) *Policy {
	t.Helper()
	p, err := Parse([]byte(text))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return p
}

// illegal parses a policy, and fails the test if it is legal.
func illegal(t *testing.T, text string) *IllegalError {
	t.Helper()
	g := NewWithT(t)
	p, err := Parse([]byte(text))
	g.Expect(p).To(BeNil(), text)
	var found *IllegalError
	g.Expect(errors.As(err, &found)).To(BeTrue(), "%s: %v", text, err)
	g.Expect(found.Problems).NotTo(BeEmpty(), text)
	return found
}
