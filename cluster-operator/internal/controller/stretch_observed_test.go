package controller

import (
	"context"
	"fmt"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/nodeport"
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

// As one refused object, a kind that a provider needs to see and that is not served concerns nothing else in that Kubernetes cluster.
func TestAKindThatIsNotServedHoldsUpItsClusterAlone(t *testing.T) {
	for _, id := range []string{"central", "east"} {
		t.Run(id, func(t *testing.T) {
			w := newStretchedWorld(t)
			w.form()
			honest := w.r.Stretching.Provider
			settings := map[string]string{}
			for i, other := range []string{"central", "east", "west"} {
				if other != id { // nothing is observed there
					settings[nodeport.SettingAddress+other] = fmt.Sprintf("192.0.2.%d", i+1)
				}
			}
			blind, err := nodeport.New(settings)
			w.Expect(err).NotTo(HaveOccurred())
			w.r.Stretching.Provider = &curious{Provider: blind,
				kinds: []metav1.GroupVersionKind{{Group: "nosuch.example.com", Version: "v1", Kind: "Thing"}}}
			before := map[string]string{}
			pods := map[string]string{"central": "my-cluster-central-0", "east": "my-cluster-east-1", "west": "my-cluster-west-2"}
			for cluster, pod := range pods {
				before[cluster] = w.setting(cluster, pod, "advertised.listeners")
			}
			w.configure("log.retention.hours", "7")
			w.create(poolIn("east", "more", 1, v1.RoleBroker), poolIn("central", "others", 1, v1.RoleBroker))
			w.settle()
			conditions := w.kafka().Status.Conditions
			w.Expect(conditions).To(ContainElement(And(HaveField("Reason", "NetworkProviderFailed"),
				HaveField("Message", And(HavePrefix("In cluster '"+id+"': "), ContainSubstring("Thing"), ContainSubstring("no matches for kind"))))))
			w.Expect(conditions).NotTo(ContainElement(HaveField("Type", "Degraded")))
			for cluster, pod := range pods {
				w.Expect(w.setting(cluster, pod, "log.retention.hours")).To(Equal("7"), cluster)
				w.Expect(w.setting(cluster, pod, "advertised.listeners")).To(Equal(before[cluster]), cluster)
			}
			for cluster, pool := range map[string]string{"east": "my-cluster-more", "central": "my-cluster-others"} {
				set := &core.StrimziPodSet{}
				w.in(cluster, set, pool)
				w.Expect(set.Spec.Pods).To(HaveLen(map[bool]int{true: 0, false: 1}[cluster == id]), pool)
			}
			w.Expect(w.ready().Message).To(ContainSubstring("objects of kind Thing in cluster " + id + " can't be read"))
			w.r.Stretching.Provider = honest
			w.settle()
			w.Expect(w.ready()).To(HaveField("Status", "True"))
		})
	}
}
