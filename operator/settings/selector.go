package settings

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Selector is a set of required labels with their values. Nil selects everything.
type Selector map[string]string

// Matches reports whether an object with these labels is selected.
func (s Selector) Matches(labels map[string]string) bool {
	for key, want := range s {
		if have, ok := labels[key]; !ok || have != want {
			return false
		}
	}
	return true
}

// String returns the selector as k=v,k=v, sorted, as in Strimzi's metrics.
func (s Selector) String() string {
	pairs := make([]string, 0, len(s))
	for _, key := range slices.Sorted(maps.Keys(s)) {
		pairs = append(pairs, key+"="+s[key])
	}
	return strings.Join(pairs, ",")
}

// labelPart is Kubernetes' rule for label values and for the name in a label's key.
var labelPart = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)

// ParseSelector parses comma-separated key=value pairs. It rejects invalid labels: such a selector would silently select nothing.
func ParseSelector(text string) (Selector, error) {
	selector := Selector{}
	for _, pair := range List(text) {
		key, value, ok := strings.Cut(pair, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case !ok:
			return nil, Invalid("no = in "+pair, "use comma-separated key=value pairs")
		case !validLabelKey(key):
			return nil, Invalid(fmt.Sprintf("%q is not a valid label key", key), "use a valid key, such as strimzi.io/cluster")
		case value != "" && !labelPart.MatchString(value):
			return nil, Invalid(fmt.Sprintf("%q is not a valid label value", value),
				"only key=value pairs are supported, not sets or inequalities")
		}
		if _, twice := selector[key]; twice {
			return nil, Invalid("duplicate key: "+key, "list each label once; all of them must match")
		}
		selector[key] = value
	}
	return selector, nil
}

func validLabelKey(key string) bool {
	prefix, name, prefixed := strings.Cut(key, "/")
	if !prefixed {
		return labelPart.MatchString(key)
	}
	return len(prefix) <= 253 && subdomainPattern.MatchString(prefix) && labelPart.MatchString(name)
}
