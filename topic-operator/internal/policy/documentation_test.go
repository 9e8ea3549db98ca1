package policy

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestTheSampleIsALegalPolicyForRealNamespaces(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile("../../../config/samples/extra/namespace_policy.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	var configMap struct {
		Data map[string]string `yaml:"data"`
	}
	g.Expect(yaml.Unmarshal(content, &configMap)).To(Succeed())
	meansWhatIsSaid(t, configMap.Data["policy.yaml"])
}

func TestTheDocumentationShowsALegalPolicyForRealNamespaces(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile("../../../docs/topic-operator/namespace-policy.md")
	g.Expect(err).NotTo(HaveOccurred())
	_, rest, _ := strings.Cut(string(content), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	meansWhatIsSaid(t, example)
	message := (&Violation{Namespace: "team-b", Topic: "foo-app.x", Owner: "team-a", Rule: RulePrefix, Entry: "foo-app."}).Message()
	g.Expect(strings.Join(strings.Fields(string(content)), " ")).To(ContainSubstring(message))
}

// meansWhatIsSaid checks that the documentation's example maps topics as its text says.
func meansWhatIsSaid(t *testing.T, text string) {
	t.Helper()
	g := NewWithT(t)
	p := legal(t, text)
	for topic, want := range map[string]string{"foo-app.x": "team-a", "bar-app-x": "team-a", "config-foo": "team-a", "quux-app.x": "team-b",
		"config-quux": "team-b", "config-gee": "kafka-admins", "__consumer_offsets": "kafka-admins"} {
		g.Expect(p.claim(topic).namespace).To(Equal(want), topic)
	}
	for _, namespace := range p.namespaces {
		g.Expect(validation.IsDNS1123Label(namespace)).To(BeEmpty(), namespace)
	}
}
