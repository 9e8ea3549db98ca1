package controller_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/internal/controller"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// late is a roll whose look outlives its context.
type late struct {
	goOn   chan struct{}
	closed *atomic.Bool
}

func (l late) Look(context.Context) (roller.Decision, error) {
	<-l.goOn
	return roller.Decision{}, nil
}

func (l late) Close(context.Context) { l.closed.Store(true) }

// The manager does not wait for looks if it loses the Deployment's Lease. The Lease of a Kafka cluster is released once no look runs, which
// may be deleting a pod. It expires if the look does not end.
func TestARollIsClosedOnceNoLookRuns(t *testing.T) {
	for name, ends := range map[string]bool{"the look ends": true, "it hangs": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				roll := late{make(chan struct{}), &atomic.Bool{}}
				r := &controller.Reconciler{Named: true, Interval: time.Hour, Deadline: time.Hour,
					Sources: func() []observe.Source { return nil }, New: func(types.NamespacedName) controller.Roll { return roll }}
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					_, _ = r.Reconcile(ctx, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "a"}})
				}()
				synctest.Wait()
				cancel()
				over := make(chan struct{})
				go func() { defer close(over); r.Close(ctx) }()
				synctest.Wait()
				g.Expect(roll.closed.Load()).To(BeFalse(), "the look runs")
				if ends {
					close(roll.goOn)
				}
				<-over
				g.Expect(roll.closed.Load()).To(Equal(ends))
				if !ends {
					close(roll.goOn)
				}
			})
		})
	}
}
