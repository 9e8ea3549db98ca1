package policy

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// entries returns a policy with one entry for each text. A text is a namespace, followed by the other keys in YAML's flow style.
func entries(texts ...string) string {
	var b strings.Builder
	b.WriteString("policy:\n")
	for _, text := range texts {
		b.WriteString("- {namespace: " + text + "}\n")
	}
	return b.String()
}

func TestWhatIsNoPolicyIsRefusedWithWhatWouldBeOne(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"an empty file": {"",
			[]string{"the policy is empty: write the key 'policy' with a list of namespaces; to have no policy, unset " +
				"STRIMZI_NAMESPACE_POLICY_FILE"}},
		"only a comment": {"# nothing\n---\n",
			[]string{"the policy is empty: write the key 'policy' with a list of namespaces; to have no policy, unset " +
				"STRIMZI_NAMESPACE_POLICY_FILE"}},
		"not YAML": {"policy: [", []string{"not YAML: line 1: did not find expected node content"}},
		"a missing colon": {strings.Replace(policyExample, "topicNamePrefixes:\n  - quux", "topicNamePrefixes\n  - quux", 1),
			[]string{"not YAML: line 10: could not find expected ':'"}},
		"two documents": {entries("a") + "---\n" + entries("b"),
			[]string{"line 3: more than one YAML document: put the whole policy into one"}},
		"a broken second one": {entries("a") + "---\nx: [", []string{"not YAML: line 4: did not find expected node content"}},
		"text":                {"policy", []string{"line 1: the policy must be a mapping with the key 'policy', not text"}},
		"no list":             {"policy: {a: b}", []string{"line 1: 'policy' must be a list of namespaces, not a mapping"}},
		"a list of nobody": {"policy: []",
			[]string{"line 1: 'policy' lists no namespace, so nobody could manage any topic: list some; to have no policy, unset " +
				"STRIMZI_NAMESPACE_POLICY_FILE"}},
		"a ConfigMap": {"kind: ConfigMap\ndata: {}\n", []string{
			"line 1: unknown key \"kind\": the policy has the key 'policy' only",
			"line 2: unknown key \"data\": the policy has the key 'policy' only",
			"line 1: 'policy' lists no namespace, so nobody could manage any topic: list some; to have no policy, unset " +
				"STRIMZI_NAMESPACE_POLICY_FILE"}},
		"an entry that is text": {"policy: [a]",
			[]string{"line 1: an entry of 'policy' must be a mapping with the keys 'namespace', 'topicNamePrefixes', 'topicNames', 'otherTopics', " +
				"not text"}},
		"an unknown key": {entries("a, topicNamePrefix: [b]"), []string{
			"line 2: unknown key \"topicNamePrefix\": an entry of 'policy' has the keys 'namespace', 'topicNamePrefixes', 'topicNames', " +
				"'otherTopics' only"}},
		"a key in other letters": {entries("a, topicnames: [b]"), []string{
			"line 2: unknown key \"topicnames\": an entry of 'policy' has the keys 'namespace', 'topicNamePrefixes', 'topicNames', 'otherTopics' " +
				"only"}},
		"a merge key": {"policy:\n- &a {namespace: a}\n- {<<: *a}\n",
			[]string{"line 3: unknown key \"<<\": an entry of 'policy' has the keys 'namespace', 'topicNamePrefixes', 'topicNames', 'otherTopics' " +
				"only", "line 3: an entry has no 'namespace': add the namespace that it applies to"}},
		"an alias": {"policy:\n- {namespace: a, topicNames: &x [b]}\n- {namespace: c, topicNames: *x}\n",
			[]string{"line 3: 'topicNames' must be a list, not an alias"}},
		"a key twice": {"policy:\n- namespace: a\n  namespace: b\n",
			[]string{"line 3: duplicate key 'namespace'"}},
		"policy twice": {entries("a") + entries("b"), []string{"line 3: duplicate key 'policy'"}},
		"no namespace": {"policy: [{topicNames: [a]}]",
			[]string{"line 1: an entry has no 'namespace': add the namespace that it applies to"}},
		"namespace without value": {entries(""), []string{"line 2: an entry has no 'namespace': add the namespace that it applies to"}},
		"namespace of a wrong type": {entries("[a]") + "- {namespace: 1}\n",
			[]string{"line 2: 'namespace' must be text, not a list", "line 3: 'namespace' must be text, not a number: put it in quotes"}},
		"an illegal namespace": {entries("Team_A"),
			[]string{"line 2: \"Team_A\" is not the name of a namespace: use lower-case letters, digits and -"}},
		"prefixes that are text":   {entries("a, topicNamePrefixes: b"), []string{"line 2: 'topicNamePrefixes' must be a list, not text"}},
		"names that are a mapping": {entries("a, topicNames: {b: c}"), []string{"line 2: 'topicNames' must be a list, not a mapping"}},
		"names that are no texts": {entries("a, topicNames: [1, 1.5, true, 2024-01-01, ~, [x], !own z]"), []string{
			"line 2: a topic name must be text, not a number: put it in quotes", "line 2: a topic name must be text, not a number: put it in quotes",
			"line 2: a topic name must be text, not true or false: put it in quotes",
			"line 2: a topic name must be text, not a date: put it in quotes",
			"line 2: a topic name must be text, not nothing", "line 2: a topic name must be text, not a list",
			"line 2: a topic name must be text, not a value of type !own: put it in quotes"}},
		"an empty prefix": {entries("a, topicNamePrefixes: ['']"),
			[]string{"line 2: a prefix is empty: to give a namespace all topics that are not named elsewhere, set 'otherTopics: true'"}},
		"an empty name": {entries("a, topicNames: ['']"),
			[]string{"line 2: a topic name is empty: to give a namespace all topics that are not named elsewhere, set 'otherTopics: true'"}},
		"a wildcard": {entries("a, topicNamePrefixes: [b*], topicNames: ['c d']"), []string{
			"line 2: \"b*\" can't be a prefix: Kafka allows letters, digits, '.', '_' and '-', at most 249 of them, and neither '.' nor '..' alone",
			"line 2: \"c d\" can't be a topic name: Kafka allows letters, digits, '.', '_' and '-', at most 249 of them, and neither '.' nor '..' " +
				"alone"}},
		"names that Kafka reserves": {entries("a, topicNames: [., ..]"), []string{
			"line 2: \".\" can't be a topic name: Kafka allows letters, digits, '.', '_' and '-', at most 249 of them, and neither '.' nor '..' " +
				"alone",
			"line 2: \"..\" can't be a topic name: Kafka allows letters, digits, '.', '_' and '-', at most 249 of them, and neither '.' nor '..' " +
				"alone"}},
		"other topics as text": {entries("a, otherTopics: 'true'"), []string{"line 2: 'otherTopics' must be true or false, not text"}},
		"other topics as a no": {entries("a, otherTopics: yes"), []string{"line 2: 'otherTopics' must be true or false, not text"}},
		"other topics as a lie": {entries("a, otherTopics: !!bool maybe"),
			[]string{"line 2: 'otherTopics' must be true or false, not true or false"}},
		"problems of all kinds": {"policy:\n- {namespace: A}\n- {namespace: b, topicNames: [x, y*], topicNamePrefixes: [x]}\n", []string{
			`line 2: "A" is not the name of a namespace: use lower-case letters, digits and -`,
			`line 3: "y*" can't be a topic name: Kafka allows letters, digits, '.', '_' and '-', at most 249 of them, and neither '.' nor '..' ` +
				`alone`,
			"prefix 'x' of namespace 'b' (line 3) is a prefix of topic name 'x' of namespace 'b' (line 3): leave out the name, which the prefix " +
				"covers"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := illegal(t, c.text)
			g.Expect(found.Problems).To(Equal(c.want))
			g.Expect(found.More).To(BeZero())
		})
	}
}

