package policy

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// checkRules finds every pair of grants that must not be in one policy. There are three rules: prefixes are disjoint, also within one
// namespace; no prefix is a prefix of a listed name of any namespace; only one namespace has otherTopics. That a topic maps to a single
// namespace requires a fourth: no two namespaces list the same name.
//
// The time is that of sorting plus that of the listed pairs; the other pairs are counted without visiting each.
func (f *findings) checkRules(grants []grant) {
	of := func(rule Rule, same func(a, b grant) bool) []grant {
		kept := slices.DeleteFunc(slices.Clone(grants), func(g grant) bool { return g.rule != rule })
		slices.SortFunc(kept, byText)
		return slices.CompactFunc(kept, same)
	}
	prefixes := of(RulePrefix, func(_, _ grant) bool { return false })
	names := of(RuleTopicName, sameOwner)
	others := of(RuleOtherTopics, sameOwner)

	for i, p := range prefixes {
		f.clashes(p, prefixes[i+1:], startsWith, overlap)
	}
	for _, p := range prefixes {
		first := sort.Search(len(names), func(i int) bool { return names[i].text >= p.text })
		f.clashes(p, names[first:], startsWith, covered)
	}
	for i, name := range names {
		f.clashes(name, names[i+1:], func(a, b grant) bool { return a.text == b.text }, listedTwice)
	}
	for i, other := range others {
		f.clashes(other, others[i+1:], func(_, _ grant) bool { return true }, twoOthers)
	}
}

// sameOwner reports whether two grants give the same to the same namespace, which is harmless.
func sameOwner(a, b grant) bool { return a.text == b.text && a.namespace == b.namespace }

func startsWith(a, b grant) bool { return strings.HasPrefix(b.text, a.text) }

// clashes reports each grant that conflicts with a. The conflicting grants must form a prefix of sorted.
func (f *findings) clashes(a grant, sorted []grant, clash func(a, b grant) bool, tell func(a, b grant) string) {
	n := sort.Search(len(sorted), func(i int) bool { return !clash(a, sorted[i]) })
	f.addEach(n, func(i int) string { return tell(a, sorted[i]) })
}

func overlap(a, b grant) string {
	if a.text == b.text {
		return fmt.Sprintf("%s is listed again at %s: list a prefix once", a, b.place())
	}
	return fmt.Sprintf("%s is a prefix of %s: prefixes must not overlap, not even within one namespace", a, b)
}

func covered(a, b grant) string {
	if a.namespace == b.namespace {
		return fmt.Sprintf("%s is a prefix of %s: leave out the name, which the prefix covers", a, b)
	}
	return fmt.Sprintf("%s is a prefix of %s: no listed name may begin with a prefix", a, b)
}

func listedTwice(a, b grant) string {
	return fmt.Sprintf("%s is listed again at %s: only one namespace may list a topic name", a, b.place())
}

func twoOthers(a, b grant) string {
	return fmt.Sprintf("otherTopics is true at %s and at %s: only one namespace may have the other topics", a.place(), b.place())
}

// String describes the grant with its place, for messages.
func (g grant) String() string { return because(g.rule, g.text) + " of " + g.place() }

func (g grant) place() string { return fmt.Sprintf("namespace '%s' (line %d)", g.namespace, g.line) }
