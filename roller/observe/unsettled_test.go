package observe_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// A set and the ConfigMaps of its pods are not written atomically. Until both match, no action is taken on the node, whatever is requested.
func TestTheConfigMapIsNotTheOneThatTheSetNames(t *testing.T) {
	const text = "num.io.threads=9\n"
	for _, c := range []struct {
		name, hash string
		properties map[string]string
		why        string
	}{
		{"the one", core.ConfigHash(text), map[string]string{"my-cluster-kafka-3": text}, ""},
		{"nobody says which one", "", map[string]string{"my-cluster-kafka-3": text}, ""},
		{"another one", "01234567", map[string]string{"my-cluster-kafka-3": text},
			"expects hash 01234567: one of the two is not written yet"},
		{"none", "01234567", nil, "ConfigMap my-cluster-kafka-3 has no server.config"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			desired := pod(3, annotated(core.AnnotationRevision, "r2"))
			if c.hash != "" {
				desired.Annotations[core.AnnotationConfigHash] = c.hash
			}
			live := pod(3, annotated(core.AnnotationManualRollingUpdate, "true"))
			s := seen(observe.Place{Pods: []corev1.Pod{live}, Sets: []observe.PodSet{set(desired)}, Properties: c.properties})
			s.Kafka.Nodes[3] = observe.NodeAnswer{Answers: true, Live: roller.Known(map[string]brokerconfig.Entry{"num.io.threads": {Value: "8"}})}
			snapshot := observe.Assemble(s)
			n := snapshot.Node(3)
			g.Expect(n.Config.IsKnown()).To(Equal(c.why == "" && c.properties != nil))
			if c.why == "" {
				g.Expect(n.Unsettled).To(BeEmpty())
			} else {
				g.Expect(n.Unsettled).To(ContainSubstring(c.why))
			}
			for _, a := range roller.Step(&snapshot, roller.Progress{}, roller.DefaultPolicy()).Nodes {
				if a.Node == 3 && c.why != "" {
					g.Expect(a.Need).To(Equal(roller.NeedRestart))
					g.Expect(a.Blocks).To(ContainElement(And(HaveField("Rule", roller.RuleUnknown), HaveField("Why", n.Unsettled))))
				} else if a.Node == 3 {
					g.Expect(a.Blocks).NotTo(ContainElement(HaveField("Rule", roller.RuleUnknown)))
				}
			}
		})
	}
}
