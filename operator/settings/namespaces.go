package settings

import (
	"regexp"
	"slices"
	"strings"
)

// Namespaces selects namespaces. The zero value selects none.
type Namespaces struct {
	// All selects all namespaces, including future ones.
	All bool
	// Names are sorted, without duplicates. Empty if All.
	Names []string
}

// String returns the selection in the form of STRIMZI_NAMESPACE.
func (n Namespaces) String() string {
	if n.All {
		return allNamespaces
	}
	return strings.Join(n.Names, ",")
}

// allNamespaces is the value for all namespaces in Strimzi's cluster operator.
const allNamespaces = "*"

// namespacePattern is Kubernetes' rule for names of namespaces (RFC 1123 label).
var namespacePattern = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// subdomainPattern is Kubernetes' rule for names of most objects (RFC 1123 subdomain); the length is checked separately.
var subdomainPattern = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// ParseNamespaces parses one namespace, a comma-separated list, or * for all.
func ParseNamespaces(text string) (Namespaces, error) {
	names := sortedUnique(List(text))
	if len(names) == 0 {
		return Namespaces{}, Invalid("no namespace", "use one namespace, a comma-separated list, or * for all")
	}
	if slices.Contains(names, allNamespaces) {
		if len(names) > 1 {
			return Namespaces{}, Invalid("both * and names", "use either * or names")
		}
		return Namespaces{All: true}, nil
	}
	for _, name := range names {
		if err := checkNamespace(name); err != nil {
			return Namespaces{}, err
		}
	}
	return Namespaces{Names: names}, nil
}

func checkNamespace(name string) error {
	if !namespacePattern.MatchString(name) {
		return Invalid("not the name of a namespace: "+name, "use lower-case letters, digits and -, at most 63 of them")
	}
	return nil
}

func checkObjectName(name string) error {
	if len(name) > 253 || !subdomainPattern.MatchString(name) {
		return Invalid("not the name of a Kubernetes object", "use lower-case letters, digits, - and ., at most 253 of them")
	}
	return nil
}

// List splits a text at commas, and drops blanks around entries and empty entries.
func List(text string) []string {
	var entries []string
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			entries = append(entries, entry)
		}
	}
	return entries
}

// sortedUnique returns the entries that are not empty, sorted and without duplicates.
func sortedUnique(entries []string) []string {
	sorted := slices.DeleteFunc(slices.Sorted(slices.Values(entries)), func(e string) bool { return e == "" })
	return slices.Compact(sorted)
}
