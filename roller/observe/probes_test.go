package observe_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/kafka-operators/kafka-operators/roller"
)

// unanswered is a Prober whose API server dials a kubelet that is gone.
type unanswered struct{}

func (unanswered) Recovery(ctx context.Context, _, _ string, _ time.Duration) (*roller.Recovery, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// A log that does not come makes no other fact too old for a restart: it is unknown whether the node recovers its logs.
func TestALogThatDoesNotComeDelaysNoRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReading(t, time.Hour)
		r.observer.Timeout, r.observer.Prober = 20*time.Second, unanswered{}
		p := pod(2)
		p.Namespace = "ns"
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse},
			{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}}
		r.Expect(r.k8s.Status().Update(t.Context(), &p)).To(Succeed())
		for range 2 {
			s := r.observer.Verify(t.Context(), roller.Asked{Nodes: []roller.NodeID{0}, Restarts: []roller.NodeID{0}})
			r.Expect(s.Nodes[2].Ready).To(Equal(roller.Known(false)))
			r.Expect(s.Nodes[2].Recovery.Why()).To(ContainSubstring("log did not come within 2s"))
			r.Expect(s.Topics.IsKnown()).To(BeTrue())
			r.Expect(s.At.Sub(s.From)).To(BeNumerically("<", roller.Freshness/2))
		}
	})
}
