package policy

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// fields returns a mapping's values by their keys. It reports keys that are not allowed or occur twice, and omits them. It also reports a
// node that is no mapping.
func (r *reader) fields(n *yaml.Node, what string, allowed ...string) (map[string]*yaml.Node, bool) {
	if n.Kind != yaml.MappingNode {
		r.add("line %d: %s must be a mapping with %s, not %s", n.Line, what, keys(allowed), kind(n))
		return nil, false
	}
	fields := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case !isText(key) || !slices.Contains(allowed, key.Value):
			r.add("line %d: unknown key %.260q: %s has %s only", key.Line, key.Value, what, keys(allowed))
		case fields[key.Value] != nil:
			r.add("line %d: duplicate key '%s'", key.Line, key.Value)
		default:
			fields[key.Value] = value
		}
	}
	return fields, true
}

// keys formats allowed keys for messages.
func keys(allowed []string) string {
	if len(allowed) == 1 {
		return "the key '" + allowed[0] + "'"
	}
	return "the keys '" + strings.Join(allowed, "', '") + "'"
}

func isText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" }

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// kind describes the kind of a node, for messages.
func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "true or false"
	case "!!int", "!!float":
		return "a number"
	case "!!timestamp":
		return "a date"
	case "!!str":
		return "text"
	}
	return "a value of type " + n.ShortTag()
}

// quoteHint returns advice for a value that was meant as a string but that YAML parses as another type, such as 2024-01-01.
func quoteHint(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		return ""
	}
	return ": put it in quotes"
}
