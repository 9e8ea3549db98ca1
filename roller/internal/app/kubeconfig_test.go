package app

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/kafka-operators/kafka-operators/roller/internal/options"
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

func connectionTo(kubeconfig, context string) options.Connection {
	c := options.NewConnection()
	*c.KubeConfig, *c.Context = kubeconfig, context
	return c
}

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
		config, err := KubernetesConfig(connectionTo(c.kubeconfig, c.context))
		g.Expect(err).NotTo(HaveOccurred(), "%+v", c)
		g.Expect(config.Host).To(Equal(c.host), "%+v", c)
		g.Expect(ContextNamespace(connectionTo(c.kubeconfig, c.context))).To(Equal(c.namespace), "%+v", c)
	}
	_, err := KubernetesConfig(connectionTo(file, "nowhere"))
	g.Expect(err).To(MatchError(ContainSubstring(`context "nowhere" does not exist`)))
	_, err = KubernetesConfig(connectionTo(filepath.Join(t.TempDir(), "none"), ""))
	g.Expect(err).To(HaveOccurred())
	_, err = ContextNamespace(connectionTo(filepath.Join(t.TempDir(), "none"), ""))
	g.Expect(err).To(MatchError(ContainSubstring("no such file")))
	_, err = ContextNamespace(connectionTo(file, "nowhere"))
	g.Expect(err).To(MatchError(ContainSubstring("context was not found for specified context: nowhere")))
}

// In a pod, without KUBECONFIG, a context is not that of the pod's own cluster: the roll would restart nodes of another Kafka.
func TestAContextIsNotThePodsOwnCluster(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	own := func() (*rest.Config, error) { return &rest.Config{Host: "https://10.0.0.1:443"}, nil }
	_, err := kubernetesConfig(connectionTo("", "there"), own)
	g.Expect(err).To(MatchError(ContainSubstring(`context "there" does not exist`)))
	config, err := kubernetesConfig(connectionTo("", ""), own)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Host).To(Equal("https://10.0.0.1:443"))
}

func TestFlagsOfTheConnectionOverrideTheKubeconfig(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "config")
	g.Expect(os.WriteFile(file, []byte(twoContexts), 0o600)).To(Succeed())
	c := connectionTo(file, "")
	*c.Impersonate, *c.APIServer, *c.BearerToken, *c.Timeout = "me", "https://elsewhere:6443", "secret", "7s"
	config, err := KubernetesConfig(c)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect([]any{config.Impersonate.UserName, config.Host, config.BearerToken, config.Timeout}).To(
		Equal([]any{"me", "https://elsewhere:6443", "secret", 7 * time.Second}))
}

// Such a flag is about the cluster of a kubeconfig as well.
func TestAFlagOfTheConnectionIsNotForThePodsOwnCluster(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	c := options.NewConnection()
	*c.APIServer = "https://elsewhere:6443"
	config, err := kubernetesConfig(c, func() (*rest.Config, error) { return nil, errors.New("the pod's own cluster is used") })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Host).To(Equal("https://elsewhere:6443"))
}