func TestLongTextsAreCutInErrors(t *testing.T) {
	found := illegal(t, entries("a, topicNames: ["+strings.Repeat("x", 100_000)+"]"))
	NewWithT(t).Expect(len(found.Error())).To(BeNumerically("<=", 1000))
}

func TestWhatIsLegalIsTaken(t *testing.T) {
	longest := strings.Repeat("x", 249)
	for name, text := range map[string]string{
		"a namespace that is given nothing":         entries("a"),
		"lists without a value":                     "policy:\n- namespace: a\n  topicNames:\n  topicNamePrefixes:\n  otherTopics:\n",
		"the longest name":                          entries("a, topicNames: [" + longest + "]"),
		"the longest prefix":                        entries("a, topicNamePrefixes: [" + longest + "]"),
		"a prefix that is no name":                  entries("a, topicNamePrefixes: [.]"),
		"a name that is a prefix of a prefix":       entries("a, topicNames: [foo]", "b, topicNamePrefixes: [foo-]"),
		"names of which one begins with the other":  entries("a, topicNames: [foo]", "b, topicNames: [foo-bar]"),
		"a number in quotes":                        entries("a, topicNames: ['2024']"),
		"a name twice in one namespace":             entries("a, topicNames: [x, x]", "a, topicNames: [x]"),
		"other topics twice in one namespace":       entries("a, otherTopics: true", "a, otherTopics: TRUE"),
		"other topics for one, and not for another": entries("a, otherTopics: true", "b, otherTopics: false"),
		"JSON": `{"policy": [{"namespace": "a", "topicNames": ["b"]}]}`,
		"marks around the document, and comments":    "# why\n---\n" + entries("a") + "...\n",
		"line ends of Windows":                       strings.ReplaceAll(policyExample, "\n", "\r\n"),
		"a byte order mark":                          "\ufeff" + entries("a"),
		"words that other versions of YAML misread":  entries("a, topicNames: [on, off, yes, no, y]"),
		"a policy with prefixes beside each other":   entries("a, topicNamePrefixes: [aa, ab]", "b, topicNamePrefixes: [ac]"),
		"a tag that says what YAML would say itself": entries("a, topicNames: [!!str 5]"),
	} {
		t.Run(name, func(t *testing.T) { legal(t, text) })
	}
}

