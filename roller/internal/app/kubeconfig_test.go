package app

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
)

const twoContexts = `apiVersion: v1
kind: Config
current-context: here
clusters:
- {name: here, cluster: {server: "https://here:6443"}}
- {name: there, cluster: {server: "https://there:6443"}}
contexts:
- {name: here, context: {cluster: here, namespace: kafka-here}}
- {name: there, context: {cluster: there}}
`

func TestTheContextSaysWhichClusterIsMeant(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "config")
	g.Expect(os.WriteFile(file, []byte(twoContexts), 0o600)).To(Succeed())
	for _, c := range []struct{ kubeconfig, context, host, namespace string }{
		{file, "", "https://here:6443", "kafka-here"},
		{file, "there", "https://there:6443", "default"},
		{"", "there", "https://there:6443", "default"},
	} {
		if c.kubeconfig == "" {
			t.Setenv("KUBECONFIG", file)
		}
		config, err := KubernetesConfig(c.kubeconfig, c.context)
		g.Expect(err).NotTo(HaveOccurred(), "%+v", c)
		g.Expect(config.Host).To(Equal(c.host), "%+v", c)
		g.Expect(ContextNamespace(c.kubeconfig, c.context)).To(Equal(c.namespace), "%+v", c)
	}
	_, err := KubernetesConfig(file, "nowhere")
	g.Expect(err).To(MatchError(ContainSubstring(`context "nowhere" does not exist`)))
	_, err = KubernetesConfig(filepath.Join(t.TempDir(), "none"), "")
	g.Expect(err).To(HaveOccurred())
	g.Expect(ContextNamespace(filepath.Join(t.TempDir(), "none"), "")).To(BeEmpty())
}

// In a pod, without KUBECONFIG, a context is not that of the pod's own cluster: the roll would restart nodes of another Kafka.
func TestAContextIsNotThePodsOwnCluster(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	own := func() (*rest.Config, error) { return &rest.Config{Host: "https://10.0.0.1:443"}, nil }
	_, err := kubernetesConfig("", "there", own)
	g.Expect(err).To(MatchError(ContainSubstring(`context "there" does not exist`)))
	config, err := kubernetesConfig("", "", own)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Host).To(Equal("https://10.0.0.1:443"))
}
