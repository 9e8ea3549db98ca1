package controller

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var topicsResource = schema.GroupResource{Group: "kafka.strimzi.io", Resource: "kafkatopics"}

// readAs is a client whose reads all end as the function does.
type readAs struct {
	client.Client
	read func(name string) error
}

func (c readAs) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return c.read(key.Name)
}

func TestAPassThatHangsIsNotHealthy(t *testing.T) {
	for name, planted := range map[string]bool{"the operator": false, "and a pass that is not counted is found": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := time.Unix(1_000_000, 0)
			reading, ended := make(chan string), make(chan bool)
			goOn := map[string]chan struct{}{"slow": make(chan struct{}), "other": make(chan struct{})}
			r := NewReconciler(readAs{read: func(name string) error {
				reading <- name
				<-goOn[name]
				return apierrors.NewNotFound(topicsResource, name)
			}}, nil, nil, nil, Options{Now: func() time.Time { return now }})
			if planted {
				r.busy = nil
			}
			start := func(name string) {
				go func() {
					_, _ = r.Reconcile(context.Background(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: name}})
					ended <- true
				}()
				g.Expect(<-reading).To(Equal(name))
			}
			g.Expect(r.Healthy(t.Context())).To(Succeed())

			start("slow")
			now = now.Add(2 * passTimeout)
			start("other")
			g.Expect(r.Healthy(t.Context())).To(Succeed(), "its context ended, and it may be about to return")
			now = now.Add(time.Second)
			hangs := MatchError("the reconciliation of KafkaTopic ns/slow has been running for 4m1s, and must not take longer than 2m0s")
			if planted {
				g.Expect(r.Healthy(t.Context())).To(Succeed())
			} else {
				g.Expect(r.Healthy(t.Context())).To(hangs)
			}
			close(goOn["slow"])
			<-ended
			g.Expect(r.Healthy(t.Context())).To(Succeed())
			close(goOn["other"])
			<-ended
		})
	}
}

// Two writers that conflict each time, such as an operator of an older version, must not keep a core busy.
func TestConflictsBackOff(t *testing.T) {
	for name, planted := range map[string]bool{"the operator": false, "and one that forgets conflicts is found": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var answer error
			r := NewReconciler(readAs{read: func(string) error { return answer }}, nil, nil, nil, Options{Now: time.Now})
			key := types.NamespacedName{Namespace: "ns", Name: "a"}
			pass := func(err error) time.Duration {
				answer = err
				result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
				g.Expect(err).NotTo(HaveOccurred())
				if planted {
					r.memory.succeeded(key)
				}
				return result.RequeueAfter
			}
			conflict := apierrors.NewConflict(topicsResource, "a", nil)
			var waits []time.Duration
			for range 8 {
				waits = append(waits, pass(conflict))
			}
			g.Expect(waits[0]).To(BeNumerically("<=", 2*firstRetry))
			long := BeNumerically(">=", lastRetry/2)
			if planted {
				g.Expect(waits[7]).NotTo(long)
				return
			}
			g.Expect(waits[7]).To(long)
			g.Expect(pass(apierrors.NewNotFound(topicsResource, "a"))).To(BeZero())
			g.Expect(pass(conflict)).To(BeNumerically("<=", 2*firstRetry))
		})
	}
}
