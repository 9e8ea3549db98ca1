package controller

import (
	"math/rand"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/providers"
)

// TestRandomInputsOfStretchedKafkas reconciles random Kafkas over three Kubernetes clusters. PROVE=full checks many. It leaves out the
// provider mcs, which needs a kind that the API servers in memory do not have: the conformance suite tests it.
func TestRandomInputsOfStretchedKafkas(t *testing.T) {
	m := newMaterial(t)
	proveHistories(t, "random stretched Kafkas", 2, 2000, 1, func(t *testing.T, seed int64, _ int) {
		if found := stretchedInput(t, m, seed); len(found) > 0 {
			t.Errorf("seed %d: %s", seed, strings.Join(found, "\n"))
		}
	})
}

// stretchedInput reconciles an input, and returns what is wrong with the objects in any Kubernetes cluster.
func stretchedInput(t *testing.T, m material, seed int64) (f findings) {
	r := newRig(t, m, seed)
	s := newStretched(r.history)
	r.gen = &generator{material: m, rand: rand.New(rand.NewSource(seed)), clusters: []string{"central", "east", "west"},
		kafka: "my-cluster", pools: []string{"a", "b", "c", "d"}}
	name := []string{"nodeport", "loadbalancer"}[seed%2]
	provider, end, err := providers.Open(t.Context(), providers.Options{Name: name})
	r.must(err)
	end()
	for _, o := range s.centrals[0].operators {
		o.r.Stretching.Provider, o.r.Stretching.ProviderName = provider, name
	}
	in := r.gen.next()
	r.place(in)
	for _, server := range s.servers {
		for _, o := range in.given { // users create the objects that their templates refer to
			if o = copied(o); server != s.centrals[0].server {
				o.SetNamespace(historyNamespace)
				r.must(server.client().Create(t.Context(), o))
			}
		}
	}
	r.emptyAll()
	for last := int64(-1); last != s.versions(); {
		last = s.versions()
		s.rest()
		for _, server := range s.servers {
			balance(t, server)
		}
	}
	if ready := s.centrals[0].ready(); ready == nil || ready.Status != v1.ConditionTrue {
		f.add("the Kafka is not ready: %+v", ready)
	}
	for _, server := range s.servers {
		now := sceneOf(server)
		found := slices.Concat(now.illegal(), now.dangling(), now.leaks(r.logs.String()))
		for _, text := range found {
			// No Service leads to nodes in other Kubernetes clusters.
			if !strings.Contains(text, "no pod has a port") && !strings.Contains(text, "selects no pod") {
				f.add("in %s: %s", server.id, text)
			}
		}
	}
	return f
}

// balance sets the addresses of Services of type LoadBalancer.
func balance(t *testing.T, s *apiServer) {
	for _, key := range sortedKeys(s.objects) {
		if service, ok := s.objects[key].object().(*corev1.Service); ok && service.Spec.Type == corev1.ServiceTypeLoadBalancer &&
			len(service.Status.LoadBalancer.Ingress) == 0 {
			service = service.DeepCopy()
			service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: key.Name + "." + s.id + ".example.com"}}
			NewWithT(t).Expect(s.client().Status().Update(t.Context(), service)).To(Succeed())
		}
	}
}
