package app

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kafka-operators/kafka-operators/operator/settings"
	"github.com/kafka-operators/kafka-operators/roller/internal/options"
)

// The roles in config/roller and config/roller/remote cover one namespace, so a watch of all namespaces would be forbidden.
func TestWatchesStayInTheNamespace(t *testing.T) {
	g := NewWithT(t)
	c := scope(options.Options{Namespaces: settings.Namespaces{Names: []string{"kafka"}}, Namespace: "kafka", Cluster: "orders"})
	g.Expect(c.DefaultNamespaces).To(Equal(map[string]cache.Config{"kafka": {}}))
	g.Expect(c.DefaultLabelSelector.Matches(labels.Set{"strimzi.io/cluster": "orders"})).To(BeTrue())
	g.Expect(c.DefaultLabelSelector.Matches(labels.Set{"strimzi.io/cluster": "others"})).To(BeFalse())
	all := scope(options.Options{Namespaces: settings.Namespaces{All: true}})
	g.Expect(all.DefaultNamespaces).To(BeEmpty())
	g.Expect(all.DefaultLabelSelector.Matches(labels.Set{"strimzi.io/cluster": "others"})).To(BeTrue())
	g.Expect(all.DefaultLabelSelector.Matches(labels.Set{"app": "others"})).To(BeFalse())
}
