package policy

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestTheSampleIsALegalPolicyForRealNamespaces(t *testing.T) {
	content, err := os.ReadFile("../../../config/samples/extra/namespace_policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var configMap struct {
		Data map[string]string `yaml:"data"`
	}
	if err := yaml.Unmarshal(content, &configMap); err != nil {
		t.Fatal(err)
	}
	meansWhatIsSaid(t, configMap.Data["policy.yaml"])
}

func TestTheDocumentationShowsALegalPolicyForRealNamespaces(t *testing.T) {
	content, err := os.ReadFile("../../../docs/topic-operator/namespace-policy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(content), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	meansWhatIsSaid(t, example)
	message := (&Violation{Namespace: "team-b", Topic: "foo-app.x", Owner: "team-a", Rule: RulePrefix, Entry: "foo-app."}).Message()
	if !strings.Contains(strings.Join(strings.Fields(string(content)), " "), message) {
		t.Errorf("the documentation shows another message than %s", message)
	}
}

// meansWhatIsSaid checks that the documentation's example maps topics as its text says.
func meansWhatIsSaid(t *testing.T, text string) {
	t.Helper()
	p := legal(t, text)
	for topic, want := range map[string]string{"foo-app.x": "team-a", "bar-app-x": "team-a", "config-foo": "team-a", "quux-app.x": "team-b",
		"config-quux": "team-b", "config-gee": "kafka-admins", "__consumer_offsets": "kafka-admins"} {
		if got := p.claim(topic).namespace; got != want {
			t.Errorf("topic %s belongs to %s, not to %s", topic, got, want)
		}
	}
	for _, namespace := range p.namespaces {
		if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
			t.Errorf("namespace %s: %q", namespace, problems)
		}
	}
}