func TestEntriesOfOneNamespaceAreTakenTogether(t *testing.T) {
	p := legal(t, entries("a, topicNamePrefixes: [x-]", "b, topicNames: [z]", "a, topicNamePrefixes: [y-]",
		"a, topicNames: [w], otherTopics: true"))
	g := NewWithT(t)
	for _, topic := range []string{"x-1", "y-1", "w", "anything"} {
		g.Expect(p.Check("a", topic)).To(BeNil(), topic)
	}
	g.Expect(p.Check("a", "z")).NotTo(BeNil(), "a topic of the other namespace")
	g.Expect(p.Check("b", "w")).NotTo(BeNil(), "a topic of the other namespace")
}

// Both entries of each pair are reported, with their namespaces and positions.
func TestEachOffendingPairIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"prefixes of two namespaces": {entries("a, topicNamePrefixes: [foo-app.]", "b, topicNamePrefixes: [foo-]"), []string{
			"prefix 'foo-' of namespace 'b' (line 3) is a prefix of prefix 'foo-app.' of namespace 'a' (line 2): prefixes must not overlap, not " +
				"even within one namespace"}},
		"prefixes of one namespace": {entries("a, topicNamePrefixes: [foo-, foo-app.]"), []string{
			"prefix 'foo-' of namespace 'a' (line 2) is a prefix of prefix 'foo-app.' of namespace 'a' (line 2): prefixes must not overlap, not " +
				"even within one namespace"}},
		"equal prefixes": {entries("b, topicNamePrefixes: [x]", "a, topicNamePrefixes: [x]", "a, topicNamePrefixes: [x]"), []string{
			"prefix 'x' of namespace 'a' (line 3) is listed again at namespace 'a' (line 4): list a prefix once",
			"prefix 'x' of namespace 'a' (line 3) is listed again at namespace 'b' (line 2): list a prefix once",
			"prefix 'x' of namespace 'a' (line 4) is listed again at namespace 'b' (line 2): list a prefix once"}},
		"a prefix and listed names": {entries("a, topicNamePrefixes: [x], topicNames: [x1]", "b, topicNames: [x, y]"), []string{
			"prefix 'x' of namespace 'a' (line 2) is a prefix of topic name 'x' of namespace 'b' (line 3): no listed name may begin with a prefix",
			"prefix 'x' of namespace 'a' (line 2) is a prefix of topic name 'x1' of namespace 'a' (line 2): leave out the name, which the prefix " +
				"covers"}},
		"a name that two namespaces list": {entries("b, topicNames: [x]", "a, topicNames: [x, x]"), []string{
			"topic name 'x' of namespace 'a' (line 3) is listed again at namespace 'b' (line 2): only one namespace may list a topic name"}},
		"other topics of three namespaces": {entries("b, otherTopics: true", "a, otherTopics: true", "c, otherTopics: true"), []string{
			"otherTopics is true at namespace 'a' (line 3) and at namespace 'b' (line 2): only one namespace may have the other topics",
			"otherTopics is true at namespace 'a' (line 3) and at namespace 'c' (line 4): only one namespace may have the other topics",
			"otherTopics is true at namespace 'b' (line 2) and at namespace 'c' (line 4): only one namespace may have the other topics"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := illegal(t, c.text)
			g.Expect(found.Problems).To(Equal(c.want))
			g.Expect(found.More).To(BeZero())
		})
	}
}

// Each of 20,000 prefixes overlaps with all others: 200 million pairs, which Parse counts without comparing them.
func TestMillionsOfPairsAreCountedAndAHundredListed(t *testing.T) {
	const n = 20_000
	found := illegal(t, entries("a, topicNamePrefixes: ["+strings.Repeat("x,", n)+"]"))
	g := NewWithT(t)
	g.Expect(found.Problems).To(HaveLen(maxListed))
	g.Expect(found.More).To(Equal(n*(n-1)/2 - maxListed))
	lines := found.Lines()
	g.Expect(lines).To(HaveLen(maxListed + 1))
	g.Expect(lines[maxListed]).To(Equal(fmt.Sprintf("and %d more", found.More)))
	g.Expect(found.Error()).To(HaveSuffix("; and %d more", found.More))
}

func TestThousandsOfLegalEntriesAreTaken(t *testing.T) {
	var texts []string
	for i := range 20_000 {
		texts = append(texts, fmt.Sprintf("ns-%d, topicNamePrefixes: [p-%06d-], topicNames: [n-%06d]", i, i, i))
	}
	p := legal(t, entries(texts...))
	g := NewWithT(t)
	g.Expect(p.Check("ns-19999", "p-019999-x")).To(BeNil())
	g.Expect(p.Check("ns-0", "n-012345")).To(HaveField("Owner", "ns-12345"))
}
