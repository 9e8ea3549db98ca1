package app

import (
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kafka-operators/kafka-operators/operator/election"
	"github.com/kafka-operators/kafka-operators/roller/internal/options"
)

// The replicas of a Deployment for one Kafka cluster elect their leader by its Lease, unless another one is set. A command in the container
// of a Deployment shares its variables, and must not take its Lease for its own.
func TestWhoHoldsTheLeaseOfAKafkaCluster(t *testing.T) {
	g := NewWithT(t)
	own := options.Options{Command: "run", Cluster: "orders", Namespace: "kafka",
		Election: election.Options{Enabled: true, Name: "orders-roller-leader", Namespace: "kafka", Identity: "pod-1"}}
	for name, c := range map[string]struct {
		change   func(*options.Options)
		elects   bool
		identity bool
	}{
		"a Deployment":                 {func(*options.Options) {}, true, true},
		"one with another Lease":       {func(o *options.Options) { o.Election.Name = "mine" }, false, true},
		"one that elects nobody":       {func(o *options.Options) { o.Election.Enabled = false }, false, true},
		"a command":                    {func(o *options.Options) { o.Command = "roll" }, false, false},
		"one without an identity":      {func(o *options.Options) { o.Election.Identity = "" }, true, false},
		"one whose Lease is elsewhere": {func(o *options.Options) { o.Election.Namespace = "operators" }, false, true},
	} {
		o := own
		c.change(&o)
		w, err := newHome(&rest.Config{Host: "https://localhost:1"}, o, logr.Discard())
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(w.elects(types.NamespacedName{Namespace: "kafka", Name: "orders"})).To(Equal(c.elects), name)
		if c.identity {
			g.Expect(w.identity).To(Equal("pod-1"), name)
		} else {
			g.Expect(w.identity).NotTo(Equal("pod-1"), name)
		}
		g.Expect(w.identity).NotTo(BeEmpty(), name)
	}
}
