package validate

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
)

// TestExporterIsJudgedAsItJudgesItself compares checkExporter with the exporter itself: Java exits if its agent does not start.
func TestExporterIsJudgedAsItJudgesItself(t *testing.T) {
	agent := exporterAgent(t)
	for name, c := range map[string]struct {
		config string
		starts bool
	}{
		"nothing":                    {"", false},
		"an empty map":               {"{}", true},
		"a list":                     {"[1]", false},
		"rules that are no list":     {"rules: 5", false},
		"no rules":                   {"rules: []", true},
		"a rule that is no map":      {"rules: [a]", false},
		"a switch as text":           {`lowercaseOutputName: "true"`, false},
		"a delay as text":            {`startDelaySeconds: "1"`, false},
		"an open group":              {`rules: [{pattern: "a("}]`, false},
		"what Go's patterns lack":    {`rules: [{pattern: "a(?=b)c++(?<n>d)\\k<n>"}]`, true},
		"a pattern that is a number": {"rules: [{pattern: 5}]", true},
		"a name without a pattern":   {"rules: [{name: b}]", false},
		"help without a name":        {"rules: [{pattern: a, help: b}]", false},
		"labels without a name":      {"rules: [{pattern: a, labels: {b: c}}]", false},
		"labels that are a list":     {"rules: [{pattern: a, name: b, labels: [c]}]", false},
		"a label that is a number":   {"rules: [{pattern: a, name: b, labels: {c: 1}}]", false},
		"a cache as text":            {"rules: [{pattern: a, name: b, cache: x}]", false},
		"a type that is unknown":     {"rules: [{pattern: a, name: b, type: FOO}]", true},
		"names of objects":           {`whitelistObjectNames: ["kafka.server:*"]`, true},
		"another JVM":                {`hostPort: "a:1"`, false},
		"a field that nobody knows":  {"unknown: 1", true},
		"the sample":                 {sampleRules(t), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(checkExporter(c.config) == nil).To(Equal(c.starts), "checkExporter")
			file := filepath.Join(t.TempDir(), "config.yaml")
			g.Expect(os.WriteFile(file, []byte(c.config), 0o600)).To(Succeed())
			out, err := exec.CommandContext(t.Context(), "java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-javaagent:"+agent+"=127.0.0.1:0:"+file,
				"-version").CombinedOutput()
			g.Expect(err == nil).To(Equal(c.starts), "the exporter: %v\n%s", err, out)
		})
	}
}

// sampleRules returns the rules of config/samples/kafka-metrics.
func sampleRules(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "samples", "kafka-metrics", "rules.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var config corev1.ConfigMap
	g.Expect(yaml.Unmarshal(text, &config)).To(Succeed())
	return config.Data["rules.yaml"]
}

// exporterAgent returns the exporter that is in the operator's image.
func exporterAgent(t *testing.T) string {
	t.Helper()
	folder, err := assets.Dir(t.Context(), "exporter", os.Stderr)
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
	return filepath.Join(folder, "jmx_prometheus_javaagent.jar")
}
