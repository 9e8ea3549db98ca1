package app

import (
	"os"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Who grants the rights that the documentation lists grants all that the roles for another Kubernetes cluster have.
func TestTheDocumentationListsTheRightsInOtherClusters(t *testing.T) {
	g := NewWithT(t)
	granted := map[string]string{}
	for _, file := range []string{"role.yaml", "identity_role.yaml"} {
		text, err := os.ReadFile("../../../config/roller/remote/" + file)
		g.Expect(err).NotTo(HaveOccurred())
		var role rbacv1.Role // rules of a ClusterRole are the same
		g.Expect(yaml.Unmarshal(text, &role)).To(Succeed())
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				granted[strings.TrimSuffix(resource+"."+rule.APIGroups[0], ".")] = strings.Join(rule.Verbs, " ")
			}
		}
	}
	page, err := os.ReadFile("../../../docs/roller/README.md")
	g.Expect(err).NotTo(HaveOccurred())
	_, table, found := strings.Cut(string(page), "What the kubeconfig's user needs in the other cluster")
	g.Expect(found).To(BeTrue())
	table, _, _ = strings.Cut(table, "\n\nIn its own cluster")
	listed := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\|").FindAllStringSubmatch(table, -1) {
		listed[row[1]] = strings.NewReplacer("`", "", ",", "").Replace(row[2])
	}
	g.Expect(listed).To(Equal(granted))
}
