package policy

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// The keys of a policy, as docs/topic-operator/namespace-policy.md spells them.
const (
	keyPolicy    = "policy"
	keyNamespace = "namespace"
	keyPrefixes  = "topicNamePrefixes"
	keyNames     = "topicNames"
	keyOthers    = "otherTopics"
)

// Parse reads a policy: one YAML document with these keys, and no others. Several entries of one namespace are merged.
//
// The error is an *IllegalError that lists all problems, not just the first one: malformed entries, and every pair of entries that together
// break a rule.
func Parse(data []byte) (*Policy, error) {
	r := &reader{}
	if list := r.list(r.document(data)); list != nil {
		for _, item := range list.Content {
			r.entry(item)
		}
	}
	r.checkRules(r.grants)
	if err := r.err(); err != nil {
		return nil, err
	}
	return newPolicy(r.grants, r.namespaces), nil
}

// reader walks through the YAML. It uses YAML's own tree rather than a struct, because the tree has line numbers, and accepts neither
// topicnames for topicNames nor a number for a text.
type reader struct {
	findings
	grants     []grant
	namespaces []string
}

// document returns the root of the only document; nil if there is a problem.
func (r *reader) document(data []byte) *yaml.Node {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, next yaml.Node
	err := decoder.Decode(&document)
	switch {
	case errors.Is(err, io.EOF) || err == nil && isNull(document.Content[0]):
		r.add("the policy is empty: write the key '%s' with a list of namespaces; to have no policy, unset STRIMZI_NAMESPACE_POLICY_FILE",
			keyPolicy)
		return nil
	case err == nil:
		if err = decoder.Decode(&next); errors.Is(err, io.EOF) {
			return document.Content[0]
		}
	}
	if err == nil {
		r.add("line %d: more than one YAML document: put the whole policy into one", next.Line)
		return nil
	}
	r.add("not YAML: %s", strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " "))
	return nil
}

// list returns the list of the policy's entries; nil if there is a problem.
func (r *reader) list(root *yaml.Node) *yaml.Node {
	if root == nil {
		return nil
	}
	fields, ok := r.fields(root, "the policy", keyPolicy)
	if !ok {
		return nil
	}
	list := fields[keyPolicy]
	switch {
	case list == nil || isNull(list) || list.Kind == yaml.SequenceNode && len(list.Content) == 0:
		r.add("line %d: '%s' lists no namespace, so nobody could manage any topic: list some; to have no policy, unset "+
			"STRIMZI_NAMESPACE_POLICY_FILE", root.Line, keyPolicy)
		return nil
	case list.Kind != yaml.SequenceNode:
		r.add("line %d: '%s' must be a list of namespaces, not %s", list.Line, keyPolicy, kind(list))
		return nil
	}
	return list
}

// entry reads the grants of one entry to its namespace.
func (r *reader) entry(item *yaml.Node) {
	fields, ok := r.fields(item, "an entry of '"+keyPolicy+"'", keyNamespace, keyPrefixes, keyNames, keyOthers)
	if !ok {
		return
	}
	namespace, ok := r.namespace(item.Line, fields[keyNamespace])
	grants := slices.Concat(
		r.texts(fields, keyPrefixes, RulePrefix, "a prefix", isTopicPrefix),
		r.texts(fields, keyNames, RuleTopicName, "a topic name", kafka.IsTopicName),
		r.others(fields[keyOthers]))
	if !ok {
		return // there is no namespace to grant it to
	}
	for i := range grants {
		grants[i].namespace = namespace
	}
	r.grants = append(r.grants, grants...)
	r.namespaces = append(r.namespaces, namespace)
}

// namespace reads the entry's namespace. Kubernetes allows no dots in a namespace, but policies written for other systems contain some.
func (r *reader) namespace(line int, n *yaml.Node) (string, bool) {
	switch {
	case n == nil || isNull(n):
		r.add("line %d: an entry has no '%s': add the namespace that it applies to", line, keyNamespace)
	case !isText(n):
		r.add("line %d: '%s' must be text, not %s%s", n.Line, keyNamespace, kind(n), quoteHint(n))
	case len(validation.IsDNS1123Subdomain(n.Value)) > 0:
		r.add("line %d: %.260q is not the name of a namespace: use lower-case letters, digits and -", n.Line, n.Value)
	default:
		return n.Value, true
	}
	return "", false
}

// texts reads a list of prefixes or names. A missing list and one without a value are empty.
func (r *reader) texts(fields map[string]*yaml.Node, key string, rule Rule, what string, legal func(string) bool) []grant {
	list := fields[key]
	if list == nil || isNull(list) {
		return nil
	}
	if list.Kind != yaml.SequenceNode {
		r.add("line %d: '%s' must be a list, not %s", list.Line, key, kind(list))
		return nil
	}
	var grants []grant
	for _, n := range list.Content {
		switch {
		case !isText(n):
			r.add("line %d: %s must be text, not %s%s", n.Line, what, kind(n), quoteHint(n))
		case n.Value == "":
			r.add("line %d: %s is empty: to give a namespace all topics that are not named elsewhere, set '%s: true'", n.Line, what, keyOthers)
		case !legal(n.Value):
			r.add("line %d: %.260q can't be %s: Kafka allows letters, digits, '.', '_' and '-', at most 249 of them, and neither '.' nor '..' alone",
				n.Line, n.Value, what)
		default:
			grants = append(grants, grant{rule: rule, text: n.Value, line: n.Line})
		}
	}
	return grants
}

// others reads otherTopics.
func (r *reader) others(n *yaml.Node) []grant {
	switch {
	case n == nil || isNull(n):
		return nil
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" && strings.EqualFold(n.Value, "true"):
		return []grant{{rule: RuleOtherTopics, line: n.Line}}
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" && strings.EqualFold(n.Value, "false"):
		return nil
	}
	r.add("line %d: '%s' must be true or false, not %s", n.Line, keyOthers, kind(n))
	return nil
}

// isTopicPrefix reports whether a topic's name may begin with the text. '.' and '..' are no names, but names may begin with them.
func isTopicPrefix(text string) bool { return text == "." || text == ".." || kafka.IsTopicName(text) }
