package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"go.yaml.in/yaml/v3"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
)

// entry is an entry of a policy, as a user writes it.
type entry struct {
	Namespace         string   `yaml:"namespace"`
	TopicNamePrefixes []string `yaml:"topicNamePrefixes,omitempty"`
	TopicNames        []string `yaml:"topicNames,omitempty"`
	OtherTopics       bool     `yaml:"otherTopics,omitempty"`
}

func render(t *testing.T, list []entry) []byte {
	t.Helper()
	data, err := yaml.Marshal(map[string][]entry{"policy": list})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return data
}

// offences counts the pairs that break a rule, by comparing all pairs.
func offences(list []entry) map[string]int {
	type item struct{ namespace, text string }
	var prefixes, names []item
	var others []string
	for _, e := range list {
		for _, text := range e.TopicNamePrefixes {
			prefixes = append(prefixes, item{e.Namespace, text})
		}
		for _, text := range e.TopicNames {
			// A name that is listed twice in one namespace breaks no rule.
			if !slices.Contains(names, item{e.Namespace, text}) {
				names = append(names, item{e.Namespace, text})
			}
		}
		if e.OtherTopics && !slices.Contains(others, e.Namespace) {
			others = append(others, e.Namespace)
		}
	}
	found := map[string]int{}
	for i, a := range prefixes {
		for j, b := range prefixes {
			if i < j && (strings.HasPrefix(a.text, b.text) || strings.HasPrefix(b.text, a.text)) {
				found["disjoint"]++
			}
		}
		for _, b := range names {
			if strings.HasPrefix(b.text, a.text) {
				found["covered"]++
			}
		}
	}
	for i, a := range names {
		for _, b := range names[i+1:] {
			if a.text == b.text {
				found["listed"]++
			}
		}
	}
	found["others"] = len(others) * (len(others) - 1) / 2
	return found
}

// countByRule counts the problems of an error by rule.
func countByRule(err *IllegalError) map[string]int {
	found := map[string]int{"others": 0}
	for _, problem := range err.Problems {
		for mark, rule := range map[string]string{"list a prefix once": "disjoint", "must not overlap": "disjoint",
			"leave out the name":       "covered",
			"no listed name may begin": "covered", "may list a topic name": "listed", "may have the other topics": "others"} {
			if strings.Contains(problem, mark) {
				found[rule]++
			}
		}
	}
	return found
}

// claimants returns the namespaces that a policy gives a topic to, according to each entry alone.
func claimants(list []entry, topic string) []string {
	var direct, rest []string
	for _, e := range list {
		if slices.Contains(e.TopicNames, topic) || slices.ContainsFunc(e.TopicNamePrefixes,
			func(p string) bool { return strings.HasPrefix(topic, p) }) {
			direct = append(direct, e.Namespace)
		}
		if e.OtherTopics {
			rest = append(rest, e.Namespace)
		}
	}
	if direct == nil {
		direct = rest
	}
	slices.Sort(direct)
	return slices.Compact(direct)
}

const alphabet = "ab."

// words returns all texts of 1 to n letters of the alphabet.
func words(n int) []string {
	all, last := []string{}, []string{""}
	for range n {
		var next []string
		for _, w := range last {
			for _, c := range alphabet {
				next = append(next, w+string(c))
			}
		}
		all, last = append(all, next...), next
	}
	return all
}

func randomPolicy(random *rand.Rand) []entry {
	some := words(3)
	pick := func(most int) []string {
		var picked []string
		for range random.IntN(most + 1) {
			if w := some[random.IntN(len(some))]; w != "." && w != ".." {
				picked = append(picked, w)
			}
		}
		return picked
	}
	list := make([]entry, 1+random.IntN(4))
	for i := range list {
		list[i] = entry{Namespace: string(rune('x' + random.IntN(3))), TopicNamePrefixes: pick(2), TopicNames: pick(2),
			OtherTopics: random.IntN(4) == 0}
	}
	return list
}

