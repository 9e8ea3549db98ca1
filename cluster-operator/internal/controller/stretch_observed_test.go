package controller

import (
	"context"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
)

// curious is a provider that sees more kinds, and remembers what it was shown last.
type curious struct {
	network.Provider
	kinds []metav1.GroupVersionKind

	mu   sync.Mutex
	seen []network.Object
}

func (c *curious) Info(ctx context.Context) (network.Info, error) {
	info, err := c.Provider.Info(ctx)
	info.Observes = append(info.Observes, c.kinds...)
	return info, err
}

func (c *curious) Resolve(ctx context.Context, r network.Request, observed []network.Object) (network.Resolution, error) {
	c.mu.Lock()
	c.seen = observed
	c.mu.Unlock()
	return c.Provider.Resolve(ctx, r, observed)
}

// shown returns the names of the objects of a kind that the provider was shown, by Kubernetes cluster and namespace.
func (c *curious) shown(kind string) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.seen {
		if o.Object.GetKind() == kind {
			names = append(names, o.Cluster+" "+o.Object.GetNamespace()+"/"+o.Object.GetName())
		}
	}
	return names
}

func TestAProviderSeesTheKafkasNamespaceAlone(t *testing.T) {
	w := newStretchedWorld(t)
	provider := &curious{Provider: w.r.Stretching.Provider, kinds: []metav1.GroupVersionKind{
		{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}, {Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}}}
	w.r.Stretching.Provider = provider
	for _, namespace := range []string{w.namespace, "default"} {
		slice := endpointSlices("east")(nil)[0].Object.DeepCopy()
		slice.SetNamespace(namespace)
		slice.SetName("of-" + w.namespace)
		w.Expect(w.members["east"].Create(t.Context(), slice)).To(Succeed())
	}
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController), poolIn("east", "b", 1, v1.RoleBroker))
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(provider.shown("EndpointSlice")).To(ConsistOf("east " + w.namespace + "/of-" + w.namespace))
	w.Expect(provider.shown("PriorityClass")).To(ContainElements("central /system-node-critical", "east /system-node-critical"))

	provider.kinds = []metav1.GroupVersionKind{{Version: "v1", Kind: "Secret"}}
	w.Expect(w.k8s.Create(t.Context(), &corev1.Secret{ObjectMeta: w.named("secret")})).To(Succeed())
	w.configure("log.retention.hours", "1")
	for range 3 {
		w.pass()
	}
	w.Expect(provider.shown("Secret")).To(BeEmpty())
	w.Expect(w.kafka().Status.Conditions).To(ContainElement(HaveField("Message", ContainSubstring("observes /v1, Kind=Secret, which no "+
		"provider may see"))))
}
