package ownership

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// policyFile is the file of an operator's namespace policy.
type policyFile struct {
	path string
	// teamA, teamB and admins are the namespaces. mark makes the names of topics unique to the spec.
	teamA, teamB, admins, mark string
}

// newPolicyFile writes the example of docs/topic-operator/namespace-policy.md, with valid names of namespaces.
func newPolicyFile() *policyFile {
	GinkgoHelper()
	p := &policyFile{teamA: newNamespace(), teamB: newNamespace(), admins: newNamespace(),
		path: filepath.Join(GinkgoT().TempDir(), "policy.yaml")}
	p.mark = suffix(p.teamA)
	p.write(p.seed(p.teamA, p.teamB))
	return p
}

// seed returns the example, with a for team.a and b for team.b.
func (p *policyFile) seed(a, b string) string {
	return fmt.Sprintf(`policy:
- namespace: %[1]s
  topicNamePrefixes:
  - foo-app%[4]s.
  - bar-app%[4]s-
  topicNames:
  - config-foo%[4]s
- namespace: %[2]s
  topicNamePrefixes:
  - quux-app%[4]s.
  topicNames:
  - config-quux%[4]s
- namespace: %[3]s
  otherTopics: True
`, a, b, p.admins, p.mark)
}

// write replaces the file atomically, as kubelet replaces a mounted ConfigMap.
func (p *policyFile) write(content string) {
	GinkgoHelper()
	part := p.path + ".part"
	Expect(os.WriteFile(part, []byte(content), 0o600)).To(Succeed())
	Expect(os.Rename(part, p.path)).To(Succeed())
}

func (p *policyFile) settings() settings {
	return settings{"STRIMZI_NAMESPACE_POLICY_FILE": p.path}
}

// name replaces % in the name of a topic by the mark.
func (p *policyFile) name(name string) string { return strings.ReplaceAll(name, "%", p.mark) }

// object creates a KafkaTopic for the topic.
func (p *policyFile) object(namespace, name string, changes ...change) *v1.KafkaTopic {
	GinkgoHelper()
	kt := object(namespace, p.name(name), changes...)
	Expect(k8s.Create(ctx, kt)).To(Succeed())
	return kt
}

// violates waits until the KafkaTopic is refused because only owner may manage its topic.
func violates(kt *v1.KafkaTopic, owner string) {
	GinkgoHelper()
	refusedWith(kt, v1.ReasonPolicyViolation, "'"+kt.TopicName()+"' can be managed from namespace '"+owner+"' only")
}

// See docs/decisions/namespace-policy.md.
var _ = Describe("A namespace policy", func() {
	It("refuses the violators alone, and follows its file", func() {
		p := newPolicyFile()
		o := start(clusterA, never.and(p.settings()), p.teamA, p.teamB, p.admins)

		By("letting everybody manage what is his")
		ofA := []*v1.KafkaTopic{p.object(p.teamA, "foo-app%.x"), p.object(p.teamA, "bar-app%-y"), p.object(p.teamA, "config-foo%")}
		ofB := []*v1.KafkaTopic{p.object(p.teamB, "quux-app%.x"), p.object(p.teamB, "config-quux%")}
		others := p.object(p.admins, "config-gee%")
		conformers := append(append([]*v1.KafkaTopic{others}, ofA...), ofB...)
		for _, kt := range conformers {
			ready(kt, clusterA)
		}
		clusterA.produce(ofA[0].Name)
		topic := clusterA.state(ofA[0].Name)

		By("refusing others, without any harm to the one that conforms")
		rival := p.object(p.teamB, "foo-app%.x", config(retention, asAsked))
		intruder := p.object(p.teamA, "config-gee2%")
		admin := p.object(p.admins, "config-quux%")
		violates(rival, p.teamA)
		violates(intruder, p.admins)
		violates(admin, p.teamB)
		o.shows(3, 0, v1.ReasonPolicyViolation)
		told(rival, "Warning", v1.ReasonPolicyViolation, p.teamA)
		for _, kt := range conformers {
			ready(kt, clusterA)
		}
		clusterA.keeps(ofA[0].Name, topic)
		Expect(clusterA.exists(intruder.Name)).To(BeFalse())
		remove(intruder)
		gone(intruder)

		By("changing the verdicts with the file, without a restart")
		p.write(p.seed(p.teamB, p.teamA))
		for _, kt := range ofA {
			violates(kt, p.teamB)
		}
		for _, kt := range append([]*v1.KafkaTopic{admin}, ofB...) {
			violates(kt, p.teamA)
		}
		ready(rival, clusterA)
		topic.config = map[string]string{retention: asAsked}
		clusterA.keeps(ofA[0].Name, topic)
		ready(others, clusterA)
		o.shows(6, 0, v1.ReasonPolicyViolation)
		Expect(o.metric("strimzi_namespace_policy_rejected")).To(BeZero())

		By("letting violators go, whose topics stay")
		clusterA.produce(ofA[1].Name)
		left := clusterA.state(ofA[1].Name)
		Expect(held(ofA[1])).To(BeTrue())
		for _, kt := range ofA[:2] {
			remove(kt)
			gone(kt)
		}
		clusterA.keeps(ofA[0].Name, topic)
		clusterA.keeps(ofA[1].Name, left)
		told(ofA[1], "Warning", v1.ReasonPolicyViolation, "stays in Kafka")
		ready(rival, clusterA)
		o.shows(4, 0, v1.ReasonPolicyViolation)
	})

	It("stays in force when its file becomes illegal", func() {
		p := newPolicyFile()
		o := start(clusterA, never.and(p.settings()), p.teamA, p.teamB, p.admins)
		kt := p.object(p.teamA, "foo-app%.x")
		ready(kt, clusterA)
		p.write(p.seed(p.teamA, p.teamB) + "- namespace: " + p.teamB + "2\n  topicNamePrefixes: [" + p.name("foo-app%.x") + "]\n")
		o.gauge(1, "strimzi_namespace_policy_rejected")
		Expect(o.logged("level=WARN", "Rejected the changed namespace policy", p.name("foo-app%.x"), p.teamB+"2")).To(BeTrue())
		violates(p.object(p.teamB, "foo-app%.y"), p.teamA)
		ready(p.object(p.teamA, "foo-app%.z"), clusterA)
		ready(kt, clusterA)

		p.write(p.seed(p.teamA, p.teamB))
		o.gauge(0, "strimzi_namespace_policy_rejected")
	})

	It("that is illegal stops the start, and every offending pair is named", func() {
		p := newPolicyFile()
		p.write(`policy:
- namespace: one
  topicNamePrefixes: [foo-, config-]
  otherTopics: true
- namespace: two
  topicNamePrefixes: [foo-bar-]
  topicNames: [config-quux]
  otherTopics: true
`)
		o := launch(clusterA.Bootstrap(), p.settings(), p.teamA)
		Eventually(o.process.Exited()).Should(BeClosed())
		Expect(o.process.ExitCode()).To(BeNumerically(">", 0))
		_, told, found := strings.Cut(o.process.Log(), "the namespace policy is illegal")
		Expect(found).To(BeTrue())
		problems := strings.Split(told, "; ")
		for _, pair := range [][]string{{"foo-", "foo-bar-"}, {"config-", "config-quux"}, {"otherTopics", "one", "two"}} {
			Expect(problems).To(ContainElement(containing(pair)), "the pair %v", pair)
		}
	})
})