// Parse accepts exactly the policies that the rules allow. An accepted policy maps each topic as its entries do, which is to one namespace
// at most.
func TestRandomPoliciesMapATopicToOneNamespaceAtMost(t *testing.T) {
	topics := words(4)
	verdicts := map[bool]int{}
	first := randomtest.Seed(t)
	for seed := first; seed < first+4000; seed++ {
		list := randomPolicy(rand.New(rand.NewPCG(seed, 1)))
		text := render(t, list)
		p, err := Parse(text)
		want := offences(list)
		isLegal := want["disjoint"]+want["covered"]+want["listed"]+want["others"] == 0
		verdicts[isLegal]++
		if (err == nil) != isLegal {
			t.Fatalf("%s\nbreaks %v; Parse: %v", text, want, err)
		}
		if err != nil {
			if got := countByRule(illegal(t, string(text))); !equalCounts(got, want) {
				t.Fatalf("%s\nbreaks %v; reported %v", text, want, got)
			}
			continue
		}
		for _, topic := range topics {
			owners := claimants(list, topic)
			if len(owners) > 1 {
				t.Fatalf("%s\ntopic %s belongs to %v", text, topic, owners)
			}
			for _, namespace := range []string{"x", "y", "z", "w"} {
				v := p.Check(namespace, topic)
				if allowed := slices.Contains(owners, namespace); (v == nil) != allowed {
					t.Fatalf("%s\ntopic %s from %s: allowed %t, %+v", text, topic, namespace, allowed, v)
				}
				if v != nil && v.Owner != strings.Join(owners, "") {
					t.Fatalf("%s\ntopic %s belongs to %v, not to %s", text, topic, owners, v.Owner)
				}
			}
		}
	}
	g := NewWithT(t)
	g.Expect(verdicts[true]).To(BeNumerically(">=", 500), "legal policies")
	g.Expect(verdicts[false]).To(BeNumerically(">=", 500), "illegal policies")
}

func equalCounts(a, b map[string]int) bool {
	for _, rule := range []string{"disjoint", "covered", "listed", "others"} {
		if a[rule] != b[rule] {
			return false
		}
	}
	return true
}

// The order of entries, and of the items in them, has no effect.
func TestTheOrderOfEntriesMeansNothing(t *testing.T) {
	first := randomtest.Seed(t)
	for seed := first; seed < first+500; seed++ {
		random := rand.New(rand.NewPCG(seed, 2))
		list := randomPolicy(random)
		before, err1 := Parse(render(t, list))
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, e := range list {
			slices.Reverse(e.TopicNames)
			slices.Reverse(e.TopicNamePrefixes)
		}
		after, err2 := Parse(render(t, list))
		if (err1 == nil) != (err2 == nil) {
			t.Fatalf("%s\n%v, after a shuffle %v", render(t, list), err1, err2)
		}
		if err1 == nil && fmt.Sprint(entriesOf(before)) != fmt.Sprint(entriesOf(after)) {
			t.Fatalf("%v, after a shuffle %v", entriesOf(before), entriesOf(after))
		}
	}
}

// entriesOf converts a policy back to entries, in a fixed order.
func entriesOf(p *Policy) []entry {
	list := make([]entry, len(p.namespaces))
	for i, namespace := range p.namespaces {
		list[i] = entry{Namespace: namespace, OtherTopics: p.others.rule == RuleOtherTopics && p.others.namespace == namespace}
		for _, g := range p.prefixes {
			if g.namespace == namespace {
				list[i].TopicNamePrefixes = append(list[i].TopicNamePrefixes, g.text)
			}
		}
		for text, g := range p.names {
			if g.namespace == namespace {
				list[i].TopicNames = append(list[i].TopicNames, text)
			}
		}
		slices.Sort(list[i].TopicNames)
	}
	return list
}
