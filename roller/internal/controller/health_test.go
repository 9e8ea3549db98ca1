package controller_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kafka-operators/kafka-operators/operator/health"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/internal/controller"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// wedged is a roll whose looks outlive their context.
type wedged struct{ looking, goOn chan struct{} }

func (w wedged) Look(context.Context) (roller.Decision, error) {
	close(w.looking)
	<-w.goOn
	return roller.Decision{}, nil
}

func (wedged) Close(context.Context) {}

func TestALookThatHangsIsNotHealthy(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1_000_000, 0)
	look := wedged{make(chan struct{}), make(chan struct{})}
	passes := health.NewPasses("Kafka", time.Minute, func() time.Time { return now })
	r := &controller.Reconciler{Named: true, Interval: time.Hour, Deadline: time.Minute, Sources: func() []observe.Source { return nil },
		New: func(types.NamespacedName) controller.Roll { return look }, Passing: passes.Start}
	ended := make(chan error)
	go func() {
		_, err := r.Reconcile(context.Background(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "a"}})
		ended <- err
	}()
	<-look.looking
	g.Expect(passes.Healthy(t.Context())).To(Succeed())
	now = now.Add(3 * time.Minute)
	g.Expect(passes.Healthy(t.Context())).To(MatchError(ContainSubstring("Kafka ns/a has been running for 3m0s")))
	close(look.goOn)
	g.Expect(<-ended).To(Succeed())
	g.Expect(passes.Healthy(t.Context())).To(Succeed())
}
