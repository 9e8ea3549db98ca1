package policy

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// Policy maps each topic to at most one namespace. Parse creates it; it never changes. A nil *Policy means no policy: Check allows
// everything.
type Policy struct {
	// prefixes are sorted by their texts. None begins with another one, so claim checks only one of them.
	prefixes []grant
	// names contains the listed topics. None begins with one of the prefixes.
	names map[string]grant
	// others is the grant of all other topics; its namespace is empty if no namespace has them.
	others grant
	// namespaces are all namespaces that the policy mentions, sorted.
	namespaces []string
}

// Rule is the kind of an entry in a policy.
type Rule int

// The rules, in the order in which they are tried. In a valid policy, no two of them contradict each other.
const (
	// RuleNone: nothing in the policy matches the topic, so no namespace may manage it.
	RuleNone Rule = iota
	// RuleTopicName: topicNames lists the topic.
	RuleTopicName
	// RulePrefix: the topic begins with one of topicNamePrefixes.
	RulePrefix
	// RuleOtherTopics: nothing else matches, and one namespace has otherTopics.
	RuleOtherTopics
)

// grant is one entry of the policy: it gives topics to a namespace.
type grant struct {
	rule Rule
	// text is the prefix or the topic's name; empty for otherTopics.
	text      string
	namespace string
	// line is the line of the entry, counted from 1.
	line int
}

// byText sorts grants so that those that begin with a text directly follow it.
func byText(a, b grant) int {
	return cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.line, b.line))
}

// newPolicy creates a policy from grants that obey the rules.
func newPolicy(grants []grant, namespaces []string) *Policy {
	p := &Policy{names: map[string]grant{}, namespaces: slices.Compact(slices.Sorted(slices.Values(namespaces)))}
	for _, g := range grants {
		switch g.rule {
		case RulePrefix:
			p.prefixes = append(p.prefixes, g)
		case RuleTopicName:
			p.names[g.text] = g
		case RuleOtherTopics:
			p.others = g
		case RuleNone: // no grant has it
		}
	}
	slices.SortFunc(p.prefixes, byText)
	return p
}

// claim returns the grant that gives a topic to a namespace. If there is none, its rule is RuleNone and its namespace empty.
func (p *Policy) claim(topicName string) grant {
	if g, listed := p.names[topicName]; listed {
		return g
	}
	// Of all prefixes up to the topic's name only the last one can match: every text between a prefix and a name that begins with it begins
	// with it too, and no prefix begins with another one.
	next := sort.Search(len(p.prefixes), func(i int) bool { return p.prefixes[i].text > topicName })
	if next > 0 && strings.HasPrefix(topicName, p.prefixes[next-1].text) {
		return p.prefixes[next-1]
	}
	return p.others
}

// Check returns how the policy forbids KafkaTopics of the namespace to manage the topic; nil if it allows it. A nil *Policy allows
// everything.
func (p *Policy) Check(namespace, topicName string) *Violation {
	if p == nil {
		return nil
	}
	g := p.claim(topicName)
	if g.namespace == namespace && g.rule != RuleNone {
		return nil
	}
	return &Violation{Namespace: namespace, Topic: topicName, Owner: g.namespace, Rule: g.rule, Entry: g.text}
}
